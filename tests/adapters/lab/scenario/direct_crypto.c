/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keys of mlx5 whose memory is encrypted on its way: requests that describe them, by direct verbs.
 */
#include "tests/adapters/lab/scenario/script.h"

#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <string.h>

static void queue_pair(struct script *s)
{
	struct mlx5dv_qp_init_attr dv = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS,
		.send_ops_flags = MLX5DV_QP_EX_WITH_MKEY_CONFIGURE,
	};
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RC,
		.pd = s->pd,
		.send_cq = s->send_cq,
		.recv_cq = s->recv_cq,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
		.cap = { .max_send_wr = 8,
			 .max_send_sge = 1,
			 .max_recv_wr = 1,
			 .max_recv_sge = 1,
			 .max_inline_data = 252 },
	};

	s->qp = mlx5dv_create_qp(s->context, &attr, &dv);
	must(s->qp, "mlx5dv_create_qp");
	script_modify(s, IBV_QPS_INIT);
	script_modify(s, IBV_QPS_RTR);
	script_modify(s, IBV_QPS_RTS);
}

static struct mlx5dv_crypto_attr cipher(struct mlx5dv_dek *dek)
{
	struct mlx5dv_crypto_attr attr = {
		.crypto_standard = MLX5DV_CRYPTO_STANDARD_AES_XTS,
		.encrypt_on_tx = true,
		.signature_crypto_order =
			MLX5DV_SIGNATURE_CRYPTO_ORDER_SIGNATURE_AFTER_CRYPTO_ON_TX,
		.data_unit_size = MLX5DV_BLOCK_SIZE_512,
		.dek = dek,
		.keytag = "tagged",
	};

	for (size_t i = 0; i < sizeof(attr.initial_tweak); i++)
		attr.initial_tweak[i] = 0x10 + i;
	return attr;
}

/* Post one request. @entries 0 keeps the layout. @a NULL: no cipher; @first: before the layout. */
static int describe(struct script *s, struct mlx5dv_mkey *mkey, const struct mlx5dv_crypto_attr *a,
		    unsigned entries, bool first)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(s->qp);
	struct mlx5dv_qp_ex *dv = mlx5dv_qp_ex_from_ibv_qp_ex(ex);
	struct mlx5dv_mkey_conf_attr conf = { 0 };
	struct ibv_sge sge[8];

	for (unsigned i = 0; i < 8; i++)
		sge[i] = (struct ibv_sge){ SCRIPT_BUFFER + 4096 * i, 512, s->mr->lkey };
	ibv_wr_start(ex);
	ex->wr_id = 7;
	ex->wr_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED;
	mlx5dv_wr_mkey_configure(dv, mkey, 1 + !!a + !!entries, &conf);
	if (a && first)
		mlx5dv_wr_set_mkey_crypto(dv, a);
	mlx5dv_wr_set_mkey_access_flags(dv, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	if (entries)
		mlx5dv_wr_set_mkey_layout_list(dv, entries, sge);
	if (a && !first)
		mlx5dv_wr_set_mkey_crypto(dv, a);
	return ibv_wr_complete(ex);
}

static void ciphers(struct script *s, struct mlx5dv_mkey *mkey, struct mlx5dv_dek *dek)
{
	struct mlx5dv_crypto_attr attr = cipher(dek);

	step("not yet: %d", describe(s, mkey, NULL, 1, false));
	step("encrypted: %d", describe(s, mkey, &attr, 1, false));
	attr.data_unit_size = MLX5DV_BLOCK_SIZE_4096;
	attr.encrypt_on_tx = false;
	step("decrypted, the cipher first: %d", describe(s, mkey, &attr, 5, true));
	step("as it is: %d", describe(s, mkey, NULL, 2, false));
	attr.signature_crypto_order = MLX5DV_SIGNATURE_CRYPTO_ORDER_SIGNATURE_BEFORE_CRYPTO_ON_TX;
	attr.data_unit_size = MLX5DV_BLOCK_SIZE_4160;
	step("the layout as it is: %d", describe(s, mkey, &attr, 0, false));
	attr.encrypt_on_tx = true;
	attr.data_unit_size = MLX5DV_BLOCK_SIZE_4048;
	step("the other order: %d", describe(s, mkey, &attr, 3, false));
	attr.data_unit_size = MLX5DV_BLOCK_SIZE_520;
	step("the ring wraps: %d", describe(s, mkey, &attr, 4, false));
}

static void mistakes(struct script *s, struct mlx5dv_mkey *mkey, struct mlx5dv_mkey *plain,
		     struct mlx5dv_dek *dek)
{
	struct mlx5dv_crypto_attr attr = cipher(dek);
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(s->qp);
	struct mlx5dv_qp_ex *dv = mlx5dv_qp_ex_from_ibv_qp_ex(ex);
	struct mlx5dv_mkey_conf_attr conf = { 0 };

	step("a key without ciphers: %d", describe(s, plain, &attr, 1, false));
	attr.data_unit_size = 9;
	step("a block size too many: %d", describe(s, mkey, &attr, 1, false));
	attr = cipher(dek);
	attr.crypto_standard = 3;
	step("a standard too many: %d", describe(s, mkey, &attr, 1, false));
	attr = cipher(dek);
	attr.signature_crypto_order = 2;
	step("an order too many: %d", describe(s, mkey, &attr, 1, false));
	attr = cipher(dek);
	attr.comp_mask = 1;
	step("a mask: %d", describe(s, mkey, &attr, 1, false));
	attr = cipher(dek);
	ibv_wr_start(ex);
	ex->wr_flags = IBV_SEND_INLINE;
	mlx5dv_wr_mkey_configure(dv, mkey, 2, &conf);
	mlx5dv_wr_set_mkey_crypto(dv, &attr);
	mlx5dv_wr_set_mkey_crypto(dv, &attr);
	step("twice: %d", ibv_wr_complete(ex));
}

int main(void)
{
	struct mlx5dv_crypto_login_attr login = { .credential_id = 0x123, .import_kek_id = 0x456 };
	struct mlx5dv_dek_init_attr dek_attr = { .key_size = MLX5DV_CRYPTO_KEY_SIZE_256 };
	struct mlx5dv_mkey_init_attr attr = { .create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT |
							      MLX5DV_MKEY_INIT_ATTR_FLAGS_CRYPTO,
					      .max_entries = 8 };
	struct mlx5dv_mkey *mkey, *plain;
	struct mlx5dv_dek *dek;
	struct script s = { 0 };

	script_open(&s);
	queue_pair(&s);
	must(!mlx5dv_crypto_login(s.context, &login), "login");
	dek_attr.pd = attr.pd = s.pd;
	dek = mlx5dv_dek_create(s.context, &dek_attr);
	must(dek, "mlx5dv_dek_create");
	step("key");
	mkey = mlx5dv_create_mkey(&attr);
	must(mkey, "mlx5dv_create_mkey");
	attr.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT;
	plain = mlx5dv_create_mkey(&attr);
	must(plain, "mlx5dv_create_mkey");
	ciphers(&s, mkey, dek);
	script_qp_close(&s);
	queue_pair(&s);
	mistakes(&s, mkey, plain, dek);
	script_qp_close(&s);
	step("destroy: %d %d", mlx5dv_destroy_mkey(mkey), mlx5dv_destroy_mkey(plain));
	step("destroy: %d %d", mlx5dv_dek_destroy(dek), mlx5dv_crypto_logout(s.context));
	script_close(&s);
	return 0;
}

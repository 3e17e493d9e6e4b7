/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keys of mlx5 whose blocks are signed: requests that describe them, and errors of signatures. */
#include "tests/adapters/lab/scenario/script.h"

#include <endian.h>
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <string.h>

enum {
	INLINE = 444,
	SYNDROME_REF = 1 << 11,
	SYNDROME_APP = 1 << 12,
	SYNDROME_GUARD = 1 << 13,
	OPCODE_SIG_ERR = 0xc,
};

static void queue_pair(struct script *s, uint32_t create_flags)
{
	struct mlx5dv_qp_init_attr dv = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS |
			     MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS,
		.send_ops_flags = MLX5DV_QP_EX_WITH_MKEY_CONFIGURE,
		.create_flags = create_flags,
	};
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RC,
		.pd = s->pd,
		.send_cq = s->send_cq,
		.recv_cq = s->recv_cq,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
		.cap = { .max_send_wr = 30,
			 .max_send_sge = 1,
			 .max_recv_wr = 1,
			 .max_recv_sge = 1,
			 .max_inline_data = INLINE },
	};

	s->qp = mlx5dv_create_qp(s->context, &attr, &dv);
	must(s->qp, "mlx5dv_create_qp");
	script_modify(s, IBV_QPS_INIT);
	script_modify(s, IBV_QPS_RTR);
	script_modify(s, IBV_QPS_RTS);
}

/* The parts of a request; NULL: the request does not have the part. */
struct said {
	const struct mlx5dv_sig_block_attr *sig;
	const struct mlx5dv_crypto_attr *cipher;
	unsigned entries;
	bool first, resets;
};

static int describe(struct script *s, struct mlx5dv_mkey *mkey, struct said said)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(s->qp);
	struct mlx5dv_qp_ex *dv = mlx5dv_qp_ex_from_ibv_qp_ex(ex);
	struct mlx5dv_mkey_conf_attr conf = {
		.conf_flags = said.resets ? MLX5DV_MKEY_CONF_FLAG_RESET_SIG_ATTR : 0
	};
	struct ibv_sge sge[8];

	for (unsigned i = 0; i < 8; i++)
		sge[i] = (struct ibv_sge){ SCRIPT_BUFFER + 4096 * i, 520, s->mr->lkey };
	ibv_wr_start(ex);
	ex->wr_id = 7;
	ex->wr_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED;
	mlx5dv_wr_mkey_configure(dv, mkey, 1 + !!said.sig + !!said.cipher + !!said.entries, &conf);
	if (said.sig && said.first)
		mlx5dv_wr_set_mkey_sig_block(dv, said.sig);
	mlx5dv_wr_set_mkey_access_flags(dv, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	if (said.entries)
		mlx5dv_wr_set_mkey_layout_list(dv, said.entries, sge);
	if (said.cipher)
		mlx5dv_wr_set_mkey_crypto(dv, said.cipher);
	if (said.sig && !said.first)
		mlx5dv_wr_set_mkey_sig_block(dv, said.sig);
	return ibv_wr_complete(ex);
}

static struct mlx5dv_sig_block_domain of_dif(const struct mlx5dv_sig_t10dif *dif)
{
	return (struct mlx5dv_sig_block_domain){ .sig_type = MLX5DV_SIG_TYPE_T10DIF,
						 .sig.dif = dif,
						 .block_size = MLX5DV_BLOCK_SIZE_512 };
}

static struct mlx5dv_sig_block_domain of_crc(const struct mlx5dv_sig_crc *crc,
					     enum mlx5dv_block_size size)
{
	return (struct mlx5dv_sig_block_domain){ .sig_type = MLX5DV_SIG_TYPE_CRC,
						 .sig.crc = crc,
						 .block_size = size };
}

static void difs(struct script *s, struct mlx5dv_mkey *mkey)
{
	struct mlx5dv_sig_t10dif one = { .bg_type = MLX5DV_SIG_T10DIF_CRC,
					 .bg = 0xffff,
					 .app_tag = 0x1234,
					 .ref_tag = 0x56789abc,
					 .flags = MLX5DV_SIG_T10DIF_FLAG_REF_REMAP |
						  MLX5DV_SIG_T10DIF_FLAG_APP_ESCAPE };
	struct mlx5dv_sig_t10dif other = one;
	struct mlx5dv_sig_block_domain mem = of_dif(&one), wire = of_dif(&other);
	struct mlx5dv_sig_block_attr attr = { .mem = &mem, .check_mask = 0xff };

	step("in memory: %d", describe(s, mkey, (struct said){ &attr, NULL, 1, true, false }));
	step("as it is: %d", describe(s, mkey, (struct said){ NULL, NULL, 2, false, false }));
	attr.wire = &wire;
	step("on both sides: %d", describe(s, mkey, (struct said){ &attr, NULL, 3, false, false }));
	other.bg_type = MLX5DV_SIG_T10DIF_CSUM;
	other.bg = 0;
	other.flags = MLX5DV_SIG_T10DIF_FLAG_APP_REF_ESCAPE;
	step("other guards: %d", describe(s, mkey, (struct said){ &attr, NULL, 0, false, false }));
	other.app_tag = other.ref_tag = 1;
	attr.check_mask = MLX5DV_SIG_MASK_T10DIF_GUARD;
	step("other tags: %d", describe(s, mkey, (struct said){ &attr, NULL, 4, false, false }));
	attr.flags = MLX5DV_SIG_BLOCK_ATTR_FLAG_COPY_MASK;
	attr.copy_mask = MLX5DV_SIG_MASK_T10DIF_REFTAG;
	step("a mask: %d", describe(s, mkey, (struct said){ &attr, NULL, 4, false, false }));
	attr.flags = 0;
	attr.mem = NULL;
	step("on the wire: %d", describe(s, mkey, (struct said){ &attr, NULL, 1, false, false }));
	step("no more: %d", describe(s, mkey, (struct said){ NULL, NULL, 1, false, true }));
	step("still none: %d", describe(s, mkey, (struct said){ NULL, NULL, 1, false, false }));
	step("again: %d", describe(s, mkey, (struct said){ &attr, NULL, 0, true, true }));
}

static void crcs(struct script *s, struct mlx5dv_mkey *mkey)
{
	struct mlx5dv_sig_crc one = { .type = MLX5DV_SIG_CRC_TYPE_CRC32, .seed = UINT32_MAX },
			      other = one;
	struct mlx5dv_sig_block_domain mem = of_crc(&one, MLX5DV_BLOCK_SIZE_520),
				       wire = of_crc(&other, MLX5DV_BLOCK_SIZE_520);
	struct mlx5dv_sig_t10dif dif = { .bg_type = MLX5DV_SIG_T10DIF_CSUM };
	struct mlx5dv_sig_block_domain of_other = of_dif(&dif);
	struct mlx5dv_sig_block_attr attr = { .mem = &mem, .wire = &wire, .check_mask = 0xf0 };

	step("CRC32: %d", describe(s, mkey, (struct said){ &attr, NULL, 1, false, false }));
	one.seed = 0;
	one.type = other.type = MLX5DV_SIG_CRC_TYPE_CRC32C;
	step("CRC32C: %d", describe(s, mkey, (struct said){ &attr, NULL, 1, false, false }));
	one.type = other.type = MLX5DV_SIG_CRC_TYPE_CRC64_XP10;
	other.seed = UINT64_MAX;
	mem.block_size = wire.block_size = MLX5DV_BLOCK_SIZE_4160;
	step("CRC64: %d", describe(s, mkey, (struct said){ &attr, NULL, 5, false, false }));
	wire.block_size = MLX5DV_BLOCK_SIZE_4048;
	step("other blocks: %d", describe(s, mkey, (struct said){ &attr, NULL, 6, false, false }));
	one.type = MLX5DV_SIG_CRC_TYPE_CRC32;
	wire.block_size = mem.block_size = MLX5DV_BLOCK_SIZE_4096;
	step("other types: %d", describe(s, mkey, (struct said){ &attr, NULL, 7, false, false }));
	attr.mem = &of_other;
	step("other kinds: %d", describe(s, mkey, (struct said){ &attr, NULL, 8, false, false }));
}

/* ---- errors, as the adapter reports them */

static void tell(struct script *s, uint32_t key, uint16_t syndrome, uint8_t type, uint8_t domain)
{
	uint32_t values[4] = { htobe32(0x11112222), htobe32(0x33334444), htobe32(0x55556666),
			       htobe32(0x77778888) };
	uint64_t offset = htobe64(0x1234);
	uint8_t entry[64] = { 0 };

	syndrome = htobe16(syndrome);
	key = htobe32(key);
	memcpy(entry + 16, values, sizeof(values));
	memcpy(entry + 32, &syndrome, sizeof(syndrome));
	entry[34] = type;
	entry[35] = domain;
	memcpy(entry + 36, &key, sizeof(key));
	memcpy(entry + 40, &offset, sizeof(offset));
	entry[63] = OPCODE_SIG_ERR << 4;
	must(!lab_entry(s->send_cq->handle, entry, sizeof(entry)), "lab_entry");
	script_poll(s->send_cq);
}

static void check(struct mlx5dv_mkey *mkey, const char *what)
{
	struct mlx5dv_mkey_err err = { .err_type = 99 };
	int r = mlx5dv_mkey_check(mkey, &err);

	step("%s: %d type=%d actual=0x%llx expected=0x%llx offset=0x%llx", what, r, err.err_type,
	     (unsigned long long)(err.err_type ? err.err.sig.actual_value : 0),
	     (unsigned long long)(err.err_type ? err.err.sig.expected_value : 0),
	     (unsigned long long)(err.err_type ? err.err.sig.offset : 0));
}

static void errors(struct script *s, struct mlx5dv_mkey *mkey, struct mlx5dv_mkey *plain)
{
	struct mlx5dv_sig_crc wide = { .type = MLX5DV_SIG_CRC_TYPE_CRC64_XP10 };
	struct mlx5dv_sig_t10dif dif = { .bg_type = MLX5DV_SIG_T10DIF_CRC };
	struct mlx5dv_sig_block_domain mem = of_crc(&wide, MLX5DV_BLOCK_SIZE_512),
				       wire = of_dif(&dif);
	struct mlx5dv_sig_block_attr attr = { .mem = &mem, .wire = &wire, .check_mask = 0xff };

	check(plain, "a key without signatures");
	step("both: %d", describe(s, mkey, (struct said){ &attr, NULL, 1, false, false }));
	check(mkey, "nothing yet");
	tell(s, mkey->lkey, SYNDROME_REF | SYNDROME_GUARD, 0, 0);
	check(mkey, "reference tag");
	check(mkey, "once");
	tell(s, mkey->lkey, SYNDROME_APP, 0, 0);
	check(mkey, "application tag");
	tell(s, mkey->lkey, SYNDROME_GUARD, 0, 0);
	check(mkey, "guard");
	tell(s, mkey->lkey, SYNDROME_GUARD, 0, 1);
	check(mkey, "wide");
	step("counted: %d", describe(s, mkey, (struct said){ NULL, NULL, 1, false, false }));
	wide.type = MLX5DV_SIG_CRC_TYPE_CRC32;
	step("narrow: %d", describe(s, mkey, (struct said){ &attr, NULL, 1, false, false }));
	tell(s, mkey->lkey, SYNDROME_GUARD, 0, 1);
	check(mkey, "narrow");
	tell(s, mkey->lkey, SYNDROME_GUARD, 0, 2);
	check(mkey, "a domain too many");
	tell(s, mkey->lkey, SYNDROME_GUARD, 1, 0);
	check(mkey, "a type too many");
	tell(s, mkey->lkey, 1, 0, 0);
	check(mkey, "another syndrome");
	attr.wire = NULL;
	step("one side: %d", describe(s, mkey, (struct said){ &attr, NULL, 1, false, false }));
	tell(s, mkey->lkey, SYNDROME_GUARD, 0, 0);
	check(mkey, "a side that has none");
}

/* ---- with ciphers */

static void both(struct script *s, struct mlx5dv_mkey *mkey, struct mlx5dv_dek *dek)
{
	struct mlx5dv_crypto_attr cipher = {
		.encrypt_on_tx = true,
		.dek = dek,
		.signature_crypto_order =
			MLX5DV_SIGNATURE_CRYPTO_ORDER_SIGNATURE_BEFORE_CRYPTO_ON_TX
	};
	struct mlx5dv_sig_crc crc = { .type = MLX5DV_SIG_CRC_TYPE_CRC32 };
	struct mlx5dv_sig_block_domain side = of_crc(&crc, MLX5DV_BLOCK_SIZE_512);
	struct mlx5dv_sig_block_attr attr = { .wire = &side, .check_mask = 0xf0 };

	step("nothing: %d", describe(s, mkey, (struct said){ NULL, NULL, 1, false, false }));
	step("a cipher: %d", describe(s, mkey, (struct said){ NULL, &cipher, 1, false, false }));
	step("a signature: %d", describe(s, mkey, (struct said){ &attr, NULL, 1, false, false }));
	step("nothing new: %d", describe(s, mkey, (struct said){ NULL, NULL, 1, false, false }));
	step("both: %d", describe(s, mkey, (struct said){ &attr, &cipher, 1, true, false }));
	step("no signature: %d", describe(s, mkey, (struct said){ NULL, NULL, 1, false, true }));
	attr.mem = &side;
	step("two sides: %d", describe(s, mkey, (struct said){ &attr, &cipher, 0, false, false }));
	cipher.signature_crypto_order = MLX5DV_SIGNATURE_CRYPTO_ORDER_SIGNATURE_AFTER_CRYPTO_ON_TX;
	step("another order: %d",
	     describe(s, mkey, (struct said){ &attr, &cipher, 0, false, false }));
}

/* ---- what is refused */

static void mistakes(struct script *s, struct mlx5dv_mkey *mkey, struct mlx5dv_mkey *plain)
{
	struct mlx5dv_sig_t10dif dif = { 0 };
	struct mlx5dv_sig_crc crc = { 0 };
	struct mlx5dv_sig_block_domain mem = of_crc(&crc, MLX5DV_BLOCK_SIZE_512),
				       wire = of_dif(&dif);
	struct mlx5dv_sig_block_attr attr = { .mem = &mem };
	const struct said said = { &attr, NULL, 1, false, false };

	step("a key without signatures: %d", describe(s, plain, said));
	attr.mem = NULL;
	step("no side: %d", describe(s, mkey, said));
	attr.mem = &mem;
	attr.flags = 2;
	step("a flag too many: %d", describe(s, mkey, said));
	attr.flags = MLX5DV_SIG_BLOCK_ATTR_FLAG_COPY_MASK;
	attr.wire = &wire;
	step("a mask of two kinds: %d", describe(s, mkey, said));
	attr.flags = 0;
	attr.comp_mask = 1;
	step("a mask: %d", describe(s, mkey, said));
	attr.comp_mask = 0;
	mem.block_size = 5;
	step("a block too many: %d", describe(s, mkey, said));
	mem.block_size = 0;
	mem.comp_mask = 1;
	step("a side's mask: %d", describe(s, mkey, said));
	mem.comp_mask = 0;
	crc.seed = 1;
	step("a seed: %d", describe(s, mkey, said));
	crc.seed = 0;
	crc.type = 3;
	step("a CRC too many: %d", describe(s, mkey, said));
	crc.type = 0;
	dif.bg = 1;
	step("a guard: %d", describe(s, mkey, said));
	dif.bg = 0;
	dif.flags = 8;
	step("a guard's flag: %d", describe(s, mkey, said));
	dif.flags = 0;
	wire.sig_type = 2;
	step("a kind too many: %d", describe(s, mkey, said));
}

static void capabilities(struct script *s)
{
	struct mlx5dv_context caps = { .comp_mask = MLX5DV_CONTEXT_MASK_SIGNATURE_OFFLOAD |
						    MLX5DV_CONTEXT_MASK_CRYPTO_OFFLOAD };
	const struct mlx5dv_sig_caps *sig = &caps.sig_caps;
	const struct mlx5dv_crypto_caps *crypto = &caps.crypto_caps;

	must(!mlx5dv_query_device(s->context, &caps), "mlx5dv_query_device");
	step("mask 0x%llx", (unsigned long long)caps.comp_mask);
	step("signatures: blocks 0x%llx kinds 0x%x guards 0x%x CRCs 0x%x",
	     (unsigned long long)sig->block_size, sig->block_prot, sig->t10dif_bg, sig->crc_type);
	step("ciphers: tests 0x%x engines 0x%x methods 0x%x keys 2^%u flags 0x%x",
	     crypto->failed_selftests, crypto->crypto_engines, crypto->wrapped_import_method,
	     crypto->log_max_num_deks, crypto->flags);
}

static struct mlx5dv_mkey *key(struct script *s, uint32_t flags)
{
	struct mlx5dv_mkey_init_attr attr = { .pd = s->pd,
					      .create_flags =
						      MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT | flags,
					      .max_entries = 8 };
	struct mlx5dv_mkey *mkey;

	step("key with flags 0x%x", attr.create_flags);
	mkey = mlx5dv_create_mkey(&attr);
	must(mkey, "mlx5dv_create_mkey");
	return mkey;
}

static void ciphers(struct script *s)
{
	struct mlx5dv_crypto_login_attr login = { .credential_id = 0x123, .import_kek_id = 0x456 };
	struct mlx5dv_dek_init_attr attr = { .key_size = MLX5DV_CRYPTO_KEY_SIZE_256, .pd = s->pd };
	struct mlx5dv_mkey *mkey = key(s, MLX5DV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE |
						  MLX5DV_MKEY_INIT_ATTR_FLAGS_CRYPTO);
	struct mlx5dv_dek *dek;

	must(!mlx5dv_crypto_login(s->context, &login), "login");
	dek = mlx5dv_dek_create(s->context, &attr);
	must(dek, "mlx5dv_dek_create");
	queue_pair(s, 0);
	both(s, mkey, dek);
	script_qp_close(s);
	step("destroy: %d %d %d", mlx5dv_destroy_mkey(mkey), mlx5dv_dek_destroy(dek),
	     mlx5dv_crypto_logout(s->context));
}

int main(void)
{
	struct mlx5dv_mkey *mkey, *plain;
	struct script s = { 0 };

	script_open(&s);
	capabilities(&s);
	mkey = key(&s, MLX5DV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE);
	plain = key(&s, 0);
	queue_pair(&s, 0);
	difs(&s, mkey);
	script_qp_close(&s);
	queue_pair(&s, 0);
	crcs(&s, mkey);
	script_qp_close(&s);
	queue_pair(&s, MLX5DV_QP_CREATE_SIG_PIPELINING);
	errors(&s, mkey, plain);
	script_qp_close(&s);
	queue_pair(&s, 0);
	mistakes(&s, mkey, plain);
	script_qp_close(&s);
	step("destroy: %d %d", mlx5dv_destroy_mkey(mkey), mlx5dv_destroy_mkey(plain));
	ciphers(&s);
	script_close(&s);
	return 0;
}

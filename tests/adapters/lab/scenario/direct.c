/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Direct verbs of mlx5: commands to the firmware and what they make, pages and numbers of the
 * device, completion queues and queue pairs with attributes of their own, keys that requests
 * describe; and arguments that are refused.
 */
#include "tests/adapters/lab/scenario/script.h"

#include <errno.h>
#include <string.h>
#include <infiniband/mlx5dv.h>

enum {
	WORDS = 0x40,
	COMMAND = 16 * 4,
	ANSWER = 16 * 4,
	QUERY_LAG = 0x842,
	CREATE_COUNTER = 0x939,
	CREATE_OBJECT = 0xa00,
	MODIFY_OBJECT = 0xa01,
	QUERY_OBJECT = 0xa02,
	QUERY_QP = 0x50b,
	NONSENSE = 0x7777,
};

static uint32_t in[WORDS], out[WORDS];

static void command(unsigned opcode, uint32_t modifier)
{
	memset(in, 0, sizeof(in));
	memset(out, 0, sizeof(out));
	in[0] = htobe32(opcode << 16);
	in[1] = htobe32(modifier);
}

static void said(const char *what, int r)
{
	step("%s: %d status 0x%x", what, r, be32toh(out[0]) >> 24);
}

static void firmware(struct script *s)
{
	struct mlx5dv_devx_obj *object;
	struct mlx5dv_devx obj_out;
	struct mlx5dv_obj show = { .devx = { .out = &obj_out } };

	command(QUERY_LAG, 0);
	said("query lag", mlx5dv_devx_general_cmd(s->context, in, COMMAND, out, ANSWER));
	command(NONSENSE, 0);
	said("no such command", mlx5dv_devx_general_cmd(s->context, in, COMMAND, out, ANSWER));
	command(CREATE_OBJECT, 0x2c);
	in[3] = htobe32(2 << 24);
	in[8] = htobe32(0x12345678);
	object = mlx5dv_devx_obj_create(s->context, in, COMMAND, out, ANSWER);
	must(object, "mlx5dv_devx_obj_create");
	said("object", 0);
	command(QUERY_OBJECT, 0x2c);
	said("query", mlx5dv_devx_obj_query(object, in, COMMAND, out, ANSWER));
	step("said before: 0x%x", be32toh(out[8]));
	command(MODIFY_OBJECT, 0x2c);
	said("modify", mlx5dv_devx_obj_modify(object, in, COMMAND, out, ANSWER));
	show.devx.in = object;
	step("init_obj: %d", mlx5dv_init_obj(&show, MLX5DV_OBJ_DEVX));
	said("destroy", mlx5dv_devx_obj_destroy(object));
}

static void of_verbs(struct script *s)
{
	command(QUERY_QP, 0);
	in[2] = htobe32(s->qp->qp_num);
	said("query a queue pair", mlx5dv_devx_qp_query(s->qp, in, COMMAND, out, 0x80));
	step("state 0x%x", be32toh(out[6]) >> 28);
	said("query a completion queue", mlx5dv_devx_cq_query(s->send_cq, in, COMMAND, out, 0x80));
}

static void memory(struct script *s)
{
	void *buffer = (void *)(uintptr_t)SCRIPT_BUFFER;
	struct mlx5dv_devx_umem_in umem_in = {
		.addr = buffer, .size = 8192, .access = 1, .pgsz_bitmap = 4096
	};
	struct mlx5dv_devx_umem *umem =
		mlx5dv_devx_umem_reg(s->context, buffer, 4096, IBV_ACCESS_LOCAL_WRITE);

	must(umem, "mlx5dv_devx_umem_reg");
	step("umem 0x%x", umem->umem_id);
	step("dereg: %d", mlx5dv_devx_umem_dereg(umem));
	umem = mlx5dv_devx_umem_reg_ex(s->context, &umem_in);
	must(umem, "mlx5dv_devx_umem_reg_ex");
	step("dereg: %d", mlx5dv_devx_umem_dereg(umem));
	umem_in.comp_mask = 2;
	umem = mlx5dv_devx_umem_reg_ex(s->context, &umem_in);
	step("unknown comp_mask: %s, errno %d", umem ? "taken" : "refused", errno);
	umem_in.comp_mask = MLX5DV_UMEM_MASK_DMABUF;
	umem_in.dmabuf_fd = -1;
	umem = mlx5dv_devx_umem_reg_ex(s->context, &umem_in);
	step("no descriptor: %s, errno %d", umem ? "taken" : "refused", errno);
}

static void pages(struct script *s)
{
	struct mlx5dv_devx_uar *uar = mlx5dv_devx_alloc_uar(s->context, MLX5DV_UAR_ALLOC_TYPE_BF);
	struct mlx5dv_var *var = mlx5dv_alloc_var(s->context, 0);
	uint8_t rate[48] = { 1 };
	struct mlx5dv_pp *pp = mlx5dv_pp_alloc(s->context, sizeof(rate), rate, 1);
	uint32_t eqn = 0;

	must(uar && var && pp, "pages");
	step("uar 0x%x register at 0x%tx", uar->page_id,
	     (char *)uar->reg_addr - (char *)uar->base_addr);
	step("var 0x%x length 0x%x", var->page_id, var->length);
	step("pp 0x%x", pp->index);
	mlx5dv_devx_free_uar(uar);
	mlx5dv_free_var(var);
	mlx5dv_pp_free(pp);
	must(!mlx5dv_devx_query_eqn(s->context, 1, &eqn), "mlx5dv_devx_query_eqn");
	step("eqn: 0x%x", eqn);
	var = mlx5dv_alloc_var(s->context, 0x80);
	step("unknown flags of a var: %s, errno %d", var ? "taken" : "refused", errno);
	uar = mlx5dv_devx_alloc_uar(s->context, 0x80);
	step("unknown flags of a uar: %s, errno %d", uar ? "taken" : "refused", errno);
}

static void events(struct script *s)
{
	struct mlx5dv_devx_event_channel *channel = mlx5dv_devx_create_event_channel(
		s->context, MLX5DV_DEVX_CREATE_EVENT_CHANNEL_FLAGS_OMIT_EV_DATA);
	struct mlx5dv_devx_cmd_comp *comp = mlx5dv_devx_create_cmd_comp(s->context);
	uint8_t answer[sizeof(struct mlx5dv_devx_async_cmd_hdr) + ANSWER] = { 0 };
	struct mlx5dv_devx_async_cmd_hdr *head = (void *)answer;
	uint16_t types[] = { 0x13, 0x1b };
	struct mlx5dv_devx_obj *object;

	must(channel && comp, "descriptors");
	command(CREATE_COUNTER, 0);
	object = mlx5dv_devx_obj_create(s->context, in, COMMAND, out, ANSWER);
	must(object, "mlx5dv_devx_obj_create");
	step("subscribe: %d",
	     mlx5dv_devx_subscribe_devx_event(channel, object, sizeof(types), types, 0x1122334455));
	step("of the device: %d",
	     mlx5dv_devx_subscribe_devx_event(channel, NULL, sizeof(types[0]), types, 7));
	step("query: %d", mlx5dv_devx_obj_query_async(object, in, COMMAND, ANSWER, 0xabcd, comp));
	step("answer: %d", mlx5dv_devx_get_async_cmd_comp(comp, head, sizeof(answer)));
	step("of 0x%llx", (unsigned long long)head->wr_id);
	mlx5dv_devx_destroy_cmd_comp(comp);
	mlx5dv_devx_destroy_event_channel(channel);
	step("destroy: %d", mlx5dv_devx_obj_destroy(object));
}

static void shared(struct script *s)
{
	struct mlx5dv_cq_init_attr cq_dv = { .comp_mask = MLX5DV_CQ_INIT_ATTR_MASK_CQE_SIZE,
					     .cqe_size = 128 };
	struct ibv_cq_init_attr_ex attr = { .cqe = 15, .wc_flags = IBV_WC_STANDARD_FLAGS };
	struct ibv_cq_ex *cq = mlx5dv_create_cq(s->context, &attr, &cq_dv);
	struct mlx5dv_cq shown;
	struct mlx5dv_obj show;

	must(cq, "mlx5dv_create_cq");
	show.cq.in = ibv_cq_ex_to_cq(cq);
	show.cq.out = &shown;
	step("init_obj: %d", mlx5dv_init_obj(&show, MLX5DV_OBJ_CQ));
	step("entries %u of %u bytes, cqn 0x%x", shown.cqe_cnt, shown.cqe_size, shown.cqn);
	must(!ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), "ibv_destroy_cq");
	cq_dv.cqe_size = 96;
	cq = mlx5dv_create_cq(s->context, &attr, &cq_dv);
	step("entries of 96 bytes: %s, errno %d", cq ? "taken" : "refused", errno);
	cq_dv.comp_mask = 0x10;
	cq = mlx5dv_create_cq(s->context, &attr, &cq_dv);
	step("unknown comp_mask: %s, errno %d", cq ? "taken" : "refused", errno);
	cq_dv.comp_mask = MLX5DV_CQ_INIT_ATTR_MASK_COMPRESSED_CQE;
	cq_dv.cqe_comp_res_format = MLX5DV_CQE_RES_FORMAT_HASH;
	cq = mlx5dv_create_cq(s->context, &attr, &cq_dv);
	step("compression that the device has not: %s, errno %d", cq ? "taken" : "refused", errno);
}

/* ---- keys */

static void post(struct ibv_qp_ex *ex, const char *what)
{
	step("%s: %d", what, ibv_wr_complete(ex));
}

static void begin(struct ibv_qp_ex *ex, uint64_t wr_id)
{
	ibv_wr_start(ex);
	ex->wr_id = wr_id;
	ex->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
}

static struct ibv_qp *qp_of_keys(struct script *s)
{
	struct mlx5dv_qp_init_attr dv = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS |
			     MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS,
		.create_flags = MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE,
		.send_ops_flags = MLX5DV_QP_EX_WITH_MR_INTERLEAVED | MLX5DV_QP_EX_WITH_MR_LIST |
				  MLX5DV_QP_EX_WITH_MKEY_CONFIGURE | MLX5DV_QP_EX_WITH_RAW_WQE,
	};
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = s->send_cq,
		.recv_cq = s->recv_cq,
		.cap = { .max_send_wr = 16,
			 .max_recv_wr = 4,
			 .max_send_sge = 2,
			 .max_recv_sge = 1,
			 .max_inline_data = 256 },
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = s->pd,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
	};
	struct ibv_qp *qp = mlx5dv_create_qp(s->context, &attr, &dv);

	must(qp, "mlx5dv_create_qp");
	step("granted: wr %u inline %u", attr.cap.max_send_wr, attr.cap.max_inline_data);
	dv.create_flags = 1u << 30;
	step("unknown create_flags: %s, errno %d",
	     mlx5dv_create_qp(s->context, &attr, &dv) ? "taken" : "refused", errno);
	return qp;
}

static void describe(struct ibv_qp_ex *ex, struct mlx5dv_mkey *mkey, const struct script *s)
{
	struct mlx5dv_qp_ex *dv = mlx5dv_qp_ex_from_ibv_qp_ex(ex);
	struct mlx5dv_mr_interleaved pieces[2] = {
		{ .addr = SCRIPT_BUFFER, .bytes_count = 64, .bytes_skip = 16, .lkey = s->mr->lkey },
		{ .addr = SCRIPT_BUFFER + 4096,
		  .bytes_count = 32,
		  .bytes_skip = 32,
		  .lkey = s->mr->lkey },
	};
	struct mlx5dv_mkey_conf_attr conf = { 0 };
	struct ibv_sge sge[20];

	for (int i = 0; i < 20; i++)
		sge[i] = script_sge(s, 512 * i, 100 + i);
	/* Often enough that the ring ends within one. */
	for (int i = 0; i < 10; i++) {
		begin(ex, 0x100 + i);
		mlx5dv_wr_mr_list(dv, mkey, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ, 1 + i,
				  sge);
		post(ex, "list");
		script_complete((struct script *)s, false, 0, IBV_WR_BIND_MW, (struct ibv_wc){ 0 });
	}
	begin(ex, 0x200);
	mlx5dv_wr_mr_interleaved(dv, mkey, IBV_ACCESS_LOCAL_WRITE, 5, 2, pieces);
	post(ex, "interleaved");
	begin(ex, 0x201);
	mlx5dv_wr_mkey_configure(dv, mkey, 2, &conf);
	mlx5dv_wr_set_mkey_layout_list(dv, 2, sge);
	mlx5dv_wr_set_mkey_access_flags(dv, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE |
						    IBV_ACCESS_REMOTE_ATOMIC);
	post(ex, "configured");
}

static void mistakes(struct ibv_qp_ex *ex, struct mlx5dv_mkey *mkey, const struct script *s)
{
	struct mlx5dv_qp_ex *dv = mlx5dv_qp_ex_from_ibv_qp_ex(ex);
	struct mlx5dv_mkey_conf_attr conf = { 0 };
	struct ibv_sge sge[40];

	for (int i = 0; i < 40; i++)
		sge[i] = script_sge(s, 512 * i, 100 + i);
	begin(ex, 0x300);
	ex->wr_flags = IBV_SEND_SIGNALED;
	mlx5dv_wr_mkey_configure(dv, mkey, 0, &conf);
	post(ex, "not inline");
	begin(ex, 0x301);
	mlx5dv_wr_mr_list(dv, mkey, IBV_ACCESS_LOCAL_WRITE, 40, sge);
	post(ex, "too long");
	begin(ex, 0x302);
	mlx5dv_wr_mr_list(dv, mkey, IBV_ACCESS_MW_BIND, 1, sge);
	post(ex, "unknown access");
	begin(ex, 0x303);
	mlx5dv_wr_mkey_configure(dv, mkey, 2, &conf);
	mlx5dv_wr_set_mkey_access_flags(dv, IBV_ACCESS_LOCAL_WRITE);
	mlx5dv_wr_set_mkey_access_flags(dv, IBV_ACCESS_LOCAL_WRITE);
	post(ex, "access twice");
}

static void raw(struct ibv_qp_ex *ex)
{
	struct mlx5dv_qp_ex *dv = mlx5dv_qp_ex_from_ibv_qp_ex(ex);
	struct {
		struct mlx5_wqe_ctrl_seg ctrl;
		struct mlx5_wqe_data_seg data;
	} wqe = { 0 };

	mlx5dv_set_ctrl_seg(&wqe.ctrl, 0x1234, MLX5_OPCODE_SEND, 0, ex->qp_base.qp_num,
			    MLX5_WQE_CTRL_CQ_UPDATE, 2, 0, 0);
	mlx5dv_set_data_seg(&wqe.data, 64, 0x1100, SCRIPT_BUFFER);
	begin(ex, 0x400);
	mlx5dv_wr_raw_wqe(dv, &wqe);
	post(ex, "raw");
	begin(ex, 0x401);
	ibv_wr_send(ex);
	ibv_wr_set_sge(ex, 0x1100, SCRIPT_BUFFER, 16);
	post(ex, "send");
}

static void keys(struct script *s)
{
	struct mlx5dv_mkey_init_attr attr = { .pd = s->pd,
					      .create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT,
					      .max_entries = 13 };
	struct mlx5dv_mkey *mkey = mlx5dv_create_mkey(&attr);
	struct ibv_qp *qp = s->qp, *of_keys = qp_of_keys(s);
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(of_keys);

	must(mkey, "mlx5dv_create_mkey");
	step("key 0x%x entries %u", mkey->lkey, attr.max_entries);
	s->qp = of_keys;
	script_modify(s, IBV_QPS_INIT);
	script_modify(s, IBV_QPS_RTR);
	script_modify(s, IBV_QPS_RTS);
	describe(ex, mkey, s);
	raw(ex);
	mistakes(ex, mkey, s);
	must(!ibv_destroy_qp(of_keys), "ibv_destroy_qp");
	s->qp = qp;
	step("destroy: %d", mlx5dv_destroy_mkey(mkey));
	attr.create_flags = 0x1000;
	mkey = mlx5dv_create_mkey(&attr);
	step("unknown flags: %s, errno %d", mkey ? "taken" : "refused", errno);
}

static void crypto(struct script *s)
{
	struct mlx5dv_crypto_login_attr login = { .credential_id = 0x123, .import_kek_id = 0x456 };
	struct mlx5dv_dek_init_attr attr = {
		.key_size = MLX5DV_CRYPTO_KEY_SIZE_256,
		.has_keytag = true,
		.pd = s->pd,
		.opaque = "opaque",
	};
	enum mlx5dv_crypto_login_state state = 99;
	struct mlx5dv_dek_attr shown = { 0 };
	struct mlx5dv_dek *dek;

	memset(login.credential, 0x5a, sizeof(login.credential));
	memset(attr.key, 0xa5, sizeof(attr.key));
	dek = mlx5dv_dek_create(s->context, &attr);
	step("key without a login: %s, errno %d", dek ? "taken" : "refused", errno);
	step("state: %d", mlx5dv_crypto_login_query_state(s->context, &state));
	step("no login: %d", state);
	step("login: %d", mlx5dv_crypto_login(s->context, &login));
	step("again: %d", mlx5dv_crypto_login(s->context, &login));
	step("state: %d", mlx5dv_crypto_login_query_state(s->context, &state));
	step("login: %d", state);
	dek = mlx5dv_dek_create(s->context, &attr);
	must(dek, "mlx5dv_dek_create");
	step("query: %d", mlx5dv_dek_query(dek, &shown));
	step("state %d of %.8s", shown.state, shown.opaque);
	step("destroy: %d", mlx5dv_dek_destroy(dek));
	step("logout: %d", mlx5dv_crypto_logout(s->context));
	step("again: %d", mlx5dv_crypto_logout(s->context));
	login.credential_id = 1u << 24;
	step("an id of 25 bits: %d", mlx5dv_crypto_login(s->context, &login));
}

static void numbers(struct script *s)
{
	uint32_t qpn[6] = { 0 };

	for (int i = 0; i < 6; i++) {
		must(!mlx5dv_reserved_qpn_alloc(s->context, &qpn[i]), "mlx5dv_reserved_qpn_alloc");
		step("qpn 0x%x", qpn[i]);
	}
	for (int i = 0; i < 5; i++)
		step("give back: %d", mlx5dv_reserved_qpn_dealloc(s->context, qpn[i]));
	step("none: %d", mlx5dv_reserved_qpn_dealloc(s->context, 0x777777));
}

int main(void)
{
	const struct ibv_qp_cap cap = {
		.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1
	};
	struct script s = { 0 };

	script_open(&s);
	script_qp(&s, IBV_QPT_RC, &cap);
	firmware(&s);
	of_verbs(&s);
	memory(&s);
	pages(&s);
	events(&s);
	shared(&s);
	keys(&s);
	crypto(&s);
	numbers(&s);
	script_qp_close(&s);
	script_close(&s);
	return 0;
}

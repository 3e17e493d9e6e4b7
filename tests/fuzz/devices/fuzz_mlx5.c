/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mlx5 on a hostile kernel and a hostile device: verbs, DC, and direct verbs whose answers the
 * firmware gives. */
#include "tests/fuzz/devices/session.h"

#include <poll.h>
#include <infiniband/mlx5dv.h>
#include "tests/adapters/lab/shim/shim.h"

enum {
	ANSWER = 64,
	EVENT = 128,
};

static struct ibv_qp *create_qp(struct session *s, struct ibv_qp_init_attr_ex *attr)
{
	uint8_t how = input_u8(s->in);
	struct mlx5dv_qp_init_attr dv = {
		.comp_mask = input_u8(s->in) & 0xf,
		.create_flags = input_u16(s->in),
		.send_ops_flags = input_u8(s->in) & 0x3f,
		.dc_init_attr = { .dc_type = how & 1 ? MLX5DV_DCTYPE_DCT : MLX5DV_DCTYPE_DCI },
	};

	if (how & 2) {
		attr->qp_type = IBV_QPT_DRIVER;
		dv.comp_mask |= MLX5DV_QP_INIT_ATTR_MASK_DC;
		if (how & 1)
			attr->comp_mask = IBV_QP_INIT_ATTR_PD;
	}
	return mlx5dv_create_qp(s->context, attr, &dv);
}

/* Post a request that only mlx5 has, on a queue pair that supports it. */
static void post(struct session *s, struct ibv_qp *qp)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp);
	struct mlx5dv_qp_ex *dv = ex && ex->wr_start ? mlx5dv_qp_ex_from_ibv_qp_ex(ex) : NULL;
	struct mlx5_wqe_ctrl_seg raw[64] = { { 0 } };
	struct ibv_sge sge = session_sge(s);

	if (!dv)
		return;
	ibv_wr_start(ex);
	ex->wr_flags = input_u8(s->in);
	if (dv->wr_raw_wqe && input_u8(s->in) & 1) {
		input_bytes(s->in, raw, 64);
		mlx5dv_wr_raw_wqe(dv, raw);
	}
	if (dv->wr_memcpy && input_u8(s->in) & 1)
		mlx5dv_wr_memcpy(dv, sge.lkey, sge.addr, sge.lkey, sge.addr, sge.length);
	if (dv->wr_set_dc_addr && s->ah) {
		if (ex->wr_send)
			ibv_wr_send(ex);
		mlx5dv_wr_set_dc_addr(dv, s->ah, input_u32(s->in), 1);
		ibv_wr_set_sge(ex, sge.lkey, sge.addr, sge.length);
	}
	ibv_wr_complete(ex);
}

static struct mlx5dv_sig_block_domain domain(struct session *s, struct mlx5dv_sig_t10dif *dif,
					     struct mlx5dv_sig_crc *crc)
{
	bool is_crc = input_u8(s->in) & 1;
	struct mlx5dv_sig_block_domain domain = { .sig_type = is_crc ? MLX5DV_SIG_TYPE_CRC
								     : MLX5DV_SIG_TYPE_T10DIF,
						  .block_size = input_u8(s->in) & 7 };

	*dif = (struct mlx5dv_sig_t10dif){ .bg_type = input_u8(s->in) & 3,
					   .bg = input_u8(s->in) & 1 ? 0xffff : 0,
					   .app_tag = input_u16(s->in),
					   .flags = input_u8(s->in) & 0xf };
	*crc = (struct mlx5dv_sig_crc){ .type = input_u8(s->in) & 3 };
	if (is_crc)
		domain.sig.crc = crc;
	else
		domain.sig.dif = dif;
	return domain;
}

/* Post a request that describes the key: its list, and the signatures of both sides. */
static void describe(struct session *s, struct ibv_qp *qp, struct mlx5dv_mkey *mkey)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp);
	struct mlx5dv_qp_ex *dv = ex && ex->wr_start ? mlx5dv_qp_ex_from_ibv_qp_ex(ex) : NULL;
	uint8_t how = input_u8(s->in);
	struct mlx5dv_mkey_conf_attr conf = { .conf_flags = how >> 7 };
	struct mlx5dv_sig_t10dif dif[2];
	struct mlx5dv_sig_crc crc[2];
	struct mlx5dv_sig_block_domain mem = domain(s, &dif[0], &crc[0]),
				       wire = domain(s, &dif[1], &crc[1]);
	struct mlx5dv_sig_block_attr attr = { .mem = how & 1 ? &mem : NULL,
					      .wire = how & 2 ? &wire : NULL,
					      .flags = how >> 2 & 1,
					      .check_mask = how };
	struct ibv_sge sge[4];

	for (int i = 0; i < 4; i++)
		sge[i] = session_sge(s);
	if (!dv || !dv->wr_mkey_configure)
		return;
	ibv_wr_start(ex);
	ex->wr_flags = IBV_SEND_INLINE | (how & 8 ? IBV_SEND_SIGNALED : 0);
	mlx5dv_wr_mkey_configure(dv, mkey, how >> 4 & 3, &conf);
	mlx5dv_wr_set_mkey_sig_block(dv, &attr);
	mlx5dv_wr_set_mkey_layout_list(dv, input_u8(s->in) % 5, sge);
	ibv_wr_complete(ex);
}

/* Let the adapter report a wrong signature, for this key or any other. */
static void signature_error(struct session *s, const struct mlx5dv_mkey *mkey)
{
	uint32_t count = object_count(OBJECT_CQ);
	struct object *cq = count ? object_at(OBJECT_CQ, input_u8(s->in) % count) : NULL;
	uint32_t key = htobe32(mkey->lkey);
	uint8_t entry[64];

	input_bytes(s->in, entry, sizeof(entry));
	if (input_u8(s->in) & 1)
		memcpy(entry + 36, &key, sizeof(key));
	entry[63] = 0xc << 4;
	if (cq && device->room(cq))
		device->entry(cq, entry, sizeof(entry));
}

static void signatures(struct session *s, struct ibv_qp *qp)
{
	struct mlx5dv_mkey_init_attr attr = {
		.pd = s->pd,
		.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT |
				MLX5DV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE |
				(input_u8(s->in) & 1 ? MLX5DV_MKEY_INIT_ATTR_FLAGS_CRYPTO : 0),
		.max_entries = 4
	};
	struct mlx5dv_mkey *mkey = mlx5dv_create_mkey(&attr);
	struct mlx5dv_mkey_err err;
	struct ibv_wc wc[4];

	if (!mkey)
		return;
	for (unsigned n = input_u8(s->in) & 3; n; n--) {
		if (qp)
			describe(s, qp, mkey);
		signature_error(s, mkey);
		for (int i = 0; i < 2; i++) {
			if (s->cq[i])
				ibv_poll_cq(s->cq[i], 4, wc);
		}
		mlx5dv_mkey_check(mkey, &err);
	}
	mlx5dv_destroy_mkey(mkey);
}

/* ---- tag matching */

static void tag_post(struct session *s, struct ibv_srq *srq)
{
	struct ibv_sge sge[2] = { session_sge(s), session_sge(s) };
	struct ibv_ops_wr *bad, op = {
		.wr_id = input_u8(s->in),
		.opcode = input_u8(s->in) % 5,
		.flags = input_u8(s->in),
		.tm = { .unexpected_cnt = input_u8(s->in),
			.handle = input_u8(s->in) % 8 ? input_u8(s->in) % 8 : input_u32(s->in),
			.add = { .recv_wr_id = input_u8(s->in),
				 .sg_list = sge,
				 .num_sge = input_u8(s->in) % 8 ? 1 : input_u8(s->in) % 3,
				 .tag = input_u8(s->in),
				 .mask = input_u8(s->in) } },
	};

	if (ibv_post_srq_ops(srq, &op, &bad))
		MUST(bad == &op);
}

/* Let the adapter complete an operation or a message, for this index or any other. */
static void tag_entry(struct session *s, struct object *cq)
{
	struct mlx5_cqe64 entry;

	input_bytes(s->in, &entry, sizeof(entry));
	entry.app = input_u8(s->in) % 8 ? 1 : entry.app;
	entry.app_op %= 16;
	entry.app_info = htobe16(input_u8(s->in) % 8 ? be16toh(entry.app_info) % 8
						     : be16toh(entry.app_info));
	entry.byte_cnt = htobe32(input_u8(s->in) % 8 ? be32toh(entry.byte_cnt) % 128
						     : be32toh(entry.byte_cnt));
	entry.srqn_uidx = htobe32(be32toh(entry.srqn_uidx) % 8);
	entry.op_own = (entry.op_own & 0xc) |
		       (input_u8(s->in) & 1 ? MLX5_CQE_NO_PACKET : MLX5_CQE_RESP_SEND) << 4;
	if (device->room(cq))
		device->entry(cq, &entry, sizeof(entry));
}

static void tag_poll(struct ibv_cq_ex *cq)
{
	struct ibv_poll_cq_attr attr = {};
	struct ibv_wc_tm_info info;

	if (ibv_start_poll(cq, &attr))
		return;
	ibv_wc_read_opcode(cq);
	ibv_wc_read_wc_flags(cq);
	ibv_wc_read_byte_len(cq);
	ibv_wc_read_tm_info(cq, &info);
	ibv_end_poll(cq);
}

/* An SRQ that matches tags, with its own completion queue. */
static void tags(struct session *s)
{
	struct ibv_cq_init_attr_ex queue = { .cqe = 1 + input_u8(s->in) % 64,
					     .wc_flags = IBV_WC_EX_WITH_TM_INFO |
							 IBV_WC_EX_WITH_BYTE_LEN };
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = input_u8(s->in), .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ |
			     IBV_SRQ_INIT_ATTR_TM,
		.srq_type = IBV_SRQT_TM,
		.pd = s->pd,
		.tm_cap = { .max_num_tags = input_u8(s->in), .max_ops = input_u8(s->in) },
	};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(s->context, &queue);
	struct object *of = object_at(OBJECT_CQ, object_count(OBJECT_CQ) - 1);
	struct ibv_recv_wr recv = {}, *bad;
	struct ibv_srq *srq;

	if (!cq)
		return;
	attr.cq = ibv_cq_ex_to_cq(cq);
	srq = ibv_create_srq_ex(s->context, &attr);
	for (unsigned int n = input_u8(s->in) % 64; srq && n; n--) {
		switch (input_u8(s->in) % 4) {
		case 0:
			ibv_post_srq_recv(srq, &recv, &bad);
			break;
		case 1:
			tag_post(s, srq);
			break;
		default:
			tag_entry(s, of);
			tag_poll(cq);
			break;
		}
	}
	MUST(!srq || !ibv_destroy_srq(srq));
	MUST(!ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
}

static void objects(struct session *s)
{
	struct mlx5dv_mkey_init_attr key = { .pd = s->pd,
					     .create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT,
					     .max_entries = input_u8(s->in) };
	struct mlx5dv_sched_attr root = { 0 };
	struct mlx5dv_mkey *mkey = mlx5dv_create_mkey(&key);
	struct mlx5dv_sched_node *node = mlx5dv_sched_node_create(s->context, &root);
	struct mlx5dv_devx_uar *uar = mlx5dv_devx_alloc_uar(s->context, input_u8(s->in) & 3);
	struct mlx5dv_devx_umem *umem = mlx5dv_devx_umem_reg(s->context, s->buffer, 4096, 1);
	uint32_t qpn;

	if (!mlx5dv_reserved_qpn_alloc(s->context, &qpn))
		mlx5dv_reserved_qpn_dealloc(s->context, qpn);
	if (s->ah)
		mlx5dv_map_ah_to_qp(s->ah, 1);
	if (umem)
		mlx5dv_devx_umem_dereg(umem);
	if (uar)
		mlx5dv_devx_free_uar(uar);
	if (node)
		mlx5dv_sched_node_destroy(node);
	if (mkey)
		mlx5dv_destroy_mkey(mkey);
}

/* Let the firmware return a record with any bytes, of any length up to the requested one. */
static void events(struct session *s)
{
	struct mlx5dv_devx_event_channel *channel =
		mlx5dv_devx_create_event_channel(s->context, input_u8(s->in) & 1);
	union {
		struct mlx5dv_devx_async_event_hdr head;
		uint8_t bytes[EVENT];
	} event;
	uint8_t record[EVENT];
	uint8_t length = input_u8(s->in) % (EVENT + 1);
	struct pollfd there;

	if (!channel)
		return;
	input_bytes(s->in, record, sizeof(record));
	if (length)
		event_write(channel->fd, record, length);
	there = (struct pollfd){ .fd = channel->fd, .events = POLLIN };
	if (poll(&there, 1, 0) > 0)
		MUST(mlx5dv_devx_get_event(channel, &event.head, sizeof(event)) <=
		     (ssize_t)sizeof(event));
	mlx5dv_devx_destroy_event_channel(channel);
}

static void step(struct session *s)
{
	struct ibv_qp *qp = s->qp[input_u8(s->in) % SESSION_QPS];
	uint32_t in[ANSWER / 4] = { 0 }, out[ANSWER / 4];
	uint8_t port, active;

	switch (input_u8(s->in) % 8) {
	case 0:
		objects(s);
		break;
	case 1:
		events(s);
		break;
	case 2:
		input_bytes(s->in, in, sizeof(in));
		mlx5dv_devx_general_cmd(s->context, in, sizeof(in), out, sizeof(out));
		break;
	case 3:
		if (qp)
			mlx5dv_query_qp_lag_port(qp, &port, &active);
		break;
	case 4:
		if (qp && ibv_qp_to_qp_ex(qp))
			mlx5dv_qp_cancel_posted_send_wrs(
				mlx5dv_qp_ex_from_ibv_qp_ex(ibv_qp_to_qp_ex(qp)), input_u8(s->in));
		break;
	case 5:
		if (qp)
			post(s, qp);
		break;
	case 6:
		signatures(s, qp);
		break;
	case 7:
		tags(s);
		break;
	}
}

const struct played played = {
	.devices = { &device_mlx5, &device_mlx5_dynamic, &device_mlx5_full },
	.step = step,
	.create_qp = create_qp,
};

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queue pairs: creation, every transition with every attribute mask, every attribute's values. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "verdicts.h"

#define STATES	  (IBV_QPS_ERR + 1)
#define MASK_BITS 26 /* those of the API, and some unknown ones */

/* ---- creation ---- */

static struct ibv_qp_init_attr_ex init_good(enum ibv_qp_type type)
{
	return (struct ibv_qp_init_attr_ex){
		.send_cq = b.cq,
		.recv_cq = b.cq,
		.cap = { 4, 4, 1, 1, 0 },
		.qp_type = type,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = b.pd,
	};
}

static void create_ex_try(const char *what, unsigned long long value,
			  struct ibv_qp_init_attr_ex init)
{
	struct ibv_qp *qp = ibv_create_qp_ex(b.ctx, &init);

	say(ERROR_OF(qp), "create_qp_ex type %d %s 0x%llx", init.qp_type, what, value);
	if (qp)
		ibv_destroy_qp(qp);
}

static void create_try(const char *what, unsigned int value, const struct ibv_qp_init_attr_ex *ex)
{
	struct ibv_qp_init_attr init = {
		.send_cq = ex->send_cq,
		.recv_cq = ex->recv_cq,
		.srq = ex->srq,
		.cap = ex->cap,
		.qp_type = ex->qp_type,
		.sq_sig_all = ex->sq_sig_all,
	};
	struct ibv_qp *qp = ibv_create_qp(ex->pd, &init);

	say(ERROR_OF(qp), "create_qp type %d %s %u, %u %u %u %u %u", ex->qp_type, what, value,
	    init.cap.max_send_wr, init.cap.max_recv_wr, init.cap.max_send_sge,
	    init.cap.max_recv_sge, init.cap.max_inline_data);
	if (qp)
		ibv_destroy_qp(qp);
}

#define CAP_TRY(type, with_srq, member, ...)                                               \
	do {                                                                               \
		const uint32_t values[] = { __VA_ARGS__ };                                 \
                                                                                           \
		for (int i = 0; i < COUNT(values); i++) {                                  \
			struct ibv_qp_init_attr_ex init = init_good(type);                 \
                                                                                           \
			init.srq = with_srq;                                               \
			init.cap.member = values[i];                                       \
			create_try(with_srq ? "srq " #member : #member, values[i], &init); \
		}                                                                          \
	} while (0)

static void create_caps(enum ibv_qp_type type, struct ibv_srq *srq)
{
	uint32_t wr = b.device.max_qp_wr, sge = b.device.max_sge;

	CAP_TRY(type, srq, max_send_wr, 0, 1, 2, 3, 64, wr, wr + 1, INT_MAX, UINT_MAX);
	CAP_TRY(type, srq, max_recv_wr, 0, 1, 2, 3, 64, wr, wr + 1, INT_MAX, UINT_MAX);
	CAP_TRY(type, srq, max_send_sge, 0, 1, 2, sge, sge + 1, 1000, UINT_MAX);
	CAP_TRY(type, srq, max_recv_sge, 0, 1, 2, sge, sge + 1, 1000, UINT_MAX);
	CAP_TRY(type, srq, max_inline_data, 0, 1, 16, 17, 100, 400, 512, 513, 1 << 20, UINT_MAX);
}

static void create_of_type(enum ibv_qp_type type)
{
	struct ibv_srq_init_attr srq_init = { .attr = { .max_wr = 10, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(b.pd, &srq_init);
	struct ibv_qp_init_attr_ex init;

	create_caps(type, NULL);
	create_caps(type, srq);
	init = init_good(type);
	init.sq_sig_all = 77;
	create_try("sq_sig_all", 77, &init);
	for (int bit = 0; bit < 32; bit++) {
		init = init_good(type);
		init.comp_mask |= 1u << bit;
		if (1u << bit != IBV_QP_INIT_ATTR_IND_TABLE &&
		    1u << bit != IBV_QP_INIT_ATTR_RX_HASH)
			create_ex_try("comp_mask", init.comp_mask, init);
		init = init_good(type);
		init.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
		init.create_flags = 1u << bit;
		create_ex_try("create_flags", init.create_flags, init);
		init = init_good(type);
		init.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		init.send_ops_flags = 1ull << bit;
		create_ex_try("send_ops_flags", init.send_ops_flags, init);
	}
	ibv_destroy_srq(srq);
}

void try_create_qp(void)
{
	static const enum ibv_qp_type known[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };
	static const enum ibv_qp_type other[] = {
		0, 1, 5, 7, IBV_QPT_RAW_PACKET, 77, 254, IBV_QPT_DRIVER
	};

	for (int i = 0; i < COUNT(known); i++)
		create_of_type(known[i]);
	for (int i = 0; i < COUNT(other); i++) {
		struct ibv_qp_init_attr_ex init = init_good(other[i]);

		create_try("plain", 0, &init);
		create_ex_try("plain", 0, init);
	}
}

/* ---- states ---- */

/* Return values that are valid in every state. */
static struct ibv_qp_attr attr_good(enum ibv_qp_state next, enum ibv_qp_state cur)
{
	return (struct ibv_qp_attr){
		.qp_state = next,
		.cur_qp_state = cur,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = 17,
		.port_num = 1,
		.max_rd_atomic = 1,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.cap = { 4, 4, 1, 1, 0 },
		.ah_attr = {
			.is_global = 1,
			.port_num = 1,
			.grh = { .sgid_index = b.gid_index, .hop_limit = 64, .dgid = b.gid },
		},
	};
}

#define TO_INIT (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT)
#define TO_RTR	(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define TO_RTS	(IBV_QP_STATE | IBV_QP_SQ_PSN)
#define RC_RTR	(IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RC_RTS	(IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC)

static int mask_to(enum ibv_qp_type type, enum ibv_qp_state cur, enum ibv_qp_state next)
{
	bool rc = type == IBV_QPT_RC, ud = type == IBV_QPT_UD;

	if (next == IBV_QPS_INIT && cur == IBV_QPS_RESET)
		return TO_INIT | (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
	if (next == IBV_QPS_RTR && cur == IBV_QPS_INIT)
		return ud ? IBV_QP_STATE : rc ? TO_RTR | RC_RTR : TO_RTR;
	if (next == IBV_QPS_RTS && cur == IBV_QPS_RTR)
		return rc ? TO_RTS | RC_RTS : TO_RTS;
	return IBV_QP_STATE;
}

/* The states on the way from RESET to each state. */
static const enum ibv_qp_state way[STATES][4] = {
	[IBV_QPS_INIT] = { IBV_QPS_INIT },
	[IBV_QPS_RTR] = { IBV_QPS_INIT, IBV_QPS_RTR },
	[IBV_QPS_RTS] = { IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS },
	[IBV_QPS_SQD] = { IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQD },
	[IBV_QPS_ERR] = { IBV_QPS_INIT, IBV_QPS_ERR },
};

static void qp_lead(struct ibv_qp *qp, enum ibv_qp_state state, uint32_t dest)
{
	enum ibv_qp_state at = IBV_QPS_RESET;

	for (int i = 0; i < 4 && way[state][i]; at = way[state][i++]) {
		struct ibv_qp_attr attr = attr_good(way[state][i], at);

		attr.dest_qp_num = dest;
		attr.qp_access_flags =
			IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
		must(!ibv_modify_qp(qp, &attr, mask_to(qp->qp_type, at, way[state][i])),
		     "on the way to a state");
	}
}

void qp_connect(struct ibv_qp *qp, uint32_t dest)
{
	qp_lead(qp, IBV_QPS_RTS, dest);
}

struct ibv_qp *qp_in(enum ibv_qp_type type, enum ibv_qp_state state, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = b.cq,
		.recv_cq = b.cq,
		.srq = srq,
		.cap = { 4, 4, 2, 2, 64 },
		.qp_type = type,
	};
	struct ibv_qp *qp = ibv_create_qp(b.pd, &init);

	must(qp, "ibv_create_qp");
	qp_lead(qp, state, 17);
	return qp;
}

/* Wait until the send queue is drained, which may take time after the move to SQD. Only SQD has
 * this delay. */
static void wait_drained(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	for (int i = 0; i < 1000; i++, usleep(1000))
		if (ibv_query_qp(qp, &attr, IBV_QP_STATE, &init) || attr.qp_state != IBV_QPS_SQD ||
		    !attr.sq_draining)
			return;
}

static void modify_try(enum ibv_qp_type type, enum ibv_qp_state cur, const char *what,
		       struct ibv_qp_attr *attr, int mask)
{
	struct ibv_qp *qp = qp_in(type, cur, NULL);
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr now = {};
	int r;

	wait_drained(qp);
	r = ibv_modify_qp(qp, attr, mask);
	ibv_query_qp(qp, &now, IBV_QP_STATE, &init);
	say(r, "modify_qp type %d, %d to %d mask 0x%x%s, in %d", type, cur,
	    mask & IBV_QP_STATE ? (int)attr->qp_state : (int)cur, mask, what, now.qp_state);
	ibv_destroy_qp(qp);
}

/* Whether this is a transition other than to RESET and ERR; qp_rules tries every mask of the
 * others. */
static bool is_step(enum ibv_qp_state cur, enum ibv_qp_state next)
{
	return next >= IBV_QPS_INIT && next <= IBV_QPS_SQD &&
	       (next == cur || next == cur + 1 || (cur == IBV_QPS_SQD && next == IBV_QPS_RTS));
}

static void try_masks(enum ibv_qp_type type)
{
	for (enum ibv_qp_state cur = 0; cur < STATES; cur++) {
		if (cur == IBV_QPS_SQE) /* entered by an error only */
			continue;
		for (enum ibv_qp_state next = 0; next < STATES; next++) {
			struct ibv_qp_attr attr = attr_good(next, cur);
			int mask = mask_to(type, cur, next);

			modify_try(type, cur, "", &attr, mask);
			if (!is_step(cur, next))
				continue;
			for (int bit = 0; bit < MASK_BITS; bit++)
				modify_try(type, cur, "", &attr, mask ^ (1 << bit));
		}
	}
}

/* Change one member of good attributes at a time. */
#define VALUES(type, cur, next, extra, member, ...)                                             \
	do {                                                                                    \
		const long values[] = { __VA_ARGS__ };                                          \
                                                                                                \
		for (int i = 0; i < COUNT(values); i++) {                                       \
			struct ibv_qp_attr attr = attr_good(next, cur);                         \
			char what[64];                                                          \
                                                                                                \
			attr.member = values[i];                                                \
			snprintf(what, sizeof(what), " " #member " %ld", values[i]);            \
			modify_try(type, cur, what, &attr, mask_to(type, cur, next) | (extra)); \
		}                                                                               \
	} while (0)

static void try_init_values(enum ibv_qp_type type)
{
	VALUES(type, IBV_QPS_RESET, IBV_QPS_INIT, 0, port_num, 0, 1, 2, 255);
	VALUES(type, IBV_QPS_RESET, IBV_QPS_INIT, 0, pkey_index, 0, 1, 63, 64, 9999, 65535);
	VALUES(type, IBV_QPS_RESET, IBV_QPS_INIT, 0, qkey, 0, 1, 0x7fffffff, 0x80000000);
	for (int bit = 0; bit < 32; bit++)
		VALUES(type, IBV_QPS_RESET, IBV_QPS_INIT, 0, qp_access_flags, 1u << bit);
	VALUES(type, IBV_QPS_RESET, IBV_QPS_INIT, 0, qp_state, 7, 8, 255);
	VALUES(type, IBV_QPS_RTS, IBV_QPS_RTS, IBV_QP_CUR_STATE, cur_qp_state, 0, 1, 2, 3, 4, 5, 6,
	       7, 8, 255);
}

static void try_path_values(enum ibv_qp_type type)
{
	const enum ibv_qp_state cur = IBV_QPS_INIT, next = IBV_QPS_RTR;

	VALUES(type, cur, next, 0, path_mtu, 0, 1, 2, 3, 4, 5, 6, 7, 255);
	VALUES(type, cur, next, 0, dest_qp_num, 0, 1, 0xffffff, 0x1000000, 0xffffffff);
	VALUES(type, cur, next, 0, rq_psn, 0, 0xffffff, 0x1000000, 0xffffffff);
	VALUES(type, cur, next, 0, ah_attr.port_num, 0, 1, 2, 255);
	VALUES(type, cur, next, 0, ah_attr.is_global, 0, 1, 2, 255);
	VALUES(type, cur, next, 0, ah_attr.grh.sgid_index, 0, 1, 2, 3, 4, 100, 255);
	VALUES(type, cur, next, 0, ah_attr.grh.hop_limit, 0, 1, 255);
	VALUES(type, cur, next, 0, ah_attr.grh.flow_label, 0, 0xfffff, 0xffffffff);
	VALUES(type, cur, next, 0, ah_attr.sl, 0, 7, 15, 16, 255);
	VALUES(type, cur, next, 0, ah_attr.src_path_bits, 0, 255);
	VALUES(type, cur, next, 0, ah_attr.static_rate, 0, 2, 18, 255);
	VALUES(type, cur, next, 0, ah_attr.grh.dgid.global.interface_id, 0);
	VALUES(type, cur, next, IBV_QP_ALT_PATH, alt_port_num, 0, 1, 2);
	VALUES(type, cur, next, IBV_QP_CAP, cap.max_send_wr, 0, 1, 100000000);
	VALUES(type, cur, next, IBV_QP_PKEY_INDEX, pkey_index, 0, 1, 9999);
	if (type == IBV_QPT_RC) {
		VALUES(type, cur, next, 0, max_dest_rd_atomic, 0, 1, 16, 17, 128, 129, 255);
		VALUES(type, cur, next, 0, min_rnr_timer, 0, 31, 32, 255);
	}
}

static void try_request_values(enum ibv_qp_type type)
{
	const enum ibv_qp_state cur = IBV_QPS_RTR, next = IBV_QPS_RTS;
	int most = b.device.max_qp_init_rd_atom;

	VALUES(type, cur, next, 0, sq_psn, 0, 0xffffff, 0x1000000, 0xffffffff);
	VALUES(type, cur, next, IBV_QP_RATE_LIMIT, rate_limit, 0, 1);
	if (type != IBV_QPT_RC)
		return;
	VALUES(type, cur, next, 0, timeout, 0, 1, 31, 32, 255);
	VALUES(type, cur, next, 0, retry_cnt, 0, 7, 8, 255);
	VALUES(type, cur, next, 0, rnr_retry, 0, 7, 8, 255);
	VALUES(type, cur, next, 0, max_rd_atomic, 0, 1, most, most < 255 ? most + 1 : 255, 255);
	VALUES(type, cur, next, IBV_QP_PATH_MIG_STATE, path_mig_state, 0, 1, 2, 3, 255);
}

static void try_query_masks(void)
{
	struct ibv_qp *qp = qp_in(IBV_QPT_RC, IBV_QPS_RTS, NULL);
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	for (int bit = 0; bit < 31; bit++)
		say(ibv_query_qp(qp, &attr, 1 << bit, &init), "query_qp mask 0x%x", 1 << bit);
	ibv_destroy_qp(qp);
}

static void try_mcast(enum ibv_qp_type type)
{
	static const union ibv_gid gids[] = {
		{ .raw = { 0xff, 0x0e, [15] = 1 } },
		{ .raw = { [10] = 0xff, 0xff, 224, 0, 0, 9 } },
		{ .raw = { 0x20, 1, [15] = 1 } },
		{ .raw = { [10] = 0xff, 0xff, 10, 0, 0, 9 } },
		{ .raw = { 0 } },
	};
	static const uint16_t lids[] = { 0, 1, 0xc000, 0xffff };

	for (int g = 0; g < COUNT(gids); g++)
		for (int l = 0; l < COUNT(lids); l++) {
			struct ibv_qp *qp = qp_in(type, IBV_QPS_INIT, NULL);
			int r = ibv_attach_mcast(qp, &gids[g], lids[l]);

			say(r, "attach_mcast type %d, group %d, lid 0x%x", type, g, lids[l]);
			say(ibv_detach_mcast(qp, &gids[g], lids[l]),
			    "detach_mcast type %d, group %d, lid 0x%x", type, g, lids[l]);
			ibv_destroy_qp(qp);
		}
}

void try_modify_qp(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };

	for (int t = 0; t < COUNT(types); t++) {
		try_masks(types[t]);
		try_init_values(types[t]);
		if (types[t] != IBV_QPT_UD)
			try_path_values(types[t]);
		try_request_values(types[t]);
		try_mcast(types[t]);
	}
	try_query_masks();
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * User-space instructions of each warm verb, counted by callgrind: run under
 *   valgrind --tool=callgrind --callgrind-out-file=OUT ./verbs_cost [DEVICE]
 * Each verb's count is dumped under its name; "calls NAME N" on stdout says how many calls are in
 * it.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <valgrind/callgrind.h>

#include <infiniband/verbs.h>

enum {
	CALLS = 16,
	WARM = 3,
	MESSAGE = 64,
	DEPTH = 64,
};

static struct {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp[2];
	struct ibv_mr *mr;
	char buf[4096];
	union ibv_gid gid;
	int gid_index;
	struct ibv_port_attr port;
} s;

static void check(int bad, const char *what)
{
	if (!bad)
		return;
	perror(what);
	exit(1);
}

static void begin(void)
{
	malloc_trim(0); /* so that this verb is not charged for memory freed earlier */
	CALLGRIND_ZERO_STATS;
}

#define end(name, calls)                                     \
	do {                                                 \
		CALLGRIND_DUMP_STATS_AT(name);               \
		printf("calls %s %d\n", name, (int)(calls)); \
	} while (0)

/* @n pairs of create and destroy, each half counted as a whole. */
#define PAIR(type, create_name, create, destroy_name, destroy) \
	do {                                                   \
		type *objects[CALLS + WARM];                   \
		for (int i = 0; i < CALLS + WARM; i++) {       \
			if (i == WARM)                         \
				begin();                       \
			objects[i] = (create);                 \
			check(!objects[i], create_name);       \
		}                                              \
		end(create_name, CALLS);                       \
		for (int i = 0; i < CALLS + WARM; i++) {       \
			type *object = objects[i];             \
			if (i == WARM)                         \
				begin();                       \
			check(destroy, destroy_name);          \
		}                                              \
		end(destroy_name, CALLS);                      \
	} while (0)

#define REPEAT(name, call)                               \
	do {                                             \
		for (int i = 0; i < CALLS + WARM; i++) { \
			if (i == WARM)                   \
				begin();                 \
			check(call, name);               \
		}                                        \
		end(name, CALLS);                        \
	} while (0)

static struct ibv_qp *qp_create(void)
{
	struct ibv_qp_init_attr init = {
		.send_cq = s.cq,
		.recv_cq = s.cq,
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = DEPTH,
			 .max_recv_wr = DEPTH,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	return ibv_create_qp(s.pd, &init);
}

static struct ibv_qp *qp_create_ex(void)
{
	struct ibv_qp_init_attr_ex init = {
		.send_cq = s.cq,
		.recv_cq = s.cq,
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = DEPTH,
			 .max_recv_wr = DEPTH,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = s.pd,
		.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE,
	};

	return ibv_create_qp_ex(s.ctx, &init);
}

/* Verbs that were added later, as far as rxe has them. */
static void later_verbs(void)
{
	struct ibv_cq_init_attr_ex cq = { .cqe = 16, .wc_flags = IBV_WC_STANDARD_FLAGS };
	struct ibv_srq_init_attr_ex srq = { .attr = { .max_wr = 16, .max_sge = 1 },
					    .comp_mask = IBV_SRQ_INIT_ATTR_PD,
					    .pd = s.pd };

	PAIR(struct ibv_mr, "reg_mr_iova2",
	     ibv_reg_mr_iova2(s.pd, s.buf, sizeof(s.buf), (uintptr_t)s.buf, IBV_ACCESS_LOCAL_WRITE),
	     "dereg_mr_iova2", ibv_dereg_mr(object));
	PAIR(struct ibv_mw, "alloc_mw", ibv_alloc_mw(s.pd, IBV_MW_TYPE_2), "dealloc_mw",
	     ibv_dealloc_mw(object));
	PAIR(struct ibv_cq_ex, "create_cq_ex", ibv_create_cq_ex(s.ctx, &cq), "destroy_cq_ex",
	     ibv_destroy_cq(ibv_cq_ex_to_cq(object)));
	PAIR(struct ibv_srq, "create_srq_ex", ibv_create_srq_ex(s.ctx, &srq), "destroy_srq_ex",
	     ibv_destroy_srq(object));
	PAIR(struct ibv_qp, "create_qp_ex", qp_create_ex(), "destroy_qp_ex",
	     ibv_destroy_qp(object));
}

static int to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
	};

	return ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

static int to_rtr(struct ibv_qp *qp, uint32_t dest)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = s.port.active_mtu,
		.dest_qp_num = dest,
		.rq_psn = 1,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = { .is_global = 1,
			     .port_num = 1,
			     .grh = { .dgid = s.gid, .sgid_index = s.gid_index, .hop_limit = 64 } },
	};

	return ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				     IBV_QP_MIN_RNR_TIMER);
}

static int to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS,
				    .timeout = 14,
				    .retry_cnt = 7,
				    .rnr_retry = 7,
				    .sq_psn = 1,
				    .max_rd_atomic = 1 };

	return ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

static int to_reset(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE);
}

static int query_qp(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return ibv_query_qp(qp, &attr, IBV_QP_STATE, &init);
}

static void modify_verbs(void)
{
	struct ibv_qp *qp[CALLS + WARM];
	int i;

	for (i = 0; i < CALLS + WARM; i++)
		check(!(qp[i] = qp_create()), "ibv_create_qp");
#define EACH(name, call)                             \
	do {                                         \
		for (i = 0; i < CALLS + WARM; i++) { \
			if (i == WARM)               \
				begin();             \
			check(call, name);           \
		}                                    \
		end(name, CALLS);                    \
	} while (0)
	EACH("modify_qp_INIT", to_init(qp[i]));
	EACH("modify_qp_RTR", to_rtr(qp[i], qp[i]->qp_num));
	EACH("modify_qp_RTS", to_rts(qp[i]));
	EACH("query_qp", query_qp(qp[i]));
	EACH("modify_qp_RESET", to_reset(qp[i]));
	for (i = 0; i < CALLS + WARM; i++)
		check(ibv_destroy_qp(qp[i]), "ibv_destroy_qp");
}

/* Create the first completion queue of each context, which must not allocate more than the
 * program requested. The cost of the first one in the process is not counted. */
static void first_verbs(struct ibv_device *device)
{
	struct ibv_context *ctx[CALLS + WARM];

	for (int k = 0; k < CALLS + WARM; k++)
		check(!(ctx[k] = ibv_open_device(device)), "ibv_open_device");
	PAIR(struct ibv_cq, "create_cq_first", ibv_create_cq(ctx[i], 16, NULL, NULL, 0),
	     "destroy_cq_first", ibv_destroy_cq(object));
	for (int k = 0; k < CALLS + WARM; k++)
		ibv_close_device(ctx[k]);
}

static void control_verbs(void)
{
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct ibv_ah_attr ah = {
		.is_global = 1,
		.port_num = 1,
		.grh = { .dgid = s.gid, .sgid_index = s.gid_index, .hop_limit = 64 }
	};
	struct ibv_device_attr device;
	struct ibv_port_attr port;
	union ibv_gid gid;
	__be16 pkey;

	REPEAT("query_device", ibv_query_device(s.ctx, &device));
	REPEAT("query_port", ibv_query_port(s.ctx, 1, &port));
	REPEAT("query_gid", ibv_query_gid(s.ctx, 1, s.gid_index, &gid));
	REPEAT("query_pkey", ibv_query_pkey(s.ctx, 1, 0, &pkey));
	PAIR(struct ibv_pd, "alloc_pd", ibv_alloc_pd(s.ctx), "dealloc_pd", ibv_dealloc_pd(object));
	PAIR(struct ibv_mr, "reg_mr",
	     ibv_reg_mr(s.pd, s.buf, sizeof(s.buf), IBV_ACCESS_LOCAL_WRITE), "dereg_mr",
	     ibv_dereg_mr(object));
	PAIR(struct ibv_cq, "create_cq", ibv_create_cq(s.ctx, 16, NULL, NULL, 0), "destroy_cq",
	     ibv_destroy_cq(object));
	PAIR(struct ibv_srq, "create_srq", ibv_create_srq(s.pd, &srq), "destroy_srq",
	     ibv_destroy_srq(object));
	PAIR(struct ibv_qp, "create_qp", qp_create(), "destroy_qp", ibv_destroy_qp(object));
	PAIR(struct ibv_ah, "create_ah", ibv_create_ah(s.pd, &ah), "destroy_ah",
	     ibv_destroy_ah(object));
	later_verbs();
	modify_verbs();
}

/* --- data path: 64 bytes --- */

static void post_recv(void)
{
	struct ibv_sge sge = { (uintptr_t)s.buf, MESSAGE, s.mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	check(ibv_post_recv(s.qp[1], &wr, &bad), "ibv_post_recv");
}

static void post_send(void)
{
	struct ibv_sge sge = { (uintptr_t)s.buf + 1024, MESSAGE, s.mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	check(ibv_post_send(s.qp[0], &wr, &bad), "ibv_post_send");
}

static void poll_all(int want)
{
	struct ibv_wc wc;

	while (want) {
		int n = ibv_poll_cq(s.cq, 1, &wc);

		check(n < 0 || (n && wc.status), "ibv_poll_cq");
		want -= n;
	}
}

/* Completions of CALLS requests wait in the queue. */
static void complete_all(void)
{
	for (int i = 0; i < CALLS; i++)
		post_recv();
	for (int i = 0; i < CALLS; i++)
		post_send();
	for (volatile int wait = 0; wait < 6000000; wait++)
		;
}

/* Poll as many completions at once as there are requests; print the cost of each. */
static void poll_at_once(void)
{
	struct ibv_wc wc[CALLS];

	for (int round = 0; round < 2; round++) { /* the first one warms */
		complete_all();
		begin();
		check(ibv_poll_cq(s.cq, CALLS, wc) != CALLS,
		      "ibv_poll_cq: the completions are late");
		if (round)
			end("poll_cq_16_at_once", CALLS);
		poll_all(CALLS);
	}
}

static void data_path(void)
{
	struct ibv_wc wc;

	for (int round = 0; round < 2; round++) { /* the first one warms */
		begin();
		for (int i = 0; i < CALLS; i++)
			post_recv();
		if (round)
			end("post_recv", CALLS);
		begin();
		for (int i = 0; i < CALLS; i++)
			post_send();
		if (round)
			end("post_send_64", CALLS);
		while (ibv_poll_cq(s.cq, 1, &wc) == 0)
			;
		for (volatile int wait = 0; wait < 3000000; wait++)
			; /* all completions are in the queue before they are counted */
		begin();
		for (int i = 0; i < CALLS; i++)
			check(ibv_poll_cq(s.cq, 1, &wc) != 1,
			      "ibv_poll_cq: the completions are late");
		if (round)
			end("poll_cq_one", CALLS);
		poll_all(CALLS - 1);
		begin();
		for (int i = 0; i < CALLS; i++)
			check(ibv_poll_cq(s.cq, 1, &wc) != 0, "ibv_poll_cq");
		if (round)
			end("poll_cq_empty", CALLS);
	}
}

static void data_path_open(void)
{
	for (int i = 0; i < 2; i++) {
		check(!(s.qp[i] = qp_create()), "ibv_create_qp");
		check(to_init(s.qp[i]), "INIT");
	}
	for (int i = 0; i < 2; i++)
		check(to_rtr(s.qp[i], s.qp[!i]->qp_num) || to_rts(s.qp[i]), "RTR");
}

static void gid_find(void)
{
	static const union ibv_gid zero;

	for (s.gid_index = s.port.gid_tbl_len > 16 ? 15 : s.port.gid_tbl_len - 1; s.gid_index > 0;
	     s.gid_index--)
		if (!ibv_query_gid(s.ctx, 1, s.gid_index, &s.gid) &&
		    memcmp(&s.gid, &zero, sizeof(zero)))
			return;
	check(ibv_query_gid(s.ctx, 1, 0, &s.gid), "ibv_query_gid");
}

int main(int argc, char **argv)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	check(!list || !list[0], "no RDMA device");
	s.ctx = ibv_open_device(list[0]);
	check(!s.ctx, "ibv_open_device");
	check(ibv_query_port(s.ctx, 1, &s.port), "ibv_query_port");
	gid_find();
	check(!(s.pd = ibv_alloc_pd(s.ctx)), "ibv_alloc_pd");
	check(!(s.cq = ibv_create_cq(s.ctx, 256, NULL, NULL, 0)), "ibv_create_cq");
	check(!(s.mr = ibv_reg_mr(s.pd, s.buf, sizeof(s.buf), IBV_ACCESS_LOCAL_WRITE)),
	      "ibv_reg_mr");
	control_verbs();
	first_verbs(list[0]);
	ibv_free_device_list(list);
	data_path_open();
	data_path();
	poll_at_once();
	return 0;
}

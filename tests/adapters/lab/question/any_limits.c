/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Use each size that the device advertises up to its end: create queues of max_cqe, max_qp_wr,
 * max_sge, max_srq_wr, max_srq_sge and the largest inline data, and fill them with requests. At
 * least one type of queue pair must have room for max_qp_wr and max_sge. The other types need not.
 * The program prints what each type has, and ends with 1 if an advertised size is not served.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>

enum {
	SGES = 512,
	BYTES = 4096,
	INLINE_MOST = 1 << 16,
};

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static struct ibv_cq *cq;
static struct ibv_ah *ah;
static struct ibv_device_attr caps;
static char *memory;
static struct ibv_sge sges[SGES];
static bool failed;

static void fail(const char *what, uint32_t value)
{
	printf("FAILED: %s %u: %s\n", what, value, strerror(errno));
	failed = true;
}

static void must(bool good, const char *what)
{
	if (good)
		return;
	printf("FAILED: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* ---- completion queues */

static void cqs(void)
{
	struct ibv_cq *made = ibv_create_cq(ctx, caps.max_cqe, NULL, NULL, 0);
	struct ibv_cq_init_attr_ex attr = { .cqe = caps.max_cqe,
					    .wc_flags = IBV_WC_STANDARD_FLAGS };
	struct ibv_cq_ex *extended;

	if (!made || made->cqe < caps.max_cqe)
		fail("max_cqe", caps.max_cqe);
	must(!made || !ibv_destroy_cq(made), "destroy");
	made = ibv_create_cq(ctx, 1, NULL, NULL, 0);
	must(made, "cq");
	if (ibv_resize_cq(made, caps.max_cqe) && errno != EOPNOTSUPP && errno != ENOSYS)
		fail("resize to max_cqe", caps.max_cqe);
	must(!ibv_destroy_cq(made), "destroy");
	extended = ibv_create_cq_ex(ctx, &attr);
	if (!extended && errno != EOPNOTSUPP)
		fail("max_cqe, extended,", caps.max_cqe);
	must(!extended || !ibv_destroy_cq(ibv_cq_ex_to_cq(extended)), "destroy");
}

/* ---- queue pairs */

static const struct {
	enum ibv_qp_type type;
	const char *name;
} types[] = {
	{ IBV_QPT_RC, "RC" },
	{ IBV_QPT_UC, "UC" },
	{ IBV_QPT_UD, "UD" },
	{ IBV_QPT_RAW_PACKET, "raw" },
};

static int state_attributes(enum ibv_qp_type type, enum ibv_qp_state state)
{
	bool rc = type == IBV_QPT_RC, connected = rc || type == IBV_QPT_UC;

	if (state == IBV_QPS_INIT)
		return IBV_QP_PORT | (type == IBV_QPT_RAW_PACKET ? 0 : IBV_QP_PKEY_INDEX) |
		       (connected	     ? IBV_QP_ACCESS_FLAGS
			: type == IBV_QPT_UD ? IBV_QP_QKEY
					     : 0);
	if (state == IBV_QPS_RTR)
		return (connected ? IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN
				  : 0) |
		       (rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0);
	return (type == IBV_QPT_RAW_PACKET ? 0 : IBV_QP_SQ_PSN) |
	       (rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC
		   : 0);
}

static void ready(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.port_num = 1,
		.qkey = 0x11111111,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = 0x55,
		.max_dest_rd_atomic = 1,
		.max_rd_atomic = 1,
		.min_rnr_timer = 12,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = { .port_num = 1, .is_global = 1, .grh = { .hop_limit = 64 } },
	};

	for (attr.qp_state = IBV_QPS_INIT; attr.qp_state <= IBV_QPS_RTS; attr.qp_state++)
		must(!ibv_modify_qp(qp, &attr,
				    IBV_QP_STATE | state_attributes(qp->qp_type, attr.qp_state)),
		     "modify");
}

static struct ibv_qp *qp_make(enum ibv_qp_type type, struct ibv_qp_cap *cap)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq, .recv_cq = cq, .cap = *cap, .qp_type = type
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &attr);

	*cap = attr.cap;
	return qp;
}

/* Post @count sends of @num_sge entries of @length bytes. Return the number that was accepted. */
static uint32_t sends_post(struct ibv_qp *qp, uint32_t count, int num_sge, uint32_t length,
			   unsigned int flags)
{
	struct ibv_send_wr *bad, wr = {
		.sg_list = sges,
		.num_sge = num_sge,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED | flags,
		.wr.ud = { ah, 1, 0x11111111 },
	};
	uint32_t posted = 0;

	if (qp->qp_type != IBV_QPT_UD)
		wr.wr.ud.ah = NULL;
	for (int i = 0; i < num_sge; i++)
		sges[i] = (struct ibv_sge){ (uintptr_t)memory, length, mr->lkey };
	while (posted < count && !ibv_post_send(qp, &wr, &bad))
		posted++;
	return posted;
}

static uint32_t receives_post(struct ibv_qp *qp, struct ibv_srq *srq, uint32_t count, int num_sge)
{
	struct ibv_recv_wr *bad, wr = { .sg_list = sges, .num_sge = num_sge };
	uint32_t posted = 0;

	for (int i = 0; i < num_sge; i++)
		sges[i] = (struct ibv_sge){ (uintptr_t)memory, 8, mr->lkey };
	while (posted < count &&
	       !(srq ? ibv_post_srq_recv(srq, &wr, &bad) : ibv_post_recv(qp, &wr, &bad)))
		posted++;
	return posted;
}

/* Return the largest accepted value of a member of @base, at most @most. */
static uint32_t find_most(enum ibv_qp_type type, size_t member, uint32_t most)
{
	uint32_t good = 0, bad = most + 1;

	while (bad - good > 1) {
		uint32_t middle = good ? good + (bad - good) / 2 : most;
		struct ibv_qp_cap cap = { 1, 1, 1, 1, 0 };
		struct ibv_qp *qp;

		if (!good && bad != most + 1)
			middle = bad / 2;
		*(uint32_t *)((char *)&cap + member) = middle;
		qp = qp_make(type, &cap);
		/* ocrdma grants no inline data to UD: the sizes that are granted count. */
		if (qp && *(uint32_t *)((char *)&cap + member) >= middle)
			good = middle;
		else
			bad = middle;
		must(!qp || !ibv_destroy_qp(qp), "destroy");
	}
	return good;
}

/* Fill a queue pair with as many requests of @cap as it granted. */
static void fill(enum ibv_qp_type type, const char *name, struct ibv_qp_cap cap)
{
	const struct ibv_qp_cap asked = cap;
	struct ibv_qp *qp = qp_make(type, &cap);
	uint32_t posted = cap.max_send_wr;

	must(qp, name);
	ready(qp);
	if (cap.max_send_wr < asked.max_send_wr || cap.max_recv_wr < asked.max_recv_wr ||
	    cap.max_send_sge < asked.max_send_sge || cap.max_recv_sge < asked.max_recv_sge ||
	    cap.max_inline_data < asked.max_inline_data)
		fail("granted less than requested, in inline data", cap.max_inline_data);
	/* hns resolves an address itself, and the host may have no neighbours. */
	if (type != IBV_QPT_UD || ah)
		posted = sends_post(qp, cap.max_send_wr, asked.max_send_sge, 8, 0);
	if (posted < cap.max_send_wr)
		fail("sends posted", posted);
	posted = receives_post(qp, NULL, cap.max_recv_wr, asked.max_recv_sge);
	if (posted < cap.max_recv_wr)
		fail("receives posted", posted);
	must(!ibv_destroy_qp(qp), "destroy");
}

static void fill_inline(enum ibv_qp_type type, const char *name, struct ibv_qp_cap cap)
{
	struct ibv_qp *qp = qp_make(type, &cap);
	uint32_t posted;

	must(qp, name);
	ready(qp);
	if (type == IBV_QPT_UD && !ah)
		posted = cap.max_send_wr;
	else
		posted = sends_post(qp, cap.max_send_wr, 1, cap.max_inline_data, IBV_SEND_INLINE);
	if (posted < cap.max_send_wr)
		fail("inline sends posted", posted);
	must(!ibv_destroy_qp(qp), "destroy");
}

static void qps(void)
{
	const uint32_t most_wr = caps.max_qp_wr, most_sge = caps.max_sge;
	struct ibv_qp_cap most = {};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		enum ibv_qp_type type = types[i].type;
		struct ibv_qp_cap cap = { 1, 1, 1, 1, 0 }, has = {};
		struct ibv_qp *qp = qp_make(type, &cap);

		if (!qp)
			continue;
		must(!ibv_destroy_qp(qp), "destroy");
		has.max_send_wr =
			find_most(type, offsetof(struct ibv_qp_cap, max_send_wr), most_wr);
		has.max_recv_wr =
			find_most(type, offsetof(struct ibv_qp_cap, max_recv_wr), most_wr);
		has.max_send_sge =
			find_most(type, offsetof(struct ibv_qp_cap, max_send_sge), most_sge);
		has.max_recv_sge =
			find_most(type, offsetof(struct ibv_qp_cap, max_recv_sge), most_sge);
		has.max_inline_data =
			find_most(type, offsetof(struct ibv_qp_cap, max_inline_data), INLINE_MOST);
		printf("%s: sends %u receives %u entries %u and %u inline %u\n", types[i].name,
		       has.max_send_wr, has.max_recv_wr, has.max_send_sge, has.max_recv_sge,
		       has.max_inline_data);
		fill(type, types[i].name, (struct ibv_qp_cap){ has.max_send_wr, 1, 1, 1, 0 });
		fill(type, types[i].name, (struct ibv_qp_cap){ 1, has.max_recv_wr, 1, 1, 0 });
		fill(type, types[i].name,
		     (struct ibv_qp_cap){ 4, 4, has.max_send_sge, has.max_recv_sge, 0 });
		if (has.max_inline_data)
			fill_inline(type, types[i].name,
				    (struct ibv_qp_cap){ 4, 1, 1, 1, has.max_inline_data });
		for (size_t j = 0; j < sizeof(most) / sizeof(uint32_t); j++)
			if (((uint32_t *)&has)[j] > ((uint32_t *)&most)[j])
				((uint32_t *)&most)[j] = ((uint32_t *)&has)[j];
	}
	errno = 0;
	if (most.max_send_wr < most_wr)
		fail("of max_qp_wr sends there are", most.max_send_wr);
	if (most.max_recv_wr < most_wr)
		fail("of max_qp_wr receives there are", most.max_recv_wr);
	if (most.max_send_sge < most_sge)
		fail("of max_sge entries a send has", most.max_send_sge);
	if (most.max_recv_sge < most_sge)
		fail("of max_sge entries a receive has", most.max_recv_sge);
}

/* ---- shared receives */

static void srq(uint32_t max_wr, uint32_t max_sge)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = max_wr, .max_sge = max_sge } };
	struct ibv_srq *made = ibv_create_srq(pd, &attr);
	uint32_t posted;

	if (!made) {
		fail("srq with receives", max_wr);
		fail("srq with entries", max_sge);
		return;
	}
	if (attr.attr.max_wr < max_wr || attr.attr.max_sge < max_sge)
		fail("srq granted receives", attr.attr.max_wr);
	posted = receives_post(NULL, made, attr.attr.max_wr, max_sge);
	if (posted < attr.attr.max_wr)
		fail("shared receives posted", posted);
	must(!ibv_destroy_srq(made), "destroy");
}

int main(void)
{
	struct ibv_ah_attr ah_attr = { .port_num = 1, .is_global = 1, .grh = { .hop_limit = 64 } };
	struct ibv_device **list = ibv_get_device_list(NULL);

	setvbuf(stdout, NULL, _IOLBF, 0);
	memory = calloc(1, INLINE_MOST);
	ctx = list && list[0] ? ibv_open_device(list[0]) : NULL;
	pd = ctx ? ibv_alloc_pd(ctx) : NULL;
	must(memory && pd && !ibv_query_device(ctx, &caps), "open");
	mr = ibv_reg_mr(pd, memory, INLINE_MOST, IBV_ACCESS_LOCAL_WRITE);
	cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	must(mr && cq, "objects");
	must(!ibv_query_gid(ctx, 1, 0, &ah_attr.grh.dgid), "gid");
	ah = ibv_create_ah(pd, &ah_attr);
	must(caps.max_sge <= SGES && caps.max_srq_sge <= SGES, "limits");
	cqs();
	qps();
	if (caps.max_srq) {
		srq(caps.max_srq_wr, 1);
		srq(4, caps.max_srq_sge);
	}
	if (ah)
		must(!ibv_destroy_ah(ah), "destroy");
	must(!ibv_destroy_cq(cq) && !ibv_dereg_mr(mr) && !ibv_dealloc_pd(pd), "destroy");
	must(!ibv_close_device(ctx), "close");
	ibv_free_device_list(list);
	free(memory);
	return failed;
}

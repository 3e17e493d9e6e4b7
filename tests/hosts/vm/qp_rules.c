/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Compare the library's rules of a queue pair's transitions with the kernel's: every pair of states
 * of every transport that the device has, with the required attributes, and with each bit of the
 * mask flipped. The kernel is called directly, and again through ibv_modify_qp() with another queue
 * pair. Neither the library nor its copy of the kernel's core rules may refuse a transition that
 * the kernel accepts. The rules that explain a refusal must be those of the kernel. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libibverbs/qp.h"
#include "libibverbs/uverbs/uverbs.h"

#define MASK_BITS 21 /* the attributes every kernel knows */

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static union ibv_gid gid;
static unsigned int tried, wrong;

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
			.grh = { .sgid_index = 1, .hop_limit = 64, .dgid = gid },
		},
	};
}

static int kernel_modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, uint32_t mask)
{
	const struct verbs_modify_qp in = { .attr = attr, .mask = mask };

	return uverbs_modify_qp(to_vqp(qp), &in);
}

static struct ibv_qp *qp_in(enum ibv_qp_type type, enum ibv_qp_state state)
{
	/* The states on the way from RESET to each state. */
	static const enum ibv_qp_state way[QP_STATES][4] = {
		[IBV_QPS_INIT] = { IBV_QPS_INIT },
		[IBV_QPS_RTR] = { IBV_QPS_INIT, IBV_QPS_RTR },
		[IBV_QPS_RTS] = { IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS },
		[IBV_QPS_SQD] = { IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQD },
		[IBV_QPS_ERR] = { IBV_QPS_INIT, IBV_QPS_ERR },
	};
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { 4, 4, 1, 1, 0 },
		.qp_type = type,
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	enum ibv_qp_state at = IBV_QPS_RESET;

	for (int i = 0; qp && i < 4 && way[state][i]; at = way[state][i++]) {
		struct ibv_qp_attr attr = attr_good(way[state][i], at);
		uint32_t mask = qp_state_transition(type, at, way[state][i]).required;
		int r = kernel_modify(qp, &attr, mask | IBV_QP_STATE);

		if (r < 0) {
			printf("%d: %d to %d: %s\n", type, at, way[state][i], strerror(-r));
			exit(1);
		}
	}
	if (!qp) {
		perror("ibv_create_qp");
		exit(1);
	}
	return qp;
}

/* Return whether the send queue may still be draining after the move to SQD. Only SQD has this
 * delay. */
static bool is_draining(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return !ibv_query_qp(qp, &attr, IBV_QP_STATE, &init) && attr.qp_state == IBV_QPS_SQD &&
	       attr.sq_draining;
}

static void wait_drained(struct ibv_qp *qp)
{
	for (int i = 0; i < 1000 && is_draining(qp); i++)
		usleep(1000);
}

static void try_mask(enum ibv_qp_type type, enum ibv_qp_state cur, enum ibv_qp_state next,
		     uint32_t mask)
{
	struct ibv_qp_attr attr = attr_good(next, cur);
	const struct verbs_modify_qp in = { .attr = &attr, .mask = mask };
	struct ibv_qp *qp = qp_in(type, cur), *other = qp_in(type, cur);
	bool allowed = qp_state_allows(type, cur, &attr, mask);
	int core, library, r;

	wait_drained(qp);
	wait_drained(other);
	/* The QP was modified without the library. */
	qp->state = other->state = cur;
	to_vqp(qp)->port_num = to_vqp(other)->port_num = cur == IBV_QPS_RESET ? 0 : 1;
	core = verbs_check_modify_qp(to_vqp(qp), &in);
	r = kernel_modify(qp, &attr, mask);
	library = ibv_modify_qp(other, &attr, mask);
	tried++;
	if (allowed != !r || library != -r || (!r && core < 0)) {
		wrong++;
		printf("type %d, %d to %d, mask 0x%x: the rules %s, the kernel: %s, the library: %s, "
		       "the core's checks: %s\n",
		       type, cur, next, mask, allowed ? "allow" : "refuse", strerror(-r),
		       strerror(library), strerror(-core));
	}
	ibv_destroy_qp(qp);
	ibv_destroy_qp(other);
}

static void try_transition(enum ibv_qp_type type, enum ibv_qp_state cur, enum ibv_qp_state next)
{
	uint32_t mask = qp_state_transition(type, cur, next).required | IBV_QP_STATE;

	try_mask(type, cur, next, mask);
	/* RoCE refuses alternate paths in any state. */
	for (int bit = 1; bit < MASK_BITS; bit++)
		if (1u << bit != IBV_QP_ALT_PATH)
			try_mask(type, cur, next, mask ^ (1u << bit));
}

int main(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };
	struct ibv_device **list = ibv_get_device_list(NULL);

	ctx = list && list[0] ? ibv_open_device(list[0]) : NULL;
	if (!ctx || ibv_query_gid(ctx, 1, 1, &gid))
		return 77;
	pd = ibv_alloc_pd(ctx);
	cq = ibv_create_cq(ctx, 10, NULL, NULL, 0);
	if (!pd || !cq)
		return 1;
	for (unsigned int t = 0; t < ARRAY_SIZE(types); t++)
		for (enum ibv_qp_state cur = 0; cur < QP_STATES; cur++)
			for (enum ibv_qp_state next = 0; next < QP_STATES; next++)
				if (cur != IBV_QPS_SQE) /* entered by an error only */
					try_transition(types[t], cur, next);
	printf("%u requests, %u judged differently\n", tried, wrong);
	ibv_destroy_cq(cq);
	ibv_dealloc_pd(pd);
	ibv_close_device(ctx);
	ibv_free_device_list(list);
	return wrong != 0;
}

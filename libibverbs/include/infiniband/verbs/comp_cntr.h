/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion counters: how many requests of a QP are done, without looking at each. */
#ifndef INFINIBAND_VERBS_COMP_CNTR_H
#define INFINIBAND_VERBS_COMP_CNTR_H

#include <infiniband/verbs/types.h>
#include <infiniband/verbs/context.h>
#include <infiniband/verbs/qp.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Operations that a counter counts; REMOTE_*: those that the peer asked for. */
enum ibv_qp_attach_comp_cntr_op {
	IBV_QP_ATTACH_COMP_CNTR_OP_SEND = 1 << 0,
	IBV_QP_ATTACH_COMP_CNTR_OP_RECV = 1 << 1,
	IBV_QP_ATTACH_COMP_CNTR_OP_RDMA_READ = 1 << 2,
	IBV_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_READ = 1 << 3,
	IBV_QP_ATTACH_COMP_CNTR_OP_RDMA_WRITE = 1 << 4,
	IBV_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_WRITE = 1 << 5,
};

struct ibv_comp_cntr_caps {
	uint64_t max_value; /* of a counter, before it starts again at 0 */
	uint32_t max_counters;
	uint32_t supported_qp_attach_ops; /* enum ibv_qp_attach_comp_cntr_op */
};

struct ibv_comp_cntr {
	struct ibv_context *context;
	uint32_t handle;
};

enum ibv_comp_cntr_type {
	IBV_COMP_CNTR_TYPE_WRS, /* work requests */
	IBV_COMP_CNTR_TYPE_BYTES,
};

struct ibv_comp_cntr_init_attr {
	uint32_t comp_mask; /* 0 */
	enum ibv_comp_cntr_type type;
	uint32_t flags; /* 0 */
};

struct ibv_qp_attach_comp_cntr_attr {
	uint32_t comp_mask; /* 0 */
	uint32_t op_mask;   /* enum ibv_qp_attach_comp_cntr_op */
};

int _ibv_query_comp_cntr_caps(struct ibv_context *context, struct ibv_comp_cntr_caps *caps,
			      size_t caps_size);

/* Query the counters of the device. Return: 0 or a positive errno. EOPNOTSUPP: it has none. */
static inline int ibv_query_comp_cntr_caps(struct ibv_context *context,
					   struct ibv_comp_cntr_caps *caps)
{
	return _ibv_query_comp_cntr_caps(context, caps, sizeof(*caps));
}

/**
 * ibv_create_comp_cntr() - make a counter: two numbers, of what succeeded and of what failed
 *
 * Return: the counter; NULL with errno EOPNOTSUPP, or EINVAL.
 */
struct ibv_comp_cntr *ibv_create_comp_cntr(struct ibv_context *context,
					   struct ibv_comp_cntr_init_attr *cc_attr);
int ibv_destroy_comp_cntr(struct ibv_comp_cntr *comp_cntr);

/* Write, add to and read the number of successes, and that of failures: 0, or a positive errno. */
int ibv_set_comp_cntr(struct ibv_comp_cntr *comp_cntr, uint64_t value);
int ibv_set_err_comp_cntr(struct ibv_comp_cntr *comp_cntr, uint64_t value);
int ibv_inc_comp_cntr(struct ibv_comp_cntr *comp_cntr, uint64_t amount);
int ibv_inc_err_comp_cntr(struct ibv_comp_cntr *comp_cntr, uint64_t amount);
int ibv_read_comp_cntr(struct ibv_comp_cntr *comp_cntr, uint64_t *value);
int ibv_read_err_comp_cntr(struct ibv_comp_cntr *comp_cntr, uint64_t *value);

/* The counter counts the operations of @attr of @qp from now on. Return: 0, or a positive errno. */
int ibv_qp_attach_comp_cntr(struct ibv_qp *qp, struct ibv_comp_cntr *comp_cntr,
			    struct ibv_qp_attach_comp_cntr_attr *attr);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kernel's commands, by object: 0 or a positive errno. Struct commands take their core request
 * from c->in. */
#ifndef DEVICES_HANDLERS_H
#define DEVICES_HANDLERS_H

#include <rdma/ib_user_ioctl_verbs.h>
#include "tests/adapters/lab/shim/shim.h"

enum {
	COMP_VECTORS = 4
};

/* context.c */
int handle_get_context(struct command *c);
int handle_query_device(struct command *c);
int handle_query_device_ex(struct command *c);
int handle_query_port(struct command *c);
int handle_create_channel(struct command *c);
void context_port(struct ib_uverbs_query_port_resp *ret);
int context_gid(uint32_t index, struct ib_uverbs_gid_entry *ret);
int context_open(struct command *c);
/* Return the attributes of the device. */
int context_attributes(struct command *c, struct ibv_device_attr *ret);

/* memory.c: PDs, regions, windows, address handles */
int handle_alloc_pd(struct command *c);
int handle_reg_mr(struct command *c);
int handle_rereg_mr(struct command *c);
int handle_alloc_mw(struct command *c);
int handle_create_ah(struct command *c);
int handle_dealloc_pd(struct command *c);
int handle_dereg_mr(struct command *c);
int handle_dealloc_mw(struct command *c);
int handle_destroy_ah(struct command *c);
int object_destroy(enum object_type type, uint32_t handle, uint32_t ret_events[2]);

/* cq.c */
int handle_create_cq(struct command *c);
int handle_create_cq_ex(struct command *c);
int handle_resize_cq(struct command *c);
int handle_poll_cq(struct command *c);
int handle_modify_cq(struct command *c);
int handle_destroy_cq(struct command *c);
int cq_create(const struct ib_uverbs_ex_create_cq *q, struct command *c, struct object **ret_cq,
	      uint32_t *ret_cqe);

/* qp.c */
int handle_create_qp(struct command *c);
int handle_create_qp_ex(struct command *c);
int handle_modify_qp(struct command *c);
int handle_modify_qp_ex(struct command *c);
int handle_query_qp(struct command *c);
int handle_destroy_qp(struct command *c);
int handle_attach_mcast(struct command *c);
int handle_detach_mcast(struct command *c);
int qp_create(struct ib_uverbs_ex_create_qp *q, struct command *c, struct object **ret_qp);
/* Return the number that the process gets. */
uint32_t qp_number_told(const struct object *qp);

/* srq.c */
int handle_create_srq(struct command *c);
int handle_create_xsrq(struct command *c);
int handle_modify_srq(struct command *c);
int handle_query_srq(struct command *c);
int handle_destroy_srq(struct command *c);
int srq_create(struct ib_uverbs_create_xsrq *q, struct command *c, struct object **ret_srq);

/* xrc.c */
int handle_open_xrcd(struct command *c);
int handle_close_xrcd(struct command *c);
int handle_open_qp(struct command *c);

/* flow.c: flows and their counters; no packet is steered */
int handle_create_flow(struct command *c);
int handle_destroy_flow(struct command *c);
int counters_create(struct object **ret_counters);

/* dm.c: memory of the device, and regions of it */
int dm_alloc(uint64_t length, uint32_t log_align, struct ib_uverbs_ioctl_hdr *call,
	     struct object **ret_dm);
int dm_reg_mr(struct object *dm, struct object *pd, uint64_t offset, uint64_t length,
	      unsigned access, struct object **ret_mr);

/* wq.c: work queues, and tables of them */
int handle_create_wq(struct command *c);
int handle_modify_wq(struct command *c);
int handle_destroy_wq(struct command *c);
int handle_create_table(struct command *c);
int handle_destroy_table(struct command *c);
int wq_create(struct ib_uverbs_ex_create_wq *q, struct command *c, struct object **ret_wq);

/* The core's response. */
void command_answer(struct command *c, const void *response, size_t length);

#endif

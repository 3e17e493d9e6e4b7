/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Direct verbs of Azure's adapter: queues of raw Ethernet for a program that writes requests, reads
 * completions and rings doorbells itself. For an object of a device that mana does not serve,
 * functions return EOPNOTSUPP.
 */
#ifndef _MANA_DV_H_
#define _MANA_DV_H_

#include <stdio.h>
#include <linux/types.h>
#include <endian.h>
#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

enum manadv_set_ctx_attr_type {
	MANADV_CTX_ATTR_BUF_ALLOCATORS = 0, /* struct manadv_ctx_allocators */
};

/*
 * The allocator of the memory of queues. Queues of raw Ethernet need the allocator. Queues of RC
 * cannot be created with it. The memory must begin at a page. @priv_data: the value of @data
 */
struct manadv_ctx_allocators {
	void *(*alloc)(size_t size, void *priv_data);
	void (*free)(void *ptr, void *priv_data);
	void *data;
};

/* Set an attribute for objects created later. Return: 0 or a positive errno. */
int manadv_set_context_attr(struct ibv_context *ibv_ctx, enum manadv_set_ctx_attr_type type,
			    void *attr);

/* A sending queue pair of raw Ethernet. RC queue pairs have no such addresses. */
struct manadv_qp {
	void *sq_buf;
	uint32_t sq_count; /* requested number of requests */
	uint32_t sq_size;  /* bytes */
	uint32_t sq_id;
	uint32_t tx_vp_offset;
	void *db_page; /* doorbells */
};

/* A completion queue. Its number is valid when a queue pair uses it. */
struct manadv_cq {
	void *buf;
	uint32_t count; /* requested number of completions */
	uint32_t cq_id;
};

/* A work queue. Its number is valid when a queue pair uses its table. */
struct manadv_rwq {
	void *buf;
	uint32_t count; /* requested number of receives */
	uint32_t size;	/* bytes */
	uint32_t wq_id;
	void *db_page; /* doorbells */
};

struct manadv_obj {
	struct {
		struct ibv_qp *in;
		struct manadv_qp *out;
	} qp;
	struct {
		struct ibv_cq *in;
		struct manadv_cq *out;
	} cq;
	struct {
		struct ibv_wq *in;
		struct manadv_rwq *out;
	} rwq;
};

enum manadv_obj_type {
	MANADV_OBJ_QP = 1 << 0,
	MANADV_OBJ_CQ = 1 << 1,
	MANADV_OBJ_RWQ = 1 << 2,
};

/*
 * Fill in `out` from `in` for each type in @obj_type (MANADV_OBJ_). Return: 0 or a positive errno.
 */
int manadv_init_obj(struct manadv_obj *obj, uint64_t obj_type);

#ifdef __cplusplus
}
#endif

#endif

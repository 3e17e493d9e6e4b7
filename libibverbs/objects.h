/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Objects and requests of the contract with providers: what an operation of provider.h gets, and
 * what it fills. The library allocates each object, of the size that the provider declared, and
 * fills its public part; a request is kept by nobody after the operation returned.
 */
#ifndef LIBIBVERBS_OBJECTS_H
#define LIBIBVERBS_OBJECTS_H

#include <stdatomic.h>
#include <stdbool.h>

#include <infiniband/verbs.h>

struct uverbs_attr; /* uverbs/cmd.h */

/*
 * What of the provider travels with a kernel command; NULL and 0 when there is nothing.
 * @in, @out: the provider's request and response
 * @attrs: attributes of the driver. With any of them create_cq, create_qp, create_srq, create_wq
 * and reg_mr use the attribute form of their command; other commands take @attrs only if they have
 * no legacy form
 */
struct verbs_udata {
	const void *in;
	void *out;
	uint16_t in_len;
	uint16_t out_len;
	uint16_t attr_count;
	const struct uverbs_attr *attrs;
};

/* Its value for structs that are whole. */
#define VERBS_UDATA(request, response)       \
	((struct verbs_udata){               \
		.in = &(request),            \
		.in_len = sizeof(request),   \
		.out = &(response),          \
		.out_len = sizeof(response), \
	})

/* Objects. The public struct is always first, so that a cast is enough in both directions. */

/*
 * A parent domain stands for its protection domain @of: it has the same handle in the kernel, and
 * allocators that a provider asks for the memory of queues.
 * @users: parent domains made of this one; of a parent domain, the queues made with it: they may
 * hold memory of its allocators; of an imported view both, for all of them name it, and one until
 * it is given back
 */
struct verbs_pd {
	struct ibv_pd pd;
	struct verbs_pd
		*of; /* NULL: it is a protection domain itself; also that of an imported view */
	struct ibv_td *td; /* of a parent domain, or NULL */
	void *(*alloc)(struct ibv_pd *pd, void *pd_context, size_t size, size_t alignment,
		       uint64_t resource_type);
	void (*free)(struct ibv_pd *pd, void *pd_context, void *ptr, uint64_t resource_type);
	void *pd_context;
	atomic_uint users;
	bool imported; /* of another process, which frees it */
};

struct verbs_td {
	struct ibv_td td;
	atomic_uint users; /* parent domains made with it */
};

struct verbs_xrcd {
	struct ibv_xrcd xrcd;
	uint32_t handle;
};

enum verbs_mr_type {
	VERBS_MR_PLAIN,
	VERBS_MR_NULL,
	VERBS_MR_DMABUF,
	VERBS_MR_DM,
	VERBS_MR_IMPORTED,
};

struct verbs_mr {
	struct ibv_mr ibv_mr;
	enum verbs_mr_type mr_type;
	int access;
	uint64_t iova; /* of an imported one unknown: 0 */
};

struct verbs_cq {
	union {
		struct ibv_cq cq;
		struct ibv_cq_ex cq_ex;
	};
	struct verbs_pd *parent; /* domain whose allocators its memory may come from, or NULL */
};

enum {
	VERBS_QP_EX = 1 << 0,	      /* qp_ex's ibv_wr_* pointers are filled */
	VERBS_QP_SOURCE_QPN = 1 << 1, /* sends as another QP; only its state is modified */
};

struct verbs_qp {
	union {
		struct ibv_qp qp;
		struct ibv_qp_ex qp_ex;
	};
	uint32_t comp_mask;    /* VERBS_QP_* */
	struct ibv_qp_cap cap; /* as granted */
	const struct qp_rules
		*rules;	       /* of its transitions; NULL: the device's own. The library's */
	uint8_t port_num;      /* last one set by modify; 0 unknown */
	struct ibv_xrcd *xrcd; /* of an XRC receive QP; NULL otherwise */
};

struct verbs_srq {
	struct ibv_srq srq;
	enum ibv_srq_type srq_type;
	uint32_t srq_num;      /* of an XRC or tag matching SRQ, as the device numbers it */
	struct ibv_xrcd *xrcd; /* or NULL */
	struct ibv_cq *cq;     /* where an XRC or tag matching SRQ completes; or NULL */
};

/* @wq.handle, wq_num and post_recv are the op's to fill. */
struct verbs_wq {
	struct ibv_wq wq;
};

struct verbs_dm {
	struct ibv_dm dm; /* memcpy_to_dm, memcpy_from_dm and handle are the op's to fill */
	size_t length;	  /* bytes; 0 of an imported one: unknown */
	bool imported;
};

struct verbs_flow_action {
	struct ibv_flow_action action;
	uint32_t handle;
};

struct verbs_counters {
	struct ibv_counters counters;
	uint32_t handle;
};

struct verbs_dmah {
	struct ibv_dmah dmah;
	uint32_t handle;
};

/* Of ibv_alloc_buf(): @addr, and @dmabuf_fd where there is one, are the op's to fill. */
struct ibv_buf {
	struct ibv_context *context;
	struct ibv_pd *pd; /* to compare: it may be gone before */
	void *addr;
	size_t size;
	int dmabuf_fd; /* -1: plain memory */
};

/* The two numbers of a completion counter. */
enum verbs_comp_cntr_entry {
	VERBS_COMP_CNTR_DONE,
	VERBS_COMP_CNTR_FAILED,
};

/* Requests: what an op gets besides its object. Kept by nobody after the op returns. */

struct verbs_query_device {
	const struct ibv_query_device_ex_input *input; /* may be NULL */
	uint64_t *
		ret_fw_ver; /* the number behind ret_attr's fw_ver, as the kernel has it; or NULL */
	struct verbs_udata *udata;
};

struct verbs_reg_mr {
	struct ibv_pd *pd;
	void *addr;
	uint64_t length; /* bytes */
	uint64_t iova;
	int access; /* ibv_access_flags the kernel knows */
	struct verbs_udata *udata;
};

/* A region of device memory: its addresses count from 0. */
struct verbs_reg_dm_mr {
	struct ibv_pd *pd;
	struct verbs_dm *dm;
	uint64_t offset; /* bytes into the device memory */
	uint64_t length;
	int access;
	struct verbs_udata *udata;
};

struct verbs_reg_dmabuf_mr {
	struct ibv_pd *pd;
	uint64_t offset;
	uint64_t length;
	uint64_t iova;
	int fd;
	int access;
	struct verbs_udata *udata;
};

/* @attr: either addr or fd, always with iova; no buf; what the mask does not name is 0. */
struct verbs_reg_mr_ex {
	struct ibv_pd *pd;
	const struct ibv_mr_init_attr *attr;
	struct verbs_udata *udata;
};

struct verbs_rereg_mr {
	int flags; /* ibv_rereg_mr_flags; which of the rest counts */
	struct ibv_pd *pd;
	void *addr;
	uint64_t length;
	int access;
	struct verbs_udata *udata;
};

struct verbs_create_cq {
	const struct ibv_cq_init_attr_ex *attr; /* wc_flags and comp_mask as the caller gave them */
	bool extended;				/* the caller wants the ibv_start_poll() family */
	struct verbs_udata *udata;
	const void *dv; /* of the provider's direct verbs, or NULL */
};

struct verbs_resize_cq {
	int cqe;
	struct verbs_udata *udata;
};

struct verbs_create_srq {
	struct ibv_srq_init_attr_ex *attr; /* attr.attr is updated to what was granted */
	struct verbs_udata *udata;
};

struct verbs_modify_srq {
	struct ibv_srq_attr *attr;
	int mask;
	struct verbs_udata *udata;
};

struct verbs_create_qp {
	struct ibv_qp_init_attr_ex *attr; /* attr.cap is updated to what was granted */
	bool extended;			  /* came through ibv_create_qp_ex() */
	struct verbs_udata *udata;
	const void *dv; /* of the provider's direct verbs, or NULL */
};

struct verbs_modify_qp {
	struct ibv_qp_attr *attr;
	int mask;
	struct verbs_udata *udata;
};

struct verbs_query_qp {
	int mask;
	struct ibv_qp_attr *ret_attr;
	struct ibv_qp_init_attr *ret_init_attr;
};

struct verbs_create_ah {
	struct ibv_ah_attr *attr;
	struct verbs_udata *udata;
};

/* @imported: the context exists, and cmd_fd of the new one leads to it. */
struct verbs_open_context {
	bool imported;
	struct verbs_udata *udata;
	const void *dv; /* of the provider's direct verbs, or NULL */
};

struct verbs_open_xrcd {
	const struct ibv_xrcd_init_attr *attr;
	struct verbs_udata *udata;
};

struct verbs_open_qp {
	const struct ibv_qp_open_attr *attr;
	struct verbs_udata *udata;
};

struct verbs_create_wq {
	struct ibv_wq_init_attr *attr; /* max_wr and max_sge are updated to what was granted */
	struct verbs_udata *udata;
	const void *dv; /* of the provider's direct verbs, or NULL */
};

struct verbs_modify_wq {
	const struct ibv_wq_attr *attr;
	struct verbs_udata *udata;
};

struct verbs_create_rwq_ind_table {
	const struct ibv_rwq_ind_table_init_attr *attr;
	struct verbs_udata *udata;
};

struct verbs_create_flow {
	struct ibv_qp *qp;
	const struct ibv_flow_attr *attr;
	struct verbs_udata *udata;
	const void *dv; /* of the provider's direct verbs, or NULL */
};

struct verbs_flow_action_esp {
	const struct ibv_flow_action_esp_attr *attr;
	struct verbs_udata *udata;
	const void *dv; /* of the provider's direct verbs, or NULL */
};

struct verbs_create_counters {
	const struct ibv_counters_init_attr *attr;
	struct verbs_udata *udata;
};

struct verbs_alloc_dmah {
	const struct ibv_dmah_init_attr *attr;
	struct verbs_udata *udata;
};

struct verbs_create_comp_cntr {
	const struct ibv_comp_cntr_init_attr *attr;
	struct verbs_udata *udata;
	const void *dv; /* of the provider's direct verbs, or NULL */
};

/* @add: @value is added, otherwise written */
struct verbs_modify_comp_cntr {
	enum verbs_comp_cntr_entry entry;
	bool add;
	uint64_t value;
};

struct verbs_alloc_dm {
	const struct ibv_alloc_dm_attr *attr;
	struct verbs_udata *udata;
	const void *dv; /* of the provider's direct verbs, or NULL */
};

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Objects and requests of the contract with providers: arguments and results of the operations in
 * provider.h. The library allocates each object with the size that the provider declared, and fills
 * in its public part. A request is not valid after the operation returned.
 */
#ifndef LIBIBVERBS_OBJECTS_H
#define LIBIBVERBS_OBJECTS_H

#include <stdatomic.h>
#include <stdbool.h>

#include <infiniband/verbs.h>

struct uverbs_attr; /* uverbs/cmd.h */

/*
 * Data of the provider in a kernel command; NULL and 0 if there are none.
 * @in, @out: request and response of the provider
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

/* A struct verbs_udata for two complete structs. */
#define VERBS_UDATA(request, response)       \
	((struct verbs_udata){               \
		.in = &(request),            \
		.in_len = sizeof(request),   \
		.out = &(response),          \
		.out_len = sizeof(response), \
	})

/* Objects. The public struct is always first, so that a cast is enough in both directions. */

/*
 * A parent domain refers to its protection domain @of. It has the same handle in the kernel, and
 * allocators for the memory of queues.
 * @users: the number of parent domains of a protection domain; the number of queues of a parent
 * domain, because they may hold memory of its allocators; the number of both for an imported view,
 * plus one until it is unimported
 */
struct verbs_pd {
	struct ibv_pd pd;
	struct verbs_pd *of; /* domain of a parent domain or an imported view; else NULL */
	struct ibv_td *td;   /* thread domain of a parent domain, or NULL */
	void *(*alloc)(struct ibv_pd *pd, void *pd_context, size_t size, size_t alignment,
		       uint64_t resource_type);
	void (*free)(struct ibv_pd *pd, void *pd_context, void *ptr, uint64_t resource_type);
	void *pd_context;
	atomic_uint users;
	bool imported; /* a view of a domain that another process frees */
};

struct verbs_td {
	struct ibv_td td;
	atomic_uint users; /* number of parent domains that were made with this thread domain */
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
	uint64_t iova; /* 0 (unknown) if it is imported */
};

struct verbs_cq {
	union {
		struct ibv_cq cq;
		struct ibv_cq_ex cq_ex;
	};
	/* parent domain whose allocators may provide its memory, or NULL */
	struct verbs_pd *parent;
};

enum {
	VERBS_QP_EX = 1 << 0,	      /* the ibv_wr_* pointers of qp_ex are set */
	VERBS_QP_SOURCE_QPN = 1 << 1, /* sends as another QP; only its state is modified */
};

struct verbs_qp {
	union {
		struct ibv_qp qp;
		struct ibv_qp_ex qp_ex;
	};
	uint32_t comp_mask;    /* VERBS_QP_* */
	struct ibv_qp_cap cap; /* granted capabilities */
	const struct qp_rules
		*rules;	       /* library's rules for transitions; NULL: the device has its own */
	uint8_t port_num;      /* last one set by modify; 0 unknown */
	struct ibv_xrcd *xrcd; /* domain of an XRC receive QP; otherwise NULL */
};

struct verbs_srq {
	struct ibv_srq srq;
	enum ibv_srq_type srq_type;
	uint32_t srq_num;      /* the device's number of an XRC or tag matching SRQ */
	struct ibv_xrcd *xrcd; /* or NULL */
	struct ibv_cq *cq;     /* CQ of an XRC or tag matching SRQ, or NULL */
};

/* A work queue. The op fills in @wq.handle, wq_num and post_recv. */
struct verbs_wq {
	struct ibv_wq wq;
};

struct verbs_dm {
	struct ibv_dm dm; /* the op fills in memcpy_to_dm, memcpy_from_dm, handle */
	size_t length;	  /* bytes; 0 (unknown) if it is imported */
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

/* Memory of ibv_alloc_buf(). The op fills in @addr, and @dmabuf_fd if there is a dma-buf. */
struct ibv_buf {
	struct ibv_context *context;
	struct ibv_pd *pd; /* only for comparison, because it may be freed earlier */
	void *addr;
	size_t size;
	int dmabuf_fd; /* -1: plain memory */
};

/* The two numbers of a completion counter. */
enum verbs_comp_cntr_entry {
	VERBS_COMP_CNTR_DONE,
	VERBS_COMP_CNTR_FAILED,
};

/* Requests: arguments of an op besides its object. They are not valid after the op returned. */

struct verbs_query_device {
	const struct ibv_query_device_ex_input *input; /* may be NULL */
	uint64_t *
		ret_fw_ver; /* number behind ret_attr's fw_ver, as the kernel reports it; or NULL */
	struct verbs_udata *udata;
};

struct verbs_reg_mr {
	struct ibv_pd *pd;
	void *addr;
	uint64_t length; /* bytes */
	uint64_t iova;
	int access; /* ibv_access_flags that the kernel knows */
	struct verbs_udata *udata;
};

/* A region of device memory. Its addresses start at 0. */
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

/* @attr has either addr or fd, always iova, and no buf. Members without a mask bit are 0. */
struct verbs_reg_mr_ex {
	struct ibv_pd *pd;
	const struct ibv_mr_init_attr *attr;
	struct verbs_udata *udata;
};

struct verbs_rereg_mr {
	int flags; /* ibv_rereg_mr_flags: valid members */
	struct ibv_pd *pd;
	void *addr;
	uint64_t length;
	int access;
	struct verbs_udata *udata;
};

struct verbs_create_cq {
	const struct ibv_cq_init_attr_ex *attr; /* wc_flags and comp_mask of the caller */
	bool extended;				/* the caller needs the ibv_start_poll() family */
	struct verbs_udata *udata;
	const void *dv; /* of the provider's direct verbs, or NULL */
};

struct verbs_resize_cq {
	int cqe;
	struct verbs_udata *udata;
};

struct verbs_create_srq {
	struct ibv_srq_init_attr_ex *attr; /* the op sets attr.attr to the granted values */
	struct verbs_udata *udata;
};

struct verbs_modify_srq {
	struct ibv_srq_attr *attr;
	int mask;
	struct verbs_udata *udata;
};

struct verbs_create_qp {
	struct ibv_qp_init_attr_ex *attr; /* the op sets attr.cap to the granted values */
	bool extended;			  /* called by ibv_create_qp_ex() */
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

/* @imported: the kernel's context exists, and cmd_fd refers to it. */
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
	struct ibv_wq_init_attr *attr; /* the op sets max_wr and max_sge to the granted values */
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

/* @add: add @value to the counter instead of setting it */
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

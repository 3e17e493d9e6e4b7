/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Operations of the provider's table in uroce.c, by file. They check their arguments, log errors in
 * them, and set up the state of the engine.
 *
 * Locks: cq->poll_lock is taken before all other locks and held from ibv_start_poll() to
 * ibv_end_poll(). This room has no other lock.
 *
 * Threads: the application's threads. Includes: host, fault, engine. Included by: uroce.c.
 */
#ifndef UROCE_VERBS_H
#define UROCE_VERBS_H

#include "providers/uroce/host/host.h"

/* device.c */
int uroce_query_device(struct ibv_context *ctx, const struct verbs_query_device *in,
		       struct ibv_device_attr_ex *ret_attr);
int uroce_query_port(struct ibv_context *ctx, uint8_t port_num, struct ibv_port_attr *ret_attr);
int uroce_query_port_speed(struct ibv_context *ctx, uint32_t port_num, uint64_t *ret_speed);
int uroce_query_rt_values(struct ibv_context *ctx, struct ibv_values_ex *values);

/* gid.c */
int uroce_query_gid(struct ibv_context *ctx, uint8_t port_num, uint32_t index,
		    struct ibv_gid_entry *ret_entry);
ssize_t uroce_query_gid_table(struct ibv_context *ctx, struct ibv_gid_entry *ret_entries,
			      size_t max_entries);
int uroce_query_pkey(struct ibv_context *ctx, uint8_t port_num, int index, __be16 *ret_pkey);

/* pd.c: protection domains and parent domains */
int uroce_alloc_pd(struct ibv_pd *pd, struct verbs_udata *udata);
int uroce_dealloc_pd(struct ibv_pd *pd);
int uroce_alloc_td(struct ibv_td *td, const struct ibv_td_init_attr *attr);
int uroce_alloc_parent_domain(struct verbs_pd *parent);

/*
 * Allocate @size bytes for a queue, aligned to @alignment. If @pd is a parent domain with an
 * allocator, the allocator provides the memory. Return: -ENOMEM; -EINVAL, logged, if the provided
 * memory is not aligned.
 */
int uroce_memory_get(struct uroce_memory *memory, struct ibv_pd *pd, size_t size, size_t alignment,
		     uint64_t type);
/* Free the memory of a queue. A queue without memory is allowed. */
void uroce_memory_put(struct uroce_memory *memory);

/* mr.c, mw.c, dm.c */
int uroce_access_check(struct ibv_context *ctx, unsigned int access);
/* Make a region of memory that was checked before. It may have no bytes. */
int uroce_region_new(struct verbs_mr *mr, const struct verbs_reg_mr *in);
int uroce_reg_mr(struct verbs_mr *mr, const struct verbs_reg_mr *in);
int uroce_rereg_mr(struct verbs_mr *mr, const struct verbs_rereg_mr *in);
int uroce_dereg_mr(struct verbs_mr *mr);
int uroce_alloc_null_mr(struct verbs_mr *mr);
int uroce_reg_dm_mr(struct verbs_mr *mr, const struct verbs_reg_dm_mr *in);
int uroce_alloc_dm(struct verbs_dm *dm, const struct verbs_alloc_dm *in);
int uroce_free_dm(struct verbs_dm *dm);
/* Set the functions by which programs copy into and out of device memory. */
void uroce_dm_fill(struct uroce_dm *dm);
int uroce_alloc_buf(struct ibv_buf *buf);
void uroce_free_buf(struct ibv_buf *buf);
int uroce_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		    struct ibv_sge *sg_list, uint32_t num_sge);
int uroce_alloc_mw(struct ibv_mw *mw, struct verbs_udata *udata);
int uroce_dealloc_mw(struct ibv_mw *mw);
int uroce_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);

/* import.c: objects of another process, or of another context of this process */
bool uroce_owns(const struct verbs_device *device, int cmd_fd);
int uroce_import_open(struct uroce_context *ctx);
void uroce_import_close(struct uroce_context *ctx);
int uroce_import_pd(struct ibv_pd *pd, uint32_t handle);
void uroce_unimport_pd(struct ibv_pd *pd);
int uroce_import_mr(struct verbs_mr *mr, uint32_t handle);
void uroce_unimport_mr(struct verbs_mr *mr);
int uroce_import_dm(struct verbs_dm *dm, uint32_t handle);
int uroce_unimport_dm(struct verbs_dm *dm);

/* cq.c */
int uroce_create_comp_channel(struct ibv_comp_channel *channel);
void uroce_destroy_comp_channel(struct ibv_comp_channel *channel);
int uroce_create_cq(struct verbs_cq *cq, const struct verbs_create_cq *in);
int uroce_resize_cq(struct verbs_cq *cq, const struct verbs_resize_cq *in);
int uroce_modify_cq(struct verbs_cq *cq, struct ibv_modify_cq_attr *attr);
int uroce_destroy_cq(struct verbs_cq *cq);
int uroce_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc);
int uroce_req_notify_cq(struct ibv_cq *cq, int solicited_only);

/* srq.c, recv.c */
int uroce_create_srq(struct verbs_srq *srq, const struct verbs_create_srq *in);
int uroce_modify_srq(struct verbs_srq *srq, const struct verbs_modify_srq *in);
int uroce_query_srq(struct verbs_srq *srq, struct ibv_srq_attr *ret_attr);
int uroce_destroy_srq(struct verbs_srq *srq);
int uroce_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
int uroce_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

/* xrcd.c */
struct uroce_xrcd {
	struct verbs_xrcd vxrcd;
	struct uroce_domain *domain;
	atomic_uint users; /* SRQs and QP handles that use it */
};
int uroce_open_xrcd(struct verbs_xrcd *xrcd, const struct verbs_open_xrcd *in);
int uroce_close_xrcd(struct verbs_xrcd *xrcd);
int uroce_open_qp(struct verbs_qp *vqp, const struct verbs_open_qp *in);
/* Make @handle a handle of @qp, or remove it. Return: true if no other handle of the QP is left. */
void uroce_xrc_handle_add(struct uroce_qp *qp, struct uroce_qp *handle);
bool uroce_xrc_handle_remove(struct uroce_qp *handle);
/* Return the QP of a handle. Other QPs are returned unchanged. */
static inline struct uroce_qp *uroce_qp_real(struct verbs_qp *vqp)
{
	struct uroce_qp *qp = (struct uroce_qp *)vqp;

	return unlikely(qp->shared != NULL) ? qp->shared : qp;
}

/* send.c */
int uroce_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int uroce_post_write_copy(struct ibv_qp *qp, struct ibv_send_wr *wr, const void *bytes);
bool uroce_qp_end_waits(struct ibv_qp *qp);

/* ah.c */
int uroce_create_ah(struct ibv_ah *ah, const struct verbs_create_ah *in);
int uroce_destroy_ah(struct ibv_ah *ah);

/* counters.c: for liburoce */
extern const struct uroce_direct uroce_direct;

/* qp.c, qp_state.c */
int uroce_create_qp(struct verbs_qp *vqp, const struct verbs_create_qp *in);
int uroce_modify_qp(struct verbs_qp *vqp, const struct verbs_modify_qp *in);
int uroce_query_qp(struct verbs_qp *vqp, const struct verbs_query_qp *in);
int uroce_destroy_qp(struct verbs_qp *vqp);
/*
 * Return the entries that a queue grants: those of its ring, or in strict mode the @asked ones, as
 * some adapters do.
 */
static inline uint32_t uroce_granted(const struct ibv_context *ctx, uint32_t asked, uint32_t ring)
{
	return to_uctx(ctx)->strict ? asked : ring;
}
/* Allocate the receive ring of a QP or an SRQ. */
int uroce_rq_alloc(struct uroce_rq *rq, struct ibv_pd *pd, uint64_t type, uint32_t max_wr,
		   uint32_t max_sge);

/*
 * wr.c: set the requested ibv_wr_* functions. Return: -EOPNOTSUPP if the QP type lacks one of them.
 */
int uroce_wr_init(struct uroce_qp *qp, const struct ibv_qp_init_attr_ex *attr);

/* fault_verbs.c: set the operations of @ctx to @ops with the fault rules before them. Return: the
 * new operations. */
const struct verbs_ops *uroce_fault_verbs(struct verbs_context *ctx, const struct verbs_ops *ops);

#endif

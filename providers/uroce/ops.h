/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The provider's operations, by file: what uroce.c puts into the table. */
#ifndef UROCE_OPS_H
#define UROCE_OPS_H

#include "libibverbs/provider.h"

/* uroce.c: the table */
extern const struct verbs_ops uroce_ops;

/* device.c */
int uroce_query_device(struct ibv_context *ctx, const struct verbs_query_device *in,
		       struct ibv_device_attr_ex *ret_attr);
int uroce_query_port(struct ibv_context *ctx, uint8_t port_num, struct ibv_port_attr *ret_attr);
int uroce_query_rt_values(struct ibv_context *ctx, struct ibv_values_ex *values);

/* gid.c */
int uroce_query_gid(struct ibv_context *ctx, uint8_t port_num, uint32_t index,
		    struct ibv_gid_entry *ret_entry);
ssize_t uroce_query_gid_table(struct ibv_context *ctx, struct ibv_gid_entry *ret_entries,
			      size_t max_entries);
int uroce_query_pkey(struct ibv_context *ctx, uint8_t port_num, int index, __be16 *ret_pkey);

/* keys.c, mw.c */
int uroce_alloc_pd(struct ibv_pd *pd, struct verbs_udata *udata);
int uroce_dealloc_pd(struct ibv_pd *pd);
int uroce_reg_mr(struct verbs_mr *mr, const struct verbs_reg_mr *in);
int uroce_rereg_mr(struct verbs_mr *mr, const struct verbs_rereg_mr *in);
int uroce_dereg_mr(struct verbs_mr *mr);
int uroce_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		    struct ibv_sge *sg_list, uint32_t num_sge);
int uroce_alloc_mw(struct ibv_mw *mw, struct verbs_udata *udata);
int uroce_dealloc_mw(struct ibv_mw *mw);
int uroce_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);

/* cq.c */
int uroce_create_comp_channel(struct ibv_comp_channel *channel);
void uroce_destroy_comp_channel(struct ibv_comp_channel *channel);
int uroce_create_cq(struct verbs_cq *cq, const struct verbs_create_cq *in);
int uroce_resize_cq(struct verbs_cq *cq, const struct verbs_resize_cq *in);
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

/* send.c */
int uroce_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);

/* ah.c */
int uroce_create_ah(struct ibv_ah *ah, const struct verbs_create_ah *in);
int uroce_destroy_ah(struct ibv_ah *ah);

/* mcast.c */
int uroce_attach_mcast(struct verbs_qp *qp, const union ibv_gid *gid, uint16_t lid);
int uroce_detach_mcast(struct verbs_qp *qp, const union ibv_gid *gid, uint16_t lid);

/* counters.c */
int uroce_query_counters_op(struct ibv_context *ctx, struct ibv_qp *qp,
			    struct uroce_counter *ret_counters, unsigned int count);
int uroce_query_first_error_op(struct ibv_qp *qp, struct uroce_qp_error *ret_error);

/* gsi.c */
int uroce_gsi_open(struct ibv_context *ctx, const struct verbs_gsi_taker *taker, int *ret_fd,
		   uint8_t *ret_prefix);
int uroce_gsi_listen(struct ibv_context *ctx, uint64_t service_id, const union ibv_gid *gid,
		     bool on);
int uroce_gsi_send(struct ibv_context *ctx, const struct verbs_gsi_mad *mad);
int uroce_gsi_recv(struct ibv_context *ctx, struct verbs_gsi_mad *ret_mad);
int uroce_gsi_probe(struct ibv_context *ctx, const struct verbs_gsi_mad *mad, int *fd);
int uroce_gsi_offer(struct ibv_context *ctx, const struct verbs_gsi_mad *mad);
void uroce_gsi_poll(struct ibv_context *ctx);
void uroce_gsi_leave(struct ibv_context *ctx);

#endif

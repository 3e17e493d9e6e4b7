/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel's commands, one function each, with the signature of the provider op: (object, const
 * request). A provider without private data has them in its ops table. A provider with private data
 * sets the request's udata to its own structs and calls them. All functions return 0 or -errno.
 * They fill in the object's handle and the values that the kernel granted. Exported to providers.
 */
#ifndef LIBIBVERBS_UVERBS_UVERBS_H
#define LIBIBVERBS_UVERBS_UVERBS_H

#include "libibverbs/provider.h"

#pragma GCC visibility push(default)

/* Features that older kernels lack. The first refusal of a feature is stored in the context. */
enum uverbs_feature {
	UVERBS_FEATURE_QUERY_GID_TABLE, /* 5.10: the whole GID table in one call */
	UVERBS_FEATURE_COUNT,
};

/* Return false if the kernel has refused the feature on this context. */
bool uverbs_has(struct ibv_context *ctx, enum uverbs_feature feature);
/* Return @r. If it means that the kernel lacks the feature, store that. */
int uverbs_learn(struct ibv_context *ctx, enum uverbs_feature feature, int r);

/* device.c */
int uverbs_open_context(struct verbs_context *ctx, const struct verbs_open_context *in);
int uverbs_query_device(struct ibv_context *ctx, const struct verbs_query_device *in,
			struct ibv_device_attr_ex *ret_attr);
int uverbs_query_port(struct ibv_context *ctx, uint8_t port_num, struct ibv_port_attr *ret_attr);
int uverbs_query_port_speed(struct ibv_context *ctx, uint32_t port_num, uint64_t *ret_speed);
int uverbs_create_comp_channel(struct ibv_comp_channel *channel);

/* gid.c */
int uverbs_query_gid(struct ibv_context *ctx, uint8_t port_num, uint32_t index,
		     struct ibv_gid_entry *ret_entry);
ssize_t uverbs_query_gid_table(struct ibv_context *ctx, struct ibv_gid_entry *ret_entries,
			       size_t max_entries);
int uverbs_query_pkey(struct ibv_context *ctx, uint8_t port_num, int index, __be16 *ret_pkey);

/* pd.c */
int uverbs_alloc_pd(struct ibv_pd *pd, struct verbs_udata *udata);
int uverbs_dealloc_pd(struct ibv_pd *pd);
int uverbs_import_pd(struct ibv_pd *pd, uint32_t handle);

/* xrcd.c */
int uverbs_open_xrcd(struct verbs_xrcd *xrcd, const struct verbs_open_xrcd *in);
int uverbs_close_xrcd(struct verbs_xrcd *xrcd);

/* mr.c */
int uverbs_reg_mr(struct verbs_mr *mr, const struct verbs_reg_mr *in);
int uverbs_reg_dmabuf_mr(struct verbs_mr *mr, const struct verbs_reg_dmabuf_mr *in);
int uverbs_reg_dm_mr(struct verbs_mr *mr, const struct verbs_reg_dm_mr *in);
int uverbs_import_mr(struct verbs_mr *mr, uint32_t handle);
int uverbs_rereg_mr(struct verbs_mr *mr, const struct verbs_rereg_mr *in);
int uverbs_dereg_mr(struct verbs_mr *mr);
int uverbs_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		     struct ibv_sge *sg_list, uint32_t num_sge);

/* dm.c: the provider maps the memory and sets the two copy functions */
int uverbs_alloc_dm(struct verbs_dm *dm, const struct verbs_alloc_dm *in);
int uverbs_free_dm(struct verbs_dm *dm);

/* dmah.c */
int uverbs_alloc_dmah(struct verbs_dmah *dmah, const struct verbs_alloc_dmah *in);
int uverbs_dealloc_dmah(struct verbs_dmah *dmah);
int uverbs_reg_mr_ex(struct verbs_mr *mr, const struct verbs_reg_mr_ex *in);
/* Return a new dma-buf descriptor for the pages that mmap() of the device at @offset would map, or
 * -errno. */
int uverbs_export_dmabuf(struct ibv_context *ctx, uint64_t offset);

/* comp_cntr.c */
int uverbs_query_comp_cntr_caps(struct ibv_context *ctx, struct ibv_comp_cntr_caps *ret_caps);
int uverbs_create_comp_cntr(struct ibv_comp_cntr *cntr, const struct verbs_create_comp_cntr *in);
int uverbs_destroy_comp_cntr(struct ibv_comp_cntr *cntr);
int uverbs_modify_comp_cntr(struct ibv_comp_cntr *cntr, const struct verbs_modify_comp_cntr *in);
int uverbs_read_comp_cntr(struct ibv_comp_cntr *cntr, enum verbs_comp_cntr_entry entry,
			  uint64_t *ret_value);
int uverbs_qp_attach_comp_cntr(struct verbs_qp *qp, struct ibv_comp_cntr *cntr,
			       const struct ibv_qp_attach_comp_cntr_attr *attr);

/* mw.c */
int uverbs_alloc_mw(struct ibv_mw *mw, struct verbs_udata *udata);
int uverbs_dealloc_mw(struct ibv_mw *mw);

/* cq.c */
int uverbs_create_cq(struct verbs_cq *cq, const struct verbs_create_cq *in);
int uverbs_resize_cq(struct verbs_cq *cq, const struct verbs_resize_cq *in);
int uverbs_modify_cq(struct verbs_cq *cq, struct ibv_modify_cq_attr *attr);
int uverbs_destroy_cq(struct verbs_cq *cq); /* waits until its events are acknowledged */
int uverbs_req_notify_cq(struct ibv_cq *cq, int solicited_only); /* app-facing */
/* Let the kernel driver poll the queue, without completions for the caller. */
int uverbs_poll_cq(struct verbs_cq *cq);

/* srq.c */
int uverbs_create_srq(struct verbs_srq *srq, const struct verbs_create_srq *in);
int uverbs_modify_srq(struct verbs_srq *srq, const struct verbs_modify_srq *in);
int uverbs_query_srq(struct verbs_srq *srq, struct ibv_srq_attr *ret_attr);
int uverbs_destroy_srq(struct verbs_srq *srq);

/* qp.c */
int uverbs_create_qp(struct verbs_qp *qp, const struct verbs_create_qp *in);
int uverbs_modify_qp(struct verbs_qp *qp, const struct verbs_modify_qp *in);
int uverbs_query_qp(struct verbs_qp *qp, const struct verbs_query_qp *in);
int uverbs_destroy_qp(struct verbs_qp *qp);
int uverbs_open_qp(struct verbs_qp *qp, const struct verbs_open_qp *in);
int uverbs_attach_mcast(struct verbs_qp *qp, const union ibv_gid *gid, uint16_t lid);
int uverbs_detach_mcast(struct verbs_qp *qp, const union ibv_gid *gid, uint16_t lid);

/* wq.c */
int uverbs_create_wq(struct verbs_wq *wq, const struct verbs_create_wq *in);
int uverbs_modify_wq(struct verbs_wq *wq, const struct verbs_modify_wq *in);
int uverbs_destroy_wq(struct verbs_wq *wq); /* waits until its events are acknowledged */
int uverbs_create_rwq_ind_table(struct ibv_rwq_ind_table *table,
				const struct verbs_create_rwq_ind_table *in);
int uverbs_destroy_rwq_ind_table(struct ibv_rwq_ind_table *table);

/* flow.c */
int uverbs_create_flow(struct ibv_flow *flow, const struct verbs_create_flow *in);
int uverbs_destroy_flow(struct ibv_flow *flow);
int uverbs_create_flow_action_esp(struct verbs_flow_action *action,
				  const struct verbs_flow_action_esp *in);
int uverbs_modify_flow_action_esp(struct verbs_flow_action *action,
				  const struct verbs_flow_action_esp *in);
int uverbs_destroy_flow_action(struct verbs_flow_action *action);

/* counters.c: a provider's attach op tells the driver which event a counter counts */
int uverbs_create_counters(struct verbs_counters *counters, const struct verbs_create_counters *in);
int uverbs_destroy_counters(struct verbs_counters *counters);
int uverbs_read_counters(struct verbs_counters *counters, uint64_t *ret_values, uint32_t count,
			 uint32_t flags);

/* ah.c */
int uverbs_create_ah(struct ibv_ah *ah, const struct verbs_create_ah *in);
int uverbs_destroy_ah(struct ibv_ah *ah);

#pragma GCC visibility pop

#endif

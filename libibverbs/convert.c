/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>

#include "libibverbs/convert.h"
#include "libibverbs/library.h"

static void global_route_from_kern(struct ibv_global_route *dst,
				   const struct ib_uverbs_global_route *src)
{
	memcpy(dst->dgid.raw, src->dgid, sizeof(dst->dgid.raw));
	dst->flow_label = src->flow_label;
	dst->sgid_index = src->sgid_index;
	dst->hop_limit = src->hop_limit;
	dst->traffic_class = src->traffic_class;
}

VERBS_EXPORT void ibv_copy_ah_attr_from_kern(struct ibv_ah_attr *dst, struct ib_uverbs_ah_attr *src)
{
	global_route_from_kern(&dst->grh, &src->grh);
	dst->dlid = src->dlid;
	dst->sl = src->sl;
	dst->src_path_bits = src->src_path_bits;
	dst->static_rate = src->static_rate;
	dst->is_global = src->is_global;
	dst->port_num = src->port_num;
}

static void qp_cap_from_kern(struct ibv_qp_cap *dst, const struct ib_uverbs_qp_attr *src)
{
	dst->max_send_wr = src->max_send_wr;
	dst->max_recv_wr = src->max_recv_wr;
	dst->max_send_sge = src->max_send_sge;
	dst->max_recv_sge = src->max_recv_sge;
	dst->max_inline_data = src->max_inline_data;
}

/*
 * Copy single members, because rate_limit is newer than this function, and the struct of an older
 * program has no room for it.
 */
VERBS_EXPORT void ibv_copy_qp_attr_from_kern(struct ibv_qp_attr *dst, struct ib_uverbs_qp_attr *src)
{
	dst->qp_state = src->qp_state;
	dst->cur_qp_state = src->cur_qp_state;
	dst->path_mtu = src->path_mtu;
	dst->path_mig_state = src->path_mig_state;
	dst->qkey = src->qkey;
	dst->rq_psn = src->rq_psn;
	dst->sq_psn = src->sq_psn;
	dst->dest_qp_num = src->dest_qp_num;
	dst->qp_access_flags = src->qp_access_flags;
	qp_cap_from_kern(&dst->cap, src);
	ibv_copy_ah_attr_from_kern(&dst->ah_attr, &src->ah_attr);
	ibv_copy_ah_attr_from_kern(&dst->alt_ah_attr, &src->alt_ah_attr);
	dst->pkey_index = src->pkey_index;
	dst->alt_pkey_index = src->alt_pkey_index;
	dst->en_sqd_async_notify = src->en_sqd_async_notify;
	dst->sq_draining = src->sq_draining;
	dst->max_rd_atomic = src->max_rd_atomic;
	dst->max_dest_rd_atomic = src->max_dest_rd_atomic;
	dst->min_rnr_timer = src->min_rnr_timer;
	dst->port_num = src->port_num;
	dst->timeout = src->timeout;
	dst->retry_cnt = src->retry_cnt;
	dst->rnr_retry = src->rnr_retry;
	dst->alt_port_num = src->alt_port_num;
	dst->alt_timeout = src->alt_timeout;
}

VERBS_EXPORT void ibv_copy_path_rec_from_kern(struct ibv_sa_path_rec *dst,
					      struct ib_user_path_rec *src)
{
	*dst = (struct ibv_sa_path_rec){
		.dlid = src->dlid,
		.slid = src->slid,
		.raw_traffic = src->raw_traffic,
		.flow_label = src->flow_label,
		.hop_limit = src->hop_limit,
		.traffic_class = src->traffic_class,
		.reversible = src->reversible,
		.numb_path = src->numb_path,
		.pkey = src->pkey,
		.sl = src->sl,
		.mtu_selector = src->mtu_selector,
		.mtu = src->mtu,
		.rate_selector = src->rate_selector,
		.rate = src->rate,
		.packet_life_time_selector = src->packet_life_time_selector,
		.packet_life_time = src->packet_life_time,
		.preference = src->preference,
	};
	memcpy(dst->dgid.raw, src->dgid, sizeof(dst->dgid.raw));
	memcpy(dst->sgid.raw, src->sgid, sizeof(dst->sgid.raw));
}

VERBS_EXPORT void ibv_copy_path_rec_to_kern(struct ib_user_path_rec *dst,
					    struct ibv_sa_path_rec *src)
{
	*dst = (struct ib_user_path_rec){
		.dlid = src->dlid,
		.slid = src->slid,
		.raw_traffic = src->raw_traffic,
		.flow_label = src->flow_label,
		.hop_limit = src->hop_limit,
		.traffic_class = src->traffic_class,
		.reversible = src->reversible,
		.numb_path = src->numb_path,
		.pkey = src->pkey,
		.sl = src->sl,
		.mtu_selector = src->mtu_selector,
		.mtu = src->mtu,
		.rate_selector = src->rate_selector,
		.rate = src->rate,
		.packet_life_time_selector = src->packet_life_time_selector,
		.packet_life_time = src->packet_life_time,
		.preference = src->preference,
	};
	memcpy(dst->dgid, src->dgid.raw, sizeof(dst->dgid));
	memcpy(dst->sgid, src->sgid.raw, sizeof(dst->sgid));
}

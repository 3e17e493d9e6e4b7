/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Queue pairs of each type. Of raw packets, a sending queue pair has a ring, and a receiving queue
 * pair has a table of work queues.
 */
#include <string.h>

#include "providers/kit/qp.h"
#include "providers/mana/rc.h"

enum {
	HASH_KEY_BYTES = sizeof(((struct mana_ib_create_qp_rss *)0)->rx_hash_key),
	TABLE_MAX = ARRAY_SIZE(((struct mana_ib_create_qp_rss_resp *)0)->entries),
};

#define QP_RSS ((uint32_t)(IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH))

static int qp_check(struct ibv_context *ctx, const struct ibv_qp_init_attr_ex *attr)
{
	uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS | QP_RSS;

	if (attr->qp_type != IBV_QPT_RAW_PACKET) {
		verbs_err(ctx,
			  "ibv_create_qp: QP type %d: this provider has RC and raw packets only",
			  attr->qp_type);
		return -EOPNOTSUPP;
	}
	if (!comp_mask_ok(attr->comp_mask, known)) {
		verbs_err(ctx, "ibv_create_qp: comp_mask 0x%x: not supported by mana",
			  attr->comp_mask & ~known);
		return -EOPNOTSUPP;
	}
	if (!to_vpd(attr->pd)->of) {
		verbs_err(ctx,
			  "ibv_create_qp: pd %u: it has to be a parent domain, whose "
			  "pd_context is the number of the port",
			  attr->pd->handle);
		return -EINVAL;
	}
	return 0;
}

static uint32_t qp_port(const struct ibv_qp_init_attr_ex *attr)
{
	return (uintptr_t)to_vpd(attr->pd)->pd_context;
}

/* ---- sending queue pairs */

static int send_create(struct mana_qp *qp, const struct verbs_create_qp *in)
{
	const struct mana_ib_create_qp cmd = {
		.sq_buf_addr = (uintptr_t)qp->sq.buf.base,
		.sq_buf_size = qp->sq.bytes,
		.port = qp_port(in->attr),
	};
	struct mana_ib_create_qp_resp resp = {};
	struct verbs_udata udata = VERBS_UDATA(cmd, resp);
	int r;

	r = kit_create_qp(&qp->vqp, in, &udata);
	if (r < 0)
		return r;
	qp->sq.number = resp.sqid;
	qp->tx_vp_offset = resp.tx_vp_offset;
	to_mcq(in->attr->send_cq)->queue.number = resp.cqid;
	return 0;
}

static int send_make(struct mana_qp *qp, const struct verbs_create_qp *in)
{
	const struct ibv_qp_cap *cap = &in->attr->cap;
	int r = mana_queue_make(to_mctx(qp->vqp.qp.context), MANA_QUEUE_SQ, cap->max_send_wr,
				cap->max_send_sge, &qp->sq);

	if (r < 0)
		return r;
	r = send_create(qp, in);
	if (r < 0)
		kit_buf_free(&qp->sq.buf);
	return r;
}

/* ---- receiving queue pairs */

static int rss_check(struct ibv_context *ctx, const struct ibv_qp_init_attr_ex *attr)
{
	const struct ibv_rx_hash_conf *hash = &attr->rx_hash_conf;
	const struct mana_rwq_ind_table *table = (void *)attr->rwq_ind_tbl;

	if (QP_RSS & ~attr->comp_mask) {
		verbs_err(ctx,
			  "ibv_create_qp_ex: comp_mask 0x%x: a table and the way of hashing are "
			  "given together, or neither",
			  attr->comp_mask);
		return -EINVAL;
	}
	if (hash->rx_hash_key_len != HASH_KEY_BYTES || !hash->rx_hash_key) {
		verbs_err(ctx, "ibv_create_qp_ex: a hash key of %u bytes: it has to have %d",
			  hash->rx_hash_key_len, HASH_KEY_BYTES);
		return -EINVAL;
	}
	if (table->count > TABLE_MAX) {
		verbs_err(ctx, "ibv_create_qp_ex: a table of %u queues: at most %d are possible",
			  table->count, TABLE_MAX);
		return -EINVAL;
	}
	return 0;
}

static int rss_accept(struct mana_qp *qp, const struct mana_rwq_ind_table *table,
		      const struct mana_ib_create_qp_rss_resp *resp)
{
	if (resp->num_entries < table->count) {
		verbs_err(qp->vqp.qp.context, "qp 0x%x: the kernel numbers %llu queues of %u",
			  qp->vqp.qp.qp_num, (unsigned long long)resp->num_entries, table->count);
		return -EPROTO;
	}
	for (uint32_t i = 0; i < table->count; i++) {
		table->wqs[i]->queue.number = resp->entries[i].wqid;
		to_mcq(table->wqs[i]->vwq.wq.cq)->queue.number = resp->entries[i].cqid;
	}
	return 0;
}

static int rss_make(struct mana_qp *qp, const struct verbs_create_qp *in)
{
	const struct ibv_rx_hash_conf *hash = &in->attr->rx_hash_conf;
	struct mana_ib_create_qp_rss_resp resp = {};
	struct mana_ib_create_qp_rss cmd = {
		.rx_hash_fields_mask = hash->rx_hash_fields_mask,
		.rx_hash_function = hash->rx_hash_function,
		.rx_hash_key_len = hash->rx_hash_key_len,
		.port = qp_port(in->attr),
	};
	struct verbs_udata udata = VERBS_UDATA(cmd, resp);
	int r = rss_check(qp->vqp.qp.context, in->attr);

	if (r < 0)
		return r;
	memcpy(cmd.rx_hash_key, hash->rx_hash_key, sizeof(cmd.rx_hash_key));
	r = kit_create_qp(&qp->vqp, in, &udata);
	if (r < 0)
		return r;
	r = rss_accept(qp, (void *)in->attr->rwq_ind_tbl, &resp);
	if (r < 0)
		uverbs_destroy_qp(&qp->vqp);
	return r;
}

int mana_create_qp(struct verbs_qp *vqp, const struct verbs_create_qp *in)
{
	struct mana_qp *qp = to_mqp(&vqp->qp);
	bool is_rc = in->attr->qp_type == IBV_QPT_RC;
	int r = is_rc ? mana_rc_check(vqp->qp.context, in->attr)
		      : qp_check(vqp->qp.context, in->attr);

	if (r < 0)
		return r;
	if (is_rc)
		return mana_rc_create(to_mrc(&vqp->qp), in);
	return in->attr->comp_mask & QP_RSS ? rss_make(qp, in) : send_make(qp, in);
}

int mana_destroy_qp(struct verbs_qp *vqp)
{
	int r;

	if (vqp->qp.qp_type == IBV_QPT_RC)
		return mana_rc_destroy(to_mrc(&vqp->qp));
	r = uverbs_destroy_qp(vqp);
	if (!r)
		kit_buf_free(&to_mqp(&vqp->qp)->sq.buf);
	return r;
}

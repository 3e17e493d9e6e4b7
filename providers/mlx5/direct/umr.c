/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Requests that configure a key, and requests that a program built. The request for a key has the
 * two segments of wqe_umr(), followed by its list.
 */
#include "providers/mlx5/copy.h"
#include "providers/mlx5/direct/mkey.h"
#include "providers/mlx5/wqe.h"
#include "providers/mlx5/wr.h"

enum {
	LIST_UNIT = 64,
	REPEAT_OP = 0x400,
	SETTERS_OF_MR = 2,
};

#define KEY_BSF_ENABLED	 (1u << 30)
#define KEY_ERRORS_SHIFT 26
#define MASK_ACCESS                                        \
	(MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_LOCAL_WRITE |  \
	 MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_REMOTE_READ |  \
	 MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_REMOTE_WRITE | \
	 MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_ATOMIC)

/* The segment behind the control segment of SET_PSV. */
struct psv_seg {
	__be32 index;
	uint8_t reserved_4[4];
	__be64 transient;
};

static inline struct mlx5_qp *dv_to_mqp(struct mlx5dv_qp_ex *dv)
{
	return (struct mlx5_qp *)((char *)dv - offsetof(struct mlx5_qp, dv));
}

/* ---- a key that is being configured */

static struct mlx5_umr *umr_current(struct mlx5_qp *qp, const char *what)
{
	struct mlx5_batch *batch = &qp->sq.batch;

	if (batch->error || !batch->ctrl)
		return NULL;
	if (!qp->umr.mkey || !qp->umr.missing) {
		mlx5_wr_fail(qp, EINVAL, what, "no key is being configured");
		return NULL;
	}
	return &qp->umr;
}

/* Append a block and mark it in both segments. */
static void bsf_append(struct mlx5_qp *qp, const uint8_t *bsf)
{
	struct mlx5_umr *umr = &qp->umr;
	uint32_t units = be16toh(umr->ctrl->bsf_octowords) + MLX5_BSF_SIZE / MLX_SEGMENT;

	qp->sq.batch.seg =
		wqe_bytes(&qp->sq, sq_wrap(&qp->sq, qp->sq.batch.seg), bsf, MLX5_BSF_SIZE);
	umr->list_bytes += MLX5_BSF_SIZE;
	umr->ctrl->bsf_octowords = htobe16(units);
	umr->ctrl->mkey_mask |= htobe64(MLX5_WQE_UMR_CTRL_MKEY_MASK_BSF_ENABLE);
	umr->key->flags_pd |= htobe32(KEY_BSF_ENABLED);
}

/* Write all blocks of the key, because new blocks replace all earlier ones. */
static int bsf_write(struct mlx5_qp *qp, const struct mlx5_mkey *mkey,
		     const struct mlx5_sig_block *block, const struct mlx5_cipher *cipher)
{
	unsigned int size = (block ? MLX5_BSF_SIZE : 0) + (cipher->there ? MLX5_BSF_SIZE : 0);
	uint8_t bsf[MLX5_BSF_SIZE];
	int r = 0;

	if (qp->umr.list_bytes + size > qp->sq.max_inline + sizeof(struct mlx5_wqe_inl_data_seg))
		return -ENOMEM;
	if (mkey->length > UINT32_MAX)
		return -EINVAL;
	if (block) {
		r = mlx5_sig_write(mkey->sig, block, cipher->there, bsf);
		if (!r)
			bsf_append(qp, bsf);
	}
	if (!r && cipher->there) {
		r = mlx5_cipher_write(cipher, block, bsf);
		if (!r)
			bsf_append(qp, bsf);
	}
	return r;
}

/* Pass the lowest bit of the error count to the adapter. Return: whether the count has changed. */
static bool errors_tell(struct mlx5_qp *qp, struct mlx5_sig *sig)
{
	uint32_t count;

	if (!mlx5_sig_errors_count(to_mctx(qp->vqp.qp.context), &sig->errors, &count))
		return false;
	qp->umr.ctrl->mkey_mask |= htobe64(MLX5_WQE_UMR_CTRL_MKEY_MASK_SIG_ERR);
	qp->umr.key->flags_pd |= htobe32((count & 1) << KEY_ERRORS_SHIFT);
	return true;
}

/* Post a request that sets the initial value of a signature. @more: another such request follows,
 * and only its completion is reported */
static void psv_set(struct mlx5_qp *qp, const struct mlx5_psv *psv, uint64_t transient, bool more)
{
	unsigned int flags = qp->vqp.qp_ex.wr_flags;
	struct mlx5_batch *batch;

	if (more)
		qp->vqp.qp_ex.wr_flags &= ~(unsigned int)IBV_SEND_SIGNALED;
	batch = mlx5_wr_begin(qp, MLX5_OPCODE_SET_PSV, 0, 0, (uint32_t)MLX5DV_WC_UMR);
	qp->vqp.qp_ex.wr_flags = flags;
	if (!batch)
		return;
	*(struct psv_seg *)batch->seg = (struct psv_seg){
		.index = htobe32(psv->index),
		.transient = htobe64(transient),
	};
	batch->ds++;
	mlx5_wr_finish(qp);
	qp->sq.fence = MLX5_WQE_CTRL_INITIATOR_SMALL_FENCE;
	batch->ctrl = NULL;
}

static void psvs_set(struct mlx5_qp *qp, const struct mlx5_sig *sig)
{
	const struct mlx5_sig_block *block = &sig->block;

	if (block->mem.there)
		psv_set(qp, &sig->mem_psv, block->mem.transient, block->wire.there);
	if (block->wire.there)
		psv_set(qp, &sig->wire_psv, block->wire.transient, false);
}

/* Write the part behind the list. @block: the new signatures; NULL: the key has no signatures */
static int umr_close(struct mlx5_qp *qp, struct mlx5_mkey *mkey, const struct mlx5_sig_block *block,
		     const struct mlx5_cipher *cipher)
{
	struct mlx5_umr *umr = &qp->umr;

	if (cipher->there && cipher->block_most && mkey->length > cipher->block_most)
		return -EINVAL;
	if (umr->has_sig || umr->has_cipher || (umr->resets_sig && mkey->crypto))
		return bsf_write(qp, mkey, block, cipher);
	if (mkey->sig && !mkey->crypto && !block->mem.there && !block->wire.there)
		umr->ctrl->mkey_mask |= htobe64(MLX5_WQE_UMR_CTRL_MKEY_MASK_BSF_ENABLE);
	return 0;
}

/* Return the signatures of this request, or else of an earlier request. */
static const struct mlx5_sig_block *umr_block(const struct mlx5_umr *umr,
					      const struct mlx5_sig *sig)
{
	static const struct mlx5_sig_block none;

	if (!sig)
		return NULL;
	return umr->has_sig ? &sig->next : umr->resets_sig ? &none : &sig->block;
}

static void umr_finish(struct mlx5_qp *qp)
{
	struct mlx5_umr *umr = &qp->umr;
	struct mlx5_mkey *mkey = to_mkey(umr->mkey);
	const struct mlx5_cipher *cipher = umr->has_cipher ? &mkey->next_cipher : &mkey->cipher;
	const struct mlx5_sig_block *block = umr_block(umr, mkey->sig);
	bool begins = umr->has_sig;
	int r = umr_close(qp, mkey, block, cipher);

	umr->mkey = NULL;
	if (r < 0) {
		mlx5_wr_fail(qp, -r, "mlx5dv_wr_mkey_configure",
			     r == -ENOMEM ? "more than a request has room for"
					  : "a length, a copy_mask or an order that does not fit");
		return;
	}
	if (mkey->sig && errors_tell(qp, mkey->sig))
		begins = true;
	mkey->cipher = *cipher;
	if (mkey->sig)
		mkey->sig->block = *block;
	begins = begins && mkey->sig && (block->mem.there || block->wire.there);
	if (begins)
		qp->sq.batch.ctrl->fm_ce_se &= ~MLX5_WQE_CTRL_CQ_UPDATE;
	qp->sq.batch.ds += (UMR_CTRL_SIZE + UMR_CONTEXT_SIZE + umr->list_bytes) / MLX_SEGMENT;
	mlx5_wr_finish(qp);
	qp->sq.fence = MLX5_WQE_CTRL_INITIATOR_SMALL_FENCE;
	qp->sq.batch.ctrl = NULL;
	if (begins)
		psvs_set(qp, mkey->sig);
}

static void umr_set_done(struct mlx5_qp *qp)
{
	if (!--qp->umr.missing)
		umr_finish(qp);
}

static void wr_mkey_configure(struct mlx5dv_qp_ex *dv, struct mlx5dv_mkey *dv_mkey,
			      uint8_t num_setters, struct mlx5dv_mkey_conf_attr *attr)
{
	struct mlx5_qp *qp = dv_to_mqp(dv);
	struct mlx5_mkey *mkey = to_mkey(dv_mkey);
	const struct wqe_umr umr = {
		.flags = MLX5_WQE_UMR_CTRL_FLAG_INLINE,
		.mask = MLX5_WQE_UMR_CTRL_MKEY_MASK_FREE | MLX5_WQE_UMR_CTRL_MKEY_MASK_MKEY,
		.qpn_mkey = (uint32_t)UMR_MKEY_ANY_QP << 8 | (mkey->dv.lkey & 0xff),
	};
	struct mlx5_batch *batch;
	char *seg;

	if (attr->conf_flags & ~MLX5DV_MKEY_CONF_FLAG_RESET_SIG_ATTR || attr->comp_mask ||
	    !(qp->vqp.qp_ex.wr_flags & IBV_SEND_INLINE)) {
		mlx5_wr_fail(qp, EOPNOTSUPP, "mlx5dv_wr_mkey_configure",
			     "conf_flags, comp_mask, or no IBV_SEND_INLINE in wr_flags");
		return;
	}
	batch = mlx5_wr_begin(qp, MLX5_OPCODE_UMR, 0, htobe32(mkey->dv.lkey),
			      (uint32_t)MLX5DV_WC_UMR);
	if (!batch)
		return;
	seg = batch->seg;
	batch->seg = wqe_umr(&qp->sq, seg, &umr);
	qp->umr = (struct mlx5_umr){
		.mkey = dv_mkey,
		.ctrl = (void *)seg,
		.key = (void *)sq_wrap(&qp->sq, seg + UMR_CTRL_SIZE),
		.missing = num_setters,
		.resets_sig = attr->conf_flags & MLX5DV_MKEY_CONF_FLAG_RESET_SIG_ATTR,
	};
	if (!num_setters)
		umr_finish(qp);
}

static void wr_set_mkey_access_flags(struct mlx5dv_qp_ex *dv, uint32_t access)
{
	const uint32_t known = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			       IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	struct mlx5_qp *qp = dv_to_mqp(dv);
	struct mlx5_umr *umr = umr_current(qp, "mlx5dv_wr_set_mkey_access_flags");

	if (!umr)
		return;
	if (umr->has_access || access & ~known) {
		mlx5_wr_fail(qp, EINVAL, "mlx5dv_wr_set_mkey_access_flags",
			     "access flags that are not known, or a second time");
		return;
	}
	umr->has_access = true;
	umr->ctrl->mkey_mask |= htobe64(MASK_ACCESS);
	umr->key->access_flags = mlx5_access_code(access);
	umr_set_done(qp);
}

/* Check that the request has room for the entries of 16 bytes and for @heads more, which describe a
 * repeated block. */
static bool layout_begin(struct mlx5_qp *qp, const char *what, uint32_t entries, uint32_t heads)
{
	struct mlx5_umr *umr = umr_current(qp, what);
	uint32_t inlined = (qp->sq.max_inline + sizeof(struct mlx5_wqe_inl_data_seg)) / MLX_SEGMENT;

	if (!umr)
		return false;
	if (umr->has_layout) {
		mlx5_wr_fail(qp, EINVAL, what, "the key has a layout already");
		return false;
	}
	if (entries + heads > inlined || entries > to_mkey(umr->mkey)->entries) {
		mlx5_wr_fail(qp, ENOMEM, what, "more entries than the key or a request has");
		return false;
	}
	return true;
}

/* Return the next 16 bytes of the list. */
static void *layout_next(struct mlx5_qp *qp)
{
	char *seg = sq_wrap(&qp->sq, qp->sq.batch.seg);

	qp->sq.batch.seg = seg + MLX_SEGMENT;
	qp->umr.list_bytes += MLX_SEGMENT;
	return seg;
}

static void layout_end(struct mlx5_qp *qp, uint64_t length)
{
	struct mlx5_umr *umr = &qp->umr;

	while (umr->list_bytes % LIST_UNIT)
		memset(layout_next(qp), 0, MLX_SEGMENT);
	umr->has_layout = true;
	umr->ctrl->klm_octowords = htobe16(umr->list_bytes / MLX_SEGMENT);
	umr->ctrl->mkey_mask |= htobe64(MLX5_WQE_UMR_CTRL_MKEY_MASK_LEN);
	umr->key->len = htobe64(length);
	to_mkey(umr->mkey)->length = length;
	umr_set_done(qp);
}

static void wr_set_mkey_layout_list(struct mlx5dv_qp_ex *dv, uint16_t num_sges,
				    const struct ibv_sge *sge)
{
	struct mlx5_qp *qp = dv_to_mqp(dv);
	uint64_t length = 0;

	if (!layout_begin(qp, "mlx5dv_wr_set_mkey_layout_list", num_sges, 0))
		return;
	for (uint16_t i = 0; i < num_sges; i++) {
		wqe_data(layout_next(qp), sge[i].addr, sge[i].length, sge[i].lkey);
		length += sge[i].length;
	}
	layout_end(qp, length);
}

static void wr_set_mkey_layout_interleaved(struct mlx5dv_qp_ex *dv, uint32_t repeat_count,
					   uint16_t num_interleaved,
					   const struct mlx5dv_mr_interleaved *data)
{
	struct mlx5_qp *qp = dv_to_mqp(dv);
	struct mlx5_wqe_umr_repeat_block_seg *block;
	uint64_t length = 0;

	if (!layout_begin(qp, "mlx5dv_wr_set_mkey_layout_interleaved", num_interleaved, 1))
		return;
	block = layout_next(qp);
	for (uint16_t i = 0; i < num_interleaved; i++) {
		struct mlx5_wqe_umr_repeat_ent_seg *entry = layout_next(qp);

		entry->stride = htobe16(data[i].bytes_count + data[i].bytes_skip);
		entry->byte_count = htobe16(data[i].bytes_count);
		entry->memkey = htobe32(data[i].lkey);
		entry->va = htobe64(data[i].addr);
		length += data[i].bytes_count;
	}
	block->byte_count = htobe32(length);
	block->op = htobe32(REPEAT_OP);
	block->repeat_count = htobe32(repeat_count);
	block->reserved = 0;
	block->num_ent = htobe16(num_interleaved);
	layout_end(qp, length * repeat_count);
}

static void wr_set_mkey_crypto(struct mlx5dv_qp_ex *dv, const struct mlx5dv_crypto_attr *attr)
{
	struct mlx5_qp *qp = dv_to_mqp(dv);
	struct mlx5_umr *umr = umr_current(qp, "mlx5dv_wr_set_mkey_crypto");

	if (!umr)
		return;
	if (!to_mkey(umr->mkey)->crypto || umr->has_cipher ||
	    mlx5_cipher_set(qp, &to_mkey(umr->mkey)->next_cipher, attr) < 0) {
		mlx5_wr_fail(qp, EINVAL, "mlx5dv_wr_set_mkey_crypto",
			     "a key without ciphers, attributes that are not known, or a second "
			     "time");
		return;
	}
	umr->has_cipher = true;
	umr_set_done(qp);
}

static void wr_set_mkey_sig_block(struct mlx5dv_qp_ex *dv, const struct mlx5dv_sig_block_attr *attr)
{
	struct mlx5_qp *qp = dv_to_mqp(dv);
	struct mlx5_umr *umr = umr_current(qp, "mlx5dv_wr_set_mkey_sig_block");
	struct mlx5_sig *sig = umr ? to_mkey(umr->mkey)->sig : NULL;

	if (!umr)
		return;
	if (!sig || umr->has_sig || mlx5_sig_set(sig, attr) < 0) {
		mlx5_wr_fail(qp, EINVAL, "mlx5dv_wr_set_mkey_sig_block",
			     "a key without signatures, attributes that are not known, or a "
			     "second time");
		return;
	}
	umr->has_sig = true;
	umr_set_done(qp);
}

static void wr_mr_list(struct mlx5dv_qp_ex *dv, struct mlx5dv_mkey *mkey, uint32_t access,
		       uint16_t num_sges, struct ibv_sge *sge)
{
	struct mlx5dv_mkey_conf_attr attr = {};

	wr_mkey_configure(dv, mkey, SETTERS_OF_MR, &attr);
	wr_set_mkey_access_flags(dv, access);
	wr_set_mkey_layout_list(dv, num_sges, sge);
}

static void wr_mr_interleaved(struct mlx5dv_qp_ex *dv, struct mlx5dv_mkey *mkey, uint32_t access,
			      uint32_t repeat_count, uint16_t num_interleaved,
			      struct mlx5dv_mr_interleaved *data)
{
	struct mlx5dv_mkey_conf_attr attr = {};

	wr_mkey_configure(dv, mkey, SETTERS_OF_MR, &attr);
	wr_set_mkey_access_flags(dv, access);
	wr_set_mkey_layout_interleaved(dv, repeat_count, num_interleaved, data);
}

/* ---- requests that the program built */

static void wr_raw_wqe(struct mlx5dv_qp_ex *dv, const void *wqe)
{
	struct mlx5_qp *qp = dv_to_mqp(dv);
	const struct mlx5_wqe_ctrl_seg *from = wqe;
	unsigned int ds = be32toh(from->qpn_ds) & 0x3f;
	struct mlx5_batch *batch;
	uint32_t head;

	if (!ds || ds * MLX_SEGMENT > qp->wqe_bytes) {
		mlx5_wr_fail(qp, EINVAL, "mlx5dv_wr_raw_wqe",
			     "a request of no segments, or of more than the ring's have");
		return;
	}
	batch = mlx5_wr_begin(qp, MLX5_OPCODE_NOP, 0, 0, (uint32_t)MLX5DV_WC_RAW_WQE);
	if (!batch)
		return;
	wqe_bytes(&qp->sq, (char *)batch->ctrl, wqe, ds * MLX_SEGMENT);
	head = be32toh(batch->ctrl->opmod_idx_opcode) & 0xff0000ff;
	batch->ctrl->opmod_idx_opcode = htobe32(head | (qp->sq.cur_post & 0xffff) << 8);
	qp->sq.fence = 0;
	mlx5_wr_finish_as_is(qp, ds);
	batch->ctrl = NULL;
}

/* ---- destination of a request of a DC initiator */

static void wr_set_dc_addr_stream(struct mlx5dv_qp_ex *dv, struct ibv_ah *ah, uint32_t remote_dctn,
				  uint64_t remote_dc_key, uint16_t stream_id)
{
	mlx5_wr_set_dc(dv_to_mqp(dv), ah, remote_dctn, remote_dc_key, stream_id);
}

static void wr_set_dc_addr(struct mlx5dv_qp_ex *dv, struct ibv_ah *ah, uint32_t remote_dctn,
			   uint64_t remote_dc_key)
{
	mlx5_wr_set_dc(dv_to_mqp(dv), ah, remote_dctn, remote_dc_key, 0);
}

/* ---- the table of builders */

int mlx5_wr_dv_check(struct mlx5_context *ctx, const struct ibv_qp_init_attr_ex *attr, uint64_t ops)
{
	uint64_t known = MLX5DV_QP_EX_WITH_RAW_WQE;

	if (attr->qp_type == IBV_QPT_RC || attr->qp_type == IBV_QPT_DRIVER)
		known |= MLX5DV_QP_EX_WITH_MEMCPY;
	if (attr->qp_type == IBV_QPT_RC)
		known |= MLX5DV_QP_EX_WITH_MR_INTERLEAVED | MLX5DV_QP_EX_WITH_MR_LIST |
			 MLX5DV_QP_EX_WITH_MKEY_CONFIGURE;
	if (comp_mask_ok(ops, known)) {
		if (!(ops & MLX5DV_QP_EX_WITH_MEMCPY) || mlx5_copies_most(ctx))
			return 0;
		verbs_err(&ctx->vctx.context, "mlx5dv_create_qp: this device copies no memory");
		return -EOPNOTSUPP;
	}
	verbs_err(&ctx->vctx.context,
		  "mlx5dv_create_qp: send_ops_flags 0x%llx are not supported by this QP type "
		  "(supported: 0x%llx)",
		  (unsigned long long)(ops & ~known), (unsigned long long)known);
	return -EOPNOTSUPP;
}

void mlx5_wr_set_dv_slots(struct mlx5_qp *qp, uint64_t ops)
{
	if (qp->vqp.qp.qp_type == IBV_QPT_DRIVER) {
		qp->dv.wr_set_dc_addr = wr_set_dc_addr;
		qp->dv.wr_set_dc_addr_stream = wr_set_dc_addr_stream;
	}
	if (ops & MLX5DV_QP_EX_WITH_MR_INTERLEAVED)
		qp->dv.wr_mr_interleaved = wr_mr_interleaved;
	if (ops & MLX5DV_QP_EX_WITH_MR_LIST)
		qp->dv.wr_mr_list = wr_mr_list;
	if (ops & MLX5DV_QP_EX_WITH_RAW_WQE) {
		qp->dv.wr_raw_wqe = wr_raw_wqe;
		qp->sq.raw = true;
	}
	if (ops & MLX5DV_QP_EX_WITH_MEMCPY)
		qp->dv.wr_memcpy = mlx5_wr_memcpy;
	if (!(ops & MLX5DV_QP_EX_WITH_MKEY_CONFIGURE))
		return;
	qp->dv.wr_mkey_configure = wr_mkey_configure;
	qp->dv.wr_set_mkey_sig_block = wr_set_mkey_sig_block;
	qp->dv.wr_set_mkey_access_flags = wr_set_mkey_access_flags;
	qp->dv.wr_set_mkey_layout_list = wr_set_mkey_layout_list;
	qp->dv.wr_set_mkey_layout_interleaved = wr_set_mkey_layout_interleaved;
	qp->dv.wr_set_mkey_crypto = wr_set_mkey_crypto;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "providers/kit/cq_ex.h"

int kit_cq_ex_check(struct ibv_context *ctx, const struct verbs_create_cq *in, uint64_t wc_flags)
{
	uint64_t unknown = in->attr->wc_flags & ~wc_flags;

	if (!in->extended || !unknown)
		return 0;
	verbs_err(ctx, "ibv_create_cq_ex: wc_flags 0x%llx are not supported (supported: 0x%llx)",
		  (unsigned long long)unknown, (unsigned long long)wc_flags);
	return -EOPNOTSUPP;
}

void kit_cq_ex_set_slots(struct ibv_cq_ex *ex, const struct ibv_cq_ex *from, uint64_t wc_flags)
{
	ex->start_poll = from->start_poll;
	ex->next_poll = from->next_poll;
	ex->end_poll = from->end_poll;
	ex->read_opcode = from->read_opcode;
	ex->read_vendor_err = from->read_vendor_err;
	ex->read_wc_flags = from->read_wc_flags;
	if (wc_flags & IBV_WC_EX_WITH_BYTE_LEN)
		ex->read_byte_len = from->read_byte_len;
	if (wc_flags & IBV_WC_EX_WITH_IMM)
		ex->read_imm_data = from->read_imm_data;
	if (wc_flags & IBV_WC_EX_WITH_QP_NUM)
		ex->read_qp_num = from->read_qp_num;
	if (wc_flags & IBV_WC_EX_WITH_SRC_QP)
		ex->read_src_qp = from->read_src_qp;
	if (wc_flags & IBV_WC_EX_WITH_SLID)
		ex->read_slid = from->read_slid;
	if (wc_flags & IBV_WC_EX_WITH_SL)
		ex->read_sl = from->read_sl;
	if (wc_flags & IBV_WC_EX_WITH_DLID_PATH_BITS)
		ex->read_dlid_path_bits = from->read_dlid_path_bits;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		ex->read_completion_ts = from->read_completion_ts;
	if (wc_flags & IBV_WC_EX_WITH_CVLAN)
		ex->read_cvlan = from->read_cvlan;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
		ex->read_completion_wallclock_ns = from->read_completion_wallclock_ns;
	if (wc_flags & IBV_WC_EX_WITH_FLOW_TAG)
		ex->read_flow_tag = from->read_flow_tag;
	if (wc_flags & IBV_WC_EX_WITH_TM_INFO)
		ex->read_tm_info = from->read_tm_info;
}

/* ---- readers of a kept completion */

static enum ibv_wc_opcode kept_opcode(struct ibv_cq_ex *ex)
{
	return to_kit_cq(ex)->current.opcode;
}

static uint32_t kept_vendor_err(struct ibv_cq_ex *ex)
{
	return to_kit_cq(ex)->current.vendor_err;
}

static unsigned int kept_wc_flags(struct ibv_cq_ex *ex)
{
	return to_kit_cq(ex)->current.wc_flags;
}

static uint32_t kept_byte_len(struct ibv_cq_ex *ex)
{
	return to_kit_cq(ex)->current.byte_len;
}

static __be32 kept_imm_data(struct ibv_cq_ex *ex)
{
	return to_kit_cq(ex)->current.imm_data;
}

static uint32_t kept_qp_num(struct ibv_cq_ex *ex)
{
	return to_kit_cq(ex)->current.qp_num;
}

static uint32_t kept_src_qp(struct ibv_cq_ex *ex)
{
	return to_kit_cq(ex)->current.src_qp;
}

static uint32_t kept_slid(struct ibv_cq_ex *ex)
{
	return to_kit_cq(ex)->current.slid;
}

static uint8_t kept_sl(struct ibv_cq_ex *ex)
{
	return to_kit_cq(ex)->current.sl;
}

static uint8_t kept_dlid_path_bits(struct ibv_cq_ex *ex)
{
	return to_kit_cq(ex)->current.dlid_path_bits;
}

void kit_cq_ex_set_kept(struct ibv_cq_ex *ex, const struct ibv_cq_ex *polls, uint64_t wc_flags)
{
	const struct ibv_cq_ex slots = {
		.start_poll = polls->start_poll,
		.next_poll = polls->next_poll,
		.end_poll = polls->end_poll,
		.read_opcode = kept_opcode,
		.read_vendor_err = kept_vendor_err,
		.read_wc_flags = kept_wc_flags,
		.read_byte_len = kept_byte_len,
		.read_imm_data = kept_imm_data,
		.read_qp_num = kept_qp_num,
		.read_src_qp = kept_src_qp,
		.read_slid = kept_slid,
		.read_sl = kept_sl,
		.read_dlid_path_bits = kept_dlid_path_bits,
	};

	kit_cq_ex_set_slots(ex, &slots, wc_flags);
}

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
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Attributes of a queue pair that are valid, but do not have the effect that the program expects.
 */
#include "providers/uroce/strict/record.h"

/* Report an attribute with more bits than its field in the packets or in the device. The core
 * refuses a timeout with more than 5. */
static void bits_check(const struct strict_qp *sqp, const struct verbs_modify_qp *in)
{
	const struct ibv_qp_attr *attr = in->attr;
	const struct {
		int mask;
		const char *name;
		uint32_t value, most;
	} fields[] = {
		{ IBV_QP_RETRY_CNT, "retry_cnt", attr->retry_cnt, 7 },
		{ IBV_QP_RNR_RETRY, "rnr_retry", attr->rnr_retry, 7 },
		{ IBV_QP_MIN_RNR_TIMER, "min_rnr_timer", attr->min_rnr_timer, 31 },
		{ IBV_QP_SQ_PSN, "sq_psn", attr->sq_psn, 0xffffff },
		{ IBV_QP_RQ_PSN, "rq_psn", attr->rq_psn, 0xffffff },
	};

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if ((in->mask & fields[i].mask) && fields[i].value > fields[i].most)
			strict_fault(
				STRICT_RULE_BITS, sqp->record.ctx,
				"qp 0x%x: ibv_modify_qp: %s is %u, of which the device uses %u",
				sqp->record.number, fields[i].name, fields[i].value,
				fields[i].value & fields[i].most);
}

void strict_attributes_check(const struct strict_qp *sqp, const struct verbs_modify_qp *in)
{
	const struct ibv_qp_attr *attr = in->attr;
	struct ibv_port_attr port;

	bits_check(sqp, in);
	if ((in->mask & IBV_QP_PATH_MTU) && !ibv_query_port(sqp->qp->vqp.qp.context, 1, &port) &&
	    attr->path_mtu > port.active_mtu)
		strict_fault(STRICT_RULE_MTU, sqp->record.ctx,
			     "qp 0x%x: ibv_modify_qp: path_mtu %d is %u bytes, and the active_mtu "
			     "of the port is %u bytes",
			     sqp->record.number, attr->path_mtu, 128u << attr->path_mtu,
			     128u << port.active_mtu);
	if ((in->mask & IBV_QP_TIMEOUT) && !(attr->timeout & 31))
		strict_fault(STRICT_RULE_TIMEOUT, sqp->record.ctx,
			     "qp 0x%x: ibv_modify_qp: timeout is %u", sqp->record.number,
			     attr->timeout);
}

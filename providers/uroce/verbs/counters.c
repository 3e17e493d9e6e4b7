/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reading the counters and the first error of a QP. */
#include "providers/uroce/direct/direct.h"
#include "providers/uroce/verbs/verbs.h"

static int counters_fill(const struct uroce_qp_counters *values, struct uroce_counter *counters,
			 unsigned int count)
{
	unsigned int total = uroce_counters_count();

	for (unsigned int i = 0; i < min_of(total, count); i++)
		counters[i] = (struct uroce_counter){ uroce_counters_name(i),
						      uroce_counters_value(values, i) };
	return total;
}

static int query_counters(struct ibv_context *ctx, struct ibv_qp *qp,
			  struct uroce_counter *counters, unsigned int count)
{
	struct uroce_dev *dev = ctx_dev(ctx);
	struct uroce_qp_counters values;
	unsigned int total;
	int r = uroce_host_check(dev->host);

	if (r < 0)
		return r;
	if (qp) {
		uroce_counters_of_qp(uroce_qp_real(to_vqp(qp)), &values);
		return counters_fill(&values, counters, count);
	}
	uroce_counters_of_dev(dev, &values);
	total = counters_fill(&values, counters, count);
	if (total < count)
		counters[total] = (struct uroce_counter){ UROCE_COUNTER_WRONG_ICRC,
							  uroce_counters_wrong_icrc(dev) };
	return total + 1;
}

static int query_first_error(struct ibv_qp *ibqp, struct uroce_qp_error *ret)
{
	struct uroce_qp *qp = uroce_qp_real(to_vqp(ibqp));
	const struct uroce_first_error *e = &qp->first_error;
	int r = uroce_host_check(qp_host(qp));

	if (r < 0)
		return r;
	r = -ENOENT;
	uroce_lock(&qp->lock);
	if (e->valid) {
		*ret = (struct uroce_qp_error){
			.status = e->status,
			.opcode = e->is_recv ? e->opcode : uroce_wc_opcode(e->opcode),
			.wr_id = e->wr_id,
			.psn = e->psn,
			.retries = e->retries,
			.remote_qpn = qp->dest_qpn,
			.syndrome = e->syndrome,
			.remote_gid = qp->av.route.dgid,
			.time = e->time,
		};
		r = 0;
	}
	uroce_unlock(&qp->lock);
	return r;
}

const struct uroce_direct uroce_direct = {
	.query_counters = query_counters,
	.query_first_error = query_first_error,
};

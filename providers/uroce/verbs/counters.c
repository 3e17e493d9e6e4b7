/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is counted and remembered about queue pairs, as programs and the log see it. */
#include <stdio.h>
#include <string.h>

#include <infiniband/uroce.h>

#include "providers/uroce/verbs/ops.h"
#include "providers/uroce/path/udp/udp.h"

enum {
	LINE = 900,
};

/* Names as rxe has them where it counts the same (drivers/infiniband/sw/rxe/rxe_hw_counters.c). */
#define COUNTER(name, field)                                    \
	{                                                       \
		name, offsetof(struct uroce_qp_counters, field) \
	}
static const struct {
	const char *name;
	size_t offset;
} names[] = {
	COUNTER("sent_pkts", tx_packets),
	COUNTER("rcvd_pkts", rx_packets),
	COUNTER("sent_bytes", tx_bytes),
	COUNTER("rcvd_bytes", rx_bytes),
	COUNTER("duplicate_request", duplicates),
	COUNTER("out_of_seq_request", out_of_order),
	COUNTER("rcvd_rnr_err", rnr_naks_received),
	COUNTER("send_rnr_err", rnr_naks_sent),
	COUNTER("rcvd_seq_err", seq_naks_received),
	COUNTER("send_seq_err", naks_sent),
	COUNTER("rcvd_nak_err", fatal_naks_received),
	COUNTER("completer_retry_err", retries),
	COUNTER("retry_exceeded_err", retry_exceeded),
	COUNTER("retry_rnr_exceeded_err", rnr_exceeded),
	COUNTER("resent_pkts", resent),
	COUNTER("local_ack_timeout_err", timeouts),
};

/* Of the device alone. */
enum {
	DEV_ICRC,
	DEV_COUNTERS
};
static const char *const dev_names[DEV_COUNTERS] = {
	[DEV_ICRC] = "rcvd_icrc_err",
};

static struct uroce_dev *ctx_dev(struct ibv_context *ctx)
{
	return ((struct uroce_context *)to_vctx(ctx))->dev;
}

static uint64_t *field_at(const struct uroce_qp_counters *counters, unsigned int i)
{
	return (uint64_t *)((char *)counters + names[i].offset);
}

static void counters_add(struct uroce_qp_counters *sum, const struct uroce_qp_counters *more)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(names); i++)
		*field_at(sum, i) += *field_at(more, i);
}

static void qp_counters(struct uroce_qp *qp, struct uroce_qp_counters *ret)
{
	uroce_lock(&qp->lock);
	*ret = qp->counters;
	uroce_unlock(&qp->lock);
}

/* host->lock keeps the QPs: one that is destroyed gives its number back under it. */
static void dev_counters(struct uroce_dev *dev, struct uroce_qp_counters *ret)
{
	struct uroce_host *host = dev->host;

	pthread_mutex_lock(&host->lock);
	*ret = dev->counters;
	for (uint32_t i = 0; i < 1 << UROCE_QP_INDEX_BITS; i++) {
		struct uroce_qp *qp = atomic_load_explicit(&host->qps[i], memory_order_acquire);
		struct uroce_qp_counters one;

		if (!qp || qp->dev != dev)
			continue;
		qp_counters(qp, &one);
		counters_add(ret, &one);
	}
	pthread_mutex_unlock(&host->lock);
}

/* Under host->lock. */
void uroce_counters_keep(struct uroce_qp *qp)
{
	counters_add(&qp->dev->counters, &qp->counters);
}

static uint64_t dev_value(const struct uroce_dev *dev, unsigned int i)
{
	return i == DEV_ICRC && dev->udp ? to_udp(dev->udp)->wrong : 0;
}

int uroce_query_counters_op(struct ibv_context *ctx, struct ibv_qp *qp,
			    struct uroce_counter *counters, unsigned int count)
{
	struct uroce_dev *dev = ctx_dev(ctx);
	unsigned int total = ARRAY_SIZE(names) + (qp ? 0 : DEV_COUNTERS);
	struct uroce_qp_counters values;

	if (qp)
		qp_counters(to_uqp(qp), &values);
	else
		dev_counters(dev, &values);
	for (unsigned int i = 0; i < min_of(total, count); i++) {
		unsigned int of_dev = i - ARRAY_SIZE(names);

		if (i < ARRAY_SIZE(names))
			counters[i] =
				(struct uroce_counter){ names[i].name, *field_at(&values, i) };
		else
			counters[i] =
				(struct uroce_counter){ dev_names[of_dev], dev_value(dev, of_dev) };
	}
	return total;
}

static void line_add(char *line, const char *name, uint64_t value)
{
	size_t length = strlen(line);

	if (value)
		snprintf(line + length, LINE - length, "%s%s %llu", length ? ", " : "", name,
			 (unsigned long long)value);
}

void uroce_counters_log(struct uroce_dev *dev)
{
	char line[LINE] = "";

	if (!log_enabled(LOG_LEVEL_INFO))
		return;
	for (unsigned int i = 0; i < ARRAY_SIZE(names); i++)
		line_add(line, names[i].name, *field_at(&dev->counters, i));
	for (unsigned int i = 0; i < DEV_COUNTERS; i++)
		line_add(line, dev_names[i], dev_value(dev, i));
	if (*line)
		log_info("%s: counters at close: %s", dev->name, line);
}

/* --- the first error --- */

int uroce_query_first_error_op(struct ibv_qp *ibqp, struct uroce_qp_error *ret)
{
	struct uroce_qp *qp = to_uqp(ibqp);
	const struct uroce_first_error *e = &qp->first_error;
	int r = -ENOENT;

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
			.remote_gid = qp->av.dgid,
			.time = e->time,
		};
		r = 0;
	}
	uroce_unlock(&qp->lock);
	return r;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Packet counters of a QP, and of a device for all QPs that it ever had. */
#include <stdio.h>
#include <string.h>

#include "providers/uroce/host/counters.h"
#include "providers/uroce/host/qpn.h"

enum {
	LINE = 1000,
};

/* Names of rxe for counters that rxe has too (drivers/infiniband/sw/rxe/rxe_hw_counters.c). */
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
	/* Names of mlx5. */
	COUNTER("np_ecn_marked_roce_packets", marked),
	COUNTER("np_cnp_sent", cnps_sent),
	COUNTER("rp_cnp_handled", cnps_received),
	/* Datagrams that were dropped. */
	COUNTER("dropped_wrong_qkey", wrong_qkey),
	COUNTER("dropped_no_receive", no_receive),
	COUNTER("dropped_short_receive", short_receive),
};

static uint64_t *field_at(const struct uroce_qp_counters *counters, unsigned int i)
{
	return (uint64_t *)((char *)counters + names[i].offset);
}

static void counters_add(struct uroce_qp_counters *sum, const struct uroce_qp_counters *more)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(names); i++)
		*field_at(sum, i) += *field_at(more, i);
}

void uroce_counters_of_qp(struct uroce_qp *qp, struct uroce_qp_counters *ret)
{
	uroce_lock(&qp->lock);
	*ret = qp->counters;
	uroce_unlock(&qp->lock);
}

/* host->lock keeps the QPs valid, because a QP that is destroyed gives its number back under it. */
void uroce_counters_of_dev(struct uroce_dev *dev, struct uroce_qp_counters *ret)
{
	struct uroce_host *host = dev->host;
	struct uroce_qp *qp;

	pthread_mutex_lock(&host->lock);
	*ret = dev->counters;
	for (uint32_t i = 0; (qp = uroce_qp_next(host, &i)); i++) {
		struct uroce_qp_counters one;

		if (qp->dev != dev)
			continue;
		uroce_counters_of_qp(qp, &one);
		counters_add(ret, &one);
	}
	pthread_mutex_unlock(&host->lock);
}

/* Under host->lock. */
void uroce_counters_keep(struct uroce_qp *qp)
{
	struct uroce_qp_counters last;

	uroce_counters_of_qp(qp, &last); /* a pass may still handle the QP */
	counters_add(&qp->dev->counters, &last);
}

unsigned int uroce_counters_count(void)
{
	return ARRAY_SIZE(names);
}

const char *uroce_counters_name(unsigned int i)
{
	return names[i].name;
}

uint64_t uroce_counters_value(const struct uroce_qp_counters *counters, unsigned int i)
{
	return *field_at(counters, i);
}

uint64_t uroce_counters_wrong_icrc(const struct uroce_dev *dev)
{
	return dev->udp ? uroce_udp_wrong(dev->udp) : 0;
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
	line_add(line, UROCE_COUNTER_WRONG_ICRC, uroce_counters_wrong_icrc(dev));
	if (*line)
		log_info("%s: counters at close: %s", dev->name, line);
}

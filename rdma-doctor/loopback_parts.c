/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The transfers of --transfer, in a child process: over RC by SEND, RDMA write and RDMA read, over
 * UD by datagrams, each compared with what was sent, and then the time of small and the rate of
 * large RDMA writes.
 */
#include <stdio.h>
#include <string.h>

#include "rdma-doctor/capture.h"
#include "rdma-doctor/child.h"
#include "rdma-doctor/clock.h"
#include "rdma-doctor/loopback.h"

enum {
	LATENCY_COUNT = 200,
	LATENCY_BYTES = 8,
	RATE_BURST = 8, /* RDMA writes that are under way */
	UD_COUNT = 32,
	DATAGRAM_NUMBER = LOOPBACK_DATAGRAM - 1, /* last byte of a datagram */
};

/* Limits that a working device never reaches, and the time of the measurements. */
static const uint64_t patience = 10 * CLOCK_SECOND;
static const uint64_t datagram_patience = 5 * CLOCK_SECOND;
static const uint64_t latency_time = CLOCK_SECOND / 5;
static const uint64_t rate_time = CLOCK_SECOND / 10;

static void part_fail(struct transfer_part *part, const char *verb, int error, int status)
{
	if (part->verb)
		return;
	part->verb = verb;
	part->error = error ? error : -EIO;
	part->status = status;
	if (status != IBV_WC_SUCCESS)
		part->error = 0;
}

/* Wait for a completion of the sender. Return: whether it is a success. */
static bool send_done(struct loopback *l, struct transfer_part *part, const char *what)
{
	struct ibv_wc wc;

	if (!loopback_wait(l->send_cq, &wc, patience))
		part_fail(part, what, 0, TRANSFER_SILENT);
	else if (wc.status != IBV_WC_SUCCESS)
		part_fail(part, what, 0, wc.status);
	return !part->verb;
}

static bool rc_post(struct loopback *l, struct transfer_part *part, enum ibv_wr_opcode opcode,
		    uint32_t bytes)
{
	struct ibv_sge sge = { (uintptr_t)l->source, bytes, l->mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)l->target, l->mr->rkey },
	};
	int r = ibv_post_send(l->from, &wr, &bad);

	if (r)
		part_fail(part, "ibv_post_send", -r, IBV_WC_SUCCESS);
	return !r;
}

static bool receive_post(struct loopback *l, struct transfer_part *part, void *to, uint32_t bytes)
{
	struct ibv_sge sge = { (uintptr_t)to, bytes, l->mr->lkey };
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };
	int r = ibv_post_recv(l->to, &wr, &bad);

	if (r)
		part_fail(part, "ibv_post_recv", -r, IBV_WC_SUCCESS);
	return !r;
}

/* Return the byte at @i of transfer @n. */
static uint8_t pattern(size_t i, unsigned int n)
{
	return i * 31 + (i >> 8) + n * 97;
}

static void pattern_fill(uint8_t *data, size_t bytes, unsigned int n)
{
	for (size_t i = 0; i < bytes; i++)
		data[i] = pattern(i, n);
}

static size_t pattern_check(const uint8_t *data, size_t bytes, unsigned int n)
{
	size_t i = 0;

	while (i < bytes && data[i] == pattern(i, n))
		i++;
	return i;
}

static void rc_compare(struct transfer_part *part, const uint8_t *data, unsigned int n,
		       const char *what)
{
	part->wrong = pattern_check(data, LOOPBACK_BYTES, n);
	if (part->wrong == LOOPBACK_BYTES)
		return;
	part->verb = what;
	part->status = IBV_WC_SUCCESS;
}

static void rc_send(struct loopback *l, struct transfer_part *part)
{
	struct ibv_wc wc;

	if (!receive_post(l, part, l->target, LOOPBACK_BYTES) ||
	    !rc_post(l, part, IBV_WR_SEND, LOOPBACK_BYTES) || !send_done(l, part, "the SEND"))
		return;
	if (!loopback_wait(l->recv_cq, &wc, patience))
		part_fail(part, "the receive", 0, TRANSFER_SILENT);
	else if (wc.status != IBV_WC_SUCCESS)
		part_fail(part, "the receive", 0, wc.status);
}

static void rc_run(struct loopback *l, struct transfer *t)
{
	static const struct {
		enum ibv_wr_opcode opcode;
		const char *name;
	} steps[] = { { IBV_WR_SEND, "the SEND" },
		      { IBV_WR_RDMA_WRITE, "the RDMA write" },
		      { IBV_WR_RDMA_READ, "the RDMA read" } };
	struct transfer_part *part = &t->rc;

	for (unsigned int n = 0; n < ARRAY_SIZE(steps) && !part->verb; n++) {
		bool read = steps[n].opcode == IBV_WR_RDMA_READ;
		uint8_t *to = read ? l->source : l->target;

		pattern_fill(read ? l->target : l->source, LOOPBACK_BYTES, n);
		memset(to, 0, LOOPBACK_BYTES);
		if (steps[n].opcode == IBV_WR_SEND)
			rc_send(l, part);
		else if (rc_post(l, part, steps[n].opcode, LOOPBACK_BYTES))
			send_done(l, part, steps[n].name);
		if (!part->verb)
			rc_compare(part, to, n, steps[n].name);
	}
	t->rc_bytes = LOOPBACK_BYTES;
}

static int time_order(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

static void latency_measure(struct loopback *l, struct transfer *t)
{
	static uint64_t times[LATENCY_COUNT];
	uint64_t begin = clock_now(), start = begin;
	unsigned int n = 0;

	while (n < LATENCY_COUNT && start - begin < latency_time) {
		if (!rc_post(l, &t->latency, IBV_WR_RDMA_WRITE, LATENCY_BYTES) ||
		    !send_done(l, &t->latency, "an RDMA write"))
			return;
		times[n] = clock_now() - start;
		start += times[n++];
	}
	qsort(times, n, sizeof(times[0]), time_order);
	t->latency_count = n;
	t->median_ns = times[n / 2];
	t->slowest_ns = times[n - 1];
}

static void rate_measure(struct loopback *l, struct transfer *t)
{
	uint64_t start = clock_now(), now = start, done = 0;
	unsigned int posted = 0;

	for (; posted < RATE_BURST; posted++)
		if (!rc_post(l, &t->rate, IBV_WR_RDMA_WRITE, LOOPBACK_BYTES))
			return;
	while (done < posted) {
		if (!send_done(l, &t->rate, "an RDMA write"))
			return;
		done++;
		now = clock_now();
		if (now - start > rate_time)
			continue;
		if (!rc_post(l, &t->rate, IBV_WR_RDMA_WRITE, LOOPBACK_BYTES))
			return;
		posted++;
	}
	t->mbps = done * LOOPBACK_BYTES * 8 * 1000 / max_of(now - start, UINT64_C(1));
}

/* --- datagrams --- */

static uint8_t *datagram_place(const struct loopback *l, unsigned int n)
{
	return l->target + n * (LOOPBACK_GRH + LOOPBACK_DATAGRAM);
}

static bool datagram_send(struct loopback *l, struct transfer *t, struct ibv_ah *ah, unsigned int n)
{
	uint8_t *data = l->source + n * LOOPBACK_DATAGRAM;
	struct ibv_sge sge = { (uintptr_t)data, LOOPBACK_DATAGRAM, l->mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.ud = { ah, l->to->qp_num, LOOPBACK_QKEY },
	};
	int r;

	pattern_fill(data, DATAGRAM_NUMBER, n);
	data[DATAGRAM_NUMBER] = n;
	r = ibv_post_send(l->from, &wr, &bad);
	if (r)
		part_fail(&t->ud, "ibv_post_send", -r, IBV_WC_SUCCESS);
	else
		t->ud_sent++;
	return !r && send_done(l, &t->ud, "a datagram");
}

static void datagram_judge(struct transfer *t, const uint8_t *data, uint32_t bytes, bool *seen)
{
	const unsigned int n = data[DATAGRAM_NUMBER];

	if (bytes != LOOPBACK_GRH + LOOPBACK_DATAGRAM || n >= UD_COUNT ||
	    pattern_check(data, DATAGRAM_NUMBER, n) != DATAGRAM_NUMBER) {
		t->ud_damaged++;
		return;
	}
	t->ud_twice += seen[n];
	t->ud_arrived += !seen[n];
	seen[n] = true;
}

/* Receives complete in their order, therefore the n-th completion belongs to the n-th place. */
static void datagrams_take(struct loopback *l, struct transfer *t)
{
	bool seen[UD_COUNT] = {};
	struct ibv_wc wc;

	for (unsigned int n = 0; n < 2 * UD_COUNT && t->ud_arrived < t->ud_sent; n++) {
		if (!loopback_wait(l->recv_cq, &wc, datagram_patience))
			return;
		if (wc.status != IBV_WC_SUCCESS) {
			part_fail(&t->ud, "a receive", 0, wc.status);
			return;
		}
		datagram_judge(t, datagram_place(l, n) + LOOPBACK_GRH, wc.byte_len, seen);
	}
}

static void ud_run(struct loopback *l, struct transfer *t)
{
	struct ibv_ah *ah = ibv_create_ah(l->pd, &l->path);
	bool going = ah != NULL;

	if (!ah)
		part_fail(&t->ud, "ibv_create_ah", -errno, IBV_WC_SUCCESS);
	for (unsigned int n = 0; n < 2 * UD_COUNT && going; n++)
		going = receive_post(l, &t->ud, datagram_place(l, n),
				     LOOPBACK_GRH + LOOPBACK_DATAGRAM);
	for (unsigned int n = 0; n < UD_COUNT && going; n++)
		going = datagram_send(l, t, ah, n);
	if (going)
		datagrams_take(l, t);
	if (ah)
		ibv_destroy_ah(ah);
}

/* --- the whole transfer --- */

/* Run one part on queue pairs of its own, if the parts before it succeeded. */
static void part_run(struct loopback *l, struct transfer *t, struct transfer_part *part,
		     enum ibv_qp_type type, void (*run)(struct loopback *, struct transfer *))
{
	const char *verb;

	part->done = true;
	verb = loopback_connect(l, type);
	if (verb)
		part_fail(part, verb, -errno, IBV_WC_SUCCESS);
	else
		run(l, t);
	loopback_disconnect(l);
}

static void counters_read(struct loopback *l, struct transfer *t)
{
	t->counter_count = uroce_counters_read(l->ctx, t->counters);
}

static void parts_run(struct loopback *l, struct transfer *t)
{
	t->iwarp = l->ctx->device->transport_type == IBV_TRANSPORT_IWARP;
	if (t->iwarp)
		return;
	t->port_mbps = loopback_port_mbps(l);
	part_run(l, t, &t->rc, IBV_QPT_RC, rc_run);
	part_run(l, t, &t->ud, IBV_QPT_UD, ud_run);
	if (t->rc.verb)
		return;
	part_run(l, t, &t->latency, IBV_QPT_RC, latency_measure);
	if (!t->latency.verb)
		part_run(l, t, &t->rate, IBV_QPT_RC, rate_measure);
}

static void transfer_job(const void *name, void *result)
{
	struct transfer *t = result;
	struct loopback l = {};
	struct ibv_device **list, *device;
	struct capture capture;
	const char *verb;

	capture_begin(&capture);
	list = ibv_get_device_list(NULL);
	device = list ? device_named(list, name) : NULL;
	verb = device ? loopback_open(&l, device) : "ibv_get_device_list";
	if (verb) {
		t->trial.verb = verb;
		t->trial.error = errno ? -errno : -EIO;
	} else {
		parts_run(&l, t);
		counters_read(&l, t);
	}
	loopback_close(&l);
	if (list)
		ibv_free_device_list(list);
	capture_end(&capture, t->trial.said, sizeof(t->trial.said));
}

void system_transfer(const char *name, struct transfer *ret_transfer)
{
	struct transfer t = {};
	int signal, r = child_run(transfer_job, name, &t, sizeof(t), &signal);

	trial_check_child(&t.trial, r, signal);
	snprintf(t.device, sizeof(t.device), "%s", name);
	*ret_transfer = t;
}

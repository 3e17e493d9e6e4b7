/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The course of a ping-pong: connect, send messages back and forth, report. */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "pingpong.h"

/* ---- buffer slots ---- */

static struct ibv_sge slot_sge(const struct pp *pp, unsigned int slot, size_t offset, size_t length)
{
	uintptr_t base = pp->dm ? 0 : (uintptr_t)pp->buffer;

	return (struct ibv_sge){
		.addr = base + slot * pp->slot_size + offset,
		.length = length,
		.lkey = pp->mr->lkey,
	};
}

/* Return the message in a slot, or a copy of it in device memory. NULL: failed, which is printed.
 */
static const uint8_t *slot_message(struct pp *pp, unsigned int slot)
{
	size_t offset = slot * pp->slot_size + pp->program->grh;
	int r;

	if (!pp->dm)
		return (const uint8_t *)pp->buffer + offset;
	r = ibv_memcpy_from_dm(pp->shadow, pp->dm, offset, pp->opt.size);
	if (!r)
		return pp->shadow;
	pp_fail(r, "Copy from DM buffer failed");
	return NULL;
}

static int slot_set_message(struct pp *pp, unsigned int slot, const uint8_t *message)
{
	size_t offset = slot * pp->slot_size + pp->program->grh;
	int r;

	if (!pp->dm) {
		memcpy(pp->buffer + offset, message, pp->opt.size);
		return 0;
	}
	r = ibv_memcpy_to_dm(pp->dm, offset, message, pp->opt.size);
	return r ? pp_fail(r, "Copy to dm buffer failed") : 0;
}

/* Prepare the slots for -c: the messages of the client, and wrong data where messages will arrive.
 */
static int slots_prepare(struct pp *pp)
{
	int r = 0;

	if (!pp->opt.check)
		return 0;
	for (unsigned int slot = 0; slot < pp->slot_count && !r; slot++)
		r = slot_set_message(pp, slot,
				     slot < pp->first_recv_slot ? pp->message : pp->scrubbed);
	return r;
}

/* Fill the receive queue. If there is one receive slot, all receives share it, because only one
 * message arrives at a time. */
static int receives_post(struct pp *pp)
{
	unsigned int shared = pp->first_recv_slot;
	bool one = pp->slot_count - pp->first_recv_slot == 1;

	while (pp->outstanding < pp->opt.rx_depth) {
		unsigned int slot = one ? shared : pp->free_slots[pp->free_count - 1];
		struct ibv_sge sge = slot_sge(pp, slot, 0, pp->opt.size + pp->program->grh);
		int r = pp->program->post_recv(pp, PP_RECV | (uint64_t)slot << PP_SLOT_SHIFT, &sge);

		if (r)
			return pp_fail(r, "Couldn't post receive (%u)", pp->outstanding);
		pp->outstanding++;
		if (!one)
			pp->free_count--;
	}
	return 0;
}

static int send_post(struct pp *pp, unsigned int i)
{
	struct ibv_sge sge = slot_sge(pp, pp->opt.check ? i : 0, pp->program->grh, pp->opt.size);
	int r = pp->program->post_send(pp, i, &sge);

	if (r)
		return pp_fail(r, "Couldn't post send");
	pp->qps[i].pending = PP_SEND | PP_RECV;
	return 0;
}

/* ---- connecting ---- */

static int local_address(struct pp *pp, unsigned int i)
{
	struct pp_dest *local = &pp->qps[i].local;

	*local = (struct pp_dest){ .lid = pp->port.lid, .qpn = pp->qps[i].qp->qp_num };
	if (getrandom(&local->psn, sizeof(local->psn), 0) != sizeof(local->psn))
		local->psn = getpid();
	local->psn &= 0xffffff;
	if (pp->opt.gid_index >= 0 &&
	    ibv_query_gid(pp->context, pp->opt.ib_port, pp->opt.gid_index, &local->gid))
		return pp_fail(errno, "can't read sgid of index %d", pp->opt.gid_index);
	if (pp->opt.gid_index >= 0 && !pp_has_gid(local))
		return pp_fail(0, "can't read sgid of index %d: port %u has no GID there",
			       pp->opt.gid_index, pp->opt.ib_port);
	return 0;
}

static void address_show(const struct pp *pp, const char *whose, const struct pp_dest *dest,
			 const char *separator)
{
	char gid[INET6_ADDRSTRLEN];

	printf("  %s LID 0x%04x, QPN 0x%06x, PSN 0x%06x%s GID %s\n", whose, dest->lid, dest->qpn,
	       dest->psn, separator, inet_ntop(AF_INET6, &dest->gid, gid, sizeof(gid)));
}

static int remote_check(const struct pp *pp)
{
	for (unsigned int i = 0; i < pp->opt.num_qp; i++) {
		const struct pp_dest *remote = &pp->qps[i].remote;

		if (!remote->qpn)
			return pp_fail(
				0, "The other side has no QP %u: start both with the same -q", i);
		if (pp->port.link_layer == IBV_LINK_LAYER_ETHERNET && !pp_has_gid(remote))
			return pp_fail(0, "The other side has no GID: start it with -g");
	}
	return 0;
}

static int connect_all(struct pp *pp)
{
	int r = remote_check(pp);

	for (unsigned int i = 0; i < pp->opt.num_qp && !r; i++)
		r = pp->program->connect_qp(pp, i);
	return r ? pp_fail(0, "Couldn't connect to remote QP") : 0;
}

static int meet(struct pp *pp)
{
	const char *separator = pp->program->type == IBV_QPT_UD ? ":" : ",";
	int r = 0;

	for (unsigned int i = 0; i < pp->opt.num_qp && !r; i++) {
		r = local_address(pp, i);
		if (!r)
			address_show(pp, "local address: ", &pp->qps[i].local, separator);
	}
	fflush(stdout);
	if (!r)
		r = pp_exchange(pp, pp->program->many_qps ? PP_QP_MAX : 1, connect_all);
	if (r)
		return r;
	for (unsigned int i = 0; i < pp->opt.num_qp; i++)
		address_show(pp, "remote address:", &pp->qps[i].remote, ",");
	return pp->opt.host ? connect_all(pp) : 0;
}

/* ---- completions ---- */

static int qp_index(const struct pp *pp, uint32_t qp_num)
{
	for (unsigned int i = 0; i < pp->opt.num_qp; i++)
		if (pp->qps[i].qp->qp_num == qp_num)
			return i;
	return pp_fail(0, "Couldn't find QPN %06x", qp_num);
}

static size_t message_check(struct pp *pp, const uint8_t *message)
{
	size_t size = pp->opt.size;

	if (!pp->received)
		pp->plain_peer = pp_data_check_plain(message, size, pp->program->plain) == size;
	return pp->plain_peer ? pp_data_check_plain(message, size, pp->program->plain)
			      : pp_data_check(message, size, pp->message);
}

/* Check a message and free its slot. The server keeps the message as its answer. */
static int message_take(struct pp *pp, unsigned int i, unsigned int slot)
{
	const uint8_t *message = slot_message(pp, slot);
	size_t wrong;
	int r = 0;

	if (!message)
		return -EIO;
	wrong = message_check(pp, message);
	if (wrong < pp->opt.size && !pp->invalid_data) {
		fprintf(stderr, "invalid data in page %zu: byte %zu of message %u is 0x%02x%s\n",
			wrong / (size_t)sysconf(_SC_PAGESIZE), wrong, pp->received, message[wrong],
			wrong || pp->received ? "" : " (give -c to the client too)");
		pp->invalid_data = true;
	}
	if (!pp->opt.host)
		r = slot_set_message(pp, i, message);
	return r ? r : slot_set_message(pp, slot, pp->scrubbed);
}

static void clock_note(struct pp *pp, uint64_t ticks)
{
	uint64_t elapsed = (ticks - pp->clock.last) & pp->device_attr.completion_timestamp_mask;

	if (pp->received) {
		pp->clock.max = max_of(pp->clock.max, elapsed);
		pp->clock.min = pp->clock.count ? min_of(pp->clock.min, elapsed) : elapsed;
		pp->clock.sum += elapsed;
		pp->clock.count++;
	}
	pp->clock.last = ticks;
}

static int received(struct pp *pp, unsigned int i, unsigned int slot)
{
	int r = pp->opt.check ? message_take(pp, i, slot) : 0;

	if (r)
		return r;
	if (pp->slot_count - pp->first_recv_slot > 1)
		pp->free_slots[pp->free_count++] = slot;
	pp->received++;
	if (--pp->outstanding <= pp->opt.num_qp)
		return receives_post(pp);
	return 0;
}

static int completed(struct pp *pp, uint64_t wr_id, enum ibv_wc_status status, uint32_t qp_num)
{
	unsigned int kind = wr_id & ((1 << PP_SLOT_SHIFT) - 1);
	int i, r = 0;

	if (status != IBV_WC_SUCCESS)
		return pp_fail(0, "Failed status %s (%d) for wr_id %u", ibv_wc_status_str(status),
			       status, kind);
	i = pp->program->many_qps ? qp_index(pp, qp_num) : 0;
	if (i < 0)
		return i;
	if (kind == PP_SEND)
		pp->sent++;
	else if (kind == PP_RECV)
		r = received(pp, i, wr_id >> PP_SLOT_SHIFT);
	else
		return pp_fail(0, "Completion for unknown wr_id %u", kind);
	pp->qps[i].pending &= ~kind;
	if (!r && !pp->qps[i].pending && pp->sent < pp->opt.iters)
		r = send_post(pp, i);
	return r;
}

/* Poll. Return: number of completions, or -errno. */
static int poll_plain(struct pp *pp)
{
	struct ibv_wc wc[16];
	int n = ibv_poll_cq(pp->cq, ARRAY_SIZE(wc), wc), r = 0;

	if (n < 0)
		return pp_fail(0, "poll CQ failed %d", n);
	for (int i = 0; i < n && !r; i++)
		r = completed(pp, wc[i].wr_id, wc[i].status, wc[i].qp_num);
	return r ? r : n;
}

static int poll_timestamps(struct pp *pp)
{
	struct ibv_poll_cq_attr attr = {};
	int error = ibv_start_poll(pp->cq_ex, &attr), n = 0, r = 0;

	if (error == ENOENT)
		return 0;
	if (error)
		return pp_fail(error, "poll CQ failed %d", error);
	do {
		uint64_t wr_id = pp->cq_ex->wr_id;
		enum ibv_wc_status status = pp->cq_ex->status;

		n++;
		if (status == IBV_WC_SUCCESS && (wr_id & 0xff) == PP_RECV)
			clock_note(pp, ibv_wc_read_completion_ts(pp->cq_ex));
		r = completed(pp, wr_id, status, 0);
		error = r ? ENOENT : ibv_next_poll(pp->cq_ex);
	} while (!error);
	ibv_end_poll(pp->cq_ex);
	if (error != ENOENT)
		return pp_fail(error, "poll CQ failed %d", error);
	return r ? r : n;
}

/* Poll once, or after an event until the CQ is empty. */
static int poll_all(struct pp *pp)
{
	int n;

	do
		n = pp->cq_ex ? poll_timestamps(pp) : poll_plain(pp);
	while (n > 0 && pp->opt.events);
	return n;
}

static int notify_arm(struct pp *pp)
{
	int r = ibv_req_notify_cq(pp->cq, 0);

	return r ? pp_fail(r, "Couldn't request CQ notification") : 0;
}

/* Sleep until the CQ has an event, and arm the CQ again. */
static int event_wait(struct pp *pp)
{
	struct ibv_cq *cq;
	void *context;

	if (ibv_get_cq_event(pp->channel, &cq, &context))
		return pp_fail(errno, "Failed to get cq_event");
	ibv_ack_cq_events(cq, 1);
	if (cq != pp->cq)
		return pp_fail(0, "CQ event for unknown CQ %p", (void *)cq);
	return notify_arm(pp);
}

static int play(struct pp *pp)
{
	int r = 0;

	for (unsigned int i = 0; i < pp->opt.num_qp && !r; i++) {
		pp->qps[i].pending = PP_RECV;
		if (pp->opt.host)
			r = send_post(pp, i);
	}
	while (!r && (pp->received < pp->opt.iters || pp->sent < pp->opt.iters)) {
		if (pp->opt.events)
			r = event_wait(pp);
		if (!r)
			r = min_of(poll_all(pp), 0);
	}
	return r;
}

/* ---- the report ---- */

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

static void report(const struct pp *pp, double us)
{
	long long bytes = (long long)pp->opt.size * pp->opt.iters * 2;

	printf("%lld bytes in %.2f seconds = %.2f Mbit/sec\n", bytes, us / 1e6, bytes * 8. / us);
	printf("%u iters in %.2f seconds = %.2f usec/iter\n", pp->opt.iters, us / 1e6,
	       us / pp->opt.iters);
	if (!pp->opt.timestamps || !pp->clock.count)
		return;
	printf("Max receive completion clock cycles = %" PRIu64 "\n", pp->clock.max);
	printf("Min receive completion clock cycles = %" PRIu64 "\n", pp->clock.min);
	printf("Average receive completion clock cycles = %f\n",
	       (double)pp->clock.sum / pp->clock.count);
}

/*
 * End the sends that have not completed. With several queue pairs the last message may arrive
 * before the completions of sends by the others.
 */
static int sends_end(struct pp *pp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	unsigned int left = 0;
	struct ibv_wc wc;
	int n = 0;

	for (unsigned int i = 0; i < pp->opt.num_qp; i++) {
		if (!(pp->qps[i].pending & PP_SEND))
			continue;
		if ((n = ibv_modify_qp(pp->qps[i].qp, &attr, IBV_QP_STATE)))
			return pp_fail(n, "Failed to modify QP to ERR");
		left++;
	}
	while (left && (n = ibv_poll_cq(pp->cq, 1, &wc)) >= 0)
		left -= n && (wc.wr_id & PP_SEND);
	return n < 0 ? pp_fail(0, "poll CQ failed %d", n) : 0;
}

static int run(struct pp *pp)
{
	double start;
	int r = pp_open(pp);

	if (!r)
		r = slots_prepare(pp);
	if (!r)
		r = receives_post(pp);
	if (!r && pp->opt.events)
		r = notify_arm(pp);
	if (!r)
		r = meet(pp);
	if (r)
		return r;
	start = now_us();
	r = play(pp);
	if (r)
		return r;
	report(pp, now_us() - start);
	pp_part(pp);
	r = sends_end(pp);
	if (r)
		return r;
	return pp->invalid_data ? -EBADMSG : 0;
}

int pp_main(const struct pp_program *program, int argc, char **argv)
{
	static struct pp pp;
	int r, closing;

	setenv("VERBS_LOG_LEVEL", "1", 0);
	pp.program = program;
	pp_options_parse(program, argc, argv, &pp.opt);
	r = run(&pp);
	closing = pp_close(&pp);
	return r || closing ? 1 : 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <arpa/inet.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "rdma-doctor/clock.h"
#include "rdma-doctor/counter.h"
#include "rdma-doctor/gid_table.h"
#include "rdma-doctor/peer_side.h"

enum {
	UD_RECEIVES = 32,
	UD_BYTES = LOOPBACK_GRH + 4096,
	RC_WINDOW = 16,
	UD_PLACE = PEER_LOAD_BYTES, /* offsets in the region; data to send is at 0 */
	REGION = (UD_PLACE + UD_RECEIVES * UD_BYTES + 4095) & ~4095,
};

/* A gap between two passes of a loop that is longer than load alone explains. */
#define STALL (100 * CLOCK_MS)
/* Silence after which a datagram counts as lost. */
#define SILENCE	   (300 * CLOCK_MS)
#define LOAD_TIME  (500 * CLOCK_MS)
#define LOAD_LIMIT (15 * CLOCK_SECOND)
/* A sender may wait LOAD_LIMIT once more for its last completion. */
#define SENT_LIMIT (2 * LOAD_LIMIT)

/* Time of a loop. A process that does not run receives no messages. Therefore a gap does not count
 * as silence. */
struct pace {
	uint64_t start, last, silent, stalled;
};

static void pace_begin(struct pace *pace)
{
	*pace = (struct pace){ .start = clock_now() };
	pace->last = pace->start;
}

static void pace_step(struct pace *pace, bool progress)
{
	uint64_t now = clock_now(), gap = now - pace->last;

	pace->last = now;
	if (gap > STALL)
		pace->stalled += gap;
	pace->silent = progress ? 0 : pace->silent + min_of(gap, 5 * CLOCK_MS);
	if (!progress)
		sched_yield();
}

static void pace_report(const struct pace *pace, struct peer_report *report)
{
	report->ms = (pace->last - pace->start) / CLOCK_MS;
	report->stalled_ms = pace->stalled / CLOCK_MS;
}

/* --- the device --- */

/* Write the address as a GID. */
static void address_gid(int fd, uint8_t gid[16])
{
	union {
		struct sockaddr sa;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} address = {};
	socklen_t length = sizeof(address);

	memset(gid, 0, 16);
	if (getsockname(fd, &address.sa, &length))
		return;
	if (address.sa.sa_family == AF_INET6) {
		memcpy(gid, &address.v6.sin6_addr, 16);
	} else if (address.sa.sa_family == AF_INET) {
		gid[10] = gid[11] = 0xff;
		memcpy(gid + 12, &address.v4.sin_addr, 4);
	}
}

/* Rank an entry for the connection: its address, then RoCE v2, then not link-local. */
static int entry_rank(const struct ibv_gid_entry *entry, const uint8_t address[16])
{
	return 1 + 4 * !memcmp(entry->gid.raw, address, 16) +
	       2 * (entry->gid_type == IBV_GID_TYPE_ROCE_V2) + (entry->gid.raw[0] != 0xfe);
}

/* Choose port and GID of an open device. Return: their rank, 0: no port is active */
static int port_choose(struct peer_side *side, const uint8_t address[16])
{
	struct loopback *l = &side->base;
	_cleanup_free_ struct ibv_gid_entry *gids = NULL;
	ssize_t n = gid_table_read(l->ctx, &gids);
	struct ibv_port_attr port;
	int best = 0;

	for (ssize_t i = 0; i < n; i++) {
		int rank = entry_rank(&gids[i], address);

		if (rank <= best || ibv_query_port(l->ctx, gids[i].port_num, &port) ||
		    port.state != IBV_PORT_ACTIVE)
			continue;
		best = rank;
		l->port = port;
		l->path.port_num = gids[i].port_num;
		l->path.grh.sgid_index = gids[i].gid_index;
		side->here.roce = gids[i].gid_type;
		side->netdev = gids[i].ndev_ifindex;
		memcpy(side->here.gid, gids[i].gid.raw, 16);
	}
	return best;
}

/* The process has no device. Set errno to the reason. @error: errno of the device that could not be
 * opened; 0: there is no such device. Return: the verb that failed. */
static const char *device_none(int error)
{
	int r = trial_files_check();

	errno = r < 0 ? -r : error ?: ENODEV;
	return error ? "ibv_open_device" : "a device with an active port";
}

/* Open the device with the highest rank. Return: NULL or a verb. */
static const char *device_choose(struct peer_side *side, const char *wanted)
{
	struct ibv_device **list = ibv_get_device_list(NULL), *chosen = NULL;
	int best = 0, error = 0, rank;
	uint8_t address[16];

	if (!list) {
		device_none(errno);
		return "ibv_get_device_list";
	}
	address_gid(side->fd, address);
	for (int i = 0; list[i]; i++) {
		if (wanted && !device_is_called(list[i]->name, list[i]->dev_name, wanted))
			continue;
		side->base.ctx = ibv_open_device(list[i]);
		if (!side->base.ctx) {
			error = errno;
			continue;
		}
		rank = port_choose(side, address);
		if (rank > best) {
			best = rank;
			chosen = list[i];
		}
		ibv_close_device(side->base.ctx);
	}
	side->base.ctx = chosen ? ibv_open_device(chosen) : NULL;
	if (side->base.ctx)
		port_choose(side, address);
	else if (chosen)
		error = errno;
	ibv_free_device_list(list);
	return side->base.ctx ? NULL : device_none(error);
}

const char *side_open(struct peer_side *side, const char *wanted, char *name, size_t size)
{
	struct loopback *l = &side->base;
	const char *verb = device_choose(side, wanted);

	if (verb)
		return verb;
	snprintf(name, size, "%s", l->ctx->device->name);
	verb = loopback_objects(l, REGION, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (verb)
		return verb;
	l->timeout = 16; /* 268 ms */
	l->retries = 7;
	l->from = loopback_qp(l, IBV_QPT_RC);
	l->to = l->from ? loopback_qp(l, IBV_QPT_UD) : NULL;
	if (!l->to)
		return "ibv_create_qp";
	if (loopback_qp_init(l, l->from) || loopback_qp_init(l, l->to))
		return "ibv_modify_qp";
	side->here.rc_qpn = l->from->qp_num;
	side->here.ud_qpn = l->to->qp_num;
	side->here.mtu = l->port.active_mtu;
	side->here.link_layer = l->port.link_layer == IBV_LINK_LAYER_ETHERNET
					? IBV_LINK_LAYER_ETHERNET
					: IBV_LINK_LAYER_INFINIBAND;
	side->here.lid = l->port.lid;
	side->here.rkey = l->mr->rkey;
	side->here.address_high = (uint64_t)(uintptr_t)l->source >> 32;
	side->here.address_low = (uint32_t)(uintptr_t)l->source;
	return NULL;
}

int side_connect(struct peer_side *side, const struct peer_hello *there)
{
	struct loopback *l = &side->base;
	int r;

	side->there = *there;
	l->path.dlid = there->lid;
	l->path.is_global = side->here.link_layer == IBV_LINK_LAYER_ETHERNET;
	l->path.grh.hop_limit = PEER_HOP_LIMIT;
	memcpy(l->path.grh.dgid.raw, there->gid, 16);
	l->port.active_mtu = min_of(l->port.active_mtu, there->mtu);
	r = loopback_qp_ready(l, l->from, there->rc_qpn);
	return r ?: loopback_qp_ready(l, l->to, 0);
}

void side_close(struct peer_side *side)
{
	loopback_close(&side->base);
}

/* --- receiving --- */

static uint8_t *datagram_place(const struct peer_side *side, unsigned int n)
{
	return side->base.source + UD_PLACE + n % UD_RECEIVES * UD_BYTES;
}

/* Receives complete in their order, therefore the places are a ring. */
static int receives_post(struct peer_side *side)
{
	for (; side->ud_posted < UD_RECEIVES; side->ud_posted++) {
		unsigned int n = (side->ud_next + side->ud_posted) % UD_RECEIVES;
		struct ibv_sge sge = { (uintptr_t)datagram_place(side, n), UD_BYTES,
				       side->base.mr->lkey };
		struct ibv_recv_wr *bad, wr = { .wr_id = n, .sg_list = &sge, .num_sge = 1 };
		int r = ibv_post_recv(side->base.to, &wr, &bad);

		if (r)
			return r;
	}
	return 0;
}

int side_prepare(struct peer_side *side, const struct peer_flow *flow)
{
	return flow->kind == FLOW_LOAD ? 0 : receives_post(side);
}

/*
 * Read traffic class and hop limit from the 40 bytes before a datagram, which hold a GRH, or an
 * IPv4 header in the last 20. The addresses of a GRH may look like an IPv4 header, therefore the
 * own GID decides.
 */
static void header_read(const struct peer_hello *here, const uint8_t *grh,
			struct peer_report *report)
{
	bool ipv4 = here->roce == IBV_GID_TYPE_ROCE_V2 &&
		    IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)here->gid);

	if (ipv4 ? grh[20] != 0x45 : grh[0] >> 4 != 6)
		return;
	report->has_header = 1;
	report->traffic_class = ipv4 ? grh[21] : (uint8_t)(grh[0] << 4 | grh[1] >> 4);
	report->hop_limit = ipv4 ? grh[28] : grh[7];
}

static void datagram_take(struct peer_side *side, const struct ibv_wc *wc,
			  const struct peer_flow *flow, struct peer_report *report)
{
	const uint8_t *data = datagram_place(side, wc->wr_id);
	uint32_t number;

	memcpy(&number, data + LOOPBACK_GRH, sizeof(number));
	if (be32toh(number) != flow->number)
		return; /* of an earlier flow, or of another sender */
	if (wc->byte_len != LOOPBACK_GRH + flow->bytes) {
		report->damaged++;
		return;
	}
	report->arrived++;
	if (wc->wc_flags & IBV_WC_GRH)
		header_read(&side->here, data, report);
}

/* Take a completion if there is one. Return: 1, 0 or -errno. */
static int completion_take(struct peer_side *side, const struct peer_flow *flow,
			   struct peer_report *report)
{
	struct ibv_wc wc;
	int n = ibv_poll_cq(side->base.recv_cq, 1, &wc);

	if (n <= 0)
		return n < 0 ? -EIO : 0;
	if (wc.status != IBV_WC_SUCCESS)
		return -EIO;
	side->ud_posted--;
	side->ud_next = (side->ud_next + 1) % UD_RECEIVES;
	datagram_take(side, &wc, flow, report);
	return receives_post(side) ? -EIO : 1;
}

/* Return whether the flow continues after the message SENT. */
static bool flow_goes_on(const struct peer_flow *flow, const struct peer_report *report,
			 const struct peer_sent *sent, const struct pace *pace)
{
	return flow->kind == FLOW_DATAGRAMS && report->arrived < sent->count &&
	       pace->silent < SILENCE;
}

int side_receive(struct peer_side *side, const struct peer_flow *flow, struct peer_report *report,
		 struct peer_sent *ret_sent)
{
	struct peer_message message = {};
	bool ended = false;
	struct pace pace;
	int r = 0;

	pace_begin(&pace);
	while (!ended || flow_goes_on(flow, report, &message.sent, &pace)) {
		int n = r < 0 ? 0 : completion_take(side, flow, report);

		if (n < 0)
			r = n; /* the sender's status has the reason */
		if (!ended && (!n || pace.last - pace.start > SENT_LIMIT) &&
		    (peer_message_waits(side->fd) || pace.last - pace.start > SENT_LIMIT)) {
			int error = peer_message_receive(side->fd, PEER_SENT, &message);

			if (error < 0 || message.type != PEER_SENT)
				return error ?: -EPROTO;
			ended = true;
			n = 1;
		}
		pace_step(&pace, n > 0);
	}
	pace_report(&pace, report);
	*ret_sent = message.sent;
	return 0;
}

/* --- sending --- */

/* Wait for one completion of a sender. Return: 0, or a status. */
static uint32_t send_wait(struct peer_side *side, struct pace *pace)
{
	struct ibv_wc wc;

	for (;;) {
		int n = ibv_poll_cq(side->base.send_cq, 1, &wc);

		if (n > 0)
			return wc.status;
		if (n < 0 || pace->silent > LOAD_LIMIT)
			return IBV_WC_GENERAL_ERR;
		pace_step(pace, false);
	}
}

static void datagrams_send(struct peer_side *side, const struct peer_flow *flow,
			   struct peer_sent *sent, struct pace *pace)
{
	struct ibv_ah_attr path = side->base.path;
	struct ibv_sge sge = { (uintptr_t)side->base.source, flow->bytes, side->base.mr->lkey };
	struct ibv_send_wr *bad, wr = { .sg_list = &sge,
					.num_sge = 1,
					.opcode = IBV_WR_SEND,
					.send_flags = IBV_SEND_SIGNALED };
	const uint32_t number = htobe32(flow->number);
	struct ibv_ah *ah;

	path.grh.traffic_class = flow->traffic_class;
	ah = ibv_create_ah(side->base.pd, &path);
	if (!ah) {
		sent->status = IBV_WC_GENERAL_ERR;
		return;
	}
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = side->there.ud_qpn;
	wr.wr.ud.remote_qkey = LOOPBACK_QKEY;
	memset(side->base.source, 0, flow->bytes);
	memcpy(side->base.source, &number, sizeof(number));
	while (sent->count < flow->count && !sent->status) {
		if (ibv_post_send(side->base.to, &wr, &bad))
			sent->status = IBV_WC_GENERAL_ERR;
		else
			sent->status = send_wait(side, pace);
		sent->count++;
	}
	ibv_destroy_ah(ah);
}

static bool write_post(struct peer_side *side)
{
	struct ibv_sge sge = { (uintptr_t)side->base.source, PEER_LOAD_BYTES, side->base.mr->lkey };
	struct ibv_send_wr *bad, wr = { .sg_list = &sge,
					.num_sge = 1,
					.opcode = IBV_WR_RDMA_WRITE,
					.send_flags = IBV_SEND_SIGNALED };

	wr.wr.rdma.remote_addr = (uint64_t)side->there.address_high << 32 | side->there.address_low;
	wr.wr.rdma.rkey = side->there.rkey;
	return !ibv_post_send(side->base.from, &wr, &bad);
}

static void load_send(struct peer_side *side, struct peer_sent *sent, struct pace *pace)
{
	unsigned int posted = 0;

	while (!sent->status) {
		while (posted - sent->count < RC_WINDOW && pace->last - pace->start < LOAD_TIME &&
		       write_post(side))
			posted++;
		if (posted == sent->count)
			break;
		sent->status = send_wait(side, pace);
		sent->count += !sent->status;
		pace_step(pace, true);
		if (pace->last - pace->start > LOAD_LIMIT)
			break;
	}
}

void side_send(struct peer_side *side, const struct peer_flow *flow, struct peer_sent *ret_sent,
	       struct peer_report *report)
{
	struct peer_sent sent = {};
	struct pace pace;

	pace_begin(&pace);
	if (flow->kind == FLOW_LOAD)
		load_send(side, &sent, &pace);
	else
		datagrams_send(side, flow, &sent, &pace);
	pace_step(&pace, true);
	pace_report(&pace, report);
	*ret_sent = sent;
}

/* --- counters --- */

static void count_one(struct peer_report *sums, const char *name, uint64_t value)
{
	switch (counter_meaning(name)->kind) {
	case COUNTER_LOSS:
		sums->losses += value;
		break;
	case COUNTER_DROP:
		sums->drops += value;
		break;
	case COUNTER_CONGESTION:
		sums->marks += value;
		break;
	default:
		break;
	}
}

void side_count(const struct peer_side *side, struct peer_report *ret_sums)
{
	struct transfer_counter own[TRANSFER_COUNTERS];
	unsigned int count = uroce_counters_read(side->base.ctx, own);
	struct peer_report sums = {};
	struct sample sample;

	for (unsigned int i = 0; i < count; i++)
		count_one(&sums, own[i].name, own[i].value);
	sample_port(side->doctor, side->base.ctx->device->name, side->base.path.port_num, &sample);
	for (unsigned int i = 0; i < sample.count; i++)
		count_one(&sums, sample.counters[i].name, sample.counters[i].value);
	sample_drop(&sample);
	*ret_sums = sums;
}

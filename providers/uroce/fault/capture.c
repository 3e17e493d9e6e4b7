/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packets as a wire would show them. Packets of the network are written as they are. Packets of
 * shared memory get headers and an ICRC. A message that travelled as one reference, or that its
 * initiator copied, is cut into packets. All have the one PSN of the message.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "providers/uroce/fault/fault.h"
#include "providers/uroce/fault/pcapng.h"
#include "util/env.h"

enum {
	IP_MAX = 40,
	UDP_LEN = 8,
	IPV4_LEN = 20,
	MESSAGE = 256,
	HOP_LIMIT = 64,
	SEGMENT = 4096, /* payload of a packet, if a path carries messages as a whole */
	PACKET_MAX = IP_MAX + UDP_LEN + UROCE_HEADER_MAX + PATH_PACKET_MAX + 4 + 2 * ICRC_LEN,
};

struct interface {
	LIST_ENTRY(interface) entry;
	char name[IBV_SYSFS_NAME_MAX];
	int number; /* number in the file */
};

struct uroce_capture {
	struct uroce_lock lock; /* a leaf */
	struct pcapng file;
	LIST_HEAD(, interface) interfaces;
	const struct uroce_path_ops *inner; /* operations of the path through shared memory */
	const char *(*device)(struct path_host *host, const struct uroce_qp *qp);
	/* the packet under construction; its IP header ends at IP_MAX */
	uint8_t packet[PACKET_MAX];
};

/* Facts about a packet besides its bytes. */
struct frame {
	struct uroce_capture *capture;
	const char *device;
	struct uroce_route route; /* route from the sender's point of view */
	bool outgoing;
	uint16_t port, id;
	const char *comment;
};

static const char *refusal_text(int r)
{
	switch (r) {
	case -EBUSY:
		return "another process writes to it; %p in the name gives each its own";
	case -EINVAL:
	case -ENXIO: /* a pipe without a reader */
		return "it is not a regular file";
	default:
		return strerror(-r);
	}
}

int uroce_capture_new(struct uroce_capture **ret)
{
	const char *text = env_get_filled(ENV_UROCE_CAPTURE);
	_cleanup_free_ struct uroce_capture *capture = NULL;
	struct capture_wish wish;
	char message[MESSAGE];
	int r;

	*ret = NULL;
	if (!text)
		return 0;
	log_init();
	r = uroce_capture_parse(text, &wish, message);
	if (r == -EINVAL)
		log_notice("uroce: Error: UROCE_CAPTURE: %s. Nothing is opened; see uroce(7)",
			   message);
	if (r < 0)
		return r;
	capture = calloc(1, sizeof(*capture));
	if (!capture)
		return -ENOMEM;
	r = pcapng_create(wish.path, wish.snaplen, wish.size, &capture->file);
	if (r < 0) {
		log_notice(
			"uroce: Warning: UROCE_CAPTURE: '%s' cannot be written: %s. This process is "
			"not captured",
			wish.path, refusal_text(r));
		return 0;
	}
	*ret = take_ptr(&capture);
	return 0;
}

void uroce_capture_free(struct uroce_capture *capture)
{
	struct interface *interface;

	while ((interface = LIST_FIRST(&capture->interfaces))) {
		LIST_REMOVE(interface, entry);
		free(interface);
	}
	pcapng_close(&capture->file);
	free(capture);
}

/* --- headers --- */

static uint32_t sum16(uint32_t sum, const uint8_t *p, uint32_t length)
{
	for (uint32_t i = 0; i + 1 < length; i += 2)
		sum += p[i] << 8 | p[i + 1];
	return length & 1 ? sum + (p[length - 1] << 8) : sum;
}

static uint16_t fold(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

static void ipv4_number(uint8_t *ip, uint16_t id)
{
	put16(ip + 4, id);
	put16(ip + 10, 0);
	put16(ip + 10, fold(sum16(0, ip, IPV4_LEN)));
}

static uint16_t udp_checksum(const struct uroce_route *route, const uint8_t *udp, uint32_t length)
{
	uint32_t from = uroce_gid_is_ipv4(&route->sgid) ? 12 : 0;
	uint32_t sum = IPPROTO_UDP + length;
	uint16_t checksum;

	sum = sum16(sum, route->sgid.raw + from, 16 - from);
	sum = sum16(sum, route->dgid.raw + from, 16 - from);
	checksum = fold(sum16(sum, udp, length));
	return checksum ? checksum : 0xffff;
}

static uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* Return the number of an interface in the file. Its first packet adds the interface. */
static int interface_number(struct uroce_capture *capture, const char *name)
{
	struct interface *interface;
	int r;

	LIST_FOREACH(interface, &capture->interfaces, entry)
		if (!strcmp(interface->name, name))
			return interface->number;
	interface = calloc(1, sizeof(*interface));
	if (!interface)
		return -ENOMEM;
	r = pcapng_add_interface(&capture->file, name);
	if (r < 0) {
		free(interface);
		return r;
	}
	snprintf(interface->name, sizeof(interface->name), "%s", name);
	interface->number = r;
	LIST_INSERT_HEAD(&capture->interfaces, interface, entry);
	return r;
}

/* Write a packet whose bytes behind the UDP header, BTH to ICRC, are in place. Under the lock. */
static void frame_write(const struct frame *f, uint32_t length)
{
	struct uroce_capture *capture = f->capture;
	bool ipv4 = uroce_gid_is_ipv4(&f->route.sgid);
	uint8_t *ip = capture->packet + (ipv4 ? IP_MAX - IPV4_LEN : 0);
	uint8_t *udp = capture->packet + IP_MAX;
	int r;

	uroce_grh_fill(&f->route, length - ICRC_LEN, capture->packet);
	if (ipv4)
		ipv4_number(ip, f->id);
	put16(udp, f->port);
	put16(udp + 2, UROCE_UDP_PORT);
	put16(udp + 4, UDP_LEN + length);
	put16(udp + 6, 0);
	put16(udp + 6, udp_checksum(&f->route, udp, UDP_LEN + length));
	r = interface_number(capture, f->device);
	if (r >= 0)
		r = pcapng_add_packet(&capture->file, r, f->outgoing, clock_ns(), ip,
				      udp + UDP_LEN + length - ip, f->comment);
	if (r < 0)
		log_warn("%s: the capture ends here: %s", f->device,
			 r == -ENOSPC ? "its size is reached (size= in UROCE_CAPTURE)"
				      : strerror(-r));
}

/* --- shared memory --- */

/*
 * Append the ICRC to @length bytes as a packet by UDP would have it, and write the packet. Under
 * the lock.
 */
static void frame_finish(struct frame *f, uint32_t length)
{
	uint8_t *packet = f->capture->packet + IP_MAX + UDP_LEN;
	union uroce_address from, to;
	struct uroce_icrc icrc;
	uint32_t crc;

	f->port = UROCE_UDP_PORT;
	f->route.hop_limit = f->route.hop_limit ? f->route.hop_limit : HOP_LIMIT;
	uroce_address_from_gid(&f->route.sgid, UROCE_UDP_PORT, 0, &from);
	uroce_address_from_gid(&f->route.dgid, UROCE_UDP_PORT, 0, &to);
	uroce_icrc_init(&icrc, &from, &to);
	crc = htole32(uroce_icrc_compute(&icrc, 0, packet, length));
	memcpy(packet + length, &crc, sizeof(crc));
	frame_write(f, length + ICRC_LEN);
}

/*
 * Capture a packet that a path saw: a packet of a network interface is complete, a packet of
 * another process has no ICRC.
 */
void uroce_capture_sight(struct uroce_capture *capture, const struct path_sight *sight,
			 const char *device)
{
	struct frame f = { .capture = capture,
			   .device = sight->device ? sight->device : device,
			   .route = sight->route,
			   .outgoing = sight->outgoing,
			   .port = sight->port,
			   .id = sight->id };

	if (!f.device || sight->length > PACKET_MAX - IP_MAX - UDP_LEN - ICRC_LEN)
		return;
	f.route.hop_limit = f.route.hop_limit ? f.route.hop_limit : HOP_LIMIT;
	uroce_lock(&capture->lock);
	memcpy(capture->packet + IP_MAX + UDP_LEN, sight->packet, sight->length);
	if (sight->device)
		frame_write(&f, sight->length);
	else
		frame_finish(&f, sight->length);
	uroce_unlock(&capture->lock);
}

/* Fetches bytes [offset, offset + length) of a payload. */
typedef int (*payload_get)(const void *source, uint32_t offset, void *dst, uint32_t length);

static void packet_put(struct frame *f, const struct uroce_hdr *hdr, payload_get get,
		       const void *source, uint32_t offset, uint32_t length)
{
	struct uroce_capture *capture = f->capture;
	uint8_t *packet = capture->packet + IP_MAX + UDP_LEN;
	uint32_t header;

	uroce_lock(&capture->lock);
	header = uroce_wire_pack(hdr, length, packet);
	if (length && get(source, offset, packet + header, length) < 0)
		/* The memory of the payload is gone. The transfer itself reports this error. */
		memset(packet + header, 0, length);
	memset(packet + header + length, 0, uroce_wire_pad(length));
	frame_finish(f, header + length + uroce_wire_pad(length));
	uroce_unlock(&capture->lock);
}

/* Return the opcode of one of several packets that replace a single packet. */
static uint8_t opcode_part(uint8_t only, bool first, bool last)
{
	static const struct {
		uint8_t only, first, middle, last;
	} parts[] = {
		{ UROCE_SEND_ONLY, UROCE_SEND_FIRST, UROCE_SEND_MIDDLE, UROCE_SEND_LAST },
		{ UROCE_SEND_ONLY_IMM, UROCE_SEND_FIRST, UROCE_SEND_MIDDLE, UROCE_SEND_LAST_IMM },
		{ UROCE_SEND_ONLY_INV, UROCE_SEND_FIRST, UROCE_SEND_MIDDLE, UROCE_SEND_LAST_INV },
		{ UROCE_WRITE_ONLY, UROCE_WRITE_FIRST, UROCE_WRITE_MIDDLE, UROCE_WRITE_LAST },
		{ UROCE_WRITE_ONLY_IMM, UROCE_WRITE_FIRST, UROCE_WRITE_MIDDLE,
		  UROCE_WRITE_LAST_IMM },
		{ UROCE_READ_RESP_ONLY, UROCE_READ_RESP_FIRST, UROCE_READ_RESP_MIDDLE,
		  UROCE_READ_RESP_LAST },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(parts) && !(first && last); i++)
		if (parts[i].only == only)
			return first ? parts[i].first : last ? parts[i].last : parts[i].middle;
	return only;
}

static void message_put(struct frame *f, const struct uroce_hdr *hdr, payload_get get,
			const void *source, uint32_t total)
{
	struct uroce_hdr part = *hdr;
	uint32_t offset = 0, length;
	char comment[80];

	if (total <= PATH_PACKET_MAX && !f->comment) {
		packet_put(f, hdr, get, source, 0, total);
		return;
	}
	if (!f->comment) {
		snprintf(comment, sizeof(comment), "one packet of %u bytes, passed by reference",
			 total);
		f->comment = comment;
	}
	do {
		length = min_of(total - offset, (uint32_t)SEGMENT);
		part.opcode = (hdr->opcode & 0xe0) |
			      opcode_part(hdr->opcode & 0x1f, !offset, offset + length == total);
		part.ack_req = hdr->ack_req && offset + length == total;
		packet_put(f, &part, get, source, offset, length);
		offset += length;
	} while (offset < total && !f->capture->file.full);
}

/* Write an acknowledgement that travelled in another packet as a separate packet, as on a wire. */
static void ack_put(struct frame *f, uint32_t qpn, uint32_t psn, uint8_t syndrome, uint32_t msn)
{
	const struct uroce_hdr hdr = {
		.opcode = UROCE_RC | UROCE_ACK,
		.pkey = UROCE_PKEY_DEFAULT,
		.dest_qpn = qpn,
		.psn = psn,
		.syndrome = syndrome,
		.msn = msn,
	};

	packet_put(f, &hdr, NULL, NULL, 0, 0);
}

struct vector {
	const struct iovec *iov;
	int count;
};

static int vector_get(const void *source, uint32_t offset, void *dst, uint32_t length)
{
	const struct vector *v = source;
	uint8_t *to = dst;

	for (int i = 0; i < v->count && length; i++) {
		uint32_t part;
		int r;

		if (offset >= v->iov[i].iov_len) {
			offset -= v->iov[i].iov_len;
			continue;
		}
		part = min_of(v->iov[i].iov_len - offset, (size_t)length);
		r = uroce_copy(to, (uint8_t *)v->iov[i].iov_base + offset, part);
		if (r < 0)
			return r;
		to += part;
		length -= part;
		offset = 0;
	}
	return length ? -EFAULT : 0;
}

static int received_get(const void *source, uint32_t offset, void *dst, uint32_t length)
{
	const struct uroce_payload *payload = source;

	if (payload->data)
		return uroce_copy(dst, payload->data + offset, length);
	return payload->path->ops->fetch(payload->path, payload, offset, dst, length);
}

static void turn_round(struct uroce_route *route)
{
	union ibv_gid gid = route->sgid;

	route->sgid = route->dgid;
	route->dgid = gid;
}

void uroce_capture_peer(struct uroce_capture *capture, const char *device,
			const struct uroce_qp *qp, const struct uroce_packet *pkt)
{
	struct frame f = { .capture = capture, .device = device, .route = qp->av.route };

	turn_round(&f.route);
	if (pkt->has_ack)
		ack_put(&f, qp->vqp.qp.qp_num, pkt->ack_psn, pkt->ack_syndrome, 0);
	message_put(&f, &pkt->hdr, received_get, &pkt->payload, pkt->payload.length);
}

/* --- what leaves through shared memory --- */

static int capture_send(struct uroce_path *path, const struct uroce_av *av,
			const struct uroce_tx *tx)
{
	struct uroce_capture *capture = path->host->capture;
	struct frame f = { .capture = capture, .route = av->route, .outgoing = true };
	struct vector vector = { tx->iov, tx->iovcnt };
	int r = capture->inner->send(path, av, tx);

	f.device = capture->device(path->host, tx->qp);
	if (r < 0 || !f.device)
		return r;
	if (tx->has_ack)
		ack_put(&f, tx->hdr->dest_qpn, tx->ack_psn, tx->ack_syndrome, tx->ack_msn);
	message_put(&f, tx->hdr, vector_get, &vector, tx->length);
	return 0;
}

static int capture_fetch(struct uroce_path *path, const struct uroce_payload *payload,
			 uint32_t offset, void *dst, uint32_t length)
{
	return path->host->capture->inner->fetch(path, payload, offset, dst, length);
}

static bool capture_receiving(struct uroce_path *path, const struct uroce_av *av, uint32_t dest_qpn,
			      uint32_t own_qpn)
{
	return path->host->capture->inner->receiving(path, av, dest_qpn, own_qpn);
}

static uint32_t capture_unread(struct uroce_path *path, const struct uroce_av *av,
			       uint32_t dest_qpn, uint32_t *mark, bool anew)
{
	return path->host->capture->inner->unread(path, av, dest_qpn, mark, anew);
}

static bool capture_at_work(struct uroce_path *path, const struct uroce_av *av, uint32_t own_qpn)
{
	return path->host->capture->inner->at_work(path, av, own_qpn);
}

/* Write the packets that would have performed a one-sided operation on a wire. */
static void rdma_put(struct frame *f, const struct uroce_rdma *rdma)
{
	bool write = rdma->kind == UROCE_RDMA_WRITE;
	struct vector vector = { rdma->iov, rdma->iovcnt };
	struct uroce_hdr hdr = {
		.opcode = UROCE_RC | (write ? UROCE_WRITE_ONLY : UROCE_READ_REQUEST),
		.pkey = UROCE_PKEY_DEFAULT,
		.dest_qpn = rdma->dest_qpn,
		.psn = rdma->qp->req.psn,
		.va = rdma->remote_addr,
		.rkey = rdma->rkey,
		.dma_len = rdma->length,
		.syndrome = AETH_ACK | AETH_ACK_NO_CREDIT,
	};

	if (write) {
		message_put(f, &hdr, vector_get, &vector, rdma->length);
		return;
	}
	packet_put(f, &hdr, NULL, NULL, 0, 0);
	f->outgoing = false;
	turn_round(&f->route);
	hdr.opcode = UROCE_RC | UROCE_READ_RESP_ONLY;
	hdr.dest_qpn = rdma->own_qpn;
	message_put(f, &hdr, vector_get, &vector, rdma->length);
}

static int capture_rdma(struct uroce_path *path, const struct uroce_av *av,
			const struct uroce_rdma *rdma)
{
	struct uroce_capture *capture = path->host->capture;
	struct frame f = { .capture = capture,
			   .device = capture->device(path->host, rdma->qp),
			   .route = av->route,
			   .outgoing = true,
			   .comment = "done by its initiator alone in the target's memory" };
	/*
	 * With a capture, send atomic operations as packets, because packets show the former value.
	 */
	int r = uroce_rdma_atomic(rdma) ? -EOPNOTSUPP : capture->inner->rdma(path, av, rdma);

	if (r >= 0)
		rdma_put(&f, rdma);
	return r;
}

void uroce_capture_path(struct uroce_capture *capture, struct uroce_path *path,
			const char *(*device)(struct path_host *host, const struct uroce_qp *qp))
{
	static const struct uroce_path_ops ops = {
		.send = capture_send,
		.fetch = capture_fetch,
		.receiving = capture_receiving,
		.unread = capture_unread,
		.at_work = capture_at_work,
		.rdma = capture_rdma,
	};

	capture->inner = path->ops;
	capture->device = device;
	path->ops = &ops;
}

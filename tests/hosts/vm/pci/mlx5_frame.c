/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Frames of the netdev. The send queues send to a tap device of this machine, whose name is "wire"
 * and the slot of the adapter. A frame from the tap device goes to the first receive queue that has
 * a buffer. Steering is not emulated.
 */
#include "tests/hosts/vm/pci/mlx5_wire.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <linux/if_ether.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>
#include "tests/hosts/vm/pci/play.h"

enum {
	QUEUE_CONTEXT = 0x20, /* of a command, and the work queue in it */
	QUEUE_WQ = 0x30,
	READY = 1,
	OP_NOP = 0x0,
	OP_SEND = 0xa,
	OP_LSO = 0xe,
	OPCODE = 3, /* bytes of a request */
	SEGMENTS = 7,
	FLAGS = 11,
	COMPLETION = 8,
	CHECKSUMS = 20,
	L4_CHECKSUM = 1 << 7,
	SEGMENT_SIZE = 22,
	INLINE_LENGTH = 28,
	INLINE = 30,
	FIRST_DATA = 32,
	DATA = 16,
	LONGEST_REQUEST = 64 * DATA,
	IPV4 = 20,
	IPV6 = 40,
	IPV4_LENGTH = ETH_HLEN + 2,
	IPV4_PROTOCOL = ETH_HLEN + 9,
	IPV6_LENGTH = ETH_HLEN + 4,
	IPV6_NEXT = ETH_HLEN + 6,
	TCP_CHECKSUM = 16,
	UDP_CHECKSUM = 6,
	LONGEST = 1 << 17,
	QUEUE_LENGTH = 10000,
};

/* A frame in the format of the tap device. A header in front of the frame names the missing
 * checksum and the length of segments. */
static struct frame {
	struct virtio_net_hdr header;
	uint8_t bytes[LONGEST];
} frame, received;

static int tap = -1;

static void open_tap(void)
{
	struct ifreq request = { .ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR };
	int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	tap = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	snprintf(request.ifr_name, sizeof(request.ifr_name), "wire%u", play_slot());
	if (tap < 0 || ioctl(tap, TUNSETIFF, &request))
		play_die("no tap device %s", request.ifr_name);
	request.ifr_qlen = QUEUE_LENGTH;
	if (any < 0 || ioctl(any, SIOCSIFTXQLEN, &request))
		play_die("the queue of %s", request.ifr_name);
	close(any);
}

/* Send a frame. Ignore EIO, which means that the tap device is down. */
static void transmit(size_t length)
{
	if (write(tap, &frame, sizeof(frame.header) + length) < 0 && errno != EIO)
		PLAY_LOG("a frame of %zu bytes: %s\n", length, strerror(errno));
}

void hca_transmit(const uint8_t *bytes, size_t length)
{
	frame.header = (struct virtio_net_hdr){ 0 };
	memcpy(frame.bytes, bytes, length);
	transmit(length);
}

/* Return a free queue. Numbers begin with 1. */
static struct hca_frames *spare(struct hca_frames *queues)
{
	for (uint32_t i = 1; i < HCA_FRAME_QUEUES; i++)
		if (!queues[i].used) {
			queues[i] = (struct hca_frames){ 0 };
			queues[i].object.number = i;
			queues[i].object.type = OBJECT_QP;
			return &queues[i];
		}
	return NULL;
}

static struct hca_frames *queue_of(const struct hca_call *call, struct hca_frames *queues)
{
	struct hca_frames *q = call->number < HCA_FRAME_QUEUES ? &queues[call->number] : NULL;

	return q && q->used ? q : NULL;
}

static enum hca_status create(const struct hca_call *call, struct hca_frames *queues, bool sends)
{
	const uint8_t *c = call->in + QUEUE_CONTEXT, *w = c + QUEUE_WQ;
	struct hca_frames *q = spare(queues);
	volatile uint32_t *record;
	struct queue *ring;

	if (!q)
		return HCA_NO_RESOURCES;
	q->cq = get(c, FRAMES_CQN);
	q->pd = get(w, WQ_PD);
	record = play_memory(get64(w + WQ_DBR_ADDR));
	ring = sends ? &q->object.sq : &q->object.rq;
	*ring = (struct queue){
		.base = hca_map_ring(call, QUEUE_CONTEXT + QUEUE_WQ + WQ_PAS, get(w, WQ_LOG_PG_SZ),
				     get(w, WQ_PAGE_OFFSET), &q->map),
		.entries = 1u << get(w, WQ_LOG_SZ),
		.stride = 1u << get(w, WQ_LOG_STRIDE),
		.record = record + sends,
	};
	q->used = true;
	put(call->out, COMMAND_NUMBER, q->object.number);
	return HCA_OK;
}

enum hca_status hca_create_frame_sq(const struct hca_call *call)
{
	return create(call, hca.sqs, true);
}

enum hca_status hca_create_frame_rq(const struct hca_call *call)
{
	return create(call, hca.rqs, false);
}

/* A queue that is reset begins with its first entry again. */
static enum hca_status modify(const struct hca_call *call, struct hca_frames *queues)
{
	struct hca_frames *q = queue_of(call, queues);
	uint32_t state = get(call->in + QUEUE_CONTEXT, FRAMES_STATE);

	if (!q)
		return HCA_BAD_RESOURCE;
	q->ready = state == READY;
	if (!state)
		q->object.sq.consumed = q->object.rq.consumed = 0;
	return HCA_OK;
}

enum hca_status hca_modify_frame_sq(const struct hca_call *call)
{
	return modify(call, hca.sqs);
}

enum hca_status hca_modify_frame_rq(const struct hca_call *call)
{
	return modify(call, hca.rqs);
}

static enum hca_status destroy(const struct hca_call *call, struct hca_frames *queues)
{
	struct hca_frames *q = queue_of(call, queues);

	if (!q)
		return HCA_BAD_RESOURCE;
	q->used = false;
	hca_unmap_ring(&q->map);
	return HCA_OK;
}

enum hca_status hca_destroy_frame_sq(const struct hca_call *call)
{
	return destroy(call, hca.sqs);
}

enum hca_status hca_destroy_frame_rq(const struct hca_call *call)
{
	return destroy(call, hca.rqs);
}

/* Copy between a buffer of the driver and @bytes. Return false if the key does not allow it. */
static bool copy(const struct hca_frames *q, const struct ibv_sge *sge, uint8_t *bytes,
		 size_t length, bool writes)
{
	unsigned access = writes ? HCA_LOCAL_WRITE : HCA_LOCAL_READ;
	size_t together = 0;
	uint8_t *at;

	for (size_t done = 0; done < length; done += together) {
		at = hca_key_memory(sge->lkey, q->pd, HCA_ANY_QP, sge->addr + done, length - done,
				    access, &together);
		if (!at)
			return false;
		if (together > length - done)
			together = length - done;
		memcpy(writes ? at : bytes + done, writes ? bytes + done : at, together);
	}
	return true;
}

/* Collect the data of a request. Return the length, or 0 if the request is malformed. */
static size_t gather(const struct hca_frames *sq, const uint8_t *request, uint32_t size)
{
	uint32_t ahead = get16(request + INLINE_LENGTH), at = FIRST_DATA;
	size_t length = ahead;

	if (ahead > 2)
		at += (ahead - 2 + DATA - 1) / DATA * DATA;
	if (at > size)
		return 0;
	memcpy(frame.bytes, request + INLINE, ahead);
	for (; at + DATA <= size; at += DATA) {
		struct ibv_sge sge = { .length = get32(request + at),
				       .lkey = get32(request + at + 4),
				       .addr = get64(request + at + 8) };

		if (sge.length > LONGEST - length ||
		    !copy(sq, &sge, frame.bytes + length, sge.length, false))
			return 0;
		length += sge.length;
	}
	return length;
}

/* Return the number of the protocol in an IP packet, and in *@ret_at where that begins. */
static uint8_t protocol_of(const uint8_t *bytes, uint32_t *ret_at)
{
	switch (get16(bytes + 2 * ETH_ALEN)) {
	case ETH_P_IP:
		*ret_at = ETH_HLEN + (bytes[ETH_HLEN] & 0xf) * 4;
		return bytes[IPV4_PROTOCOL];
	case ETH_P_IPV6:
		*ret_at = ETH_HLEN + IPV6;
		return bytes[IPV6_NEXT];
	default:
		return 0;
	}
}

static void describe(const uint8_t *request)
{
	uint32_t at = 0;
	uint8_t protocol = protocol_of(frame.bytes, &at);

	frame.header = (struct virtio_net_hdr){ 0 };
	if (!(request[CHECKSUMS] & L4_CHECKSUM) ||
	    (protocol != IPPROTO_TCP && protocol != IPPROTO_UDP))
		return;
	frame.header.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
	frame.header.csum_start = at;
	frame.header.csum_offset = protocol == IPPROTO_TCP ? TCP_CHECKSUM : UDP_CHECKSUM;
	if (request[OPCODE] != OP_LSO)
		return;
	frame.header.gso_type =
		at == ETH_HLEN + IPV6 ? VIRTIO_NET_HDR_GSO_TCPV6 : VIRTIO_NET_HDR_GSO_TCPV4;
	frame.header.gso_size = get16(request + SEGMENT_SIZE);
	frame.header.hdr_len = get16(request + INLINE_LENGTH);
}

static void send_frame(const struct hca_frames *sq, const uint8_t *request, uint32_t size)
{
	size_t length = gather(sq, request, size);

	if (!length) {
		printf("send queue %u: a malformed frame\n", sq->object.number);
		return;
	}
	describe(request);
	transmit(length);
}

static bool send_frames(struct hca_frames *q)
{
	struct queue *sq = &q->object.sq;
	uint8_t request[LONGEST_REQUEST];
	struct ibv_wc wc = { 0 };
	bool any = false;

	while ((uint16_t)be32toh(*sq->record) != (uint16_t)sq->consumed) {
		uint16_t index = sq->consumed;
		uint32_t size;

		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		for (uint32_t i = 0; i < LONGEST_REQUEST; i += WQEBB)
			memcpy(request + i,
			       sq->base + (size_t)((index + i / WQEBB) & (sq->entries - 1)) * WQEBB,
			       WQEBB);
		size = (request[SEGMENTS] & 0x3f) * DATA;
		sq->consumed += size ? (size + WQEBB - 1) / WQEBB : 1;
		if (request[OPCODE] == OP_SEND || request[OPCODE] == OP_LSO)
			send_frame(q, request, size);
		else if (request[OPCODE] != OP_NOP)
			printf("send queue %u: opcode 0x%x is not played\n", q->object.number,
			       request[OPCODE]);
		if (request[FLAGS] & COMPLETION)
			hca_complete(q->cq,
				     &(struct completion){ .qp = &q->object,
							   .id = index,
							   .note = request[OPCODE],
							   .wc = &wc },
				     false);
		any = true;
	}
	return any;
}

/* Return the checksum of the IP packet, without the padding of the frame. The driver passes this
 * checksum on. */
static uint16_t sum_of(const uint8_t *bytes, size_t length)
{
	size_t end = length;
	uint32_t sum = 0;

	if (get16(bytes + 2 * ETH_ALEN) == ETH_P_IP)
		end = ETH_HLEN + get16(bytes + IPV4_LENGTH);
	else if (get16(bytes + 2 * ETH_ALEN) == ETH_P_IPV6)
		end = ETH_HLEN + IPV6 + get16(bytes + IPV6_LENGTH);
	if (end > length)
		end = length;
	for (size_t i = ETH_HLEN; i < end; i++)
		sum += i & 1 ? bytes[i] : bytes[i] << 8;
	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

/* Return whether a queue has a buffer. The driver has a queue without buffers for unwanted frames.
 */
static bool has_buffer(const struct hca_frames *q)
{
	const struct queue *rq = &q->object.rq;

	return q->used && q->ready && rq->base &&
	       (uint16_t)be32toh(*rq->record) != (uint16_t)rq->consumed;
}

static struct hca_frames *receiver(void)
{
	for (uint32_t i = 1; i < HCA_FRAME_QUEUES; i++)
		if (has_buffer(&hca.rqs[i]))
			return &hca.rqs[i];
	return NULL;
}

/* Deliver a frame. Drop it if the queue has no buffer. */
static void deliver(struct hca_frames *rq, uint8_t *bytes, size_t length)
{
	static struct work work;
	struct ibv_wc wc = { .byte_len = length };
	size_t done = 0;

	if (mlx5_next_receive(&rq->object, &work) <= 0)
		return;
	for (int i = 0; i < work.wr.num_sge && done < length; i++) {
		size_t n = work.sge[i].length < length - done ? work.sge[i].length : length - done;

		if (!copy(rq, &work.sge[i], bytes + done, n, true))
			return;
		done += n;
	}
	rq->object.rq.consumed++;
	hca_complete_frame(rq->cq,
			   &(struct completion){
				   .qp = &rq->object, .receive = true, .id = work.id, .wc = &wc },
			   sum_of(bytes, length));
}

static bool receive_frames(void)
{
	struct hca_frames *rq;
	bool any = false;
	ssize_t n;

	for (;;) {
		n = read(tap, &received, sizeof(received)) - (ssize_t)sizeof(received.header);
		if (n < ETH_HLEN)
			return any;
		any = true;
		if (wire_receive(received.bytes, n))
			continue;
		rq = receiver();
		if (rq)
			deliver(rq, received.bytes, n);
	}
}

bool hca_frames(void)
{
	bool any = false;

	if (tap < 0)
		open_tap();
	for (uint32_t i = 1; i < HCA_FRAME_QUEUES; i++)
		if (hca.sqs[i].used && hca.sqs[i].ready && hca.sqs[i].object.sq.base)
			any |= send_frames(&hca.sqs[i]);
	return any | receive_frames();
}

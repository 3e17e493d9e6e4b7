/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include <infiniband/verbs.h>

#include "rdma-doctor/clock.h"
#include "rdma-doctor/peer_message.h"
#include "util/text.h"

enum {
	MAGIC = 0x52444f43, /* "RDOC" */
	WAIT_SECONDS = 10,
};

/* Limits of the values that a peer may request. */
enum {
	COUNT_MAX = 32,	  /* datagrams of a flow */
	BYTES_MAX = 4096, /* bytes of a datagram */
	BYTES_MIN = 8,
};

static void words_put(uint8_t *to, const void *from, size_t bytes)
{
	for (size_t i = 0; i < bytes / sizeof(uint32_t); i++) {
		uint32_t word;

		memcpy(&word, (const uint8_t *)from + 4 * i, sizeof(word));
		word = htobe32(word);
		memcpy(to + 4 * i, &word, sizeof(word));
	}
}

static void words_get(void *to, const uint8_t *from, size_t bytes)
{
	for (size_t i = 0; i < bytes / sizeof(uint32_t); i++) {
		uint32_t word;

		memcpy(&word, from + 4 * i, sizeof(word));
		word = be32toh(word);
		memcpy((uint8_t *)to + 4 * i, &word, sizeof(word));
	}
}

_Static_assert(sizeof(struct peer_hello) == 4 * 13 && PEER_WIRE_BYTES == 8 + PEER_TEXT + 4 * 13,
	       "HELLO is the longest message");

void peer_message_format(const struct peer_message *message, uint8_t wire[PEER_WIRE_BYTES])
{
	const uint32_t head[] = { MAGIC, message->type };
	uint8_t *words = wire + sizeof(head) + PEER_TEXT;

	memset(wire, 0, PEER_WIRE_BYTES);
	words_put(wire, head, sizeof(head));
	memcpy(wire + sizeof(head), message->text, PEER_TEXT);
	words_put(words, message->words, sizeof(message->words));
	/* The bytes of a GID keep their order. */
	if (message->type == PEER_HELLO)
		memcpy(words + offsetof(struct peer_hello, gid), message->hello.gid, 16);
}

static bool hello_is_valid(const struct peer_hello *h)
{
	return h->rc_qpn <= 0xffffff && h->ud_qpn <= 0xffffff && h->mtu >= IBV_MTU_256 &&
	       h->mtu <= IBV_MTU_4096 &&
	       (h->link_layer == IBV_LINK_LAYER_INFINIBAND ||
		h->link_layer == IBV_LINK_LAYER_ETHERNET) &&
	       h->lid <= 0xffff && h->roce <= IBV_GID_TYPE_ROCE_V2;
}

static bool flow_is_valid(const struct peer_flow *flow)
{
	if (flow->kind == FLOW_LOAD)
		return !flow->from_server;
	return flow->kind == FLOW_DATAGRAMS && flow->from_server <= 1 && flow->count &&
	       flow->count <= COUNT_MAX && flow->bytes >= BYTES_MIN && flow->bytes <= BYTES_MAX &&
	       flow->traffic_class <= 0xff;
}

static bool report_is_valid(const struct peer_report *r)
{
	return r->traffic_class <= 0xff && r->hop_limit <= 0xff &&
	       r->pfc <= (PEER_PFC_KNOWN | 0xff) && r->priority <= 8;
}

static bool message_is_valid(const struct peer_message *message)
{
	switch (message->type) {
	case PEER_HELLO:
		return hello_is_valid(&message->hello);
	case PEER_FLOW:
		return flow_is_valid(&message->flow);
	case PEER_REPORT:
		return report_is_valid(&message->report);
	default:
		return true;
	}
}

int peer_message_parse(const uint8_t wire[PEER_WIRE_BYTES], struct peer_message *ret_message)
{
	struct peer_message message = {};
	const uint8_t *words = wire + 8 + PEER_TEXT;
	uint32_t head[2];

	words_get(head, wire, sizeof(head));
	if (head[0] != MAGIC || !head[1] || head[1] >= PEER_TYPES)
		return -EPROTO;
	message.type = head[1];
	memcpy(message.text, wire + 8, PEER_TEXT - 1);
	text_make_printable(message.text);
	words_get(message.words, words, sizeof(message.words));
	if (message.type == PEER_HELLO)
		memcpy(message.hello.gid, words + offsetof(struct peer_hello, gid), 16);
	if (!message_is_valid(&message))
		return -EPROTO;
	*ret_message = message;
	return 0;
}

/* Wait until @fd is ready. @end: time of clock_now() */
static int ready_wait(int fd, short events, uint64_t end)
{
	struct pollfd poll_fd = { .fd = fd, .events = events };
	uint64_t now = clock_now();
	int r;

	if (now >= end)
		return -ETIMEDOUT;
	r = poll(&poll_fd, 1, (end - now) / CLOCK_MS + 1);
	return r < 0 && errno != EINTR ? -errno : 0;
}

int peer_message_send(int fd, const struct peer_message *message)
{
	const uint64_t end = clock_now() + WAIT_SECONDS * CLOCK_SECOND;
	uint8_t wire[PEER_WIRE_BYTES];
	size_t done = 0;

	peer_message_format(message, wire);
	while (done < sizeof(wire)) {
		ssize_t n = send(fd, wire + done, sizeof(wire) - done, MSG_NOSIGNAL | MSG_DONTWAIT);
		int r = n < 0 && errno != EAGAIN && errno != EINTR ? -errno : 0;

		if (n < 0 && !r)
			r = ready_wait(fd, POLLOUT, end);
		if (r < 0)
			return r;
		done += max_of(n, 0);
	}
	return 0;
}

static int wire_receive(int fd, uint8_t wire[PEER_WIRE_BYTES])
{
	const uint64_t end = clock_now() + WAIT_SECONDS * CLOCK_SECOND;
	size_t done = 0;

	while (done < PEER_WIRE_BYTES) {
		ssize_t n = recv(fd, wire + done, PEER_WIRE_BYTES - done, MSG_DONTWAIT);
		int r = n < 0 && errno != EAGAIN && errno != EINTR ? -errno : 0;

		if (!n)
			return -ECONNRESET;
		if (n < 0 && !r)
			r = ready_wait(fd, POLLIN, end);
		if (r < 0)
			return r;
		done += max_of(n, 0);
	}
	return 0;
}

int peer_message_receive(int fd, enum peer_type type, struct peer_message *ret_message)
{
	uint8_t wire[PEER_WIRE_BYTES];
	int r = wire_receive(fd, wire);

	if (!r)
		r = peer_message_parse(wire, ret_message);
	if (r < 0)
		return r;
	if (ret_message->type == PEER_SORRY)
		return -ECONNREFUSED;
	/* The server accepts a BYE in place of any message. */
	return ret_message->type == type || ret_message->type == PEER_BYE ? 0 : -EPROTO;
}

bool peer_message_waits(int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	return poll(&poll_fd, 1, 0) > 0;
}

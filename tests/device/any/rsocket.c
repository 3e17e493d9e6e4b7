/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Streams over RDMA: the properties that programs expect of a stream, and peers that break the
 * protocol. */
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <rdma/rsocket.h>

#include "tests/lib/rt_child.h"
#include "tests/lib/rt_cm.h"
#include "tests/lib/rt_rsocket.h"

#define TOTAL (6u << 20)
#define PIECE 70001 /* longer than a message, and no multiple of anything */

static uint8_t byte_at(size_t i)
{
	return i * 2654435761u >> 13;
}

static void pattern_send(int fd, size_t total)
{
	static __thread uint8_t bytes[PIECE];

	for (size_t sent = 0; sent < total;) {
		size_t size = total - sent < PIECE ? total - sent : PIECE;
		size_t done = 0;

		for (size_t i = 0; i < size; i++)
			bytes[i] = byte_at(sent + i);
		while (done < size) {
			ssize_t n = rsend(fd, bytes + done, size - done, 0);

			CHECK(n > 0);
			done += n;
		}
		sent += size;
	}
}

static void pattern_receive(int fd, size_t total)
{
	static __thread uint8_t bytes[PIECE];

	for (size_t got = 0; got < total;) {
		size_t most = total - got < PIECE ? total - got : PIECE;
		ssize_t n = rrecv(fd, bytes, most, 0);

		CHECK(n > 0);
		for (ssize_t i = 0; i < n; i++)
			if (bytes[i] != byte_at(got + i))
				FAIL("byte %zu is 0x%x, not 0x%x", got + i, bytes[i],
				     byte_at(got + i));
		got += n;
	}
}

static void expect_end(int fd)
{
	char byte;

	CHECK_INT(rrecv(fd, &byte, 1, 0), 0);
}

/* ---- the other process ---- */

enum role {
	ROLE_ECHO,   /* takes TOTAL bytes while it sends TOTAL bytes */
	ROLE_ANSWER, /* reads up to the end, then sends TOTAL bytes and closes */
	ROLE_CLOSE,  /* closes at once */
	ROLE_SILENT, /* waits for its end */
	ROLE_SLOW,   /* is told when to read TOTAL bytes */
};

static void *sender(void *arg)
{
	pattern_send(*(int *)arg, TOTAL);
	return NULL;
}

static void both_ways(int fd)
{
	pthread_t thread;

	CHECK_OK(pthread_create(&thread, NULL, sender, &fd));
	pattern_receive(fd, TOTAL);
	CHECK_OK(pthread_join(thread, NULL));
}

static void server(int socket, int role)
{
	uint16_t port;
	int listening = rt_rs_listener(&port), fd;
	struct sockaddr_storage peer;
	socklen_t size = sizeof(peer);

	rt_tell(socket, port);
	fd = raccept(listening, (struct sockaddr *)&peer, &size);
	CHECK(fd >= 0);
	CHECK_INT(size, rt_rs_size(&peer));
	switch (role) {
	case ROLE_ECHO:
		both_ways(fd);
		expect_end(fd);
		break;
	case ROLE_ANSWER:
		pattern_receive(fd, 1000);
		expect_end(fd);
		pattern_send(fd, TOTAL);
		break;
	case ROLE_CLOSE:
		break;
	case ROLE_SILENT:
		CHECK_INT(rsend(fd, "x", 1, 0), 1);
		pause();
		break;
	case ROLE_SLOW:
		CHECK_INT(rt_hear(socket), 1);
		pattern_receive(fd, TOTAL);
		expect_end(fd);
		break;
	}
	CHECK_OK(rclose(fd));
	CHECK_OK(rclose(listening));
}

static int connected(enum role role, struct rt_child *ret_child)
{
	*ret_child = rt_child_start(server, role);
	return rt_rs_client(rt_hear(ret_child->socket));
}

/* ---- the cases ---- */

static void both_directions(void)
{
	struct rt_child child;
	int fd = connected(ROLE_ECHO, &child);

	both_ways(fd);
	CHECK_OK(rclose(fd));
	rt_child_finish(&child);
}

/* Shutting down one direction keeps the other, and a close delivers earlier data. */
static void half_close(void)
{
	struct rt_child child;
	int fd = connected(ROLE_ANSWER, &child);

	pattern_send(fd, 1000);
	CHECK_OK(rshutdown(fd, SHUT_WR));
	CHECK_INT(rsend(fd, "x", 1, MSG_NOSIGNAL), -1);
	CHECK_INT(errno, EPIPE);
	pattern_receive(fd, TOTAL);
	expect_end(fd);
	CHECK_OK(rclose(fd));
	rt_child_finish(&child);
}

static void closed_by_peer(void)
{
	struct rt_child child;
	int fd = connected(ROLE_CLOSE, &child);
	struct pollfd p = { .fd = fd, .events = POLLIN };

	CHECK_INT(rpoll(&p, 1, 60000), 1);
	CHECK(p.revents & POLLIN);
	expect_end(fd);
	CHECK_INT(rsend(fd, "x", 1, 0), -1);
	CHECK_INT(errno, EPIPE);
	CHECK_OK(rclose(fd));
	rt_child_finish(&child);
}

static void killed_peer(void)
{
	struct rt_child child;
	int fd = connected(ROLE_SILENT, &child);
	char byte;

	CHECK_INT(rrecv(fd, &byte, 1, 0), 1);
	rt_child_kill(&child);
	/* The call ends with the end of the stream or with an error. It does not wait for ever. */
	CHECK(rrecv(fd, &byte, 1, 0) <= 0);
	CHECK_OK(rclose(fd));
}

static void refused(void)
{
	uint16_t port;
	int listening = rt_rs_listener(&port), fd;
	struct sockaddr_storage address = rt_cm_address(port);
	int error = 0;
	socklen_t size = sizeof(error);

	CHECK_OK(rclose(listening));
	fd = rsocket(address.ss_family, SOCK_STREAM, 0);
	CHECK(fd >= 0);
	CHECK_INT(rconnect(fd, (struct sockaddr *)&address, rt_rs_size(&address)), -1);
	CHECK_INT(errno, ECONNREFUSED);
	CHECK_OK(rgetsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size));
	CHECK_INT(error, 0); /* the error was reported already */
	CHECK_OK(rclose(fd));
}

static void await(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };

	CHECK_INT(rpoll(&p, 1, 60000), 1);
	CHECK(p.revents & events);
}

static void nonblocking(void)
{
	struct rt_child child = rt_child_start(server, ROLE_SLOW);
	struct sockaddr_storage address = rt_cm_address(rt_hear(child.socket));
	int fd = rsocket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK, 0), error = 1;
	socklen_t size = sizeof(error);
	static uint8_t bytes[PIECE];
	size_t sent = 0;
	bool full = false;

	CHECK(rfcntl(fd, F_GETFL) & O_NONBLOCK);
	if (rconnect(fd, (struct sockaddr *)&address, rt_rs_size(&address)))
		CHECK_INT(errno, EINPROGRESS);
	await(fd, POLLOUT);
	CHECK_OK(rgetsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size));
	CHECK_INT(error, 0);
	CHECK_INT(rrecv(fd, bytes, 1, 0), -1);
	CHECK_INT(errno, EAGAIN);
	while (sent < TOTAL) {
		size_t most = TOTAL - sent < PIECE ? TOTAL - sent : PIECE;
		ssize_t n;

		for (size_t i = 0; i < most; i++)
			bytes[i] = byte_at(sent + i);
		n = rsend(fd, bytes, most, 0);
		if (n > 0) {
			sent += n;
			continue;
		}
		CHECK_INT(errno, EAGAIN);
		if (!full)
			rt_tell(child.socket, 1);
		full = true;
		await(fd, POLLOUT);
	}
	CHECK(full); /* the peer did not read, so that the buffers were full once */
	CHECK_OK(rclose(fd));
	rt_child_finish(&child);
}

static void *peek_writer(void *arg)
{
	int fd = rt_rs_client(*(uint16_t *)arg);

	CHECK_INT(rsend(fd, "abc", 3, 0), 3);
	usleep(20000);
	CHECK_INT(rsend(fd, "defg", 4, 0), 4);
	CHECK_OK(rclose(fd));
	return NULL;
}

static void peek_and_wait_all(void)
{
	uint16_t port;
	int listening = rt_rs_listener(&port), fd;
	char bytes[8] = "";
	struct iovec parts[2] = { { bytes, 2 }, { bytes + 2, 5 } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
	pthread_t thread;

	CHECK_OK(pthread_create(&thread, NULL, peek_writer, &port));
	fd = raccept(listening, NULL, NULL);
	CHECK(fd >= 0);
	CHECK(rrecv(fd, bytes, 7, MSG_PEEK) >= 3);
	CHECK(!memcmp(bytes, "abc", 3));
	CHECK_INT(rrecvmsg(fd, &message, MSG_WAITALL), 7);
	CHECK(!memcmp(bytes, "abcdefg", 7));
	expect_end(fd);
	CHECK_OK(pthread_join(thread, NULL));
	CHECK_OK(rclose(fd));
	CHECK_OK(rclose(listening));
}

static void wrong_calls(void)
{
	struct sockaddr_storage address = rt_cm_address(1);
	int fd = rsocket(address.ss_family, SOCK_STREAM, 0), value = -5;
	socklen_t size = sizeof(value);
	char byte;

	CHECK(fd >= 0);
	CHECK_INT(rrecv(fd, &byte, 1, 0), -1);
	CHECK_INT(errno, ENOTCONN);
	CHECK_INT(rsend(fd, &byte, 1, 0), -1);
	CHECK_INT(errno, ENOTCONN);
	CHECK_INT(raccept(fd, NULL, NULL), -1);
	CHECK_INT(errno, EINVAL);
	CHECK_INT(rsetsockopt(fd, SOL_RDMA, RDMA_SQSIZE, &value, size), -1);
	CHECK_INT(errno, EINVAL);
	CHECK_INT(rsetsockopt(fd, SOL_SOCKET, 12345, &value, size), -1);
	CHECK_INT(errno, ENOPROTOOPT);
	CHECK_INT(rbind(fd, (struct sockaddr *)&address, 3), -1);
	CHECK_INT(errno, EINVAL);
	CHECK_OK(rclose(fd));
	CHECK_INT(rclose(fd), -1);
	CHECK_INT(errno, EBADF);
	CHECK_INT(rrecv(0, &byte, 1, 0), -1);
	CHECK_INT(errno, EBADF);
	CHECK_INT(rsocket(AF_INET, SOCK_RAW, 0), -1);
	CHECK_INT(errno, EPROTONOSUPPORT);
}

/* ---- a peer that breaks the protocol ---- */

struct rude {
	uint16_t port;
	uint32_t imm;	    /* of a message that it sends */
	unsigned int again; /* number of messages */
	bool goes_on;	    /* send a disconnect behind them */
	uint8_t version;    /* in the data of its connection */
	bool rejected;
};

static bool is_iwarp(const struct rdma_cm_id *id)
{
	return id->verbs->device->transport_type == IBV_TRANSPORT_IWARP;
}

/* Send a message without data. iWARP has no immediate data: send the word as data there. */
static void rude_post(struct rdma_cm_id *id, uint32_t imm)
{
	struct ibv_sge sge = { .addr = (uintptr_t)&imm, .length = sizeof(imm) };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.imm_data = htonl(imm),
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;

	if (is_iwarp(id)) {
		wr.opcode = IBV_WR_SEND;
		wr.send_flags |= IBV_SEND_INLINE;
		wr.sg_list = &sge;
		wr.num_sge = 1;
	}
	CHECK_OK(ibv_post_send(id->qp, &wr, &bad));
}

/* Wait for a completion, because the queue has room for one message. */
static void rude_go_on(struct rdma_cm_id *id, uint32_t imm)
{
	struct ibv_wc wc;
	int n;

	do
		n = ibv_poll_cq(id->qp->send_cq, 1, &wc);
	while (n == 0);
	CHECK_INT(n, 1);
	CHECK_INT(wc.status, IBV_WC_SUCCESS);
	rude_post(id, imm);
}

/* Expect a rejection, because the peer is no RDMA socket; the kernel's iWARP does not report the
 * reason. */
static void rude_rejected(struct rdma_cm_id *id)
{
	struct rdma_cm_event *event;

	CHECK_OK(rdma_get_cm_event(id->channel, &event));
	CHECK_INT(event->event, RDMA_CM_EVENT_REJECTED);
	CHECK(event->status == 28 || is_iwarp(id));
	CHECK_OK(rdma_ack_cm_event(event));
}

/* End the connection. The other side may end before it has seen the last message of the
 * handshake: then a rejection comes. */
static void rude_end(struct rdma_event_channel *events)
{
	struct rdma_cm_event *event;

	CHECK_OK(rdma_get_cm_event(events, &event));
	CHECK(event->event == RDMA_CM_EVENT_DISCONNECTED || event->event == RDMA_CM_EVENT_REJECTED);
	CHECK_OK(rdma_ack_cm_event(event));
}

static void *rude_client(void *arg)
{
	struct rude *rude = arg;
	struct rdma_event_channel *events = rt_cm_channel();
	struct rdma_cm_id *id = rt_cm_client(events, RDMA_PS_TCP, rude->port, true);
	uint8_t data[40] = { rude->version, 0, 0, 16, [23] = 2, [39] = 1 };
	struct rdma_conn_param param = {
		.private_data = data,
		.private_data_len = sizeof(data),
		.retry_count = 3,
		.rnr_retry_count = 7,
	};
	unsigned int again = rude->again;

	/* On iWARP one message more than there are receives ends the connection. */
	if (is_iwarp(id) && again > 100)
		again = 100;
	CHECK_OK(rdma_connect(id, &param));
	if (rude->rejected) {
		rude_rejected(id);
	} else {
		CM_TAKE(events, ESTABLISHED, 0);
		rude_post(id, rude->imm);
		for (unsigned int i = 0; i < again; i++)
			rude_go_on(id, rude->imm);
		if (rude->goes_on)
			rude_go_on(id, 7u << 29);
		rude_end(events);
	}
	rt_cm_destroy(id);
	rdma_destroy_event_channel(events);
	return NULL;
}

static void rude_messages(struct rude rude, int error)
{
	int listening = rt_rs_listener(&rude.port), fd;
	pthread_t thread;
	char byte;

	CHECK_OK(pthread_create(&thread, NULL, rude_client, &rude));
	fd = raccept(listening, NULL, NULL);
	CHECK(fd >= 0);
	if (error) {
		CHECK_INT(rrecv(fd, &byte, 1, 0), -1);
		CHECK_INT(errno, error);
	} else {
		expect_end(fd);
	}
	CHECK_OK(rclose(fd));
	CHECK_OK(pthread_join(thread, NULL));
	CHECK_OK(rclose(listening));
}

static void rude_message(uint32_t imm, bool goes_on, int error)
{
	rude_messages((struct rude){ .imm = imm, .goes_on = goes_on, .version = 1 }, error);
}

/* The peer claims more bytes than were granted: no byte behind the buffer is read. */
static void rude_length(void)
{
	rude_message(0x1fffffff, false, EPROTO);
}

static void rude_disconnect(void)
{
	rude_message(7u << 29, false, 0);
}

/* Unexpected and unknown messages do no harm, and later messages are received. */
static void rude_words(void)
{
	static const uint32_t words[] = {
		1u << 29,	   /* reserved */
		4u << 29 | 0xfff,  /* credits without an entry */
		5u << 29,	   /* reserved */
		6u << 29 | 0xffff, /* a mapping, of a list that is not there */
		7u << 29 | 1,	   /* keepalive */
		7u << 29 | 77,	   /* an unknown control message */
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		rude_message(words[i], true, 0);
}

/* More empty messages, or more credits, than allowed, to a socket that does not read. */
static void rude_flood(void)
{
	rude_messages((struct rude){ .again = 1000, .goes_on = true, .version = 1 }, 0);
	rude_messages(
		(struct rude){ .imm = 4u << 29 | 7, .again = 1000, .goes_on = true, .version = 1 },
		0);
}

/* Setting one option keeps the others. */
static void options_kept(void)
{
	static const struct {
		int level, name;
	} options[] = {
		{ SOL_SOCKET, SO_REUSEADDR },
		{ SOL_SOCKET, SO_KEEPALIVE },
		{ IPPROTO_TCP, TCP_NODELAY },
	};
	int fd = rsocket(AF_INET, SOCK_STREAM, 0), value = 1;
	socklen_t size = sizeof(value);

	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
		CHECK_OK(rsetsockopt(fd, options[i].level, options[i].name, &value, size));
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
		value = 0;
		CHECK_OK(rgetsockopt(fd, options[i].level, options[i].name, &value, &size));
		CHECK_INT(value, 1);
	}
	CHECK_OK(rclose(fd));
}

/* Buffers are twice as large as requested, as with TCP and in the distribution's library, within
 * bounds. */
static void buffers_doubled(void)
{
	static const struct {
		int asked, got;
	} sizes[] = {
		{ 0, 4096 },	 { 1000, 4096 },       { 4096, 8192 },	     { 1 << 20, 2 << 20 },
		{ -1, 1 << 28 }, { INT_MAX, 1 << 28 }, { 1 << 27, 1 << 28 },
	};
	static const int names[] = { SO_SNDBUF, SO_RCVBUF };
	int fd = rsocket(AF_INET, SOCK_STREAM, 0), value;
	socklen_t size = sizeof(value);

	for (int i = 0; i < RT_COUNT(sizes); i++)
		for (int j = 0; j < RT_COUNT(names); j++) {
			CHECK_OK(rsetsockopt(fd, SOL_SOCKET, names[j], &sizes[i].asked, size));
			CHECK_OK(rgetsockopt(fd, SOL_SOCKET, names[j], &value, &size));
			CHECK_INT(value, sizes[i].got);
		}
	CHECK_OK(rclose(fd));
}

struct polite {
	pthread_t before;
	uint16_t port;
};

/* Connect after the other client was refused. */
static void *polite_client(void *arg)
{
	struct polite *polite = arg;

	CHECK_OK(pthread_join(polite->before, NULL));
	return peek_writer(&polite->port);
}

/* A program that is no RDMA socket is refused, and the next client is served. */
static void rude_data(void)
{
	struct rude rude = { .version = 9, .rejected = true };
	int listening = rt_rs_listener(&rude.port), fd;
	struct polite polite = { .port = rude.port };
	pthread_t second;
	char bytes[7];

	CHECK_OK(pthread_create(&polite.before, NULL, rude_client, &rude));
	CHECK_OK(pthread_create(&second, NULL, polite_client, &polite));
	fd = raccept(listening, NULL, NULL);
	CHECK(fd >= 0);
	CHECK_INT(rrecv(fd, bytes, 7, MSG_WAITALL), 7);
	expect_end(fd);
	CHECK_OK(rclose(fd));
	CHECK_OK(pthread_join(second, NULL));
	CHECK_OK(rclose(listening));
}

static const struct rt_case cases[] = {
	{ "both_directions", both_directions },
	{ "half_close", half_close },
	{ "closed_by_peer", closed_by_peer },
	{ "killed_peer", killed_peer },
	{ "refused", refused },
	{ "nonblocking", nonblocking },
	{ "peek_and_wait_all", peek_and_wait_all },
	{ "wrong_calls", wrong_calls },
	{ "rude_length", rude_length },
	{ "rude_disconnect", rude_disconnect },
	{ "rude_words", rude_words },
	{ "rude_flood", rude_flood },
	{ "rude_data", rude_data },
	{ "options_kept", options_kept },
	{ "buffers_doubled", buffers_doubled },
};
RT_MAIN(cases)

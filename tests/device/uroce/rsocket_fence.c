/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A peer is stopped in the middle of a copy to the memory of a stream, and the stream is closed
 * meanwhile. rclose() returns, and the memory stays mapped until the copy has ended.
 *
 * The peer is a queue pair that writes from memory with a missing page. userfaultfd(2) stops the
 * copy at this page for as long as the case needs.
 *
 * Another case closes a listener with peers that do not end their handshake.
 */
#include <endian.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <rdma/rsocket.h>

#include "tests/lib/rt_child.h"
#include "tests/lib/rt_cm.h"
#include "tests/lib/rt_rsocket.h"

enum {
	SIZE = 2 * 4096, /* bytes of the copy; the second page of its source is missing */
	LONG_S = 20,	 /* s: far more than rclose() may wait */
	RECEIVES = 4,
	HALF_OPEN = LONG_S + 5, /* connections; a second for each is too long */
};

/* Messages between the two processes. */
enum word {
	INSIDE, /* from the peer: the copy has stopped; the address of stream.memory follows */
	GO_ON,	/* from the stream: let the copy continue */
	OVER,	/* from the peer: the copy has ended */
};

/* --- the peer --- */

static struct {
	int socket;
	int faults;
	uint8_t *p;
	struct ibv_mr *mr;
	struct rdma_cm_id *id;
	uint64_t address; /* of the stream's memory */
	uint32_t key;
} peer;

/* Post receives for the messages of the stream, so that the stream can send its end at once. */
static void queues_create(void)
{
	struct ibv_qp_init_attr attr = { .cap = { 1, RECEIVES, 1, 1 }, .qp_type = IBV_QPT_RC };
	struct ibv_recv_wr wr = {}, *bad;

	CHECK_OK(rdma_create_qp(peer.id, NULL, &attr));
	for (int i = 0; i < RECEIVES; i++)
		CHECK_OK(ibv_post_recv(peer.id->qp, &wr, &bad));
}

/* Request a connection with the private data of a stream, but without memory for the other end. */
static struct rdma_event_channel *peer_request(uint16_t port)
{
	static const uint8_t data[40] = { 1, 0, 0, 16, [23] = 2, [39] = 1 };
	struct rdma_conn_param param = { .private_data = data, .private_data_len = sizeof(data) };
	struct rdma_event_channel *events = rt_cm_channel();

	peer.id = rt_cm_client(events, RDMA_PS_TCP, port, false);
	queues_create();
	CHECK_OK(rdma_connect(peer.id, &param));
	return events;
}

static void peer_connect(uint16_t port)
{
	struct rdma_event_channel *events = peer_request(port);
	struct rdma_cm_event *event;
	const uint8_t *answer;

	event = CM_EXPECT(events, ESTABLISHED, 0);
	answer = event->param.conn.private_data;
	memcpy(&peer.address, answer + 24, sizeof(peer.address));
	memcpy(&peer.key, answer + 32, sizeof(peer.key));
	peer.address = be64toh(peer.address);
	peer.key = ntohl(peer.key);
	CHECK_OK(rdma_ack_cm_event(event));
}

/* Register before the page is removed, because a registration checks that the memory exists. */
static void peer_memory(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	peer.p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(peer.p != MAP_FAILED);
	memset(peer.p, 1, SIZE);
	peer.mr = ibv_reg_mr(peer.id->pd, peer.p, SIZE, IBV_ACCESS_LOCAL_WRITE);
	CHECK(peer.mr);
	peer.faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	CHECK(peer.faults >= 0);
	CHECK_OK(ioctl(peer.faults, UFFDIO_API, &api));
	CHECK_OK(madvise(peer.p + SIZE / 2, SIZE / 2, MADV_DONTNEED));
	range.range = (struct uffdio_range){ (uintptr_t)peer.p + SIZE / 2, SIZE / 2 };
	CHECK_OK(ioctl(peer.faults, UFFDIO_REGISTER, &range));
}

/* Serve the missing page, and answer the stream, because the thread that copies is stopped. */
static void *gap_serve(void *arg)
{
	struct pollfd ready = { .fd = peer.faults, .events = POLLIN };
	struct uffdio_zeropage page = { .range = { (uintptr_t)peer.p + SIZE / 2, SIZE / 2 } };

	CHECK_INT(poll(&ready, 1, -1), 1);
	rt_tell(peer.socket, INSIDE);
	rt_tell(peer.socket, peer.address >> 32);
	rt_tell(peer.socket, (uint32_t)peer.address);
	CHECK_INT(rt_hear(peer.socket), GO_ON);
	CHECK_OK(ioctl(peer.faults, UFFDIO_ZEROPAGE, &page));
	return arg;
}

static void peer_main(int socket, int arg)
{
	struct ibv_sge sge = { .length = SIZE };
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1 };
	struct ibv_send_wr *bad;
	pthread_t thread;

	peer.socket = socket;
	peer_connect(rt_hear(socket));
	peer_memory();
	CHECK_OK(pthread_create(&thread, NULL, gap_serve, NULL));
	sge.addr = (uintptr_t)peer.p;
	sge.lkey = peer.mr->lkey;
	wr.wr.rdma.remote_addr = peer.address;
	wr.wr.rdma.rkey = peer.key;
	CHECK_OK(ibv_post_send(peer.id->qp, &wr, &bad));
	CHECK_OK(pthread_join(thread, NULL));
	rt_tell(socket, OVER);
	_exit(arg);
}

/* Do not read the answers, so that no handshake ends. */
static void half_open_main(int socket, int arg)
{
	uint16_t port = rt_hear(socket);

	for (int i = 0; i < HALF_OPEN; i++) {
		struct pollfd ready = { .fd = peer_request(port)->fd, .events = POLLIN };

		CHECK_INT(poll(&ready, 1, -1), 1);
	}
	rt_tell(socket, INSIDE);
	CHECK_INT(rt_hear(socket), GO_ON);
	_exit(arg);
}

/* --- the stream --- */

static struct {
	struct rt_child peer;
	int listening;
	int fd;
	void *memory; /* that the peer writes to */
	atomic_bool closed;
} stream;

static bool is_mapped(void)
{
	return !msync(stream.memory, 1, MS_ASYNC);
}

/* @accepts: whether the program accepts the connection. */
static void stream_open(bool accepts)
{
	uint64_t address;
	uint16_t port;
	int faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	if (faults < 0)
		rt_skip("userfaultfd: %m");
	close(faults);
	stream.peer = rt_child_start(peer_main, 0);
	stream.listening = rt_rs_listener(&port);
	rt_tell(stream.peer.socket, port);
	if (accepts)
		stream.fd = raccept(stream.listening, NULL, NULL);
	CHECK(stream.fd >= 0);
	CHECK_INT(rt_hear(stream.peer.socket), INSIDE);
	address = (uint64_t)rt_hear(stream.peer.socket) << 32;
	address |= rt_hear(stream.peer.socket);
	stream.memory = (void *)(uintptr_t)address;
	CHECK(is_mapped());
}

static void *close_watch(void *arg)
{
	for (int i = 0; i < LONG_S * 1000 && !stream.closed; i++)
		usleep(1000);
	if (!stream.closed)
		FAIL("rclose() waits for the peer");
	return arg;
}

static void stream_close(int fd)
{
	pthread_t thread;

	CHECK_OK(pthread_create(&thread, NULL, close_watch, NULL));
	CHECK_OK(rclose(fd));
	stream.closed = true;
	CHECK_OK(pthread_join(thread, NULL));
}

/* Check that other streams do not wait for the copy. */
static void others_go_on(void)
{
	uint16_t port;
	int listening = rt_rs_listener(&port), fd = rt_rs_client(port);
	int other = raccept(listening, NULL, NULL);
	char byte;

	CHECK(other >= 0);
	CHECK_INT(rsend(fd, "x", 1, 0), 1);
	CHECK_INT(rrecv(other, &byte, 1, 0), 1);
	CHECK_OK(rclose(fd));
	CHECK_INT(rrecv(other, &byte, 1, 0), 0);
	CHECK_OK(rclose(other));
	CHECK_OK(rclose(listening));
}

/* Let the copy end. The memory is unmapped afterwards. */
static void copy_end(void)
{
	rt_tell(stream.peer.socket, GO_ON);
	CHECK_INT(rt_hear(stream.peer.socket), OVER);
	while (is_mapped())
		usleep(1000);
	rt_child_finish(&stream.peer);
}

static void close_run(const struct linger *linger, int flags)
{
	stream_open(true);
	if (linger)
		CHECK_OK(rsetsockopt(stream.fd, SOL_SOCKET, SO_LINGER, linger, sizeof(*linger)));
	CHECK_OK(rfcntl(stream.fd, F_SETFL, flags));
	stream_close(stream.fd);
	CHECK(is_mapped());
	others_go_on();
	copy_end();
	CHECK_OK(rclose(stream.listening));
}

static void usual(void)
{
	close_run(NULL, 0);
}

static void nonblocking(void)
{
	close_run(NULL, O_NONBLOCK);
}

static void lingers(void)
{
	close_run(&(struct linger){ .l_onoff = 1, .l_linger = 1 }, 0);
}

static void resets(void)
{
	close_run(&(struct linger){ .l_onoff = 1 }, 0);
}

/* Close a listener with a connection that the program has not accepted. */
static void never_accepted(void)
{
	stream_open(false);
	stream_close(stream.listening);
	CHECK(is_mapped());
	others_go_on();
	copy_end();
}

/* A listener ends with connections whose handshakes have not ended. */
static void half_open(void)
{
	uint16_t port;

	stream.peer = rt_child_start(half_open_main, 0);
	stream.listening = rt_rs_listener(&port);
	rt_tell(stream.peer.socket, port);
	CHECK_INT(rt_hear(stream.peer.socket), INSIDE);
	stream_close(stream.listening);
	rt_tell(stream.peer.socket, GO_ON);
	rt_child_finish(&stream.peer);
}

static const struct rt_case cases[] = {
	{ "usual", usual },   { "nonblocking", nonblocking },	    { "lingers", lingers },
	{ "resets", resets }, { "never_accepted", never_accepted }, { "half_open", half_open },
};
RT_MAIN(cases)

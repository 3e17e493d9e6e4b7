/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A peer that sends as soon as it can, or is silent, and reports late that it is ready. Messages in
 * between belong to the new connection, no receive is lost, and an end follows the handshake. */
#include <arpa/inet.h>
#include <endian.h>
#include <poll.h>
#include <pthread.h>

#include <rdma/rsocket.h>

#include "tests/lib/rt_cm.h"
#include "tests/lib/rt_rsocket.h"

#define RETRIES	   6
#define RECEIVES   4
#define DISCONNECT (7u << 29)
#define SHUTDOWN   (DISCONNECT | 2)

struct early {
	uint16_t port;
	struct rdma_event_channel *events;
	struct rdma_cm_id *id;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	unsigned int told; /* number of messages that the socket accepts */
	bool hears;	   /* it takes RECEIVES messages, and entries of the list */
	struct ibv_mr *mr;
	uint8_t list[32]; /* the socket writes its targets here */
};

static void qp_move(struct early *e, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask;

	CHECK_OK(rdma_init_qp_attr(e->id, &attr, &mask));
	if (state == IBV_QPS_RTS)
		attr.rnr_retry = RETRIES;
	CHECK_OK(ibv_modify_qp(e->qp, &attr, mask));
}

static void list_open(struct early *e, uint8_t data[40])
{
	struct ibv_recv_wr wr = {}, *bad;
	uint64_t address = htobe64((uintptr_t)e->list);
	uint32_t key;

	e->mr = ibv_reg_mr(e->id->pd, e->list, sizeof(e->list),
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	CHECK(e->mr);
	key = htonl(e->mr->rkey);
	memcpy(data + 8, &address, sizeof(address));
	memcpy(data + 16, &key, sizeof(key));
	for (int i = 0; i < RECEIVES; i++)
		CHECK_OK(ibv_post_recv(e->qp, &wr, &bad));
}

/* Connect with an own queue pair, so that the manager waits for rdma_establish(). */
static void early_connect(struct early *e)
{
	uint8_t data[40] = { 1, 0, 0, 16, [23] = 2, [39] = 1 };
	struct rdma_conn_param param = {
		.private_data = data,
		.private_data_len = sizeof(data),
		.retry_count = 3,
		.rnr_retry_count = RETRIES,
	};
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC,
					 .cap = { .max_send_wr = 1, .max_recv_wr = RECEIVES } };
	struct rdma_cm_event *event;
	const uint8_t *answer;

	e->events = rt_cm_channel();
	e->id = rt_cm_client(e->events, RDMA_PS_TCP, e->port, false);
	if (e->id->verbs->device->transport_type == IBV_TRANSPORT_IWARP)
		rt_skip("iWARP has no message that says that one is ready");
	e->cq = ibv_create_cq(e->id->verbs, 4, NULL, NULL, 0);
	CHECK(e->cq);
	attr.send_cq = attr.recv_cq = e->cq;
	e->qp = ibv_create_qp(e->id->pd, &attr);
	CHECK(e->qp);
	qp_move(e, IBV_QPS_INIT);
	if (e->hears)
		list_open(e, data);
	param.qp_num = e->qp->qp_num;
	CHECK_OK(rdma_connect(e->id, &param));
	event = CM_EXPECT(e->events, CONNECT_RESPONSE, 0);
	answer = event->param.conn.private_data;
	e->told = answer[2] << 8 | answer[3];
	CHECK_OK(rdma_ack_cm_event(event));
	qp_move(e, IBV_QPS_INIT); /* only now the peer's capabilities are known */
	qp_move(e, IBV_QPS_RTR);
	qp_move(e, IBV_QPS_RTS);
}

static void early_end(struct early *e)
{
	CM_TAKE(e->events, DISCONNECTED, 0);
	CHECK_OK(ibv_destroy_qp(e->qp));
	if (e->mr)
		CHECK_OK(ibv_dereg_mr(e->mr));
	CHECK_OK(ibv_destroy_cq(e->cq));
	CHECK_OK(rdma_destroy_id(e->id));
	rdma_destroy_event_channel(e->events);
}

static void message(struct early *e, uint32_t imm)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.imm_data = htonl(imm),
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	struct ibv_wc wc;
	int n;

	CHECK_OK(ibv_post_send(e->qp, &wr, &bad));
	do
		n = ibv_poll_cq(e->cq, 1, &wc);
	while (n == 0);
	CHECK_INT(n, 1);
	CHECK_INT(wc.status, IBV_WC_SUCCESS);
}

/* Send as many messages as the socket accepts, twice: before the socket knows of the connection,
 * and after. */
static void *early_client(void *arg)
{
	struct early *e = arg;

	early_connect(e);
	CHECK(e->told);
	/* One by one, so that each message wakes a waiting thread. */
	for (unsigned int i = 0; i < e->told; i++) {
		message(e, 0);
		usleep(1000);
	}
	CHECK_OK(rdma_establish(e->id));
	for (unsigned int i = 0; i < e->told; i++)
		message(e, 0);
	message(e, DISCONNECT);
	early_end(e);
	return NULL;
}

static void received_by_call(int fd)
{
	char byte;

	CHECK_INT(rrecv(fd, &byte, 1, 0), 0);
}

static void received_by_poll(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char byte;

	CHECK_INT(rpoll(&p, 1, -1), 1);
	CHECK_INT(rrecv(fd, &byte, 1, MSG_DONTWAIT), 0);
}

static void received_by_epoll(int fd)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = repoll_create(0);
	char byte;

	CHECK(epoll >= 0);
	CHECK_OK(repoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
	CHECK_INT(repoll_wait(epoll, &event, 1, -1), 1);
	CHECK_INT(rrecv(fd, &byte, 1, MSG_DONTWAIT), 0);
	CHECK_OK(rclose(epoll));
}

static void early(void (*receive)(int fd))
{
	struct early e = {};
	int listening = rt_rs_listener(&e.port), fd;
	pthread_t thread;

	CHECK_OK(pthread_create(&thread, NULL, early_client, &e));
	fd = raccept(listening, NULL, NULL);
	CHECK(fd >= 0);
	receive(fd);
	CHECK_OK(rclose(fd));
	CHECK_OK(pthread_join(thread, NULL));
	CHECK_OK(rclose(listening));
}

static void early_call(void)
{
	early(received_by_call);
}

static void early_poll(void)
{
	early(received_by_poll);
}

static void early_epoll(void)
{
	early(received_by_epoll);
}

/* Wait for a message that ends the connection, or its direction. Earlier ones are ignored. */
static void end_await(struct early *e, uint32_t end)
{
	struct ibv_wc wc;

	do {
		while (ibv_poll_cq(e->cq, 1, &wc) == 0)
			usleep(1000);
		CHECK_INT(wc.status, IBV_WC_SUCCESS);
	} while (ntohl(wc.imm_data) != end);
}

static int silent_accept(int listening, struct early *e, uint16_t port)
{
	int fd;

	*e = (struct early){ .port = port, .hears = true };
	early_connect(e);
	fd = raccept(listening, NULL, NULL);
	CHECK(fd >= 0);
	return fd;
}

/* The handshake takes longer than rclose() and rshutdown() wait. Neither fails, and both ends
 * follow the handshake without another call. */
static void ended_in_handshake(void)
{
	struct early shut, closed;
	uint16_t port;
	int listening = rt_rs_listener(&port), fd;

	CHECK_OK(rclose(silent_accept(listening, &closed, port)));
	fd = silent_accept(listening, &shut, port);
	CHECK_OK(rshutdown(fd, SHUT_WR));
	CHECK_OK(rdma_establish(closed.id));
	CHECK_OK(rdma_establish(shut.id));
	end_await(&closed, DISCONNECT);
	end_await(&shut, SHUTDOWN);
	early_end(&closed);
	CHECK_OK(rclose(fd));
	end_await(&shut, DISCONNECT);
	early_end(&shut);
	CHECK_OK(rclose(listening));
}

static short events_of(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN | POLLOUT | POLLRDHUP };

	CHECK(rpoll(&p, 1, 0) >= 0);
	return p.revents;
}

/* A socket that is shut down before its connection is made looks shut down at once. */
static void shut_down_in_handshake(void)
{
	struct early e[3];
	uint16_t port;
	int listening = rt_rs_listener(&port), fds[3];
	char byte;

	for (int how = 0; how < 3; how++) {
		fds[how] = silent_accept(listening, &e[how], port);
		CHECK_INT(events_of(fds[how]), 0);
		CHECK_OK(rshutdown(fds[how], how));
	}
	CHECK_INT(events_of(fds[SHUT_RD]), POLLIN | POLLRDHUP);
	CHECK_INT(rrecv(fds[SHUT_RD], &byte, 1, 0), 0);
	CHECK_INT(rsend(fds[SHUT_RD], "a", 1, MSG_DONTWAIT), -1);
	CHECK_INT(errno, EAGAIN);
	CHECK_INT(events_of(fds[SHUT_WR]), POLLOUT);
	CHECK_INT(rrecv(fds[SHUT_WR], &byte, 1, MSG_DONTWAIT), -1);
	CHECK_INT(errno, EAGAIN);
	CHECK_INT(rsend(fds[SHUT_WR], "a", 1, 0), -1);
	CHECK_INT(errno, EPIPE);
	CHECK_INT(events_of(fds[SHUT_RDWR]), POLLIN | POLLOUT | POLLRDHUP | POLLHUP);
	CHECK_INT(rrecv(fds[SHUT_RDWR], &byte, 1, 0), 0);
	CHECK_INT(rsend(fds[SHUT_RDWR], "a", 1, 0), -1);
	CHECK_INT(errno, EPIPE);
	for (int how = 0; how < 3; how++)
		CHECK_OK(rdma_establish(e[how].id));
	end_await(&e[SHUT_WR], SHUTDOWN);
	end_await(&e[SHUT_RDWR], DISCONNECT);
	for (int how = 0; how < 3; how++)
		CHECK_OK(rclose(fds[how]));
	end_await(&e[SHUT_RD], DISCONNECT);
	end_await(&e[SHUT_WR], DISCONNECT);
	for (int how = 0; how < 3; how++)
		early_end(&e[how]);
	CHECK_OK(rclose(listening));
}

static const struct rt_case cases[] = {
	{ "early_call", early_call },
	{ "early_poll", early_poll },
	{ "early_epoll", early_epoll },
	{ "ended_in_handshake", ended_in_handshake },
	{ "shut_down_in_handshake", shut_down_in_handshake },
};
RT_MAIN(cases)

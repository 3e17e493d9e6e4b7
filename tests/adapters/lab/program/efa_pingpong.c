/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * usage: efa_pingpong srd
 * ud COUNT SIZE [events] [localhost]
 *
 * Send bursts of messages to and fro between two processes on the first device and check the
 * data. This replaces the ibv_*_pingpong programs on a device that has only UD and SRD. The
 * server is called without localhost. For SRD it posts its receives late on purpose: no message
 * may be lost then.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <infiniband/verbs.h>

enum {
	PORT = 18515,
	BURST = 8,
	DEPTH = 32,
	SRD = 0,
	QKEY = 0x1234567,
	GRH = 40, /* in front of each receive of UD */
};

#define MUST(what)                                                                     \
	do {                                                                           \
		if (!(what)) {                                                         \
			fprintf(stderr, "%s:%d: %s: %m\n", __FILE__, __LINE__, #what); \
			exit(1);                                                       \
		}                                                                      \
	} while (0)

struct address {
	union ibv_gid gid;
	uint32_t qpn;
};

static struct {
	bool srd, events, server;
	uint32_t count, size, head; /* head: bytes in front of a receive */
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *send_cq, *recv_cq;
	struct ibv_qp *qp;
	struct ibv_ah *ah;
	struct ibv_mr *mr;
	uint8_t *buffer; /* receives, then sends */
	struct address peer;
	int socket;
} me;

/* The call by which a program makes an SRD QP; this tree has no libefa to link. */
static struct ibv_qp *create_srd(struct ibv_qp_init_attr *attr)
{
	void *library = dlopen("libefa.so.1", RTLD_NOW);
	struct ibv_qp *(*create)(struct ibv_pd *, struct ibv_qp_init_attr *, uint32_t);

	MUST(library);
	create = (__typeof__(create))dlsym(library, "efadv_create_driver_qp");
	MUST(create);
	attr->qp_type = IBV_QPT_DRIVER;
	return create(me.pd, attr, SRD);
}

static void open_all(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_UD,
		.sq_sig_all = 1,
		.cap = { .max_send_wr = DEPTH,
			 .max_recv_wr = DEPTH,
			 .max_send_sge = 2,
			 .max_recv_sge = 1,
			 .max_inline_data = 32 },
	};

	MUST(list && list[0]);
	me.context = ibv_open_device(list[0]);
	MUST(me.context);
	me.pd = ibv_alloc_pd(me.context);
	me.channel = me.events ? ibv_create_comp_channel(me.context) : NULL;
	me.send_cq = ibv_create_cq(me.context, 2 * DEPTH, NULL, NULL, 0);
	me.recv_cq = ibv_create_cq(me.context, 2 * DEPTH, NULL, me.channel, 0);
	me.buffer = calloc(2 * BURST, me.head + me.size);
	MUST(me.pd && me.send_cq && me.recv_cq && me.buffer && (me.channel || !me.events));
	me.mr = ibv_reg_mr(me.pd, me.buffer, 2 * BURST * (size_t)(me.head + me.size),
			   IBV_ACCESS_LOCAL_WRITE);
	MUST(me.mr);
	attr.send_cq = me.send_cq;
	attr.recv_cq = me.recv_cq;
	me.qp = me.srd ? create_srd(&attr) : ibv_create_qp(me.pd, &attr);
	MUST(me.qp);
	ibv_free_device_list(list);
}

static void move_up(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY };

	MUST(!ibv_modify_qp(me.qp, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY));
	attr.qp_state = IBV_QPS_RTR;
	MUST(!ibv_modify_qp(me.qp, &attr, IBV_QP_STATE));
	attr.qp_state = IBV_QPS_RTS;
	MUST(!ibv_modify_qp(me.qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN));
}

static void meet(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(PORT),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	if (me.server) {
		MUST(!setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int)));
		MUST(!bind(listener, (struct sockaddr *)&to, sizeof(to)) && !listen(listener, 1));
		me.socket = accept(listener, NULL, NULL);
		close(listener);
	} else {
		me.socket = listener;
		MUST(!connect(me.socket, (struct sockaddr *)&to, sizeof(to)));
	}
	MUST(me.socket >= 0);
}

/* Both ends are in this process and know each other's address. */
static void exchange(void)
{
	struct address mine = { .qpn = me.qp->qp_num };
	struct ibv_ah_attr attr = { .port_num = 1, .is_global = 1, .grh.hop_limit = 1 };

	MUST(!ibv_query_gid(me.context, 1, 0, &mine.gid));
	MUST(write(me.socket, &mine, sizeof(mine)) == sizeof(mine));
	MUST(recv(me.socket, &me.peer, sizeof(me.peer), MSG_WAITALL) == sizeof(me.peer));
	attr.grh.dgid = me.peer.gid;
	me.ah = ibv_create_ah(me.pd, &attr);
	MUST(me.ah);
}

static void barrier(void)
{
	char c = 0;

	MUST(write(me.socket, &c, 1) == 1 && recv(me.socket, &c, 1, MSG_WAITALL) == 1);
}

/* Return the place of a message: a receive, or one of the sends behind them. */
static uint8_t *place_of(uint32_t index)
{
	return me.buffer + (size_t)index * (me.head + me.size);
}

static void post_receives(void)
{
	for (int i = 0; i < BURST; i++) {
		struct ibv_sge sge = { (uintptr_t)place_of(i), me.head + me.size, me.mr->lkey };
		struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

		MUST(!ibv_post_recv(me.qp, &wr, &bad));
	}
}

static uint8_t byte_of(uint32_t message, uint32_t at)
{
	return message * 31 + at * 7;
}

static void send_burst(uint32_t first)
{
	for (uint32_t i = 0; i < BURST; i++) {
		uint8_t *at = place_of(BURST + i);
		struct ibv_sge sge[2] = {
			{ (uintptr_t)at, me.size / 2, me.mr->lkey },
			{ (uintptr_t)at + me.size / 2, me.size - me.size / 2, me.mr->lkey },
		};
		struct ibv_send_wr *bad, wr = {
			.wr_id = i,
			.sg_list = sge,
			.num_sge = 2,
			.opcode = IBV_WR_SEND_WITH_IMM,
			.send_flags = IBV_SEND_SIGNALED | (me.size <= 32 ? IBV_SEND_INLINE : 0),
			.imm_data = htonl(first + i),
			.wr.ud = { .ah = me.ah, .remote_qpn = me.peer.qpn, .remote_qkey = QKEY },
		};

		for (uint32_t k = 0; k < me.size; k++)
			at[k] = byte_of(first + i, k);
		MUST(!ibv_post_send(me.qp, &wr, &bad));
	}
}

static struct ibv_wc next(struct ibv_cq *cq)
{
	struct ibv_wc wc;
	int n;

	do {
		n = ibv_poll_cq(cq, 1, &wc);
		MUST(n >= 0);
	} while (!n);
	if (wc.status) {
		fprintf(stderr, "wr %llu: %s\n", (unsigned long long)wc.wr_id,
			ibv_wc_status_str(wc.status));
		exit(1);
	}
	return wc;
}

static void wait_event(void)
{
	struct ibv_cq *cq;
	void *context;

	MUST(!ibv_get_cq_event(me.channel, &cq, &context));
	ibv_ack_cq_events(cq, 1);
	MUST(!ibv_req_notify_cq(cq, 0));
}

static struct ibv_wc next_receive(void)
{
	struct ibv_wc wc;
	int n = ibv_poll_cq(me.recv_cq, 1, &wc);

	while (me.events && !n) {
		wait_event();
		n = ibv_poll_cq(me.recv_cq, 1, &wc);
	}
	if (!n)
		return next(me.recv_cq);
	MUST(n == 1 && !wc.status);
	return wc;
}

/* Reliable datagrams may come in any order, but each once. */
static void take_burst(uint32_t first)
{
	bool came[BURST] = { false };

	for (int i = 0; i < BURST; i++) {
		struct ibv_wc wc = next_receive();
		uint32_t message = ntohl(wc.imm_data);
		const uint8_t *at = place_of(wc.wr_id) + me.head;

		MUST(wc.wc_flags & IBV_WC_WITH_IMM && wc.byte_len == me.head + me.size &&
		     wc.src_qp == me.peer.qpn);
		MUST(message - first < BURST && !came[message - first]);
		came[message - first] = true;
		for (uint32_t k = 0; k < me.size; k++)
			MUST(at[k] == byte_of(message, k));
	}
}

static void play(void)
{
	for (uint32_t first = 0; first < me.count; first += BURST) {
		if (me.server && me.srd && !first)
			usleep(100000);
		post_receives();
		if (!me.srd)
			barrier();
		if (!me.server)
			send_burst(first);
		take_burst(first);
		if (me.server)
			send_burst(first);
		for (int i = 0; i < BURST; i++)
			next(me.send_cq);
	}
}

int main(int argc, char **argv)
{
	MUST(argc >= 4);
	me.srd = !strcmp(argv[1], "srd");
	me.count = atoi(argv[2]);
	me.size = atoi(argv[3]);
	me.head = me.srd ? 0 : GRH;
	me.server = strcmp(argv[argc - 1], "localhost");
	me.events = argc > 4 && !strcmp(argv[4], "events");
	open_all();
	move_up();
	if (me.events)
		MUST(!ibv_req_notify_cq(me.recv_cq, 0));
	meet();
	exchange();
	play();
	barrier();
	MUST(!ibv_destroy_qp(me.qp) && !ibv_destroy_ah(me.ah) && !ibv_dereg_mr(me.mr));
	MUST(!ibv_destroy_cq(me.send_cq) && !ibv_destroy_cq(me.recv_cq) && !ibv_dealloc_pd(me.pd));
	printf("%u messages of %u bytes\n", me.count, me.size);
	return 0;
}

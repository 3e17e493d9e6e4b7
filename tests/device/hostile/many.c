/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * usage: many [QPS [MRS]]
 *
 * Two processes with many queue pairs to each other, more than one block of numbers has. One
 * message is posted on each queue pair before any is polled, so that most must wait for room.
 * All of them arrive and complete. Then many regions are registered and deregistered in parts;
 * the times are printed, but not checked.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/device/hostile/net.h"
#include "tests/lib/rt.h"

enum {
	QPS = 2500,
	MRS = 20000,
	PARTS = 4,
	SIZE = 64, /* bytes of a message */
	TIMEOUT = 18,
	SECONDS = 600,
};

static struct world {
	union ibv_gid gid;
	pthread_barrier_t meet;
	uint32_t qpn[]; /* those of one side, then those of the other */
} * world;

static int qps = QPS, mrs = MRS;

struct side {
	int index;
	struct rt_dev *dev;
	struct ibv_cq *cq;
	struct rt_buf buf;
	struct ibv_qp **qp;
};

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

static void said(const struct side *s, const char *what, int count, double begun)
{
	if (!s->index)
		printf("%d %s: %.2f s, %.3f us each\n", count, what, now_s() - begun,
		       (now_s() - begun) / count * 1e6);
}

static void meet(void)
{
	pthread_barrier_wait(&world->meet);
}

/* --- queue pairs --- */

static void side_open(struct side *s)
{
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	double begun;

	s->dev = rt_open();
	s->cq = init.send_cq = init.recv_cq = ibv_create_cq(s->dev->ctx, 2 * qps, NULL, NULL, 0);
	CHECK(s->cq);
	s->buf =
		rt_buf_alloc(s->dev, ((size_t)qps * SIZE + 4095) & ~4095ul, IBV_ACCESS_LOCAL_WRITE);
	s->qp = calloc(qps, sizeof(struct ibv_qp *));
	CHECK(s->qp);
	begun = now_s();
	for (int i = 0; i < qps; i++) {
		s->qp[i] = ibv_create_qp(s->dev->pd, &init);
		CHECK(s->qp[i]);
		world->qpn[s->index * qps + i] = s->qp[i]->qp_num;
	}
	said(s, "queue pairs made", qps, begun);
	world->gid = s->dev->gid;
}

static struct ibv_sge piece(const struct side *s, int i)
{
	return (struct ibv_sge){ .addr = (uintptr_t)s->buf.p + (size_t)i * SIZE,
				 .length = SIZE,
				 .lkey = s->buf.mr->lkey };
}

static void connect_one(struct side *s, int i)
{
	struct rt_address theirs = { .gid = world->gid };
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT, .port_num = s->dev->port_num };
	struct ibv_qp_attr rtr = {
		.qp_state = IBV_QPS_RTR,
		.ah_attr = rt_ah_attr(s->dev, &theirs),
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = world->qpn[!s->index * qps + i],
		.max_dest_rd_atomic = 1,
	};
	struct ibv_qp_attr rts = {
		.qp_state = IBV_QPS_RTS,
		.timeout = TIMEOUT,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 1,
	};
	struct ibv_sge sge = piece(s, i);
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

	CHECK_OK(ibv_modify_qp(s->qp[i], &init,
			       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				       IBV_QP_ACCESS_FLAGS));
	if (s->index)
		CHECK_OK(ibv_post_recv(s->qp[i], &wr, &bad));
	CHECK_OK(ibv_modify_qp(s->qp[i], &rtr,
			       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				       IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				       IBV_QP_MIN_RNR_TIMER));
	CHECK_OK(ibv_modify_qp(s->qp[i], &rts,
			       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				       IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC));
}

static void post_one(struct side *s, int i)
{
	struct ibv_sge sge = piece(s, i);
	struct ibv_send_wr wr = { .wr_id = i,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	*(int *)(uintptr_t)sge.addr = i + 1;
	CHECK_OK(ibv_post_send(s->qp[i], &wr, &bad));
}

/* One completion for each, all of them good. */
static void complete_all(struct side *s)
{
	struct ibv_wc wc[64];

	for (int left = qps; left;) {
		int n = ibv_poll_cq(s->cq, RT_COUNT(wc), wc);

		CHECK(n >= 0);
		for (int i = 0; i < n; i++) {
			CHECK_INT(wc[i].status, IBV_WC_SUCCESS);
			CHECK_INT(*(int *)(uintptr_t)piece(s, wc[i].wr_id).addr,
				  (int)wc[i].wr_id + 1);
		}
		left -= n;
		if (!n)
			sched_yield();
	}
}

static void messages(struct side *s)
{
	double begun = now_s();

	for (int i = 0; i < qps; i++)
		connect_one(s, i);
	said(s, "connected", qps, begun);
	meet();
	begun = now_s();
	for (int i = 0; i < qps && !s->index; i++)
		post_one(s, i);
	said(s, "messages posted", qps, begun);
	meet();
	complete_all(s);
	said(s, "messages through", qps, begun);
	meet();
}

/* --- regions --- */

static void regions(struct side *s)
{
	struct ibv_mr **mr = calloc(mrs, sizeof(struct ibv_mr *));
	int part = mrs / PARTS;
	double begun;

	CHECK(mr);
	for (int p = 0; p < PARTS; p++) {
		begun = now_s();
		for (int i = p * part; i < (p + 1) * part; i++) {
			mr[i] = ibv_reg_mr(s->dev->pd, s->buf.p, SIZE, IBV_ACCESS_LOCAL_WRITE);
			CHECK(mr[i]);
		}
		said(s, "regions registered", part, begun);
	}
	begun = now_s();
	for (int i = 0; i < part * PARTS; i++)
		CHECK_OK(ibv_dereg_mr(mr[i]));
	said(s, "regions deregistered", part * PARTS, begun);
	free(mr);
}

static void side_main(int index)
{
	struct side s = { .index = index };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(SECONDS);
	net_enter(NET_HERE);
	side_open(&s);
	meet();
	messages(&s);
	if (!index)
		regions(&s);
	meet();
	exit(0);
}

static void world_new(void)
{
	size_t size = sizeof(*world) + 2 * (size_t)qps * sizeof(world->qpn[0]);
	pthread_barrierattr_t attr;

	world = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(world != MAP_FAILED);
	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&world->meet, &attr, 2);
}

int main(int argc, char **argv)
{
	int status;

	qps = argc > 1 ? atoi(argv[1]) : QPS;
	mrs = argc > 2 ? atoi(argv[2]) : MRS;
	CHECK(qps > 0 && mrs > 0);
	alarm(SECONDS);
	net_make("shm");
	world_new();
	for (int i = 0; i < 2; i++) {
		fflush(stdout);
		if (!fork())
			side_main(i);
	}
	for (int i = 0; i < 2; i++) {
		CHECK(wait(&status) > 0);
		CHECK_INT(status, 0);
	}
	return 0;
}

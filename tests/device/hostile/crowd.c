/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * usage: crowd [PROCESSES [all
 * ring]]
 *
 * Many processes of one host, each with a queue pair to every other one, or in a ring to its two
 * neighbours, connect all at once and send a message to each peer. Every message arrives, and no
 * request fails: the two ends of each pair have chosen the same path.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/device/hostile/net.h"
#include "tests/lib/rt.h"

enum {
	PROCESSES = 48,
	PROCESSES_MAX = 8191,
	SLOT = 64, /* bytes for each peer, to send and to receive */
	TIMEOUT = 18,
	SECONDS = 600, /* of a large crowd */
	LARGE = 300,
};

static struct world {
	union ibv_gid gid;
	pthread_barrier_t published, connected, through, measured;
	atomic_int refused; /* QPs that could not be connected */
	atomic_int failed;  /* requests */
	atomic_int missing; /* messages */
	atomic_long connect_ms;
	atomic_long connect_us;	 /* processor time of all processes */
	atomic_long pss, tables; /* KiB of all processes */
	uint32_t qpn[];		 /* [owner][peer], of the owner's QP */
} * world;

static int count = PROCESSES;
static int peers = PROCESSES - 1; /* peers of each process */

struct link {
	struct ibv_qp *qp;
	bool usable;
};

struct member {
	int index;
	struct rt_dev *dev;
	struct ibv_cq *cq;
	struct rt_buf buf;
	struct link *link; /* [i]: to the member i + 1 places behind; in a ring, to the last */
	int to_come;	   /* completions */
	int received;
};

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Return the i-th peer of a member, and the index of the member among that peer's links. */
static int peer_of(int index, int i)
{
	int steps = i + 1 == peers ? count - 1 : i + 1;

	return (index + steps) % count;
}

static int back(int i)
{
	return peers - 1 - i;
}

static uint32_t *qpn_of(int index, int i)
{
	return &world->qpn[(size_t)index * peers + i];
}

/* Return the message from @from to @to. */
static uint32_t message(int from, int to)
{
	return from << 16 | to;
}

static struct ibv_sge piece(const struct member *m, int i, int half)
{
	return (struct ibv_sge){ .addr = (uintptr_t)m->buf.p + (2 * i + half) * SLOT,
				 .length = SLOT,
				 .lkey = m->buf.mr->lkey };
}

static struct ibv_qp *qp_create(struct member *m)
{
	struct ibv_qp_init_attr init = {
		.send_cq = m->cq,
		.recv_cq = m->cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = m->dev->port_num };
	struct ibv_qp *qp = ibv_create_qp(m->dev->pd, &init);

	CHECK(qp);
	CHECK_OK(ibv_modify_qp(
		qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	return qp;
}

static void member_open(struct member *m)
{
	m->dev = rt_open();
	m->cq = ibv_create_cq(m->dev->ctx, 4 * peers, NULL, NULL, 0);
	CHECK(m->cq);
	m->buf = rt_buf_alloc(m->dev, (2 * peers * SLOT + 4095) & ~4095, IBV_ACCESS_LOCAL_WRITE);
	m->link = calloc(peers, sizeof(*m->link));
	CHECK(m->link);
	for (int i = 0; i < peers; i++) {
		m->link[i].qp = qp_create(m);
		*qpn_of(m->index, i) = m->link[i].qp->qp_num;
	}
	world->gid = m->dev->gid;
}

static bool member_connect(struct member *m, int i)
{
	struct rt_address theirs = { .gid = world->gid };
	struct ibv_qp_attr rtr = {
		.qp_state = IBV_QPS_RTR,
		.ah_attr = rt_ah_attr(m->dev, &theirs),
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = *qpn_of(peer_of(m->index, i), back(i)),
		.max_dest_rd_atomic = 1,
	};
	struct ibv_qp_attr rts = {
		.qp_state = IBV_QPS_RTS,
		.timeout = TIMEOUT,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 1,
	};
	struct ibv_qp *qp = m->link[i].qp;
	struct ibv_sge sge = piece(m, i, 1);
	struct ibv_recv_wr wr = { .wr_id = 2 * i + 1, .sg_list = &sge, .num_sge = 1 }, *bad;

	CHECK_OK(ibv_post_recv(qp, &wr, &bad));
	return !ibv_modify_qp(qp, &rtr,
			      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				      IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				      IBV_QP_MIN_RNR_TIMER) &&
	       !ibv_modify_qp(qp, &rts,
			      IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				      IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

static long processor_us(void)
{
	struct rusage usage;

	CHECK_OK(getrusage(RUSAGE_SELF, &usage));
	return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 + usage.ru_utime.tv_usec +
	       usage.ru_stime.tv_usec;
}

/* Connect to all peers; each member begins with another one. */
static void connect_all(struct member *m)
{
	long begun = now_ms();

	for (int i = 0; i < peers; i++) {
		m->link[i].usable = member_connect(m, i);
		if (!m->link[i].usable)
			atomic_fetch_add(&world->refused, 1);
	}
	begun = now_ms() - begun;
	for (long most = world->connect_ms;
	     begun > most && !atomic_compare_exchange_weak(&world->connect_ms, &most, begun);)
		;
}

static void send_all(struct member *m)
{
	for (int i = 0; i < peers; i++) {
		struct ibv_sge sge = piece(m, i, 0);
		struct ibv_send_wr wr = { .wr_id = 2 * i,
					  .sg_list = &sge,
					  .num_sge = 1,
					  .opcode = IBV_WR_SEND,
					  .send_flags = IBV_SEND_SIGNALED },
				   *bad;

		if (!m->link[i].usable)
			continue;
		*(uint32_t *)(uintptr_t)sge.addr = message(m->index, peer_of(m->index, i));
		CHECK_OK(ibv_post_send(m->link[i].qp, &wr, &bad));
		m->to_come += 2;
	}
}

static void completed(struct member *m, const struct ibv_wc *wc)
{
	int i = wc->wr_id / 2;

	m->to_come--;
	if (wc->status != IBV_WC_SUCCESS) {
		/* A flushed receive follows from a failed request. */
		if (!(wc->wr_id & 1))
			atomic_fetch_add(&world->failed, 1);
		return;
	}
	if (wc->wr_id & 1) {
		CHECK_INT(*(uint32_t *)(uintptr_t)piece(m, i, 1).addr,
			  message(peer_of(m->index, i), m->index));
		m->received++;
	}
}

/* Receive all messages. A message on a path that the peer does not poll never comes. */
static void receive_all(struct member *m)
{
	struct ibv_wc wc[16];
	long last = now_ms();

	while (m->to_come && now_ms() - last < 60000) {
		int n = ibv_poll_cq(m->cq, RT_COUNT(wc), wc);

		CHECK(n >= 0);
		for (int i = 0; i < n; i++)
			completed(m, &wc[i]);
		if (n)
			last = now_ms();
		else
			usleep(20000);
	}
	atomic_fetch_add(&world->missing, peers - m->received);
}

/* Return the KiB in the line of @path that begins with @word. */
static long file_kib(const char *path, const char *word)
{
	FILE *f = fopen(path, "re");
	char line[256];
	long kib = 0;

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, word, strlen(word)))
			kib = atol(line + strlen(word));
	if (f)
		fclose(f);
	return kib;
}

static void member_main(int index)
{
	struct member m = { .index = index };
	long used;

	member_open(&m);
	pthread_barrier_wait(&world->published);
	used = processor_us();
	connect_all(&m);
	pthread_barrier_wait(&world->connected);
	atomic_fetch_add(&world->connect_us, processor_us() - used);
	send_all(&m);
	receive_all(&m);
	pthread_barrier_wait(&world->through);
	atomic_fetch_add(&world->pss, file_kib("/proc/self/smaps_rollup", "Pss:"));
	atomic_fetch_add(&world->tables, file_kib("/proc/self/status", "VmPTE:"));
	pthread_barrier_wait(&world->measured);
	exit(0);
}

static void member_start(int index)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0);
	if (pid)
		return;
	alarm(count < LARGE ? RT_SECONDS : SECONDS);
	net_enter(NET_HERE);
	setenv("VERBS_LOG_LEVEL", "0", 0);
	member_main(index);
}

static void world_new(void)
{
	size_t size = sizeof(*world) + sizeof(world->qpn[0]) * count * peers;
	pthread_barrierattr_t attr;

	world = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(world != MAP_FAILED);
	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&world->published, &attr, count);
	pthread_barrier_init(&world->connected, &attr, count);
	pthread_barrier_init(&world->through, &attr, count);
	pthread_barrier_init(&world->measured, &attr, count);
}

/* A process has three descriptors for each peer. */
static void descriptors_allow(void)
{
	struct rlimit limit;

	CHECK_OK(getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = limit.rlim_max;
	CHECK_OK(setrlimit(RLIMIT_NOFILE, &limit));
	if (limit.rlim_cur < 3 * peers + 100)
		rt_skip("%lu descriptors are too few for a process with %d peers",
			(unsigned long)limit.rlim_cur, peers);
}

int main(int argc, char **argv)
{
	int status;

	if (argc > 1)
		count = atoi(argv[1]);
	CHECK(count > 2 && count <= PROCESSES_MAX);
	peers = argc > 2 && !strcmp(argv[2], "ring") ? 2 : count - 1;
	alarm(count < LARGE ? RT_SECONDS : SECONDS);
	descriptors_allow();
	net_make("shm");
	world_new();
	for (int i = 0; i < count; i++)
		member_start(i);
	for (int i = 0; i < count; i++) {
		CHECK(wait(&status) > 0);
		CHECK_INT(status, 0);
	}
	printf("%d processes with %d peers each, connected in %ld ms, %ld us of processor a pair: %d queue pairs refused, %d requests failed, %d messages missing; %ld MiB (Pss), %ld MiB of page tables\n",
	       count, peers, (long)world->connect_ms,
	       (long)world->connect_us / ((long)count * peers / 2), (int)world->refused,
	       (int)world->failed, (int)world->missing, (long)world->pss / 1024,
	       (long)world->tables / 1024);
	CHECK(!world->refused && !world->failed && !world->missing);
	return 0;
}

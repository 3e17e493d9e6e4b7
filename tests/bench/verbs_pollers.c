/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pollers of separate CQs, on public API only: measure whether they wait for each other.
 *
 *   verbs_pollers [-d DEVICE] [-g GID_INDEX] [-t SECONDS] [-p] TEST WORKERS
 *
 * Each worker is a thread, with -p a process, and has a CQ that no other worker polls. Workers run
 * on separate processors as far as there are enough. TEST is the work of each:
 *
 *   pair   sends 8 bytes from one of its two queue pairs to the other, up to 16 on their way
 *   ping   the same, one at a time
 *   idle   polls without any completion
 *   read   reads 8 bytes of its own queue pair's memory
 *
 * Prints one line, the work of all workers together: TEST_threads or TEST_processes, WORKERS,
 * millions a second.
 */
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/verbs.h>

enum {
	WORKERS_MAX = 16,
	WINDOW = 16,
	SENDS_MAX = WINDOW * 4,
	SIGNAL_EVERY = 4,
	SIZE = 8,
	LINE = 128,
	ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
};

/* Shared by all workers, threads or processes. */
struct shared {
	atomic_uint ready;
	atomic_bool stop;
	struct {
		atomic_ullong done;
		uint8_t apart[LINE];
	} worker[WORKERS_MAX];
};

struct worker {
	pthread_t thread;
	unsigned int index;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct ibv_qp *qp[2];
	uint8_t *buf;
	uint64_t sends, recvs, done;
	uint64_t acked; /* number of acknowledged sends */
};

static struct shared *shared;
static const char *device, *test;
static int gid_index;
static unsigned int window = WINDOW;

static void die(const char *what)
{
	fprintf(stderr, "verbs_pollers: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void pin(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu % sysconf(_SC_NPROCESSORS_ONLN), &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static struct ibv_context *device_open(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;

	for (int i = 0; list && list[i] && !ctx; i++)
		if (!device || !strcmp(device, ibv_get_device_name(list[i])))
			ctx = ibv_open_device(list[i]);
	if (!ctx)
		die("no such device");
	ibv_free_device_list(list);
	return ctx;
}

/* --- set-up --- */

static void qp_connect(struct worker *w, struct ibv_qp *qp, const struct ibv_qp *to)
{
	struct ibv_port_attr port;
	union ibv_gid gid;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .qp_access_flags = ACCESS };

	if (ibv_query_port(w->ctx, 1, &port) || ibv_query_gid(w->ctx, 1, gid_index, &gid) ||
	    ibv_modify_qp(qp, &attr,
			  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
		die("INIT");
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = port.active_mtu,
		.dest_qp_num = to->qp_num,
		.max_dest_rd_atomic = 16,
		.min_rnr_timer = 1,
		.ah_attr = { .is_global = 1,
			     .port_num = 1,
			     .grh = { .dgid = gid, .sgid_index = gid_index, .hop_limit = 64 } },
	};
	if (ibv_modify_qp(qp, &attr,
			  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
		die("RTR");
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
				     .timeout = 18,
				     .retry_cnt = 7,
				     .rnr_retry = 7,
				     .max_rd_atomic = 16 };
	if (ibv_modify_qp(qp, &attr,
			  IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				  IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC))
		die("RTS");
}

static void worker_open(struct worker *w)
{
	struct ibv_qp_init_attr init = { .cap = { .max_send_wr = SENDS_MAX,
						  .max_recv_wr = WINDOW * 2,
						  .max_send_sge = 1,
						  .max_recv_sge = 1,
						  .max_inline_data = 64 },
					 .qp_type = IBV_QPT_RC };

	w->buf = aligned_alloc(4096, 4096);
	w->pd = ibv_alloc_pd(w->ctx);
	w->mr = ibv_reg_mr(w->pd, w->buf, 4096, ACCESS);
	w->cq = ibv_create_cq(w->ctx, WINDOW * 8, NULL, NULL, 0);
	init.send_cq = init.recv_cq = w->cq;
	for (int i = 0; i < 2; i++) {
		w->qp[i] = w->cq && w->mr ? ibv_create_qp(w->pd, &init) : NULL;
		if (!w->qp[i])
			die("cannot create the objects");
	}
	for (int i = 0; i < 2; i++)
		qp_connect(w, w->qp[i], w->qp[!i]);
}

/* --- work --- */

static void recv_post(struct worker *w)
{
	struct ibv_sge sge = { (uintptr_t)w->buf, SIZE, w->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	if (ibv_post_recv(w->qp[1], &wr, &bad))
		die("post_recv");
}

static void post(struct worker *w, enum ibv_wr_opcode opcode, bool signaled)
{
	struct ibv_sge sge = { (uintptr_t)w->buf + 512, SIZE, w->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = opcode,
				  .send_flags = (signaled ? IBV_SEND_SIGNALED : 0) |
						(opcode == IBV_WR_SEND ? IBV_SEND_INLINE : 0),
				  .wr.rdma = { (uintptr_t)w->buf, w->mr->rkey } },
			   *bad;

	if (ibv_post_send(w->qp[0], &wr, &bad))
		die("post_send");
}

/* Poll and count the completions. */
static void poll_once(struct worker *w)
{
	struct ibv_wc wc[WINDOW];
	int n = ibv_poll_cq(w->cq, WINDOW, wc);

	for (int i = 0; i < n; i++) {
		if (wc[i].status != IBV_WC_SUCCESS) {
			fprintf(stderr, "verbs_pollers: completion with %s\n",
				ibv_wc_status_str(wc[i].status));
			exit(1);
		}
		if (!(wc[i].opcode & IBV_WC_RECV)) {
			w->acked += SIGNAL_EVERY;
			continue;
		}
		w->recvs++;
		recv_post(w);
	}
}

static void pair_step(struct worker *w)
{
	/* A message that arrived may not be acknowledged yet, and occupies the send queue until
	 * then. */
	while (w->sends - w->recvs < window && w->sends - w->acked < SENDS_MAX)
		post(w, IBV_WR_SEND, ++w->sends % SIGNAL_EVERY == 0);
	poll_once(w);
	w->done = w->recvs;
}

static void idle_step(struct worker *w)
{
	poll_once(w);
	w->done++;
}

static void read_step(struct worker *w)
{
	struct ibv_wc wc;
	int n;

	post(w, IBV_WR_RDMA_READ, true);
	do {
		n = ibv_poll_cq(w->cq, 1, &wc);
	} while (!n);
	if (n < 0 || wc.status != IBV_WC_SUCCESS)
		die("read");
	w->done++;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	void (*step)(struct worker * w) = !strcmp(test, "idle")	  ? idle_step
					  : !strcmp(test, "read") ? read_step
								  : pair_step;

	pin(w->index);
	worker_open(w);
	for (int i = 0; i < WINDOW; i++)
		recv_post(w);
	atomic_fetch_add(&shared->ready, 1);
	while (!atomic_load_explicit(&shared->stop, memory_order_relaxed)) {
		for (int i = 0; i < 64; i++)
			step(w);
		atomic_store_explicit(&shared->worker[w->index].done, w->done,
				      memory_order_relaxed);
	}
	return NULL;
}

/* --- several --- */

static void workers_start(struct worker *workers, unsigned int count, bool processes)
{
	struct ibv_context *ctx = processes ? NULL : device_open();

	for (unsigned int i = 0; i < count; i++) {
		struct worker *w = &workers[i];

		*w = (struct worker){ .index = i, .ctx = ctx };
		if (!processes) {
			if (pthread_create(&w->thread, NULL, work, w))
				die("thread");
		} else if (!fork()) {
			w->ctx = device_open();
			work(w);
			_exit(0);
		}
	}
}

static bool workers_end(struct worker *workers, unsigned int count, bool processes)
{
	bool good = true;
	int status;

	atomic_store(&shared->stop, true);
	for (unsigned int i = 0; i < count; i++)
		if (processes)
			good &= wait(&status) > 0 && !status;
		else
			good &= !pthread_join(workers[i].thread, NULL);
	return good;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static uint64_t done(unsigned int count)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < count; i++)
		sum += atomic_load_explicit(&shared->worker[i].done, memory_order_relaxed);
	return sum;
}

static void ready_wait(unsigned int count)
{
	for (double end = now() + 10; atomic_load(&shared->ready) < count; usleep(1000))
		if (now() > end)
			die("a worker does not begin");
	usleep(20000);
}

/* Return the work of all workers in millions a second. */
static double measure(unsigned int count, double seconds)
{
	double start;
	uint64_t before;

	ready_wait(count);
	before = done(count);
	start = now();
	usleep(seconds * 1e6);
	return (done(count) - before) / (now() - start) / 1e6;
}

static int usage(void)
{
	fprintf(stderr,
		"usage: verbs_pollers [-d device] [-g gid index] [-t seconds] [-p] pair|ping|idle|read workers\n");
	return 2;
}

int main(int argc, char **argv)
{
	static struct worker workers[WORKERS_MAX];
	double seconds = 0.2, rate;
	bool processes = false;
	unsigned int count;
	int c;

	while ((c = getopt(argc, argv, "d:g:t:p")) != -1) {
		switch (c) {
		case 'd':
			device = optarg;
			break;
		case 'g':
			gid_index = atoi(optarg);
			break;
		case 't':
			seconds = atof(optarg);
			break;
		case 'p':
			processes = true;
			break;
		default:
			return usage();
		}
	}
	if (argc - optind != 2)
		return usage();
	test = argv[optind];
	count = atoi(argv[optind + 1]);
	if (count < 1 || count > WORKERS_MAX)
		return usage();
	window = strcmp(test, "ping") ? WINDOW : 1;
	setenv("VERBS_LOG_LEVEL", "1", 0);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		die("memory");
	workers_start(workers, count, processes);
	rate = measure(count, seconds);
	if (!workers_end(workers, count, processes))
		return 1;
	printf("%s_%s %u %.3f M/s\n", test, processes ? "processes" : "threads", count, rate);
	return 0;
}

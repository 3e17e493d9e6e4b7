/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queue pairs of all strands, with everything that strands share: queues, peers, memory,
 * numbers. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "tests/lib/rt.h"

enum {
	SIZE = 64,
	SIDES = 8, /* of a process; each has its own queue, and all strands are in use */
	DEPTH = 4, /* messages of a side on their way */
};

/* Whether the number is of the first strand: see the provider's path.h. */
static bool of_first_strand(uint32_t qpn)
{
	return (qpn & 15) < 13;
}

/* --- queue pairs that come and go, on queues that are shared and polled by threads --- */

enum {
	WORKERS = 3,
	POLLERS = 2,
	QUEUES = 6,
	PAIRS = 60, /* of a worker, one after the other */
	RECEIVES = 16,
};

static struct storm {
	struct rt_dev *dev;
	struct ibv_cq *sends; /* of all queue pairs */
	struct ibv_cq *receives[QUEUES];
	struct ibv_srq *srq;
	struct rt_buf buf;
	atomic_uint came[WORKERS], left[WORKERS];
	atomic_bool stop;
} storm;

static void storm_receive(uint64_t id)
{
	struct ibv_sge sge = { (uintptr_t)storm.buf.p + id * SIZE, SIZE, storm.buf.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 }, *bad;

	CHECK_OK(ibv_post_srq_recv(storm.srq, &wr, &bad));
}

static void storm_poll(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(cq, 1, &wc)) {
		CHECK_INT(wc.status, IBV_WC_SUCCESS);
		if (!(wc.opcode & IBV_WC_RECV)) {
			atomic_fetch_add(&storm.left[wc.wr_id], 1);
			continue;
		}
		storm_receive(wc.wr_id);
		atomic_fetch_add(&storm.came[wc.imm_data], 1);
	}
}

static void *storm_poller(void *arg)
{
	while (!atomic_load(&storm.stop)) {
		storm_poll(storm.sends);
		for (int i = 0; i < QUEUES; i++)
			storm_poll(storm.receives[i]);
	}
	return NULL;
}

static struct rt_side storm_side(unsigned int queue)
{
	struct rt_side side = { .dev = storm.dev, .buf = storm.buf, .srq = storm.srq };
	struct ibv_qp_init_attr attr = {
		.send_cq = storm.sends,
		.recv_cq = storm.receives[queue % QUEUES],
		.srq = storm.srq,
		.cap = { .max_send_wr = 1, .max_send_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	side.qp = ibv_create_qp(storm.dev->pd, &attr);
	CHECK(side.qp);
	return side;
}

static void storm_send(struct rt_side *side, unsigned int worker)
{
	struct ibv_sge sge = { (uintptr_t)storm.buf.p, SIZE, storm.buf.mr->lkey };
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND_WITH_IMM, worker, &sge);

	wr.imm_data = worker;
	POST(side, &wr);
}

static void *storm_worker(void *arg)
{
	unsigned int worker = (uintptr_t)arg;

	for (unsigned int i = 0; i < PAIRS; i++) {
		struct rt_side a = storm_side(worker + i), b = storm_side(worker + 2 * i + 1);
		struct rt_address at_a = rt_side_address(&a), at_b = rt_side_address(&b);

		rt_side_connect(&a, &at_b);
		rt_side_connect(&b, &at_a);
		storm_send(&a, worker);
		storm_send(&b, worker);
		while (atomic_load(&storm.came[worker]) < 2 * i + 2 ||
		       atomic_load(&storm.left[worker]) < 2 * i + 2)
			sched_yield();
		CHECK_OK(ibv_destroy_qp(a.qp));
		CHECK_OK(ibv_destroy_qp(b.qp));
	}
	return NULL;
}

static void storm_open(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = RECEIVES, .max_sge = 1 } };

	storm.dev = rt_open();
	storm.buf = rt_buf_alloc(storm.dev, RECEIVES * SIZE, RT_ACCESS);
	storm.sends = ibv_create_cq(storm.dev->ctx, 64, NULL, NULL, 0);
	CHECK(storm.sends);
	for (int i = 0; i < QUEUES; i++) {
		storm.receives[i] = ibv_create_cq(storm.dev->ctx, 64, NULL, NULL, 0);
		CHECK(storm.receives[i]);
	}
	storm.srq = ibv_create_srq(storm.dev->pd, &attr);
	CHECK(storm.srq);
	for (int i = 0; i < RECEIVES; i++)
		storm_receive(i);
}

static void shared_queues(void)
{
	pthread_t workers[WORKERS], pollers[POLLERS];

	storm_open();
	for (int i = 0; i < POLLERS; i++)
		CHECK_OK(pthread_create(&pollers[i], NULL, storm_poller, NULL));
	for (int i = 0; i < WORKERS; i++)
		CHECK_OK(pthread_create(&workers[i], NULL, storm_worker, (void *)(uintptr_t)i));
	for (int i = 0; i < WORKERS; i++)
		CHECK_OK(pthread_join(workers[i], NULL));
	atomic_store(&storm.stop, true);
	for (int i = 0; i < POLLERS; i++)
		CHECK_OK(pthread_join(pollers[i], NULL));
	CHECK_OK(ibv_destroy_srq(storm.srq));
	CHECK_OK(ibv_destroy_cq(storm.sends));
	for (int i = 0; i < QUEUES; i++)
		CHECK_OK(ibv_destroy_cq(storm.receives[i]));
	rt_buf_free(&storm.buf);
	rt_close(storm.dev);
}

/* --- two processes; the child sends every message back --- */

struct ends {
	struct rt_dev *dev;
	struct rt_side side[SIDES];
	struct rt_address peer[SIDES];
	int sent[SIDES], completed[SIDES], came[SIDES];
};

static struct ends ends;
static int to_other; /* a socket */

static void meet(void)
{
	char byte = 'x';

	CHECK(write(to_other, &byte, 1) == 1 && read(to_other, &byte, 1) == 1);
}

static void send_one(int i)
{
	struct ibv_sge sge = rt_sge(&ends.side[i], 0, SIZE);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);

	POST(&ends.side[i], &wr);
	ends.sent[i]++;
}

static void ends_open(void)
{
	const struct rt_options options = {
		.send_wr = 4 * DEPTH, .recv_wr = 4 * DEPTH, .timeout = 12, .retry_cnt = 1
	};

	ends.dev = rt_open();
	for (int i = 0; i < SIDES; i++) {
		struct rt_address mine;

		ends.side[i] = rt_side_open(ends.dev, &options, NULL);
		mine = rt_side_address(&ends.side[i]);
		ends.peer[i] = rt_exchange(to_other, &mine);
		rt_side_connect(&ends.side[i], &ends.peer[i]);
		for (int k = 0; k < 2 * DEPTH; k++)
			rt_recv(&ends.side[i], 0, SIZE, SIZE);
	}
	meet();
}

static void ends_close(void)
{
	for (int i = 0; i < SIDES; i++)
		rt_side_close(&ends.side[i]);
	rt_close(ends.dev);
}

/* Poll a side; return the number of messages that came. */
static int side_poll(int i, bool answer)
{
	struct ibv_wc wc;
	int came = 0;

	while (ibv_poll_cq(ends.side[i].cq, 1, &wc)) {
		CHECK_INT(wc.status, IBV_WC_SUCCESS);
		if (wc.wr_id) {
			ends.completed[i]++;
			continue;
		}
		came++;
		ends.came[i]++;
		rt_recv(&ends.side[i], 0, SIZE, SIZE);
		if (answer)
			send_one(i);
	}
	return came;
}

static pid_t child_start(void (*run)(void))
{
	int pair[2];
	pid_t child;

	CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	child = fork();
	CHECK(child >= 0);
	to_other = pair[!!child];
	close(pair[!child]);
	ends_open();
	if (child)
		return child;
	run();
	_exit(0);
}

static void answer_always(void)
{
	for (;;)
		for (int i = 0; i < SIDES; i++)
			side_poll(i, true);
}

/* Send @messages of each side to the other one and back, some of them on their way at a time. */
static void stream(int messages)
{
	int goal[SIDES], left = SIDES;

	for (int i = 0; i < SIDES; i++) {
		goal[i] = ends.came[i] + messages;
		for (int k = 0; k < DEPTH; k++)
			send_one(i);
	}
	while (left) {
		left = SIDES;
		for (int i = 0; i < SIDES; i++) {
			int came = side_poll(i, false);

			for (; came && ends.sent[i] < goal[i]; came--)
				send_one(i);
			left -= ends.came[i] == goal[i] && ends.completed[i] == goal[i];
		}
	}
}

/* --- the other process is stopped and continued repeatedly, and killed at last --- */

enum {
	STOPS = 6,
	STOP_US = 60000,
	RUN_US = 10000,
	MESSAGES = 3000,
};

static void *torment(void *arg)
{
	pid_t child = (intptr_t)arg;

	for (int i = 0; i < STOPS; i++) {
		usleep(RUN_US);
		kill(child, SIGSTOP);
		usleep(STOP_US);
		kill(child, SIGCONT);
	}
	return NULL;
}

/* The posted requests end, the last of them with an error. */
static void side_dies(int i)
{
	enum ibv_wc_status last = IBV_WC_SUCCESS;

	while (ends.completed[i] < ends.sent[i]) {
		struct ibv_wc wc = rt_wait(&ends.side[i]);

		if (!wc.wr_id)
			continue;
		ends.completed[i]++;
		last = wc.status;
	}
	CHECK(last != IBV_WC_SUCCESS);
}

static void halted(void)
{
	pid_t child = child_start(answer_always);
	pthread_t thread;
	int status;

	CHECK_OK(pthread_create(&thread, NULL, torment, (void *)(intptr_t)child));
	stream(MESSAGES);
	CHECK_OK(pthread_join(thread, NULL));
	stream(DEPTH);
	for (int i = 0; i < SIDES; i++)
		for (int k = 0; k < DEPTH; k++)
			send_one(i);
	CHECK_OK(kill(child, SIGKILL));
	CHECK(waitpid(child, &status, 0) == child);
	for (int i = 0; i < SIDES; i++) {
		send_one(i);
		side_dies(i);
	}
	ends_close();
}

/* --- children of a process whose threads are in the middle of passes --- */

enum {
	FORKS = 30,
};

static void exchange(struct rt_pair *pair, uint32_t seed)
{
	struct ibv_sge sge = rt_sge(&pair->a, 0, SIZE);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, seed, &sge);

	rt_fill(pair->a.buf.p, SIZE, seed);
	rt_recv(&pair->b, seed, SIZE, SIZE);
	POST(&pair->a, &wr);
	EXPECT(&pair->b, seed, IBV_WC_RECV);
	EXPECT(&pair->a, seed, IBV_WC_SEND);
	VERIFY(pair->b.buf.p + SIZE, SIZE, seed);
}

struct talker {
	pthread_t thread;
	struct rt_pair pair;
	atomic_bool *stop;
};

static void *talk(void *arg)
{
	struct talker *talker = arg;

	for (uint32_t i = 0; !atomic_load(talker->stop); i++)
		exchange(&talker->pair, i);
	return NULL;
}

/* The child ends as it is, or opens the device for itself. */
static void child_lives(bool opens)
{
	const struct rt_options options = {};
	struct rt_dev *dev;
	struct rt_pair pair;

	if (!opens)
		exit(0);
	dev = rt_open();
	pair = rt_pair_open(dev, &options);
	exchange(&pair, 1);
	rt_pair_close(&pair);
	rt_close(dev);
	exit(0);
}

static void forks(void)
{
	const struct rt_options options = {};
	struct talker talkers[SIDES];
	struct rt_dev *dev = rt_open();
	atomic_bool stop = false;
	int status;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	rt_skip("sanitizers have no children of processes of several threads");
#endif
	for (int i = 0; i < SIDES; i++) {
		talkers[i].pair = rt_pair_open(dev, &options);
		talkers[i].stop = &stop;
		CHECK_OK(pthread_create(&talkers[i].thread, NULL, talk, &talkers[i]));
	}
	for (int i = 0; i < FORKS; i++) {
		pid_t child = fork();

		CHECK(child >= 0);
		if (!child)
			child_lives(i % 2);
		CHECK(waitpid(child, &status, 0) == child);
		CHECK_INT(status, 0);
	}
	atomic_store(&stop, true);
	for (int i = 0; i < SIDES; i++) {
		CHECK_OK(pthread_join(talkers[i].thread, NULL));
		rt_pair_close(&talkers[i].pair);
	}
	rt_close(dev);
}

/* --- there is no memory for the rings of another strand --- */

static void memory_limit(rlim_t bytes)
{
	struct rlimit limit;

	CHECK_OK(getrlimit(RLIMIT_AS, &limit));
	limit.rlim_cur = bytes;
	CHECK_OK(setrlimit(RLIMIT_AS, &limit));
}

static void memory_limits_work(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	rt_skip("a sanitizer maps memory as it likes");
#endif
}

/* Limit the memory to the present use. */
static void memory_end(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	CHECK(file && fscanf(file, "%lu", &pages) == 1);
	fclose(file);
	memory_limit(pages * sysconf(_SC_PAGESIZE));
}

static int side_of_others(void)
{
	for (int i = 0; i < SIDES; i++)
		if (!of_first_strand(ends.peer[i].qpn))
			return i;
	FAIL("all queue pairs are of one strand");
}

static void wait_for_word(void)
{
	meet();
}

/* The shortage lasts for a moment only: the message arrives afterwards. */
static void no_memory_to_send(void)
{
	int status, i;
	pid_t child;

	memory_limits_work();
	child = child_start(answer_always);
	i = side_of_others();
	memory_end();
	send_one(i);
	usleep(RUN_US);
	CHECK_INT(ends.completed[i], 0);
	memory_limit(RLIM_INFINITY);
	while (!ends.came[i] || !ends.completed[i])
		side_poll(i, false);
	CHECK_OK(kill(child, SIGKILL));
	CHECK(waitpid(child, &status, 0) == child);
	ends_close();
}

static void receive_without_memory(void)
{
	memory_end();
	meet();
	wait_for_word();
	memory_limit(RLIM_INFINITY);
	ends_close();
}

static void write_one(int i)
{
	struct ibv_sge sge = rt_sge(&ends.side[i], 0, SIZE);
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, 1, &sge);

	wr.wr.rdma.remote_addr = ends.peer[i].addr;
	wr.wr.rdma.rkey = ends.peer[i].rkey;
	POST(&ends.side[i], &wr);
	ends.sent[i]++;
}

/* A receiver without memory stops reading from that sender, also for its other queue pairs. The
 * sender gets errors. */
static void no_memory_to_receive(void)
{
	int status, i;
	pid_t child;

	memory_limits_work();
	child = child_start(receive_without_memory);
	i = side_of_others();
	meet();
	send_one(i);
	side_dies(i);
	i = (i + 1) % SIDES;
	write_one(i);
	side_dies(i);
	wait_for_word();
	CHECK(waitpid(child, &status, 0) == child);
	CHECK_INT(status, 0);
	ends_close();
}

/* --- several processes, each with queue pairs of all strands to every other --- */

enum {
	CROWD = 6,
	CROWD_QUEUES = 4,
	CROWD_MESSAGES = 20,
};

static struct crowd {
	pthread_barrier_t meet;
	struct rt_address address[CROWD][CROWD][CROWD_QUEUES];
} * crowd; /* shared by all processes */

struct member {
	struct rt_dev *dev;
	struct rt_buf buf;
	struct ibv_cq *cq[CROWD_QUEUES];
	struct rt_side side[CROWD][CROWD_QUEUES];
};

static struct member member;

static struct rt_side member_side(int queue)
{
	struct rt_side side = { .dev = member.dev, .buf = member.buf, .cq = member.cq[queue] };
	struct ibv_qp_init_attr attr = {
		.send_cq = side.cq,
		.recv_cq = side.cq,
		.cap = { .max_send_wr = CROWD_MESSAGES,
			 .max_recv_wr = CROWD_MESSAGES,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	side.qp = ibv_create_qp(side.dev->pd, &attr);
	CHECK(side.qp);
	return side;
}

static void member_open(int self)
{
	member.dev = rt_open();
	member.buf = rt_buf_alloc(member.dev, 4096, RT_ACCESS);
	for (int q = 0; q < CROWD_QUEUES; q++) {
		member.cq[q] =
			ibv_create_cq(member.dev->ctx, 2 * CROWD * CROWD_MESSAGES, NULL, NULL, 0);
		CHECK(member.cq[q]);
		for (int i = 0; i < CROWD; i++) {
			member.side[i][q] = member_side(q);
			crowd->address[self][i][q] = rt_side_address(&member.side[i][q]);
		}
	}
	pthread_barrier_wait(&crowd->meet);
	for (int i = 0; i < CROWD; i++)
		for (int q = 0; q < CROWD_QUEUES; q++) {
			rt_side_connect(&member.side[i][q], &crowd->address[i][self][q]);
			for (int k = 0; k < CROWD_MESSAGES; k++)
				rt_recv(&member.side[i][q], 0, SIZE, SIZE);
		}
	pthread_barrier_wait(&crowd->meet);
}

/* Poll one queue until all sent messages have come. */
static void *member_poll(void *arg)
{
	struct ibv_cq *cq = arg;
	struct ibv_wc wc;

	for (int left = 2 * CROWD * CROWD_MESSAGES; left;) {
		if (!ibv_poll_cq(cq, 1, &wc)) {
			sched_yield();
			continue;
		}
		CHECK_INT(wc.status, IBV_WC_SUCCESS);
		left--;
	}
	return NULL;
}

static void member_main(int self)
{
	pthread_t thread[CROWD_QUEUES];

	member_open(self);
	for (int q = 0; q < CROWD_QUEUES; q++)
		CHECK_OK(pthread_create(&thread[q], NULL, member_poll, member.cq[q]));
	for (int k = 0; k < CROWD_MESSAGES; k++)
		for (int i = 0; i < CROWD; i++)
			for (int q = 0; q < CROWD_QUEUES; q++) {
				struct rt_side *side = &member.side[i][q];
				struct ibv_sge sge = rt_sge(side, 0, SIZE);
				struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);

				POST(side, &wr);
			}
	for (int q = 0; q < CROWD_QUEUES; q++)
		CHECK_OK(pthread_join(thread[q], NULL));
	pthread_barrier_wait(&crowd->meet);
	for (int q = 0; q < CROWD_QUEUES; q++) {
		for (int i = 0; i < CROWD; i++)
			CHECK_OK(ibv_destroy_qp(member.side[i][q].qp));
		CHECK_OK(ibv_destroy_cq(member.cq[q]));
	}
	rt_buf_free(&member.buf);
	rt_close(member.dev);
	exit(0);
}

static void all_to_all(void)
{
	pthread_barrierattr_t attr;
	int status;

	crowd = mmap(NULL, sizeof(*crowd), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	CHECK(crowd != MAP_FAILED);
	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	CHECK_OK(pthread_barrier_init(&crowd->meet, &attr, CROWD));
	for (int i = 0; i < CROWD; i++) {
		pid_t child = fork();

		CHECK(child >= 0);
		if (!child)
			member_main(i);
	}
	for (int i = 0; i < CROWD; i++) {
		CHECK(wait(&status) > 0);
		CHECK_INT(status, 0);
	}
}

/* --- more queue pairs than there are numbers of the first strand --- */

enum {
	OF_FIRST = 53248,
};

static struct ibv_qp *number_take(struct rt_dev *dev, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_UD,
	};
	struct ibv_qp *qp = ibv_create_qp(dev->pd, &attr);

	CHECK(qp);
	return qp;
}

static void message_through(struct rt_dev *dev, enum ibv_qp_type type)
{
	const struct rt_options options = { .type = type };
	struct rt_pair pair = rt_pair_open(dev, &options);
	struct ibv_sge sge = rt_sge(&pair.a, 0, SIZE);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);

	CHECK(!of_first_strand(pair.a.qp->qp_num) && !of_first_strand(pair.b.qp->qp_num));
	rt_recv(&pair.b, 2, SIZE, 2 * SIZE);
	if (type == IBV_QPT_UD) {
		const struct rt_address b = rt_side_address(&pair.b);
		struct ibv_ah_attr attr = rt_ah_attr(dev, &b);

		wr.wr.ud.ah = ibv_create_ah(dev->pd, &attr);
		CHECK(wr.wr.ud.ah);
		wr.wr.ud.remote_qpn = pair.b.qp->qp_num;
		wr.wr.ud.remote_qkey = RT_QKEY;
	}
	POST(&pair.a, &wr);
	EXPECT(&pair.b, 2, IBV_WC_RECV);
	EXPECT(&pair.a, 1, IBV_WC_SEND);
	if (type == IBV_QPT_UD)
		CHECK_OK(ibv_destroy_ah(wr.wr.ud.ah));
	rt_pair_close(&pair);
}

static void first_is_full(void)
{
	static struct ibv_qp *qp[OF_FIRST];
	struct rt_dev *dev = rt_open();
	struct ibv_cq *cq = ibv_create_cq(dev->ctx, 1, NULL, NULL, 0);

	CHECK(cq);
	for (int i = 0; i < OF_FIRST; i++) {
		qp[i] = number_take(dev, cq);
		CHECK(of_first_strand(qp[i]->qp_num));
	}
	message_through(dev, IBV_QPT_RC);
	message_through(dev, IBV_QPT_UC);
	message_through(dev, IBV_QPT_UD);
	for (int i = 0; i < OF_FIRST; i++)
		CHECK_OK(ibv_destroy_qp(qp[i]));
	CHECK_OK(ibv_destroy_cq(cq));
	rt_close(dev);
}

static const struct rt_case cases[] = {
	{ "shared_queues", shared_queues },
	{ "halted", halted },
	{ "forks", forks },
	{ "all_to_all", all_to_all },
	{ "no_memory_to_send", no_memory_to_send },
	{ "no_memory_to_receive", no_memory_to_receive },
	{ "first_is_full", first_is_full },
};
RT_MAIN(cases)

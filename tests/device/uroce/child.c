/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A child and its inherited objects: every operation of the device fails with EIO, and none
 * waits for a lock that a thread of the parent held. The parent's traffic is not disturbed. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/lib/rt.h"
#include "tests/device/uroce/ops.h"

enum {
	CHILDREN = 40, /* children forked beside threads */
	TIMINGS = 200, /* forks at different times of the first call of a process */
};

/* Programs do not call these operations on an object that their parent created. */
static const char *const others[] = {
	"open_context",
	"close_context", /* what a child may do */
	"destroy_comp_channel",
	"free_buf", /* return nothing */
	"import_pd",
	"unimport_pd", /* of a context that was imported: tests/device/any/import */
	"import_mr",
	"unimport_mr",
	"import_dm",
	"unimport_dm",
	"gsi_open",
	"gsi_listen",
	"gsi_send",
	"gsi_recv",
	"gsi_offer",
	"gsi_probe",
	"gsi_poll",
	"gsi_leave",
	"gsi_guard",
	"gsi_last_word",   /* librdmacm's */
	"post_write_copy", /* rsockets' */
	"qp_end_waits",
};

static bool is_walked(const char *name)
{
	for (int i = 0; i < RT_COUNT(ops); i++)
		if (ops[i].in_table && !strcmp(ops[i].name, name))
			return true;
	for (int i = 0; i < RT_COUNT(others); i++)
		if (!strcmp(others[i], name))
			return true;
	return false;
}

/* Check that no operation of the provider is missing above. */
static void table_is_walked(void)
{
	FILE *f = fopen(UROCE_TABLE, "re");
	char line[256], name[64];
	bool inside = false;
	int count = 0;

	CHECK(f);
	while (fgets(line, sizeof(line), f)) {
		if (!strcmp(line, "static const struct verbs_ops uroce_ops = {\n"))
			inside = true;
		else if (*line == '}')
			inside = false;
		if (!inside || sscanf(line, " .%63[a-z_] = uroce_", name) != 1)
			continue;
		if (!is_walked(name))
			FAIL("%s is not called in a child", name);
		count++;
	}
	fclose(f);
	CHECK(count > RT_COUNT(ops) / 2);
}

/* --- children --- */

/* Call every operation; return how many did not fail with EIO. */
static int walk(void)
{
	int wrong = 0;

	for (int i = 0; i < RT_COUNT(ops); i++) {
		int r = ops[i].call();

		if (r == EIO)
			continue;
		fprintf(stderr, "%s in a child: %s instead of EIO\n", ops[i].name, strerror(r));
		wrong++;
	}
	return wrong;
}

static void child_await(pid_t pid)
{
	int status;

	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK_INT(status, 0);
}

static void message(int i)
{
	struct ibv_sge sge = rt_sge(&w.pair.a, 0, 64);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);

	rt_recv(&w.pair.b, 2, 1024, 64);
	rt_fill(w.pair.a.buf.p, 64, i);
	POST(&w.pair.a, &wr);
	EXPECT(&w.pair.b, 2, IBV_WC_RECV);
	VERIFY(w.pair.b.buf.p + 1024, 64, i);
	EXPECT(&w.pair.a, 1, IBV_WC_SEND);
}

static void fork_walks(void)
{
	world_make();
	message(0);
	for (int i = 1; i < 4; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(walk());
		child_await(pid);
		message(i);
	}
}

/* The C library calls no fork handler for this call. */
static void clone_walks(void)
{
	pid_t pid;

	world_make();
	message(0);
	pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (!pid)
		syscall(SYS_exit_group, walk());
	child_await(pid);
	message(1);
}

/* ThreadSanitizer starts no threads in a child of a process with threads. The memory allocator of
 * AddressSanitizer may be locked in a child if another thread allocated at the fork. */
static void sanitizer_skip(bool beside_allocation)
{
#ifdef __SANITIZE_THREAD__
	rt_skip("this sanitizer starts no thread in such a child");
#elif defined(__SANITIZE_ADDRESS__)
	if (beside_allocation)
		rt_skip("memory of this sanitizer may be locked in such a child");
#else
	(void)beside_allocation;
#endif
}

/* A child may close inherited objects, and open the device for itself. */
static void child_starts_anew(void)
{
	pid_t pid;

	sanitizer_skip(false);
	world_make();
	pid = fork();
	if (!pid) {
		struct ibv_context *inherited = w.ctx;

		world_make();
		message(0);
		CHECK_OK(ibv_close_device(inherited));
		message(1);
		_exit(0);
	}
	child_await(pid);
	message(2);
}

static atomic_bool stop;

static void *traffic(void *arg)
{
	for (int i = 0; !atomic_load(&stop); i++)
		message(i);
	return NULL;
}

static void *lists(void *arg)
{
	while (!atomic_load(&stop)) {
		struct ibv_device **list = ibv_get_device_list(NULL);
		struct ibv_mr *mr = ibv_reg_mr(w.dev->pd, w.memory, SIZE, IBV_ACCESS_LOCAL_WRITE);

		CHECK(list && mr);
		ibv_free_device_list(list);
		CHECK_OK(ibv_dereg_mr(mr));
	}
	return NULL;
}

/* A child does not have the threads that held a lock at the fork. */
static void beside_threads(void)
{
	static void *(*const threads[])(void *) = { traffic, lists, lists };
	pthread_t ids[RT_COUNT(threads)];

	sanitizer_skip(false);
	world_make();
	for (int i = 0; i < RT_COUNT(threads); i++)
		CHECK_OK(pthread_create(&ids[i], NULL, threads[i], NULL));
	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid;

		usleep(i * 100);
		pid = fork();
		if (!pid) {
			int wrong = walk();

			if (i % 4 == 1)
				world_make();
			_exit(wrong);
		}
		child_await(pid);
	}
	atomic_store(&stop, true);
	for (int i = 0; i < RT_COUNT(threads); i++)
		CHECK_OK(pthread_join(ids[i], NULL));
}

/* --- a fork while another thread makes the first call of the library --- */

static atomic_bool started;

static void *first_list(void *arg)
{
	struct ibv_device **list;

	atomic_store(&started, true);
	list = ibv_get_device_list(NULL);
	CHECK(list && *list);
	ibv_free_device_list(list);
	return NULL;
}

static void *first_open(void *arg)
{
	atomic_store(&started, true);
	rt_close(rt_open());
	return NULL;
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* Use the device in a child. */
static void child_uses(void *(*first)(void *))
{
	pid_t pid = fork();

	if (!pid) {
		alarm(RT_SECONDS / 4);
		first(NULL);
		_exit(0);
	}
	child_await(pid);
}

/* Fork @delay ns after another thread has begun its first call, and use the device in the child. */
static void fork_amid(void *(*first)(void *), uint64_t delay)
{
	pthread_t thread;
	uint64_t begin;
	pid_t pid;

	CHECK_OK(pthread_create(&thread, NULL, first, NULL));
	while (!atomic_load(&started))
		sched_yield();
	for (begin = now(); now() < begin + delay;)
		;
	pid = fork();
	if (!pid) {
		alarm(RT_SECONDS / 4); /* ends a child that hangs */
		first(NULL);
		child_uses(first); /* the handlers may be registered twice */
		_exit(0);
	}
	child_await(pid);
	CHECK_OK(pthread_join(thread, NULL));
}

/* Return the time that the call takes in a new process. */
static uint64_t first_time(void *(*first)(void *))
{
	uint64_t begin = now();

	child_uses(first);
	return now() - begin;
}

static void beside_first(void *(*first)(void *))
{
	uint64_t time;

	sanitizer_skip(true);
	time = first_time(first);
	for (int i = 0; i < TIMINGS; i++) {
		pid_t pid = fork();

		if (!pid) {
			fork_amid(first, time * i / TIMINGS);
			_exit(0);
		}
		child_await(pid);
	}
}

static void beside_first_list(void)
{
	beside_first(first_list);
}

static void beside_first_open(void)
{
	beside_first(first_open);
}

static const struct rt_case cases[] = {
	{ "table_is_walked", table_is_walked },
	{ "fork_walks", fork_walks },
	{ "clone_walks", clone_walks },
	{ "child_starts_anew", child_starts_anew },
	{ "beside_threads", beside_threads },
	{ "beside_first_list", beside_first_list },
	{ "beside_first_open", beside_first_open },
};
RT_MAIN(cases)

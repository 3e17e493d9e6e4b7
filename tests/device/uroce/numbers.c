/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Numbers of queue pairs: the first number of a process is random, and the number of a queue
 * pair that was connected is not reused as long as its peer may know it. */
#include <sys/resource.h>
#include <sys/wait.h>

#include "tests/lib/rt_child.h"

enum {
	PROCESSES = 8,
	BLOCK = 1024,	    /* numbers of a process, which follow each other */
	CONNECTIONS = 3000, /* more than a block has numbers */
	NUMBERS = 1 << 24,
};

static void first_is_random(void)
{
	uint32_t number[PROCESSES];
	int same = 0;

	for (int i = 0; i < PROCESSES; i++) {
		int ends[2], status;
		pid_t pid;

		CHECK_OK(pipe(ends));
		pid = fork();
		CHECK(pid >= 0);
		if (!pid) {
			struct rt_side side = rt_side_open(rt_open(), NULL, NULL);

			CHECK(write(ends[1], &side.qp->qp_num, sizeof(*number)) == sizeof(*number));
			_exit(0);
		}
		CHECK(read(ends[0], &number[i], sizeof(*number)) == sizeof(*number));
		CHECK(waitpid(pid, &status, 0) == pid && !status);
		close(ends[0]);
		close(ends[1]);
		same += number[i] % BLOCK == number[0] % BLOCK;
	}
	/* Equal by chance once in 2^70 runs. */
	CHECK(same < PROCESSES);
}

static void rests(void)
{
	static bool used[NUMBERS];
	struct rt_dev *dev = rt_open();

	for (int i = 0; i < CONNECTIONS; i++) {
		struct rt_side side = rt_side_open(dev, NULL, NULL);
		struct rt_address self = rt_side_address(&side);

		if (used[self.qpn])
			FAIL("number 0x%x came again after %d connections", self.qpn, i);
		used[self.qpn] = true;
		rt_side_connect(&side, &self);
		rt_side_close(&side);
	}
	rt_close(dev);
}

/* Numbers that no peer knows are reused next, because blocks are few. */
static void unknown_need_no_rest(void)
{
	struct rt_dev *dev = rt_open();
	int before = 0;

	for (int i = 0; i < CONNECTIONS; i++) {
		struct rt_side side = rt_side_open(dev, NULL, NULL);

		rt_side_close(&side);
		before = i ? before : rt_use().descriptors;
	}
	CHECK_INT(rt_use().descriptors, before);
	rt_close(dev);
}

/* If no further block can be allocated, a number rests only as long as others are free. */
static void rests_end_early(void)
{
	struct rt_dev *dev = rt_open();
	struct rlimit limit;

	CHECK_OK(getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = rt_use().descriptors + 4;
	CHECK_OK(setrlimit(RLIMIT_NOFILE, &limit));
	for (int i = 0; i < CONNECTIONS; i++) {
		struct rt_side side = rt_side_open(dev, NULL, NULL);
		struct rt_address self = rt_side_address(&side);

		rt_side_connect(&side, &self);
		rt_side_close(&side);
	}
	rt_close(dev);
}

static const struct rt_case cases[] = {
	{ "first_is_random", first_is_random },
	{ "rests", rests },
	{ "unknown_need_no_rest", unknown_need_no_rest },
	{ "rests_end_early", rests_end_early },
};
RT_MAIN(cases)

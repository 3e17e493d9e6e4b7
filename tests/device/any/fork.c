/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A process with registered memory forks: its own transfers continue undisturbed. */
#include <sys/wait.h>

#include "tests/lib/rt.h"

static void write_and_verify(struct rt_pair *pair, uint32_t seed)
{
	struct ibv_sge sge = rt_sge(&pair->a, 0, 10000);
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, 1, &sge);

	rt_fill(pair->a.buf.p, 10000, seed);
	rt_wr_remote(&wr, &pair->b, 0);
	POST(&pair->a, &wr);
	EXPECT(&pair->a, 1, IBV_WC_RDMA_WRITE);
	VERIFY(pair->b.buf.p, 10000, seed);
}

/* The child lives on while the parent touches every page of its buffers and transfers. */
static void transfer_around_child(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, NULL);
	int pipes[2], status;
	pid_t pid;

	write_and_verify(&pair, 1);
	CHECK_OK(pipe(pipes));
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		char byte;

		close(pipes[1]);
		_exit(read(pipes[0], &byte, 1) == 0 ? 0 : 1);
	}
	close(pipes[0]);
	memset(pair.a.buf.p, 0, pair.a.buf.size);
	memset(pair.b.buf.p, 0, pair.b.buf.size);
	for (int i = 0; i < 20; i++)
		write_and_verify(&pair, i);
	close(pipes[1]);
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);
	write_and_verify(&pair, 99);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* Linux 5.12 copies pinned pages for the child, and reports that if the RDMA module is loaded. */
static bool kernel_copies(void)
{
	return rt_kernel_since(5, 12) && !access("/sys/class/infiniband", F_OK);
}

static void initialised(void)
{
	CHECK_OK(ibv_fork_init());
	CHECK_INT(ibv_is_fork_initialized(),
		  kernel_copies() ? IBV_FORK_UNNEEDED : IBV_FORK_ENABLED);
	transfer_around_child();
}

/* Fork protection need not be initialised if the kernel copies pinned pages at once, or if a
 * user-space device pins none. */
static void not_initialised(void)
{
	struct rt_dev *dev;
	bool needed;

	CHECK_INT(ibv_is_fork_initialized(),
		  kernel_copies() ? IBV_FORK_UNNEEDED : IBV_FORK_DISABLED);
	dev = rt_open();
	needed = rt_is_kernel(dev) && !kernel_copies();
	rt_close(dev);
	if (needed)
		rt_skip("this kernel needs ibv_fork_init()");
	transfer_around_child();
}

/* A child may end by exit(): the parent's objects still work. */
static void child_exits(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, NULL);

	for (int i = 0; i < 5; i++) {
		pid_t pid = fork();
		int status;

		CHECK(pid >= 0);
		if (!pid)
			exit(7);
		CHECK_INT(waitpid(pid, &status, 0), pid);
		CHECK_INT(WEXITSTATUS(status), 7);
		write_and_verify(&pair, i);
	}
	rt_pair_close(&pair);
	rt_close(dev);
}

/* After memory is registered it is too late, except for user-space devices, which need no
 * protection. */
static void too_late(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_buf buf = rt_buf_alloc(dev, 4096, IBV_ACCESS_LOCAL_WRITE);
	bool late = !kernel_copies() && rt_is_kernel(dev);
	int r = ibv_fork_init();

	CHECK_INT(r, late ? EINVAL : 0);
	CHECK_INT(ibv_is_fork_initialized(), kernel_copies() ? IBV_FORK_UNNEEDED
					     : late	     ? IBV_FORK_DISABLED
							     : IBV_FORK_ENABLED);
	rt_buf_free(&buf);
	rt_close(dev);
}

static const struct rt_case cases[] = {
	{ "initialised", initialised },
	{ "not_initialised", not_initialised },
	{ "child_exits", child_exits },
	{ "too_late", too_late },
};
RT_MAIN(cases)

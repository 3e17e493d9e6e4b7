/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A program that asked for fork protection: no page is pinned here, so that children keep
 * registered memory, and a range may begin anywhere in a huge page. */
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/lib/rt.h"

enum {
	SIZE = 4096,
	HUGE_SIZE = 2 << 20,
	VALUE = 42,
};

static void child_reads(const uint8_t *memory)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(*memory);
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == VALUE);
}

static void stays_in_children(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_buf buf = rt_buf_alloc(dev, SIZE, IBV_ACCESS_LOCAL_WRITE);

	CHECK_OK(ibv_fork_init()); /* late, for another device */
	*buf.p = VALUE;
	child_reads(buf.p);
	rt_buf_free(&buf);

	buf = rt_buf_alloc(dev, SIZE, IBV_ACCESS_LOCAL_WRITE);
	*buf.p = VALUE;
	child_reads(buf.p);
	rt_buf_free(&buf);
	rt_close(dev);
}

static void part_of_huge_page(void)
{
	char *memory = mmap(NULL, HUGE_SIZE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	struct rt_dev *dev;
	struct ibv_mr *mr;

	if (memory == MAP_FAILED)
		rt_skip("this machine has no huge page to spare");
	CHECK_OK(ibv_fork_init());
	dev = rt_open();
	mr = ibv_reg_mr(dev->pd, memory + SIZE, SIZE, IBV_ACCESS_LOCAL_WRITE);
	CHECK(mr);
	CHECK_OK(ibv_dereg_mr(mr));
	rt_close(dev);
	munmap(memory, HUGE_SIZE);
}

static const struct rt_case cases[] = {
	{ "stays_in_children", stays_in_children },
	{ "part_of_huge_page", part_of_huge_page },
};
RT_MAIN(cases)

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The clock of mlx5, which counts nanoseconds, and the page by which its kernel converts the
 * clock to time. A process maps pages that each pass of the model updates; in a trace they do
 * not change. */
#include "tests/adapters/lab/device/mlx5.h"

#include <endian.h>
#include <string.h>
#include <time.h>
#include <rdma/mlx5-abi.h>

enum {
	PAGES = 64
};

static struct {
	void *at; /* NULL: none */
	bool info;
} pages[PAGES];

static uint64_t nanoseconds(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

uint64_t mlx5_clock_now(void)
{
	return nanoseconds(CLOCK_MONOTONIC);
}

static void write_info(volatile struct mlx5_ib_clock_info *page)
{
	page->sign++;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	page->cycles = mlx5_clock_now();
	page->nsec = nanoseconds(CLOCK_REALTIME);
	page->mult = 1;
	page->mask = ~0ull;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	page->sign++;
}

static void write_count(volatile uint32_t *page)
{
	uint64_t now = mlx5_clock_now();

	page[0] = htobe32(now >> 32);
	page[1] = htobe32((uint32_t)now);
}

void mlx5_clock_mapped(bool info, void *at)
{
	for (int i = 0; i < PAGES; i++) {
		if (pages[i].at)
			continue;
		pages[i].at = at;
		pages[i].info = info;
		return;
	}
}

void mlx5_clock_unmapped(const void *at)
{
	for (int i = 0; i < PAGES; i++) {
		if (pages[i].at == at)
			pages[i].at = NULL;
	}
}

void mlx5_clock_tick(void)
{
	for (int i = 0; i < PAGES; i++) {
		if (pages[i].at && pages[i].info)
			write_info(pages[i].at);
		else if (pages[i].at)
			write_count(pages[i].at);
	}
}

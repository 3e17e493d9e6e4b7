/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counters over time, for --watch. */
#ifndef RDMA_DOCTOR_WATCH_H
#define RDMA_DOCTOR_WATCH_H

#include "rdma-doctor/counter.h"

/* A counter that moved. */
struct watch_move {
	struct counter counter; /* its value at the end */
	const struct counter_meaning *meaning;
	uint64_t by;
};

struct watch {
	struct sample before;
	uint64_t begin; /* nanoseconds of the monotonic clock */
	uint64_t ms;	/* how long it was */
	bool done;
	char gone[IBV_SYSFS_NAME_MAX]; /* device or interface that vanished */
	struct watch_move *moves;
	unsigned int count;
	unsigned int counted;			/* counters that were read twice */
	unsigned int counted_of[COUNTER_KINDS]; /* of them, by kind */
};

/* Read the counters for the first time if --watch asks for it. Later calls do nothing. */
void watch_begin(struct doctor *d);
void watch_drop(struct doctor *d);

void watch_print(const struct watch *w);
void watch_describe(const struct watch *w);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Programs in strict mode, and the lines about their faults. */
#ifndef TESTS_UROCE_STRICT_H
#define TESTS_UROCE_STRICT_H

#include "tests/lib/rt.h"

enum {
	SIZE = 4096,
	SMALL = 64,
};

/* Open the device in strict mode. Lines go to the log. */
static inline struct rt_dev *strict_open(const char *mode)
{
	rt_log_capture();
	CHECK_OK(setenv("UROCE_STRICT", mode, 1));
	return rt_open();
}

static inline unsigned int lines(const char *text)
{
	unsigned int count = 0;

	for (const char *at = rt_log_text(); (at = strstr(at, text)); at++)
		count++;
	return count;
}

#define EXPECT_LINE(text) expect_line(__LINE__, text)
static inline void expect_line(int line, const char *text)
{
	if (!strstr(rt_log_text(), text))
		rt_fail(__FILE__, line, "no line has '%s':\n%s", text, rt_log_text());
}

/* The prefix of a fault; the summary has no device. */
#define FAULT "strict: uroce_lo "

static inline void expect_clean(void)
{
	if (lines(FAULT))
		FAIL("a line about a correct program:\n%s", rt_log_text());
}

/* --- completions and their events --- */

static inline void *event_wait(void *channel)
{
	struct ibv_cq *cq;
	void *context;

	CHECK_OK(ibv_get_cq_event(channel, &cq, &context));
	ibv_ack_cq_events(cq, 1);
	return NULL;
}

static inline void complete_one(struct rt_pair *pair)
{
	struct ibv_sge sge = rt_sge(&pair->a, 0, SMALL);
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, 1, &sge);

	rt_wr_remote(&wr, &pair->b, 0);
	POST(&pair->a, &wr);
}

/* Leave a completion in the queue of side a, without an event. The program has polled since the
 * last one. */
static inline void completion_leave(struct rt_pair *pair)
{
	for (int i = 0; i < 2; i++) {
		CHECK_OK(ibv_req_notify_cq(pair->a.cq, 0));
		complete_one(pair);
		event_wait(pair->a.channel);
	}
	EXPECT(&pair->a, 1, IBV_WC_RDMA_WRITE);
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A cancelled thread does not end in a verb of the device, because the locks that it holds there
 * would stay taken for ever. */
#include <pthread.h>

#include "tests/lib/rt.h"
#include "tests/device/uroce/ops.h"

enum {
	IDLE_US = 100000, /* until the device's own thread sleeps and must be woken */
};

static int open_and_close(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = ibv_open_device(rt_device_find(list));

	ibv_free_device_list(list);
	return ctx ? ibv_close_device(ctx) : errno;
}

/* The completion of the peer raises an event. */
static int post_with_event(void)
{
	int r = ibv_req_notify_cq(w.pair.b.cq, 0);
	struct ibv_wc wc;

	rt_recv(&w.pair.b, 2, 1024, 64);
	if (!r)
		r = post_send();
	while (!r && !ibv_poll_cq(w.pair.a.cq, 1, &wc))
		;
	return r;
}

static const struct op more[] = {
	{ "open and close", open_and_close, false, false },
	{ "post with an event", post_with_event, false, false },
};

struct attempt {
	const struct op *op;
	bool returned;
};

static void *attempt_main(void *arg)
{
	struct attempt *attempt = arg;

	CHECK_OK(pthread_cancel(pthread_self()));
	attempt->op->call();
	attempt->returned = true;
	pthread_testcancel();
	return NULL;
}

static void attempt_make(const struct op *op)
{
	struct attempt attempt = { .op = op };
	pthread_t thread;
	void *result;

	usleep(op->in_table ? 0 : IDLE_US);
	CHECK_OK(pthread_create(&thread, NULL, attempt_main, &attempt));
	CHECK_OK(pthread_join(thread, &result));
	if (!attempt.returned)
		FAIL("a thread was cancelled in %s", op->name);
	CHECK(result == PTHREAD_CANCELED);
}

static void no_verb_ends_a_thread(void)
{
	world_make();
	for (int i = 0; i < RT_COUNT(more); i++)
		attempt_make(&more[i]);
	for (int i = 0; i < RT_COUNT(ops); i++)
		if (!ops[i].ends)
			attempt_make(&ops[i]);
	/* Backwards: destroy an object before those that it uses. */
	for (int i = RT_COUNT(ops); i-- > 0;)
		if (ops[i].ends)
			attempt_make(&ops[i]);
}

static const struct rt_case cases[] = {
	{ "no_verb_ends_a_thread", no_verb_ends_a_thread },
};
RT_MAIN(cases)

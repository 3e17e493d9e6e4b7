/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Acknowledgements that a QP owes when it is destroyed, or before a poller leaves. */
#include "tests/unit/uroce/fixture.h"

enum {
	QPS = 3,
	PASSES_MAX = 10000, /* many more than any wait */
};

static struct uroce_cq *cq;
static struct uroce_qp *qps[QPS];
static unsigned int arriving; /* passes in which a message comes for every QP */
static unsigned int full;     /* passes in which the path still has no room */
static unsigned int passes;

static void owe(struct uroce_qp *qp)
{
	qp->resp.ack_due = true;
	qp->resp.ack_syndrome = AETH_ACK | AETH_ACK_NO_CREDIT;
	if (fx.path.lossless || qp->on_acks)
		return;
	qp->on_acks = true;
	TAILQ_INSERT_TAIL(&fx.host.engine.strands[0].acks, qp, ack_entry);
}

unsigned int __wrap_uroce_shm_poll(struct uroce_shm *shm, unsigned int strand, unsigned int budget,
				   uint64_t now);
unsigned int __wrap_uroce_shm_poll(struct uroce_shm *shm, unsigned int strand, unsigned int budget,
				   uint64_t now)
{
	if (strand)
		return 0;
	passes++;
	if (full && !--full)
		fx.send_result = 0;
	if (!arriving)
		return 0;
	arriving--;
	for (int i = 0; i < QPS; i++)
		owe(qps[i]);
	return 1;
}

/* whether all sockets of the device were asked for, or were read */
static bool all_wanted, all_looked_at;

void __wrap_uroce_udp_ready(struct uroce_path *udp);
void __wrap_uroce_udp_ready(struct uroce_path *udp)
{
	all_wanted = true;
}

unsigned int __wrap_uroce_udp_poll(struct uroce_path *udp, unsigned int budget);
unsigned int __wrap_uroce_udp_poll(struct uroce_path *udp, unsigned int budget)
{
	all_looked_at |= all_wanted;
	return 0;
}

static void begin(unsigned int messages, unsigned int full_passes)
{
	cq = fixture_cq(64, NULL, 0);
	for (int i = 0; i < QPS; i++)
		qps[i] = fixture_qp(IBV_QPT_RC, cq, NULL, 0);
	fx.sent = 0;
	fx.send_result = full_passes ? -EAGAIN : 0;
	passes = 0;
	arriving = messages;
	full = full_passes;
}

static void end(void)
{
	arriving = 0;
	fx.send_result = 0;
	for (int i = 0; i < QPS; i++)
		fixture_qp_free(qps[i]);
	fixture_cq_free(cq);
}

static void finish(struct uroce_qp *only)
{
	uroce_unlock(&fx.host.paths.progress_lock);
	uroce_qps_finish(&fx.host, &fx.ctx, only);
	uroce_lock(&fx.host.paths.progress_lock);
}

static void test_nothing(void **state)
{
	begin(0, 0);
	finish(qps[0]);
	assert_int_equal(fx.sent, 0);
	assert_int_equal(passes, 1);
	end();
}

/* A message that is not polled yet is acknowledged. */
static void test_unread(void **state)
{
	begin(1, 0);
	finish(qps[0]);
	assert_int_equal(fx.sent, 1);
	assert_int_equal(fx.hdr.opcode, UROCE_RC | UROCE_ACK);
	assert_false(qps[0]->resp.ack_due);
	assert_true(qps[1]->resp.ack_due);
	end();
}

/* Silent sockets are read at once too. */
static void test_silent(void **state)
{
	begin(0, 0);
	LIST_INSERT_HEAD(&fx.host.devices, &fx.dev, entry);
	all_wanted = all_looked_at = false;
	finish(qps[0]);
	assert_true(all_looked_at);
	LIST_REMOVE(&fx.dev, entry);
	end();
}

static void test_all(void **state)
{
	begin(1, 0);
	finish(NULL);
	assert_int_equal(fx.sent, QPS);
	end();
}

static void test_room(void **state)
{
	begin(1, 5);
	finish(NULL);
	assert_int_equal(fx.sent, QPS);
	end();
}

/* A peer without room, or a peer that sends without end, delays the settling only briefly. */
static void test_in_vain(void **state)
{
	begin(1, PASSES_MAX);
	finish(NULL);
	assert_int_equal(fx.sent, 0);
	assert_true(passes > 1 && passes < PASSES_MAX);
	end();
	begin(PASSES_MAX, 0);
	finish(qps[0]);
	assert_true(passes > 1 && passes < PASSES_MAX);
	end();
}

/* A process without QPs does not wait and makes no pass. */
static void test_none(void **state)
{
	begin(1, 0);
	end();
	passes = 0;
	finish(NULL);
	assert_int_equal(passes, 0);
}

static void poll_once(void)
{
	uroce_unlock(&fx.host.paths.progress_lock);
	uroce_progress(&fx.host, NULL);
	uroce_lock(&fx.host.paths.progress_lock);
}

/* On a network. A thread that polls once and then waits for something else leaves no
 * acknowledgement unsent. */
static void test_poller_leaves(void **state)
{
	fx.path.lossless = false;
	begin(1, 0);
	poll_once();
	assert_int_equal(fx.sent, QPS);
	assert_true(TAILQ_EMPTY(&fx.host.engine.strands[0].acks));
	end();
	fx.path.lossless = true;
}

/* The progress thread recognises a poller that has polled many times, and gives it time to answer
 * first. */
static void test_poller_watched(void **state)
{
	fx.path.lossless = false;
	fx.shm.wake_fd = -1;
	begin(0, 0);
	while (!uroce_thread_watches(&fx.host))
		poll_once();
	arriving = 1;
	poll_once();
	assert_int_equal(fx.sent, 0);
	poll_once();
	assert_int_equal(fx.sent, QPS);
	end();
	fx.path.lossless = true;
	uroce_thread_poller_leaves(&fx.host);
}

static void test_destroy(void **state)
{
	begin(1, 0);
	fixture_qp_free(qps[0]);
	assert_int_equal(fx.sent, 1);
	qps[0] = fixture_qp(IBV_QPT_RC, cq, NULL, 0);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing),	      cmocka_unit_test(test_unread),
		cmocka_unit_test(test_silent),	      cmocka_unit_test(test_all),
		cmocka_unit_test(test_room),	      cmocka_unit_test(test_in_vain),
		cmocka_unit_test(test_none),	      cmocka_unit_test(test_destroy),
		cmocka_unit_test(test_poller_leaves), cmocka_unit_test(test_poller_watched),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion queues: order, events, overflow, resizing, both ways to poll. */
#include <fcntl.h>
#include <pthread.h>
#include <time.h>

#include <rdma/ib_user_verbs.h>

#include "providers/uroce/engine/engine.h"
#include "tests/unit/uroce/fixture.h"

static void push(struct uroce_cq *cq, uint64_t wr_id, bool solicited)
{
	const struct ibv_wc wc = {
		.wr_id = wr_id,
		.status = IBV_WC_SUCCESS,
		.opcode = IBV_WC_RECV,
		.byte_len = 1000 + wr_id,
		.imm_data = htobe32(7),
		.qp_num = 0x10001,
		.src_qp = 0x20002,
		.wc_flags = IBV_WC_GRH | IBV_WC_WITH_IMM,
		.sl = 3,
		.vendor_err = 9,
	};

	uroce_cq_push(cq, NULL, &wc, NULL, solicited);
}

static struct ibv_comp_channel *channel_new(void)
{
	struct uroce_comp_channel *channel = calloc(1, sizeof(*channel));

	channel->channel.context = &fx.ctx.vctx.context;
	assert_int_equal(uroce_create_comp_channel(&channel->channel), 0);
	fcntl(channel->channel.fd, F_SETFL, O_NONBLOCK);
	return &channel->channel;
}

static void channel_free(struct ibv_comp_channel *channel)
{
	uroce_destroy_comp_channel(channel);
	free(channel);
}

/* Read the next event, acknowledge it and return its CQ; NULL: none. */
static struct ibv_cq *event_get(struct ibv_comp_channel *channel)
{
	struct ib_uverbs_comp_event_desc desc;
	struct ibv_cq *cq;

	if (read(channel->fd, &desc, sizeof(desc)) != sizeof(desc))
		return NULL;
	cq = (struct ibv_cq *)(uintptr_t)desc.cq_handle;
	cq->comp_events_completed++;
	return cq;
}

static void test_members(void **state)
{
	struct uroce_cq *cq = fixture_cq(4, NULL, 0);
	struct ibv_wc wc = { .slid = 99, .dlid_path_bits = 99, .pkey_index = 99 };

	assert_true(cq->vcq.cq.cqe >= 4);
	assert_int_equal(fixture_poll(cq, &wc), 0);
	push(cq, 1, false);
	assert_int_equal(fixture_poll(cq, &wc), 1);
	assert_int_equal(wc.wr_id, 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.byte_len, 1001);
	assert_int_equal(wc.imm_data, htobe32(7));
	assert_int_equal(wc.qp_num, 0x10001);
	assert_int_equal(wc.src_qp, 0x20002);
	assert_int_equal(wc.wc_flags, IBV_WC_GRH | IBV_WC_WITH_IMM);
	assert_int_equal(wc.sl, 3);
	assert_int_equal(wc.vendor_err, 9);
	assert_int_equal(wc.slid, 0);
	assert_int_equal(wc.dlid_path_bits, 0);
	assert_int_equal(wc.pkey_index, 0);
	assert_int_equal(fixture_poll(cq, &wc), 0);
	fixture_cq_free(cq);
}

/* Push several completions at once, round the ring, in order. */
static void test_order(void **state)
{
	struct uroce_cq *cq = fixture_cq(16, NULL, 0);
	uint64_t in = 0, out = 0;
	struct ibv_wc wc[20];

	for (int round = 0; round < 100; round++) {
		for (int i = 0; i < 1 + round % 16; i++)
			push(cq, in++, false);
		while (out < in) {
			int n = uroce_poll_cq(&cq->vcq.cq, 1 + round % 20, wc);

			assert_true(n > 0 && n <= 1 + round % 20);
			for (int i = 0; i < n; i++)
				assert_int_equal(wc[i].wr_id, out++);
		}
	}
	push(cq, 1, false);
	assert_int_equal(uroce_poll_cq(&cq->vcq.cq, 0, wc), 0);
	assert_int_equal(fixture_poll(cq, wc), 1);
	fixture_cq_free(cq);
}

static void test_events(void **state)
{
	struct ibv_comp_channel *channel = channel_new();
	struct uroce_cq *cq = fixture_cq(64, channel, 0), *other = fixture_cq(64, channel, 0);

	push(cq, 1, true);
	assert_null(event_get(channel)); /* not armed */
	assert_int_equal(uroce_req_notify_cq(&cq->vcq.cq, 0), 0);
	assert_null(event_get(channel)); /* older completions do not count */
	push(cq, 2, false);
	push(cq, 3, false);
	assert_ptr_equal(event_get(channel), &cq->vcq.cq);
	assert_null(event_get(channel)); /* one shot */

	assert_int_equal(uroce_req_notify_cq(&cq->vcq.cq, 1), 0);
	push(cq, 4, false);
	assert_null(event_get(channel)); /* not solicited */
	push(cq, 5, true);
	assert_ptr_equal(event_get(channel), &cq->vcq.cq);
	push(cq, 6, true);
	assert_null(event_get(channel));

	/* next wins over solicited */
	assert_int_equal(uroce_req_notify_cq(&cq->vcq.cq, 1), 0);
	assert_int_equal(uroce_req_notify_cq(&cq->vcq.cq, 0), 0);
	assert_int_equal(uroce_req_notify_cq(&other->vcq.cq, 0), 0);
	push(cq, 7, false);
	push(other, 8, false);
	assert_ptr_equal(event_get(channel), &cq->vcq.cq);
	assert_ptr_equal(event_get(channel), &other->vcq.cq);
	fixture_cq_free(cq);
	fixture_cq_free(other);
	channel_free(channel);
}

/* A full pipe: the event waits, is written once there is room, and is not written twice. */
static void test_full_pipe(void **state)
{
	struct ibv_comp_channel *channel = channel_new();
	struct uroce_cq *cq = fixture_cq(64, channel, 0), *filler = fixture_cq(64, channel, 0);
	const struct ib_uverbs_comp_event_desc desc = { .cq_handle = (uintptr_t)&filler->vcq.cq };
	unsigned int fill = 0, found = 0;
	struct ibv_cq *got;

	while (!uroce_pipe_put(&((struct uroce_comp_channel *)channel)->pipe, &desc, sizeof(desc)))
		fill++;
	filler->comp_events_raised = fill;
	assert_true(fill > 1000);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(uroce_req_notify_cq(&cq->vcq.cq, 0), 0);
		push(cq, i, false);
	}
	assert_false(LIST_EMPTY(&fx.host.engine.pending_cqs));
	uroce_cq_events_retry(&fx.host.engine);
	assert_false(LIST_EMPTY(&fx.host.engine.pending_cqs));
	assert_int_equal(cq->comp_events_raised, 0);
	while ((got = event_get(channel)))
		assert_ptr_equal(got, &filler->vcq.cq);
	uroce_cq_events_retry(&fx.host.engine);
	assert_true(LIST_EMPTY(&fx.host.engine.pending_cqs));
	while ((got = event_get(channel))) {
		assert_ptr_equal(got, &cq->vcq.cq);
		found++;
	}
	assert_int_equal(found, 1);
	fixture_cq_free(cq);
	fixture_cq_free(filler);
	channel_free(channel);
}

/* Unread events of a CQ vanish with it, also an event that waits for room. Events of other CQs
 * stay. */
static void test_destroy_with_events(void **state)
{
	struct ibv_comp_channel *channel = channel_new();
	struct uroce_cq *cq = fixture_cq(64, channel, 0), *other = fixture_cq(64, channel, 0);

	for (int i = 0; i < 3; i++) {
		uroce_req_notify_cq(&cq->vcq.cq, 0);
		push(cq, i, false);
		uroce_req_notify_cq(&other->vcq.cq, 0);
		push(other, i, false);
	}
	fixture_cq_free(cq);
	for (int i = 0; i < 3; i++)
		assert_ptr_equal(event_get(channel), &other->vcq.cq);
	assert_null(event_get(channel));

	cq = fixture_cq(64, channel, 0);
	cq->event_pending = true;
	LIST_INSERT_HEAD(&fx.host.engine.pending_cqs, cq, pending);
	fixture_cq_free(cq);
	assert_true(LIST_EMPTY(&fx.host.engine.pending_cqs));
	fixture_cq_free(other);
	channel_free(channel);
}

static void *acknowledge(void *arg)
{
	struct uroce_cq *cq = arg;

	usleep(20000);
	pthread_mutex_lock(&cq->vcq.cq.mutex);
	cq->vcq.cq.comp_events_completed++;
	pthread_cond_signal(&cq->vcq.cq.cond);
	pthread_mutex_unlock(&cq->vcq.cq.mutex);
	return NULL;
}

/* An event that was read and not acknowledged yet delays destroy. */
static void test_destroy_waits(void **state)
{
	struct ibv_comp_channel *channel = channel_new();
	struct uroce_cq *cq = fixture_cq(64, channel, 0);
	pthread_t thread;

	uroce_req_notify_cq(&cq->vcq.cq, 0);
	push(cq, 1, false);
	assert_ptr_equal(event_get(channel), &cq->vcq.cq);
	cq->vcq.cq.comp_events_completed = 0;
	assert_int_equal(pthread_create(&thread, NULL, acknowledge, cq), 0);
	assert_int_equal(uroce_destroy_cq(&cq->vcq), 0);
	assert_int_equal(cq->vcq.cq.comp_events_completed, 1);
	pthread_join(thread, NULL);
	free(cq);
	channel_free(channel);
}

/* Completions go to the array of the polling thread, as long as that keeps their order and
 * raises every event. */
static void test_sink(void **state)
{
	struct ibv_comp_channel *channel = channel_new();
	struct uroce_cq *cq = fixture_cq(16, channel, 0), *other = fixture_cq(16, NULL, 0);
	struct ibv_wc wc[3] = {}, one;

	uroce_sink = (struct uroce_sink){ .cq = cq, .wc = wc, .room = 2 };
	push(other, 1, false);
	push(cq, 2, false);
	push(cq, 3, false);
	push(cq, 4, false); /* no room left */
	assert_int_equal(uroce_sink.room, 0);
	assert_int_equal(wc[0].wr_id, 2);
	assert_int_equal(wc[1].wr_id, 3);
	assert_int_equal(wc[1].byte_len, 1003);
	assert_int_equal(wc[2].wr_id, 0);

	uroce_sink = (struct uroce_sink){ .cq = cq, .wc = wc, .room = 2 };
	push(cq, 5, false); /* behind the one in the ring */
	assert_int_equal(uroce_sink.room, 2);
	uroce_sink = (struct uroce_sink){};
	assert_int_equal(fixture_poll(cq, &one), 1);
	assert_int_equal(one.wr_id, 4);
	assert_int_equal(fixture_poll(cq, &one), 1);
	assert_int_equal(one.wr_id, 5);
	assert_int_equal(fixture_poll(other, &one), 1);
	assert_int_equal(one.wr_id, 1);

	assert_int_equal(uroce_req_notify_cq(&cq->vcq.cq, 0), 0);
	uroce_sink = (struct uroce_sink){ .cq = cq, .wc = wc, .room = 2 };
	push(cq, 6, false);
	assert_int_equal(uroce_sink.room, 2);
	uroce_sink = (struct uroce_sink){};
	assert_ptr_equal(event_get(channel), &cq->vcq.cq);
	assert_int_equal(fixture_poll(cq, &one), 1);
	assert_int_equal(one.wr_id, 6);
	fixture_cq_free(cq);
	fixture_cq_free(other);
	channel_free(channel);
}

/* The QP that loses a completion stops and others continue; the completions in the queue can
 * still be polled. */
static void test_overflow(void **state)
{
	struct uroce_cq *cq = fixture_cq(16, NULL, 0);
	struct uroce_qp *qp = fixture_qp(IBV_QPT_UD, cq, NULL, 0),
			*other = fixture_qp(IBV_QPT_UD, cq, NULL, 0);
	struct ibv_wc wc = { .qp_num = qp->vqp.qp.qp_num };

	for (uint32_t i = 0; i < 16; i++)
		push(cq, i, false);
	assert_int_equal(fixture_event(), -1);
	for (int i = 0; i < 2; i++)
		uroce_cq_push(cq, qp, &wc, NULL, false);
	assert_int_equal(fixture_event(), IBV_EVENT_CQ_ERR); /* once */
	assert_int_equal(fixture_event(), IBV_EVENT_QP_FATAL);
	assert_int_equal(fixture_event(), -1);
	qp->vqp.qp.events_completed++;
	cq->vcq.cq.async_events_completed++;
	assert_int_equal(qp->state, IBV_QPS_ERR);
	assert_int_equal(other->state, IBV_QPS_RTS);
	assert_ptr_equal(TAILQ_FIRST(&fx.host.engine.strands[0].blocked),
			 qp); /* progress will flush it */
	for (uint32_t i = 0; i < 16; i++) {
		assert_int_equal(fixture_poll(cq, &wc), 1);
		assert_int_equal(wc.wr_id, i);
	}
	assert_int_equal(fixture_poll(cq, &wc), 0);
	assert_int_equal(uroce_destroy_cq(&cq->vcq), -EBUSY);
	fixture_qp_free(qp);
	fixture_qp_free(other);
	fixture_cq_free(cq);
}

static int resize(struct uroce_cq *cq, int cqe)
{
	const struct verbs_resize_cq in = { .cqe = cqe };

	return uroce_resize_cq(&cq->vcq, &in);
}

static void test_resize(void **state)
{
	struct uroce_cq *cq = fixture_cq(32, NULL, 0);
	struct ibv_wc wc;

	for (uint64_t i = 0; i < 20; i++) {
		push(cq, 100, false);
		assert_int_equal(fixture_poll(cq, &wc), 1);
	}
	for (uint64_t i = 0; i < 30; i++)
		push(cq, i, false);
	assert_int_equal(resize(cq, 200), 0);
	assert_true(cq->vcq.cq.cqe >= 200);
	for (uint64_t i = 30; i < 200; i++)
		push(cq, i, false);
	assert_int_equal(resize(cq, 100), -EINVAL); /* they do not fit */
	assert_true(cq->vcq.cq.cqe >= 200);
	for (uint64_t i = 0; i < 190; i++) {
		assert_int_equal(fixture_poll(cq, &wc), 1);
		assert_int_equal(wc.wr_id, i);
	}
	assert_int_equal(resize(cq, 16), 0);
	assert_int_equal(cq->vcq.cq.cqe, 16);
	for (uint64_t i = 190; i < 200; i++) {
		assert_int_equal(fixture_poll(cq, &wc), 1);
		assert_int_equal(wc.wr_id, i);
	}
	assert_int_equal(fixture_poll(cq, &wc), 0);
	assert_int_equal(resize(cq, 0), -EINVAL);
	assert_int_equal(resize(cq, UROCE_MAX_CQE + 1), -EINVAL);
	fixture_cq_free(cq);
}

static void test_refused(void **state)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 0 };
	struct verbs_create_cq in = { .attr = &attr, .extended = true };
	struct uroce_cq cq = { .vcq.cq.context = &fx.ctx.vctx.context };

	assert_int_equal(uroce_create_cq(&cq.vcq, &in), -EINVAL);
	attr.cqe = UROCE_MAX_CQE + 1;
	assert_int_equal(uroce_create_cq(&cq.vcq, &in), -EINVAL);
	attr.cqe = 1;
	attr.wc_flags = IBV_WC_EX_WITH_CVLAN;
	assert_int_equal(uroce_create_cq(&cq.vcq, &in), -EOPNOTSUPP);
	attr.wc_flags = IBV_WC_EX_WITH_TM_INFO;
	assert_int_equal(uroce_create_cq(&cq.vcq, &in), -EOPNOTSUPP);
}

/* --- the ibv_start_poll() family --- */

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static void test_extended(void **state)
{
	struct uroce_cq *cq =
		fixture_cq(16, NULL,
			   IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
				   IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK);
	struct ibv_cq_ex *ex = &cq->vcq.cq_ex;
	struct ibv_poll_cq_attr attr = {}, wrong = { .comp_mask = 1 };
	uint64_t before = clock_ns(CLOCK_MONOTONIC), wall = clock_ns(CLOCK_REALTIME);

	assert_int_equal(ibv_start_poll(ex, &wrong), EINVAL);
	assert_int_equal(ibv_start_poll(ex, &attr), ENOENT);
	push(cq, 1, false);
	push(cq, 2, false);
	assert_int_equal(ibv_start_poll(ex, &attr), 0);
	assert_int_equal(ex->wr_id, 1);
	assert_int_equal(ex->status, IBV_WC_SUCCESS);
	assert_int_equal(ibv_wc_read_opcode(ex), IBV_WC_RECV);
	assert_int_equal(ibv_wc_read_byte_len(ex), 1001);
	assert_int_equal(ibv_wc_read_imm_data(ex), htobe32(7));
	assert_int_equal(ibv_wc_read_qp_num(ex), 0x10001);
	assert_int_equal(ibv_wc_read_src_qp(ex), 0x20002);
	assert_int_equal(ibv_wc_read_wc_flags(ex), IBV_WC_GRH | IBV_WC_WITH_IMM);
	assert_int_equal(ibv_wc_read_sl(ex), 3);
	assert_int_equal(ibv_wc_read_vendor_err(ex), 9);
	assert_int_equal(ibv_wc_read_slid(ex), 0);
	assert_int_equal(ibv_wc_read_dlid_path_bits(ex), 0);
	assert_true(ibv_wc_read_completion_ts(ex) >= before);
	assert_true(ibv_wc_read_completion_ts(ex) <= clock_ns(CLOCK_MONOTONIC));
	assert_true(ibv_wc_read_completion_wallclock_ns(ex) >= wall);
	/* completions come in during a walk, also by the walker itself */
	push(cq, 3, false);
	assert_int_equal(ibv_wc_read_byte_len(ex), 1001);
	assert_int_equal(ibv_next_poll(ex), 0);
	assert_int_equal(ex->wr_id, 2);
	assert_int_equal(resize(cq, 100), 0); /* and the queue may move */
	assert_int_equal(ibv_wc_read_byte_len(ex), 1002);
	assert_int_equal(ibv_next_poll(ex), 0);
	assert_int_equal(ex->wr_id, 3);
	assert_int_equal(ibv_next_poll(ex), ENOENT);
	ibv_end_poll(ex);
	assert_int_equal(ibv_start_poll(ex, &attr), ENOENT);
	push(cq, 4, false);
	push(cq, 5, false);
	assert_int_equal(ibv_start_poll(ex, &attr), 0);
	ibv_end_poll(ex); /* the second one stays */
	assert_int_equal(ibv_start_poll(ex, &attr), 0);
	assert_int_equal(ex->wr_id, 5);
	ibv_end_poll(ex);
	fixture_cq_free(cq);
}

static void test_extended_only_asked(void **state)
{
	struct uroce_cq *cq = fixture_cq(16, NULL, IBV_WC_EX_WITH_BYTE_LEN);
	const struct ibv_cq_ex *ex = &cq->vcq.cq_ex;

	assert_non_null(ex->start_poll);
	assert_non_null(ex->read_opcode);
	assert_non_null(ex->read_byte_len);
	assert_null(ex->read_imm_data);
	assert_null(ex->read_completion_ts);
	assert_null(ex->read_cvlan);
	assert_null(ex->read_tm_info);
	fixture_cq_free(cq);
}

/* --- threads --- */

enum {
	PUSHES = 20000,
	PUSHERS = 2
};

static void *pusher(void *arg)
{
	struct uroce_cq *cq = arg;

	for (uint64_t i = 0; i < PUSHES; i++) {
		while (atomic_load(&cq->head) - atomic_load(&cq->tail) > 32)
			sched_yield();
		push(cq, i, false);
	}
	return NULL;
}

static void *walker(void *arg)
{
	struct ibv_cq_ex *ex = arg;
	struct ibv_poll_cq_attr attr = {};
	uintptr_t n = 0;

	for (;;) {
		if (ibv_start_poll(ex, &attr)) {
			sched_yield();
			continue;
		}
		do {
			if (ex->wr_id == UINT64_MAX) {
				ibv_end_poll(ex);
				return (void *)n;
			}
			assert_int_equal(ibv_wc_read_byte_len(ex), 1000 + (uint32_t)ex->wr_id);
			n++;
		} while (!ibv_next_poll(ex));
		ibv_end_poll(ex);
	}
}

/* Two threads push and two poll: each completion is polled by one of them, whole. */
static void test_threads(void **state)
{
	struct uroce_cq *cq = fixture_cq(64, NULL, IBV_WC_EX_WITH_BYTE_LEN);
	pthread_t push_thread[PUSHERS], walk_thread[2];
	uintptr_t seen = 0;

	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&walk_thread[i], NULL, walker, &cq->vcq.cq_ex), 0);
	for (int i = 0; i < PUSHERS; i++)
		assert_int_equal(pthread_create(&push_thread[i], NULL, pusher, cq), 0);
	for (int i = 0; i < PUSHERS; i++)
		pthread_join(push_thread[i], NULL);
	for (int i = 0; i < 2; i++) {
		const struct ibv_wc stop = { .wr_id = UINT64_MAX };

		uroce_cq_push(cq, NULL, &stop, NULL, false);
		while (atomic_load(&cq->head) != atomic_load(&cq->tail))
			sched_yield();
	}
	for (int i = 0; i < 2; i++) {
		void *n;

		pthread_join(walk_thread[i], &n);
		seen += (uintptr_t)n;
	}
	assert_int_equal(seen, PUSHES * PUSHERS);
	fixture_cq_free(cq);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_members),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_full_pipe),
		cmocka_unit_test(test_destroy_with_events),
		cmocka_unit_test(test_destroy_waits),
		cmocka_unit_test(test_sink),
		cmocka_unit_test(test_overflow),
		cmocka_unit_test(test_resize),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_extended),
		cmocka_unit_test(test_extended_only_asked),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}

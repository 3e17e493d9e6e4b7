/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Events through a pipe, as a user-space device sends them. */
#include <pthread.h>

#include <rdma/ib_user_verbs.h>

#include "tests/unit/fake.h"

static int channel_pipe[2], async_pipe[2];
static unsigned int channels_destroyed, cq_events;

static int open_context(struct verbs_context *ctx, const struct verbs_open_context *in)
{
	assert_int_equal(pipe2(async_pipe, O_CLOEXEC), 0);
	ctx->context.async_fd = async_pipe[0];
	return 0;
}

static int create_comp_channel(struct ibv_comp_channel *channel)
{
	assert_int_equal(pipe2(channel_pipe, O_CLOEXEC), 0);
	channel->fd = channel_pipe[0];
	return 0;
}

static void destroy_comp_channel(struct ibv_comp_channel *channel)
{
	channels_destroyed++;
	close(channel->fd);
}

static void cq_event(struct verbs_cq *cq)
{
	cq_events++;
}

static const struct verbs_ops ops = {
	.open_context = open_context,
	.create_comp_channel = create_comp_channel,
	.destroy_comp_channel = destroy_comp_channel,
	.cq_event = cq_event,
};
static const struct verbs_provider provider = { .name = "fake", .ops = &ops };

static struct verbs_cq cq;
static struct verbs_qp qp;
static struct verbs_srq srq;

static int setup(void **state)
{
	struct ibv_context *ctx = fake_context(&provider);

	channels_destroyed = cq_events = 0;
	cq = (struct verbs_cq){ .cq = { .context = ctx, .cq_context = &cq_events } };
	qp = (struct verbs_qp){ .qp = { .context = ctx } };
	srq = (struct verbs_srq){ .srq = { .context = ctx } };
	pthread_mutex_init(&cq.cq.mutex, NULL);
	pthread_cond_init(&cq.cq.cond, NULL);
	pthread_mutex_init(&qp.qp.mutex, NULL);
	pthread_cond_init(&qp.qp.cond, NULL);
	pthread_mutex_init(&srq.srq.mutex, NULL);
	pthread_cond_init(&srq.srq.cond, NULL);
	*state = ctx;
	return 0;
}

static int teardown(void **state)
{
	close(async_pipe[1]);
	return ibv_close_device(*state);
}

static void send_comp(void)
{
	struct ib_uverbs_comp_event_desc record = { .cq_handle = (uintptr_t)&cq };

	assert_int_equal(write(channel_pipe[1], &record, sizeof(record)), sizeof(record));
}

static void test_comp_event(void **state)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(*state);
	struct ibv_cq *got;
	void *context;

	assert_non_null(channel);
	send_comp();
	assert_int_equal(ibv_get_cq_event(channel, &got, &context), 0);
	assert_ptr_equal(got, &cq.cq);
	assert_ptr_equal(context, &cq_events);
	assert_int_equal(cq_events, 1);
	ibv_ack_cq_events(got, 1);
	assert_int_equal(cq.cq.comp_events_completed, 1);
	close(channel_pipe[1]);
	assert_int_equal(ibv_destroy_comp_channel(channel), 0);
	assert_int_equal(channels_destroyed, 1);
}

static void test_comp_event_none(void **state)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(*state);
	struct ibv_cq *got = NULL;
	void *context;

	fcntl(channel->fd, F_SETFL, O_NONBLOCK);
	assert_int_equal(ibv_get_cq_event(channel, &got, &context), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(write(channel_pipe[1], "abc", 3), 3);
	assert_int_equal(ibv_get_cq_event(channel, &got, &context), -1);
	assert_int_equal(errno, EIO);
	close(channel_pipe[1]);
	assert_int_equal(ibv_get_cq_event(channel, &got, &context), -1);
	assert_int_equal(errno, EIO);
	assert_null(got);
	ibv_destroy_comp_channel(channel);
}

static void test_channel_busy(void **state)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(*state);

	channel->refcnt = 1;
	assert_int_equal(ibv_destroy_comp_channel(channel), EBUSY);
	assert_int_equal(channels_destroyed, 0);
	channel->refcnt = 0;
	assert_int_equal(ibv_destroy_comp_channel(channel), 0);
	close(channel_pipe[1]);
}

static void send_async(enum ibv_event_type type, const void *element)
{
	struct ib_uverbs_async_event_desc record = {
		.element = (uintptr_t)element,
		.event_type = type,
	};

	assert_int_equal(write(async_pipe[1], &record, sizeof(record)), sizeof(record));
}

static void test_async_event(void **state)
{
	struct ibv_async_event event;

	send_async(IBV_EVENT_CQ_ERR, &cq);
	assert_int_equal(ibv_get_async_event(*state, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_CQ_ERR);
	assert_ptr_equal(event.element.cq, &cq.cq);
	ibv_ack_async_event(&event);
	assert_int_equal(cq.cq.async_events_completed, 1);
	assert_int_equal(cq.cq.comp_events_completed, 0);

	send_async(IBV_EVENT_QP_LAST_WQE_REACHED, &qp);
	assert_int_equal(ibv_get_async_event(*state, &event), 0);
	assert_ptr_equal(event.element.qp, &qp.qp);
	ibv_ack_async_event(&event);
	assert_int_equal(qp.qp.events_completed, 1);

	send_async(IBV_EVENT_SRQ_LIMIT_REACHED, &srq);
	assert_int_equal(ibv_get_async_event(*state, &event), 0);
	assert_ptr_equal(event.element.srq, &srq.srq);
	ibv_ack_async_event(&event);
	assert_int_equal(srq.srq.events_completed, 1);

	send_async(IBV_EVENT_PORT_ERR, (void *)2);
	assert_int_equal(ibv_get_async_event(*state, &event), 0);
	assert_int_equal(event.element.port_num, 2);
	ibv_ack_async_event(&event);

	/* An event type that this library does not know has no object. */
	send_async(200, (void *)1);
	assert_int_equal(ibv_get_async_event(*state, &event), 0);
	assert_int_equal(event.event_type, 200);
	ibv_ack_async_event(&event);
}

static void test_async_event_none(void **state)
{
	struct ibv_async_event event;

	fcntl(async_pipe[0], F_SETFL, O_NONBLOCK);
	assert_int_equal(ibv_get_async_event(*state, &event), -1);
	assert_int_equal(errno, EAGAIN);
}

static void *ack_all(void *arg)
{
	struct ibv_async_event event = { .event_type = IBV_EVENT_CQ_ERR, .element.cq = &cq.cq };

	ibv_ack_cq_events(&cq.cq, 2);
	ibv_ack_cq_events(&cq.cq, 1);
	ibv_ack_async_event(&event);
	return NULL;
}

static void test_wait(void **state)
{
	pthread_t thread;

	verbs_cq_wait_events(&cq, 0, 0);
	verbs_qp_wait_events(&qp, 0);
	verbs_srq_wait_events(&srq, 0);
	assert_int_equal(pthread_create(&thread, NULL, ack_all, NULL), 0);
	verbs_cq_wait_events(&cq, 3, 1);
	assert_int_equal(cq.cq.comp_events_completed, 3);
	assert_int_equal(cq.cq.async_events_completed, 1);
	pthread_join(thread, NULL);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_comp_event),	CASE(test_comp_event_none),  CASE(test_channel_busy),
		CASE(test_async_event), CASE(test_async_event_none), CASE(test_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

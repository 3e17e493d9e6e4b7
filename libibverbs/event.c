/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Completion channels and asynchronous events: get and acknowledge them, and wait for the
 * acknowledgements before an object is destroyed.
 *
 * Records come from a descriptor of the kernel, or from a pipe of a user-space device in this
 * process. The object address in a record was set by this library.
 */
#include <string.h>
#include <time.h>

#include <rdma/ib_user_verbs.h>

#include "libibverbs/explain.h"
#include "libibverbs/library.h"

/* seconds of waiting for acknowledgements before the missing one is logged */
#define LATE_SECONDS 2

VERBS_EXPORT struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *ctx)
{
	struct ibv_comp_channel *channel;
	const struct verbs_ops *ops;
	int r;

	if (unlikely(!ctx))
		return ret_null(explain_null("ibv_create_comp_channel", "context"));
	ops = ctx_ops(ctx);
	if (!ops->create_comp_channel)
		return ret_null(verbs_unsupported(ctx, "ibv_create_comp_channel"));
	channel = verbs_object_alloc(sizeof(*channel), ctx_priv(ctx)->provider->sizes.comp_channel);
	if (!channel)
		return ret_null(-ENOMEM);
	channel->context = ctx;
	channel->fd = -1;
	r = ops->create_comp_channel(channel);
	if (r < 0) {
		verbs_err(ctx, "ibv_create_comp_channel: %s%s", strerror(-r),
			  r == -EMFILE ? " (raise the limit of open files, ulimit -n)" : "");
		free(channel);
		return ret_null(r);
	}
	return channel;
}

static int channel_users(struct ibv_comp_channel *channel)
{
	int users;

	pthread_mutex_lock(&channel->context->mutex);
	users = channel->refcnt;
	pthread_mutex_unlock(&channel->context->mutex);
	return users;
}

VERBS_EXPORT int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	struct ibv_context *ctx = channel->context;
	int users = channel_users(channel);

	if (users) {
		verbs_err(ctx, "ibv_destroy_comp_channel: channel %d: %d CQs still use it",
			  channel->fd, users);
		return ret_int(-EBUSY);
	}
	if (ctx_ops(ctx)->destroy_comp_channel)
		ctx_ops(ctx)->destroy_comp_channel(channel);
	else
		close(channel->fd);
	free(channel);
	return 0;
}

/* Read one record. A closed writer, or part of a record, is -EIO. */
static int record_read(int fd, void *record, size_t size)
{
	ssize_t length = read(fd, record, size);

	if (length < 0)
		return -errno;
	return length == size ? 0 : -EIO;
}

VERBS_EXPORT int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq,
				  void **cq_context)
{
	struct ib_uverbs_comp_event_desc record;
	struct verbs_cq *found;
	int r = record_read(channel->fd, &record, sizeof(record));

	if (r < 0)
		return ret_neg1(r);
	found = (struct verbs_cq *)(uintptr_t)record.cq_handle;
	*cq = &found->cq;
	*cq_context = found->cq.cq_context;
	if (ctx_ops(found->cq.context)->cq_event)
		ctx_ops(found->cq.context)->cq_event(found);
	return 0;
}

VERBS_EXPORT void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nevents)
{
	pthread_mutex_lock(&cq->mutex);
	cq->comp_events_completed += nevents;
	pthread_cond_signal(&cq->cond);
	pthread_mutex_unlock(&cq->mutex);
}

/* The subject of an event: the valid member of ibv_async_event.element. */
enum subject {
	SUBJECT_PORT, /* or the whole device */
	SUBJECT_CQ,
	SUBJECT_QP,
	SUBJECT_SRQ,
	SUBJECT_WQ,
};

static enum subject event_subject(enum ibv_event_type type)
{
	switch (type) {
	case IBV_EVENT_CQ_ERR:
		return SUBJECT_CQ;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		return SUBJECT_QP;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		return SUBJECT_SRQ;
	case IBV_EVENT_WQ_FATAL:
		return SUBJECT_WQ;
	default:
		return SUBJECT_PORT;
	}
}

VERBS_EXPORT int ibv_get_async_event(struct ibv_context *ctx, struct ibv_async_event *event)
{
	struct ib_uverbs_async_event_desc record;
	int r = record_read(ctx->async_fd, &record, sizeof(record));
	void *object;

	if (r < 0)
		return ret_neg1(r);
	object = (void *)(uintptr_t)record.element;
	event->event_type = record.event_type;
	switch (event_subject(event->event_type)) {
	case SUBJECT_CQ:
		event->element.cq = object;
		break;
	case SUBJECT_QP:
		event->element.qp = object;
		break;
	case SUBJECT_SRQ:
		event->element.srq = object;
		break;
	case SUBJECT_WQ:
		event->element.wq = object;
		break;
	case SUBJECT_PORT:
		event->element.port_num = record.element;
		break;
	}
	if (ctx_ops(ctx)->async_event)
		ctx_ops(ctx)->async_event(ctx, event);
	return 0;
}

static void event_count(pthread_mutex_t *mutex, pthread_cond_t *cond, uint32_t *completed)
{
	pthread_mutex_lock(mutex);
	(*completed)++;
	pthread_cond_signal(cond);
	pthread_mutex_unlock(mutex);
}

VERBS_EXPORT void ibv_ack_async_event(struct ibv_async_event *event)
{
	struct ibv_srq *srq = event->element.srq;
	struct ibv_cq *cq = event->element.cq;
	struct ibv_qp *qp = event->element.qp;
	struct ibv_wq *wq = event->element.wq;

	switch (event_subject(event->event_type)) {
	case SUBJECT_CQ:
		event_count(&cq->mutex, &cq->cond, &cq->async_events_completed);
		break;
	case SUBJECT_QP:
		event_count(&qp->mutex, &qp->cond, &qp->events_completed);
		break;
	case SUBJECT_SRQ:
		event_count(&srq->mutex, &srq->cond, &srq->events_completed);
		break;
	case SUBJECT_WQ:
		event_count(&wq->mutex, &wq->cond, &wq->events_completed);
		break;
	case SUBJECT_PORT:
		break;
	}
}

/* An object that is being destroyed, for the log line about acknowledgements that are missing. */
struct ending {
	struct ibv_context *context;
	const char *object, *destroy, *acknowledge;
	uint32_t number;
};

static void missing_log(const struct ending *ending, uint32_t missing)
{
	if ((int32_t)missing < 0) {
		verbs_err(ending->context,
			  "%s 0x%x: %s() waits for ever: %s() has acknowledged %u event%s too many",
			  ending->object, ending->number, ending->destroy, ending->acknowledge,
			  -missing, missing == UINT32_MAX ? "" : "s");
		return;
	}
	verbs_err(ending->context,
		  "%s 0x%x: %s() waits for %s() of %u event%s, see rdma-symptoms(7)",
		  ending->object, ending->number, ending->destroy, ending->acknowledge, missing,
		  missing == 1 ? "" : "s");
}

/* Wait for acknowledgements. A program that forgot one waits for ever: log that once. */
static void events_wait(const struct ending *ending, pthread_mutex_t *mutex, pthread_cond_t *cond,
			const uint32_t *completed, uint32_t reported)
{
	struct timespec late;
	bool logged = false;

	pthread_mutex_lock(mutex);
	clock_gettime(CLOCK_REALTIME, &late); /* the clock of a condition without attributes */
	late.tv_sec += LATE_SECONDS;
	while (*completed != reported) {
		if (logged) {
			pthread_cond_wait(cond, mutex);
		} else if (pthread_cond_timedwait(cond, mutex, &late) == ETIMEDOUT) {
			missing_log(ending, reported - *completed);
			logged = true;
		}
	}
	pthread_mutex_unlock(mutex);
}

void verbs_cq_wait_events(struct verbs_cq *vcq, uint32_t comp, uint32_t async)
{
	struct ibv_cq *cq = &vcq->cq;
	const struct ending queue = { cq->context, "cq", "ibv_destroy_cq", "ibv_ack_cq_events",
				      cq->handle };
	const struct ending errors = { cq->context, "cq", "ibv_destroy_cq", "ibv_ack_async_event",
				       cq->handle };

	events_wait(&queue, &cq->mutex, &cq->cond, &cq->comp_events_completed, comp);
	events_wait(&errors, &cq->mutex, &cq->cond, &cq->async_events_completed, async);
}

void verbs_qp_wait_events(struct verbs_qp *vqp, uint32_t async)
{
	struct ibv_qp *qp = &vqp->qp;
	const struct ending ending = { qp->context, "qp", "ibv_destroy_qp", "ibv_ack_async_event",
				       qp->qp_num };

	events_wait(&ending, &qp->mutex, &qp->cond, &qp->events_completed, async);
}

void verbs_srq_wait_events(struct verbs_srq *vsrq, uint32_t async)
{
	struct ibv_srq *srq = &vsrq->srq;
	const struct ending ending = { srq->context, "srq", "ibv_destroy_srq",
				       "ibv_ack_async_event", srq->handle };

	events_wait(&ending, &srq->mutex, &srq->cond, &srq->events_completed, async);
}

void verbs_wq_wait_events(struct verbs_wq *vwq, uint32_t async)
{
	struct ibv_wq *wq = &vwq->wq;
	const struct ending ending = { wq->context, "wq", "ibv_destroy_wq", "ibv_ack_async_event",
				       wq->wq_num };

	events_wait(&ending, &wq->mutex, &wq->cond, &wq->events_completed, async);
}

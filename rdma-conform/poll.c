/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Steps that wait: for completions, for their events, and for asynchronous events. */
#include <fcntl.h>
#include <poll.h>

#include "rdma-conform/agent.h"
#include "util/util.h"

#define BATCH	      8
#define POLLS_TO_REST 1000
#define EVENTS_MAX    100000 /* most events of a thread */

/* Count the expected completions, so that a drain knows when it has finished. */
static void account(struct agent *agent, uint64_t wr_id, enum ibv_wc_status status)
{
	uint8_t id = wr_id;
	struct object *o = object_there(agent, 'q', agent->owner[id].qp);
	struct qp *qp;

	if (wr_id >> 16 != agent->program->number || !o)
		return;
	qp = &o->qp;
	if (agent->owner[id].receive)
		qp->receiving--;
	else if (agent->owner[id].signaled)
		qp->sending--;
	/* A failed send of UD or UC stops only the send queue. */
	if (status && (qp->qp->qp_type == IBV_QPT_RC || agent->owner[id].receive))
		qp->ended = true;
}

static void log_wc(struct agent_thread *t, const struct ibv_wc *wc)
{
	struct event *e = log_event(t, EVENT_WC);

	if (wc->status)
		e->wc = (struct ibv_wc){ wc->wr_id, wc->status, .qp_num = wc->qp_num };
	else
		e->wc = *wc;
	account(t->agent, wc->wr_id, wc->status);
}

static int poll_extended(struct agent_thread *t, struct ibv_cq_ex *cq, int room)
{
	struct ibv_poll_cq_attr attr = {};
	int count = 0;

	if (ibv_start_poll(cq, &attr))
		return 0;
	do {
		struct ibv_wc wc = {
			.wr_id = cq->wr_id,
			.status = cq->status,
			.opcode = ibv_wc_read_opcode(cq),
			.qp_num = ibv_wc_read_qp_num(cq),
			.src_qp = ibv_wc_read_src_qp(cq),
			.wc_flags = ibv_wc_read_wc_flags(cq),
			.byte_len = ibv_wc_read_byte_len(cq),
			.imm_data = ibv_wc_read_imm_data(cq),
		};

		log_wc(t, &wc);
		count++;
	} while (count < room && !ibv_next_poll(cq));
	ibv_end_poll(cq);
	return count;
}

/* Poll @cq once and record the completions. Return their number. */
static int cq_poll(struct agent_thread *t, struct cq *cq, int room)
{
	struct ibv_wc wc[BATCH];
	int n;

	if (cq->extended)
		return poll_extended(t, cq->extended, room);
	n = ibv_poll_cq(cq->cq, room, wc);
	for (int i = 0; i < n; i++)
		log_wc(t, &wc[i]);
	return n;
}

/* Poll once. @idle: number of empty polls so far. Sleep after many empty polls: another thread may
 * need the processor to produce the completion. */
static int poll_or_rest(struct agent_thread *t, struct cq *cq, uint64_t room, unsigned int *idle)
{
	/* Stop at a limit, because some plug-ins return completions for ever, and their records
	 * would fill the memory. */
	int n = t->count > EVENTS_MAX ? -1 : cq_poll(t, cq, min_of(room, (uint64_t)BATCH));

	*idle = n ? 0 : *idle + 1;
	if (*idle > POLLS_TO_REST)
		usleep(1);
	return n;
}

/* Return how many completions @number must still get. @receives: count receives of queue pairs that
 * are not in the error state, which get one if a message arrives. */
static int awaited(struct agent *agent, uint8_t number, bool receives)
{
	int count = 0;

	for (unsigned int i = 0; i < OBJECTS; i++) {
		struct object *o = object_there(agent, 'q', i);

		if (o && o->qp.send_cq == number)
			count += max_of(o->qp.sending, 0);
		if (!o || o->qp.recv_cq != number)
			continue;
		if (receives || o->qp.ended)
			count += max_of(o->qp.receiving, 0);
		/* Any queue pair takes the receives of a shared queue. */
		count += receives && o->qp.srq != NO_OBJECT;
	}
	return count;
}

/* Poll for step->n completions, or if it is 0 for all that may arrive. If step->x is not 0, poll
 * for at most step->x microseconds. @drain: poll until no completion is expected, even if the other
 * side has stopped sending */
static void poll_for(struct agent_thread *t, const struct step *step, struct object *o, bool drain)
{
	struct agent *agent = t->agent;
	bool patient = drain || step->x;
	int64_t end = wait_end(agent, step->x);
	uint64_t most = step->n ?: UINT64_MAX, count = 0;
	unsigned int idle = 0;
	int n = 0;

	do {
		n = poll_or_rest(t, &o->cq, most - count, &idle);
		count += n > 0 ? n : 0;
	} while (count < most && (n > 0 || (!n && awaited(agent, step->object, !drain) &&
					    (patient ? now() < end : worth_waiting(agent, end)))));
	log_values(t, n < 0 ? EIO : 0,
		   drain ? (uint64_t)awaited(agent, step->object, false) : count);
}

void step_poll(struct agent_thread *t, const struct step *step, struct object *o)
{
	poll_for(t, step, o, false);
}

/* Poll until no completion is expected. One more poll finds surplus completions. */
void step_drain(struct agent_thread *t, const struct step *step, struct object *o)
{
	poll_for(t, step, o, true);
}

void step_arm(struct agent_thread *t, const struct step *step, struct object *o)
{
	if (o->cq.channel)
		log_done(t, ibv_req_notify_cq(o->cq.cq, HAS(step, SOLICITED)));
	else
		log_skip(t, SKIP_CHANNEL);
}

/* Wait for an event and acknowledge it. The limit is @x microseconds, or patience. value[0] is 1 if
 * it arrived. */
void step_event(struct agent_thread *t, const struct step *step, struct object *o)
{
	int64_t end = wait_end(t->agent, 0);
	struct ibv_cq *cq = NULL;
	struct pollfd p;
	void *context;
	bool came;

	if (!o->cq.channel) {
		log_skip(t, SKIP_CHANNEL);
		return;
	}
	p = (struct pollfd){ .fd = o->cq.channel->fd, .events = POLLIN };
	do
		came = poll(&p, 1, step->x ? step->x / 1000 : 10) == 1;
	while (!came && !step->x && worth_waiting(t->agent, end));
	came = came && !ibv_get_cq_event(o->cq.channel, &cq, &context);
	if (came)
		ibv_ack_cq_events(cq, 1);
	log_done(t, came && cq != o->cq.cq ? EINVAL : 0)->done.value[0] = came;
}

static void log_async(struct agent_thread *t, const struct ibv_async_event *async)
{
	struct event *e = log_event(t, EVENT_ASYNC);

	e->async.type = async->event_type;
	e->async.object = NO_OBJECT;
	for (unsigned int i = 0; i < OBJECTS; i++) {
		struct object *q = object_there(t->agent, 'q', i);
		struct object *s = object_there(t->agent, 's', i);
		bool of_qp = q && async->element.qp == q->qp.qp;

		if (!of_qp && !(s && async->element.srq == s->srq))
			continue;
		(of_qp ? q : s)->events++;
		e->async.kind = of_qp ? 'q' : 's';
		e->async.object = i;
	}
}

void async_read(struct agent_thread *t, int wait_ms)
{
	struct ibv_context *context = t->agent->context;
	struct pollfd p = { .fd = context->async_fd, .events = POLLIN };
	struct ibv_async_event async;

	while (poll(&p, 1, wait_ms) == 1 && !ibv_get_async_event(context, &async)) {
		log_async(t, &async);
		ibv_ack_async_event(&async);
		wait_ms = 0;
	}
}

/* Read asynchronous events until one of the object arrives, or for @n microseconds. Any thread of
 * the side may read the event. */
void step_async(struct agent_thread *t, const struct step *step, struct object *o)
{
	int64_t end = wait_end(t->agent, step->n);
	unsigned int before = step->n && o ? o->events : 0;

	do
		async_read(t, 1);
	while (o->events == before && (step->n ? now() < end : worth_waiting(t->agent, end)));
	log_done(t, 0);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Turn completions of the backend into completions of the device, and events into events of the
 * process.
 *
 * The model compares the process's arming with the number of entries in its ring. Only the
 * backend knows which completions ask for an event (solicited or failed). The backend's CQ is
 * always armed for those, because a message may come before the model sees that the process has
 * armed its queue.
 */
#include "tests/adapters/lab/model/tag.h"

#include <errno.h>
#include <fcntl.h>
#include "tests/adapters/lab/shim/shim.h"

enum {
	BATCH = 16
};

static struct ibv_comp_channel *channel_new(void)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(model_context());

	if (channel)
		fcntl(channel->fd, F_SETFL, O_NONBLOCK);
	return channel;
}

int model_create_cq(struct object *cq, uint32_t entries)
{
	struct ibv_comp_channel *channel = NULL;

	if (!model_on())
		return 0;
	if (cq->channel >= 0) {
		channel = channel_new();
		if (!channel)
			return errno;
	}
	cq->backend.cq = ibv_create_cq(model_context(), entries, cq, channel, 0);
	if (!cq->backend.cq)
		return errno;
	return channel ? ibv_req_notify_cq(cq->backend.cq, 1) : 0;
}

int model_resize_cq(struct object *cq, uint32_t entries)
{
	return model_on() ? ibv_resize_cq(cq->backend.cq, entries) : 0;
}

/* Return whether the backend has reported a completion that asks for an event. */
static bool take_solicited(struct ibv_cq *backend)
{
	struct ibv_cq *cq;
	void *object;

	if (!backend->channel || ibv_get_cq_event(backend->channel, &cq, &object))
		return false;
	ibv_ack_cq_events(cq, 1);
	ibv_req_notify_cq(backend, 1);
	return true;
}

/* Give the completion of a request that the model refused the status of its cause: refuse(). */
static void correct_status(const struct completion *completion, struct ibv_wc *wc)
{
	const struct object *qp = completion->qp;

	if (qp && !completion->receive && qp->state == IBV_QPS_ERR && qp->refused &&
	    completion->id == qp->refused_id && wc->status == IBV_WC_LOC_PROT_ERR)
		wc->status = qp->refused;
}

/* Handle a message to an SRQ that matches tags, or the end of a request that the SRQ made. */
static void pass_on_tagged(const struct completion *c)
{
	if (c->receive)
		model_tag_arrived(c->srq, c->qp, c->id, c->wc);
	else if (c->note != WORK_SILENT)
		model_tag_fetched(c->srq, c->id, c->wc);
}

static void pass_on(struct object *cq, struct ibv_wc *wc)
{
	bool receive = wc->wr_id >> 31 & 1;
	uint32_t owner = wc->wr_id >> 32;
	struct completion completion = {
		.receive = receive,
		.id = wc->wr_id,
		.note = wc->wr_id >> 16 & 0x7f,
		.wc = wc,
		.qp = object_by_number(OBJECT_QP, wc->qp_num),
	};

	if (owner >> 31)
		completion.srq = object_at(OBJECT_SRQ, owner & 0x7fffffff);
	if (completion.srq && completion.srq->tags) {
		pass_on_tagged(&completion);
		return;
	}
	if (!completion.qp)
		completion.qp = model_find_dc(wc->qp_num);
	if (completion.qp && !receive && completion.id == completion.qp->last_sent)
		((struct object *)completion.qp)->busy = false;
	correct_status(&completion, wc);

	if (completion.note == WORK_SILENT)
		return;
	/*
	 * Otherwise the object has been destroyed together with its completions. Completions of an
	 * XRC SRQ remain.
	 */
	if (completion.qp || (completion.srq && completion.srq->xrcd))
		device->complete(cq, &completion);
}

/*
 * A message may have brought the acknowledgement of a send with it. On a wire the acknowledgement
 * comes first, and programs that wait for both on one channel rely on this order. Therefore write
 * the completion of the send first.
 */
static void drain_acknowledged(const struct object *cq, const struct ibv_wc *wc, int count)
{
	static bool at_it; /* a nested call would overtake unwritten completions */

	for (int i = 0; i < count && !at_it; i++) {
		const struct object *qp = object_by_number(OBJECT_QP, wc[i].qp_num);

		if (!(wc[i].wr_id >> 31 & 1) || !qp || !qp->send_cq || qp->send_cq == cq)
			continue;
		at_it = true;
		model_drain_cq(qp->send_cq); /* and its event */
		at_it = false;
	}
}

/*
 * Return whether an armed CQ must have an event: it has completions that the process has not seen
 * and that no event has announced.
 */
static bool has_news(const struct object *cq)
{
	uint32_t newest = cq->arm.solicited ? cq->solicited_until : cq->produced;

	return (int32_t)(newest - cq->arm.consumed) > 0 && (int32_t)(newest - cq->announced) > 0;
}

/* Handle one completion too many: it is lost, and the CQ is unusable from then on. */
static bool overrun(struct object *cq)
{
	struct ibv_wc lost;

	if (cq->overrun || ibv_poll_cq(cq->backend.cq, 1, &lost) != 1)
		return false;
	cq->overrun = true;
	event_async(cq, IBV_EVENT_CQ_ERR);
	return true;
}

static bool drain(struct object *cq)
{
	uint32_t room = device->room(cq);
	struct ibv_wc wc[BATCH];
	int got;

	/* A poll of the backend may execute a message, which needs the receives that are posted
	 * by now. */
	model_receive_all();
	model_be_late();
	if (!room)
		return overrun(cq);
	got = ibv_poll_cq(cq->backend.cq, room < BATCH ? room : BATCH, wc);
	drain_acknowledged(cq, wc, got);
	for (int i = 0; i < got; i++)
		pass_on(cq, &wc[i]);
	return got > 0;
}

/*
 * The backend acknowledges messages to an armed CQ at once, as an adapter always does. A peer
 * that sleeps until its send has completed waits for that.
 */
static void see_arm(struct object *cq)
{
	if (!device->armed(cq, &cq->arm))
		return;
	cq->armed = true;
	if (cq->backend.cq->channel)
		ibv_req_notify_cq(cq->backend.cq, 1);
}

void model_see_arms(void)
{
	for (uint32_t i = 0; i < object_count(OBJECT_CQ); i++) {
		struct object *cq = object_at(OBJECT_CQ, i);

		if (cq && cq->backend.cq && cq->channel >= 0)
			see_arm(cq);
	}
}

/* The completion that asked for the event is one of those that the backend has now. */
bool model_drain_cq(struct object *cq)
{
	bool solicited = take_solicited(cq->backend.cq), did = drain(cq);

	while (solicited && drain(cq))
		;
	if (solicited)
		cq->solicited_until = cq->produced;
	see_arm(cq);
	if (cq->armed && has_news(cq)) {
		cq->armed = false;
		cq->announced = cq->produced;
		event_completion(cq);
	}
	return did;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Post decoded work requests to the backend in order, as many as it accepts. */
#include "tests/adapters/lab/model/frame.h"
#include "tests/adapters/lab/model/tag.h"
#include "tests/adapters/lab/model/unsent.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Address handles of the backend, by their attributes. */
enum {
	KEPT = 64
};

static struct {
	struct ibv_ah_attr address;
	struct ibv_ah *ah;
} kept[KEPT];

void model_forget_ahs(const struct ibv_pd *pd)
{
	for (int i = 0; i < KEPT; i++) {
		if (kept[i].ah && kept[i].ah->pd == pd) {
			ibv_destroy_ah(kept[i].ah);
			kept[i].ah = NULL;
		}
	}
}

struct ibv_ah *model_find_ah(struct ibv_pd *pd, const struct ibv_ah_attr *address)
{
	static unsigned next;

	for (int i = 0; i < KEPT; i++) {
		if (kept[i].ah && kept[i].ah->pd == pd &&
		    !memcmp(&kept[i].address, address, sizeof(*address)))
			return kept[i].ah;
	}
	next = (next + 1) % KEPT;
	if (kept[next].ah)
		ibv_destroy_ah(kept[next].ah);
	kept[next].address = *address;
	kept[next].ah = ibv_create_ah(pd, &kept[next].address);
	return kept[next].ah;
}

/* Return the wr_id by which a completion is passed on: the owner (31 bits, and whether it is an
 * SRQ), whether it is a receive, the device's note (7 bits) and its id. */
uint64_t model_wr_id(const struct object *owner, bool receive, const struct work *work)
{
	return (uint64_t)(owner->type == OBJECT_SRQ) << 63 | (uint64_t)owner->ordinal << 32 |
	       (uint64_t)receive << 31 | (uint64_t)(work->note & 0x7f) << 16 | work->id;
}

/* Replace the keys of a window's binding by the backend's objects. */
static int find_bound(struct work *work)
{
	struct ibv_send_wr *wr = &work->wr;

	wr->bind_mw.mw = model_find_mw(work->bind.mw_rkey);
	wr->bind_mw.rkey = work->bind.new_rkey;
	wr->bind_mw.bind_info.mr = work->bind.mr       ? work->bind.mr
				   : work->bind.length ? model_find_mr(work->bind.mr_lkey)
						       : NULL;
	wr->bind_mw.bind_info.addr = work->bind.address;
	wr->bind_mw.bind_info.length = work->bind.length;
	wr->bind_mw.bind_info.mw_access_flags = work->bind.access;
	return wr->bind_mw.mw && (wr->bind_mw.bind_info.mr || !work->bind.length) ? 0 : EINVAL;
}

/* A window of type 2 can be bound only if it is free; some devices bind a key at any time. */
static int post_free(struct object *qp, struct work *work)
{
	struct work first = { .note = WORK_SILENT, .id = work->id };
	struct ibv_send_wr wr = { .wr_id = model_wr_id(qp, false, &first),
				  .opcode = IBV_WR_LOCAL_INV,
				  .invalidate_rkey = work->bind.mw_rkey },
			   *bad;

	return ibv_post_send(qp->backend.qp, &wr, &bad);
}

static int post_bind(struct object *qp, struct work *work)
{
	struct ibv_send_wr *bad, *wr = &work->wr;
	int r = find_bound(work);

	if (!r && work->bind.again)
		r = post_free(qp, work);
	if (r || wr->bind_mw.mw->type == IBV_MW_TYPE_2)
		return r ? r : ibv_post_send(qp->backend.qp, wr, &bad);
	/* Type 1 has a call of its own, which chooses the new key as every provider does. */
	return ibv_bind_mw(qp->backend.qp, wr->bind_mw.mw,
			   &(struct ibv_mw_bind){ .wr_id = wr->wr_id,
						  .send_flags = wr->send_flags,
						  .bind_info = wr->bind_mw.bind_info });
}

/* Return whether @qp has @access to this memory. */
static bool is_allowed(const struct object *qp, const struct ibv_sge *sge, unsigned access)
{
	const struct object *mr = object_by_number(OBJECT_MR, sge->lkey);

	return mr && mr->backend.mr && mr->pd == qp->pd && (mr->access & access) == access &&
	       sge->addr >= mr->iova && sge->length <= mr->backend.mr->length &&
	       sge->addr - mr->iova <= mr->backend.mr->length - sge->length;
}

int model_copy(const struct object *qp, const struct work *work)
{
	const struct ibv_sge *from = &work->sge[0], *to = &work->sge[1];

	if (!is_allowed(qp, from, 0) || !is_allowed(qp, to, IBV_ACCESS_LOCAL_WRITE))
		return EACCES;
	memmove((void *)(uintptr_t)to->addr, (void *)(uintptr_t)from->addr, from->length);
	return 0;
}

static int post(struct object *qp, struct work *work)
{
	struct ibv_send_wr *bad;
	int r;

	if (work->executed)
		return 0;
	if (qp->qp_type == IBV_QPT_RAW_PACKET)
		return model_frame_post(qp, work);
	r = work->copies ? model_copy(qp, work) : 0;

	if (r)
		return r;
	if (work->copies && !qp->busy) {
		const struct ibv_wc wc = { .qp_num = qp->number };

		if (work->wr.send_flags & IBV_SEND_SIGNALED)
			device->complete(qp->send_cq, &(struct completion){ .qp = qp,
									    .id = work->id,
									    .note = work->note,
									    .wc = &wc });
		return 0;
	}
	work->wr.wr_id = model_wr_id(qp, false, work);
	if (qp->qp_type == IBV_QPT_UD) {
		work->wr.wr.ud.ah = model_find_ah(qp->pd->backend.pd, &work->address);
		if (!work->wr.wr.ud.ah)
			return EINVAL;
	}
	if (work->wr.opcode == IBV_WR_BIND_MW)
		return post_bind(qp, work);
	r = ibv_post_send(qp->backend.qp, &work->wr, &bad);
	if (!r) {
		qp->busy = true;
		qp->last_sent = work->id;
	}
	return r;
}

/* A device sends an atomic operation on an unaligned address, and the peer refuses it (IBTA vol. 1,
 * 9.4.5.1). The backend refuses to post it. */
static bool is_crooked(const struct ibv_send_wr *wr)
{
	return (wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
		wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) &&
	       wr->wr.atomic.remote_addr % sizeof(uint64_t);
}

static enum ibv_wc_status status_of(const struct work *work, int error)
{
	return error == EACCES	       ? IBV_WC_LOC_PROT_ERR
	       : is_crooked(&work->wr) ? IBV_WC_REM_INV_REQ_ERR
				       : IBV_WC_LOC_QP_OP_ERR;
}

/* Fail a malformed request and stop the QP, as a device does. The requests before it must complete
 * first. Therefore the backend gets a request that fails in its place, and pass_on() corrects the
 * status. */
static int refuse(struct object *qp, const struct work *work, int error)
{
	struct ibv_sge nowhere = { .length = 1 };
	struct ibv_send_wr wr = { .wr_id = model_wr_id(qp, false, work),
				  .sg_list = &nowhere,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.ud.ah = work->wr.wr.ud.ah },
			   *bad;
	int r = qp->backend.qp ? ibv_post_send(qp->backend.qp, &wr, &bad) : EINVAL;

	if (r == ENOMEM || (!r && qp->state == IBV_QPS_ERR))
		return r;
	qp->refused = status_of(work, error);
	if (r) { /* a datagram without an address */
		const struct ibv_wc wc = { .status = qp->refused, .qp_num = qp->number };

		device->complete(qp->send_cq,
				 &(struct completion){
					 .qp = qp, .id = work->id, .note = work->note, .wc = &wc });
		if (qp->backend.qp)
			ibv_modify_qp(qp->backend.qp,
				      &(struct ibv_qp_attr){ .qp_state = IBV_QPS_ERR },
				      IBV_QP_STATE);
	}
	qp->refused_id = work->id;
	qp->state = IBV_QPS_ERR;
	if (qp->refused == IBV_WC_LOC_QP_OP_ERR)
		fprintf(stderr, "devices: %s: a work request that nobody can execute (id %u, %s)\n",
			object_name(OBJECT_QP, qp->handle), work->id, strerror(error));
	return 0;
}

static bool receive_all_of(enum object_type type)
{
	bool did = false;

	for (uint32_t i = 0; i < object_count(type); i++) {
		struct object *object = object_at(type, i);

		if (object && object->backend.any && !device->short_numbers)
			did |= model_receive(object);
	}
	return did;
}

bool model_receive_all(void)
{
	bool qps = receive_all_of(OBJECT_QP), srqs = receive_all_of(OBJECT_SRQ);

	return qps || srqs;
}

/* Execute the writes of queue pairs that are connected to themselves. Software uses them to write
 * steering entries. An adapter executes them before a program can post its next request. Return
 * whether some are not complete. */
static bool is_writing(void)
{
	bool did = false;

	for (uint32_t i = 0; i < object_count(OBJECT_QP); i++) {
		struct object *qp = object_at(OBJECT_QP, i);

		if (!qp || !qp->to_itself || !qp->backend.qp)
			continue;
		did |= model_send(qp);
		did |= model_unsent(qp->backend.qp);
	}
	return did;
}

bool model_send(struct object *qp)
{
	static struct work work; /* large; under device_lock */
	bool did = false;
	int there, r;

	if (qp->qp_type == IBV_QPT_RAW_PACKET && is_writing())
		return true;
	if (qp->state < IBV_QPS_RTS || (!qp->backend.qp && qp->state == IBV_QPS_ERR))
		return false;
	while ((there = device->next_send(qp, &work))) {
		/* Read the receives and armings that the process made before this send, before
		 * the send arrives. */
		did |= model_receive_all();
		model_see_arms();
		r = there < 0 ? -there : post(qp, &work);
		if (r && r != ENOMEM)
			r = refuse(qp, &work, r);
		if (r)
			return did; /* the backend's queue is full, so try again later */
		qp->sq.consumed += work.entries;
		did = true;
	}
	return did;
}

bool model_receive(struct object *queue)
{
	static struct work work;
	struct ibv_recv_wr wr = { 0 }, *bad;
	bool did = false;
	int r;

	if (queue->type == OBJECT_QP && (queue->state < IBV_QPS_INIT || !queue->rq.entries))
		return false;
	if (queue->type == OBJECT_SRQ && queue->tags)
		return model_tag_deliver(queue);
	while (device->next_receive(queue, &work) > 0) {
		wr.wr_id = model_wr_id(queue, true, &work);
		wr.sg_list = work.sge;
		wr.num_sge = work.wr.num_sge;
		r = queue->type == OBJECT_SRQ ? ibv_post_srq_recv(queue->backend.srq, &wr, &bad)
					      : ibv_post_recv(queue->backend.qp, &wr, &bad);
		if (r)
			return did;
		queue->rq.consumed += work.entries;
		queue->rq.cursor = work.cursor;
		did = true;
	}
	return did;
}

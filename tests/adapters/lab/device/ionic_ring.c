/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Find requests of ionic in run mode. All queues of a type share a register, which keeps only the
 * last store. Therefore the device needs a mark in the ring.
 *
 * In a ring in memory of the device, the mark is the last word of each place. The process copies
 * the words of a request in ascending order. The last word is a doorbell if the ring has express
 * doorbells. The device overwrites that word when it has read the request.
 *
 * A ring may be only in memory of the process. Then the mark is the first word of each place, which
 * contains the position. This tree's provider writes the position last. Release 65 writes the
 * position before other words, and therefore does not run on such a ring.
 */
#include "tests/adapters/lab/device/ionic.h"
#include "tests/adapters/lab/device/bytes.h"

#include <errno.h>
#include <stdio.h>
#include "tests/adapters/lab/shim/shim.h"

/* A value that no request has in its first or last word. */
#define UNWRITTEN 0x5a17c0ffee5a17c0ull

enum {
	EXPRESS_MARK = 0x0b << 19,
};

static uint64_t *word_at(uint8_t *at)
{
	return (uint64_t *)(void *)at;
}

/* Return the place of a position: the copy of the device, if there is one. */
static uint8_t *place_of(const struct queue *queue, const struct ionic_played_ring *ring,
			 uint32_t index)
{
	uint8_t *base = ring->in_device ? ring->copy : queue->base;

	return base ? base + (size_t)(index & (queue->entries - 1)) * queue->stride : NULL;
}

static uint64_t *mark_of(const struct queue *queue, const struct ionic_played_ring *ring,
			 uint32_t index)
{
	uint8_t *at = place_of(queue, ring, index);

	if (!at)
		return NULL;
	return word_at(ring->in_device ? at + queue->stride - sizeof(uint64_t) : at);
}

static void forget(const struct queue *queue, const struct ionic_played_ring *ring, uint32_t index)
{
	uint64_t *mark = mark_of(queue, ring, index);

	if (mark)
		__atomic_store_n(mark, UNWRITTEN, __ATOMIC_RELEASE);
}

static void forget_all(const struct queue *queue, const struct ionic_played_ring *ring)
{
	for (uint32_t i = 0; i < queue->entries; i++)
		forget(queue, ring, i);
}

void ionic_forget(struct object *qp)
{
	const struct ionic_played_qp *played = qp->device;

	forget_all(&qp->sq, &played->sq);
	forget_all(&qp->rq, &played->rq);
}

void ionic_ring_mapped(struct object *qp, bool receives, void *at)
{
	struct ionic_played_qp *played = qp->device;
	struct ionic_played_ring *ring = receives ? &played->rq : &played->sq;

	ring->copy = at;
	if (model_on() && at)
		forget_all(receives ? &qp->rq : &qp->sq, ring);
}

/*
 * Find the next request. Clear the mark of the previous place: its request was executed. The
 * process cannot have posted another request there yet, because one place always stays free. Return
 * 0 if there is no request, and -EINVAL if its mark is wrong.
 */
static int find(const struct object *qp, const struct queue *queue,
		const struct ionic_played_ring *ring, unsigned int type, const uint8_t **ret_wqe)
{
	uint32_t position = queue->consumed & (queue->entries - 1);
	uint64_t *mark = mark_of(queue, ring, queue->consumed);
	uint64_t seen, wanted = position;

	if (!mark)
		return 0;
	forget(queue, ring, queue->consumed + queue->entries - 1);
	seen = __atomic_load_n(mark, __ATOMIC_ACQUIRE);
	if (seen == UNWRITTEN)
		return 0;
	*ret_wqe = place_of(queue, ring, queue->consumed);
	if (ring->express)
		wanted = (uint64_t)type << 48 | (uint64_t)qp->number << 24 | EXPRESS_MARK |
			 ((position + 1) & (queue->entries - 1));
	if ((!ring->in_device || ring->express) && le64toh(seen) != wanted) {
		fprintf(stderr, "devices: %s: the mark of place %u is 0x%llx instead of 0x%llx\n",
			object_name(OBJECT_QP, qp->handle), position,
			(unsigned long long)le64toh(seen), (unsigned long long)wanted);
		return -EINVAL;
	}
	if (bytes_le64(*ret_wqe) != position) {
		fprintf(stderr, "devices: %s: a request in place %u has position %llu\n",
			object_name(OBJECT_QP, qp->handle), position,
			(unsigned long long)bytes_le64(*ret_wqe));
		return -EINVAL;
	}
	return 1;
}

int ionic_next_send(struct object *qp, struct work *work)
{
	const struct ionic_played_qp *played = qp->device;
	uint32_t position = qp->sq.consumed & (qp->sq.entries - 1);
	const uint8_t *wqe;
	int r = find(qp, &qp->sq, &played->sq, IONIC_SQ_TYPE, &wqe);

	if (!r)
		return 0;
	work->id = position;
	work->entries = 1;
	if (r > 0)
		r = ionic_read_send(qp, wqe, work);
	if (r < 0)
		return r;
	ionic_count_message(qp, wqe, position);
	return 1;
}

int ionic_next_receive(struct object *queue, struct work *work)
{
	const struct ionic_played_qp *played = queue->device;
	const uint8_t *wqe;
	int r = find(queue, &queue->rq, &played->rq, IONIC_RQ_TYPE, &wqe);

	if (!r)
		return 0;
	work->id = queue->rq.consumed & (queue->rq.entries - 1);
	work->entries = 1;
	if (r > 0)
		r = ionic_read_receive(queue, wqe, work);
	return r < 0 ? r : 1;
}

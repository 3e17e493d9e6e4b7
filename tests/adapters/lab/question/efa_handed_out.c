/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Use the results of efadv_query_qp_wqs() and efadv_query_cq() as programs do that drive the rings
 * themselves: addresses, strides, counts, doorbells. */
#include "tests/adapters/lab/scenario/script.h"

#include <string.h>
#include <infiniband/efadv.h>

enum {
	SENDS = 32,
	RECEIVES = 10, /* of two buffers each */
	SGE = 2,
	PARTS = 2, /* of a completion queue */
};

static bool inside(const void *at, size_t length, const char *name, size_t offset)
{
	return lab_is_at && lab_is_at(at, length, name, offset);
}

static void queue_is(const struct efadv_wq_attr *q, const char *name, size_t first, uint32_t size)
{
	must(q->entry_size == size, "bytes of an entry");
	for (uint32_t i = 0; i < q->num_entries; i++)
		must(inside(q->buffer + (size_t)i * size, size, name, first + (size_t)i * size),
		     "an entry in the ring");
}

static void queue_pair(struct script *s)
{
	const struct ibv_qp_cap cap = { SENDS, RECEIVES, 1, SGE, 0 };
	struct efadv_wq_attr sq = {}, rq = {};

	script_qp(s, IBV_QPT_UD, &cap);
	must(!efadv_query_qp_wqs(s->qp, &sq, &rq, sizeof(sq)), "query");
	must(sq.num_entries == SENDS && sq.max_batch && sq.max_batch <= SENDS, "sends");
	must(rq.num_entries >= RECEIVES * SGE && !(rq.num_entries & (rq.num_entries - 1)),
	     "buffers of receives are a power of 2");
	must(!sq.caps && !rq.caps, "ids have 16 bits");
	queue_is(&sq, "qp0-llq", 0x200, 64);
	queue_is(&rq, "qp0-rq", 0, 16);
	must(inside(sq.doorbell, 4, "qp0-sq-doorbell", 0x20), "doorbell of sends");
	must(inside(rq.doorbell, 4, "qp0-rq-doorbell", 0x10), "doorbell of receives");
	script_qp_close(s);
}

static void completion_queue(struct ibv_cq *cq)
{
	struct efadv_cq_attr attr = {};

	must(!efadv_query_cq(cq, &attr, sizeof(attr)), "query");
	must(attr.num_entries == (uint32_t)cq->cqe && attr.entry_size == 16, "entries");
	must(inside(attr.buffer, (size_t)PARTS * attr.num_entries * attr.entry_size, "cq0-cq", 0),
	     "the ring has all parts");
	must(inside(attr.doorbell, 4, "cq0-cq-doorbell", 0x40), "doorbell");
}

int main(void)
{
	struct script s = { 0 };

	script_open(&s);
	completion_queue(s.send_cq);
	queue_pair(&s);
	script_close(&s);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tables of queues by number. Drivers use numbers in turn, so that a table has a slot for each
 * queue and not for each number. */
#include "tests/hosts/vm/pci/loop.h"
#include "tests/hosts/vm/pci/loop_table.h"
#include "tests/hosts/vm/pci/play.h"

struct loop_tables loop_tables;

static uint16_t cq_slots[LOOP_NUMBERS], srq_slots[LOOP_NUMBERS], qp_slots[LOOP_NUMBERS];

struct loop_cq *loop_cq(uint32_t number)
{
	struct loop_cq *cq = &loop_tables.cqs[cq_slots[number % LOOP_NUMBERS]];

	return cq->used && cq->object.number % LOOP_NUMBERS == number % LOOP_NUMBERS ? cq : NULL;
}

struct loop_srq *loop_srq(uint32_t number)
{
	struct loop_srq *srq = &loop_tables.srqs[srq_slots[number % LOOP_NUMBERS]];

	return srq->used && srq->object.number % LOOP_NUMBERS == number % LOOP_NUMBERS ? srq : NULL;
}

struct loop_qp *loop_qp(uint32_t number)
{
	struct loop_qp *qp = &loop_tables.qps[qp_slots[number % LOOP_NUMBERS]];

	return qp->used && qp->object.number % LOOP_NUMBERS == number % LOOP_NUMBERS ? qp : NULL;
}

void loop_unmap(struct loop_map *map)
{
	if (map->at)
		play_unmap(map->at, map->length);
	*map = (struct loop_map){ 0 };
}

void loop_forget_cq(struct loop_cq *cq)
{
	loop_unmap(&cq->map);
	*cq = (struct loop_cq){ 0 };
}

void loop_forget_srq(struct loop_srq *srq)
{
	loop_unmap(&srq->map);
	*srq = (struct loop_srq){ 0 };
}

void loop_forget_qp(struct loop_qp *qp)
{
	loop_unmap(&qp->map);
	*qp = (struct loop_qp){ 0 };
}

struct loop_cq *loop_new_cq(uint32_t number)
{
	struct loop_cq *old = loop_cq(number);

	if (old)
		loop_forget_cq(old);
	for (uint32_t i = 0; i < LOOP_CQS; i++) {
		struct loop_cq *cq = &loop_tables.cqs[i];

		if (cq->used)
			continue;
		cq_slots[number % LOOP_NUMBERS] = i;
		*cq = (struct loop_cq){ .object = { .type = OBJECT_CQ, .number = number } };
		if (i >= loop_tables.cq_end)
			loop_tables.cq_end = i + 1;
		return cq;
	}
	return NULL;
}

struct loop_srq *loop_new_srq(uint32_t number)
{
	struct loop_srq *old = loop_srq(number);

	if (old)
		loop_forget_srq(old);
	for (uint32_t i = 0; i < LOOP_SRQS; i++) {
		struct loop_srq *srq = &loop_tables.srqs[i];

		if (srq->used)
			continue;
		srq_slots[number % LOOP_NUMBERS] = i;
		*srq = (struct loop_srq){ .object = { .type = OBJECT_SRQ, .number = number } };
		return srq;
	}
	return NULL;
}

struct loop_qp *loop_new_qp(uint32_t number)
{
	struct loop_qp *old = loop_qp(number);

	if (old)
		loop_forget_qp(old);
	for (uint32_t i = 0; i < LOOP_QPS; i++) {
		struct loop_qp *qp = &loop_tables.qps[i];

		if (qp->used)
			continue;
		qp_slots[number % LOOP_NUMBERS] = i;
		*qp = (struct loop_qp){ .object = { .type = OBJECT_QP, .number = number } };
		if (i >= loop_tables.qp_end)
			loop_tables.qp_end = i + 1;
		return qp;
	}
	return NULL;
}

void loop_forget_all(void)
{
	for (int i = 0; i < LOOP_CQS; i++)
		loop_forget_cq(&loop_tables.cqs[i]);
	for (int i = 0; i < LOOP_SRQS; i++)
		loop_forget_srq(&loop_tables.srqs[i]);
	for (int i = 0; i < LOOP_QPS; i++)
		loop_forget_qp(&loop_tables.qps[i]);
	loop_tables.cq_end = loop_tables.qp_end = 0;
}

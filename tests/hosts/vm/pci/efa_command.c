/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Commands of the admin queue. A command has 64 bytes and begins with id (16 bits), opcode, flags.
 */
#include "tests/hosts/vm/pci/efa.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/hosts/vm/pci/play.h"

enum opcode {
	CREATE_QP = 1,
	MODIFY_QP,
	QUERY_QP,
	DESTROY_QP,
	CREATE_AH,
	DESTROY_AH,
	REG_MR,
	DEREG_MR,
	CREATE_CQ,
	DESTROY_CQ,
	GET_FEATURE,
	SET_FEATURE,
	GET_STATS,
	ALLOC_PD,
	DEALLOC_PD,
	ALLOC_UAR,
	DEALLOC_UAR,
	CREATE_EQ,
	DESTROY_EQ,
};

enum feature {
	DEVICE_ATTR = 1,
	AENQ_CONFIG,
	NETWORK_ATTR,
	QUEUE_ATTR,
	HW_HINTS,
	HOST_INFO,
	EVENT_QUEUE_ATTR,
};

enum {
	ANSWER = 8, /* where an answer begins, behind its header */
	CONTROL_DATA = 1 << 1,
	CONTROL_DATA_INDIRECT = 1 << 2,
	/* Page lists: a list of chunks names pages, which name the pages of the region. */
	CHUNK_POINTERS = 510,
	INLINE_PAGES = 4,
};

static void put_16(uint8_t *at, uint16_t value)
{
	memcpy(at, &value, sizeof(value));
}

static void put_32(uint8_t *at, uint32_t value)
{
	memcpy(at, &value, sizeof(value));
}

static void put_64(uint8_t *at, uint64_t value)
{
	memcpy(at, &value, sizeof(value));
}

static enum efa_status device_attr(uint8_t *a)
{
	uint32_t features = 1 << DEVICE_ATTR | 1 << AENQ_CONFIG | 1 << NETWORK_ATTR |
			    1 << QUEUE_ATTR | 1 << HW_HINTS | 1 << EVENT_QUEUE_ATTR;

	put_64(a, features);
	put_64(a + 8, 0xfffff000); /* page sizes */
	put_32(a + 16, 1);	   /* version of the firmware */
	put_32(a + 20, 1);	   /* version of the commands */
	put_32(a + 24, 0xefa1);
	put_16(a + 28, EFA_BAR_DOORBELLS);
	a[30] = a[31] = 48;	/* bits of physical and virtual addresses */
	put_32(a + 32, 1 << 1); /* RNR retries; no RDMA reads */
	return EFA_OK;
}

static enum efa_status queue_attr(uint8_t *a)
{
	put_32(a, EFA_QPS - 1);
	put_32(a + 4, EFA_SQ_DEPTH);
	put_32(a + 8, 32); /* bytes of inline data */
	put_32(a + 12, EFA_RQ_DEPTH);
	put_32(a + 16, EFA_CQS - 1);
	put_32(a + 20, EFA_CQ_DEPTH);
	put_16(a + 24, EFA_SUB_CQS);
	put_16(a + 26, 16); /* the shortest send queue */
	put_16(a + 28, 2);  /* pieces of a send and of a receive */
	put_16(a + 30, 3);
	put_32(a + 32, EFA_MRS - 1);
	put_32(a + 36, 1 << 20); /* pages of a region */
	put_32(a + 40, EFA_PDS - 1);
	put_32(a + 44, EFA_AHS - 1);
	put_32(a + 48, EFA_SQ_ROOM);
	put_16(a + 52, 1); /* pieces of an RDMA request */
	put_16(a + 54, 64);
	return EFA_OK;
}

static enum efa_status get_feature(const uint8_t *c, uint8_t *a)
{
	switch (c[17]) {
	case DEVICE_ATTR:
		return device_attr(a);
	case AENQ_CONFIG:
		put_32(a, 0x1e); /* groups 1 to 4 */
		return EFA_OK;
	case NETWORK_ATTR:
		memcpy(a, efa.gid, sizeof(efa.gid));
		put_32(a + 16, EFA_MTU);
		return EFA_OK;
	case QUEUE_ATTR:
		return queue_attr(a);
	case HW_HINTS:
		put_16(a, 10000);  /* milliseconds to wait for a register */
		put_16(a + 6, 10); /* milliseconds between two looks */
		return EFA_OK;
	case EVENT_QUEUE_ATTR:
		put_32(a, EFA_EQS - 1);
		put_32(a + 4, 256);
		put_32(a + 8, 1); /* completions */
		return EFA_OK;
	default:
		return EFA_UNSUPPORTED;
	}
}

static enum efa_status set_feature(const uint8_t *c)
{
	return c[17] == AENQ_CONFIG || c[17] == HOST_INFO ? EFA_OK : EFA_UNSUPPORTED;
}

static enum efa_status get_stats(const uint8_t *c, uint8_t *a)
{
	enum {
		BASIC,
		MESSAGES
	};
	const struct efa_counts *n = &efa.counts;

	if (c[16] == BASIC)
		memcpy(a, n, sizeof(*n));
	else if (c[16] == MESSAGES)
		memcpy(a, n, 4 * sizeof(uint64_t)); /* a message is a packet */
	return EFA_OK;
}

/* Protection domains and pages of doorbells are numbers only. */
static enum efa_status take_number(bool *used, uint8_t *a)
{
	for (uint16_t n = 1; n < EFA_PDS; n++)
		if (!used[n]) {
			used[n] = true;
			put_16(a, n);
			return EFA_OK;
		}
	return EFA_NO_RESOURCES;
}

static enum efa_status give_number(bool *used, uint16_t n)
{
	if (n >= EFA_PDS || !used[n])
		return EFA_ILLEGAL;
	used[n] = false;
	return EFA_OK;
}

static void read_direct(struct efa_mr *mr, uint64_t list)
{
	for (uint32_t i = 0; i < mr->pages; i++)
		mr->page[i] = *(uint64_t *)play_memory(list + i * 8ull);
}

/* A chunk ends with the length and the address of the next one. */
static void read_chunks(struct efa_mr *mr, uint64_t chunk)
{
	uint32_t n = 0;

	for (uint32_t i = 0; n < mr->pages; i++) {
		const uint8_t *at = play_memory(chunk);
		uint64_t list;

		if (i && i % CHUNK_POINTERS == 0) {
			chunk = bytes_le64(at + CHUNK_POINTERS * 8 + 4);
			at = play_memory(chunk);
		}
		list = bytes_le64(at + i % CHUNK_POINTERS * 8);
		for (uint32_t k = 0; k < PLAY_PAGE / 8 && n < mr->pages; k++)
			mr->page[n++] = *(uint64_t *)play_memory(list + k * 8);
	}
}

static enum efa_status reg_mr(const uint8_t *c, uint8_t *a)
{
	uint32_t n = 1;
	struct efa_mr *mr;

	while (n < EFA_MRS && efa.mrs[n].used)
		n++;
	if (n == EFA_MRS)
		return EFA_NO_RESOURCES;
	mr = &efa.mrs[n];
	*mr = (struct efa_mr){
		.pd = bytes_le16(c + 4),
		.length = bytes_le64(c + 40),
		.shift = c[48] & 31,
		.write = c[49] & 1,
		.pages = bytes_le32(c + 52),
		.iova = bytes_le64(c + 56),
	};
	/* The driver names the number for longer lists only. */
	mr->pages = mr->pages
			    ?: (mr->iova % (1ull << mr->shift) + mr->length + (1ull << mr->shift) -
				1) >> mr->shift;
	if (mr->shift < 12 || !mr->pages || !efa.pds[mr->pd % EFA_PDS])
		return EFA_ILLEGAL;
	mr->page = calloc(mr->pages, sizeof(*mr->page));
	if (!mr->page)
		return EFA_NO_RESOURCES;
	if (c[3] & CONTROL_DATA_INDIRECT)
		read_chunks(mr, bytes_le64(c + 12));
	else if (c[3] & CONTROL_DATA)
		read_direct(mr, bytes_le64(c + 12));
	else
		for (uint32_t i = 0; i < mr->pages && i < INLINE_PAGES; i++)
			mr->page[i] = bytes_le64(c + 8 + 8 * i);
	mr->used = true;
	PLAY_LOG("region %u: 0x%llx, %llu bytes, %u pages of 2^%u\n", n,
		 (unsigned long long)mr->iova, (unsigned long long)mr->length, mr->pages,
		 mr->shift);
	put_32(a, n);
	put_32(a + 4, n);
	return EFA_OK;
}

static void forget_mr(struct efa_mr *mr)
{
	free(mr->page);
	*mr = (struct efa_mr){ 0 };
}

static enum efa_status dereg_mr(uint32_t key)
{
	if (key >= EFA_MRS || !efa.mrs[key].used)
		return EFA_ILLEGAL;
	forget_mr(&efa.mrs[key]);
	return EFA_OK;
}

static size_t whole_pages(size_t bytes)
{
	return (bytes + PLAY_PAGE - 1) & ~(size_t)(PLAY_PAGE - 1);
}

static enum efa_status create_cq(const uint8_t *c, uint8_t *a)
{
	uint32_t n = 1, doorbell, depth = bytes_le16(c + 6), stride = (c[5] & 31) * 4;
	struct efa_cq *cq;

	while (n < EFA_CQS && efa.cqs[n].used)
		n++;
	if (n == EFA_CQS)
		return EFA_NO_RESOURCES;
	if (!depth || (depth & (depth - 1)) || (stride != 16 && stride != 32) ||
	    bytes_le16(c + 24) != EFA_SUB_CQS)
		return EFA_ILLEGAL;
	doorbell = EFA_DOORBELLS_OF_CQS + n * PLAY_PAGE;
	cq = &efa.cqs[n];
	*cq = (struct efa_cq){
		.used = true,
		.eq = c[4] & 1 << 5 ? bytes_le16(c + 8) : -1,
		.size = whole_pages((size_t)depth * stride * EFA_SUB_CQS),
	};
	cq->object.number = n;
	cq->object.device = &cq->parts;
	cq->object.ring.entries = depth;
	cq->object.ring.stride = stride;
	cq->object.ring.base = play_map(bytes_le64(c + 12), cq->size);
	cq->object.ring.record = play_bar(EFA_BAR_DOORBELLS, doorbell);
	*cq->object.ring.record = 0;
	put_16(a, n);
	put_16(a + 2, depth);
	put_32(a + 4, doorbell);
	put_32(a + 8, 1); /* there is a doorbell */
	return EFA_OK;
}

static void forget_cq(struct efa_cq *cq)
{
	if (cq->used)
		play_unmap(cq->object.ring.base, cq->size);
	*cq = (struct efa_cq){ 0 };
}

static enum efa_status destroy_cq(uint16_t n)
{
	if (n >= EFA_CQS || !efa.cqs[n].used)
		return EFA_ILLEGAL;
	forget_cq(&efa.cqs[n]);
	return EFA_OK;
}

static bool no_cq(uint32_t n)
{
	return n >= EFA_CQS || !efa.cqs[n].used;
}

static void set_rings(struct efa_qp *qp, const uint8_t *c)
{
	struct object *o = &qp->object;
	uint32_t n = o->number, rq = bytes_le32(c + 48);

	o->sq.entries = bytes_le32(c + 40) / EFA_WQE;
	o->sq.stride = EFA_WQE;
	o->sq.base = (uint8_t *)play_bar(EFA_BAR_SENDS, n * EFA_SQ_ROOM);
	o->sq.record = play_bar(EFA_BAR_DOORBELLS, 2 * n * PLAY_PAGE);
	o->rq.entries = rq / EFA_RECEIVE;
	o->rq.stride = EFA_RECEIVE;
	o->rq.record = play_bar(EFA_BAR_DOORBELLS, (2 * n + 1) * PLAY_PAGE);
	*o->sq.record = *o->rq.record = 0;
	qp->rq_size = whole_pages(rq);
	if (rq)
		o->rq.base = play_map(bytes_le64(c + 16), qp->rq_size);
}

static enum efa_status create_qp(const uint8_t *c, uint8_t *a)
{
	uint32_t n = 1;
	struct efa_qp *qp;

	while (n < EFA_QPS && efa.qps[n].used)
		n++;
	if (n == EFA_QPS)
		return EFA_NO_RESOURCES;
	qp = &efa.qps[n];
	*qp = (struct efa_qp){
		.pd = bytes_le16(c + 4),
		.type = c[6],
		.send_cq = bytes_le32(c + 24),
		.recv_cq = bytes_le32(c + 28),
	};
	if ((qp->type != EFA_UD && qp->type != EFA_SRD) || !efa.pds[qp->pd % EFA_PDS] ||
	    no_cq(qp->send_cq) || no_cq(qp->recv_cq) || bytes_le32(c + 40) > EFA_SQ_ROOM)
		return EFA_ILLEGAL;
	qp->used = true;
	qp->object.number = n;
	set_rings(qp, c);
	PLAY_LOG("queue pair %u: rings of %u and %u\n", n, qp->object.sq.entries,
		 qp->object.rq.entries);
	put_32(a, n);
	put_16(a + 4, n);
	put_16(a + 8, 0); /* parts of the CQs: sends, receives */
	put_16(a + 10, 1);
	put_32(a + 12, 2 * n * PLAY_PAGE);
	put_32(a + 16, (2 * n + 1) * PLAY_PAGE);
	put_32(a + 20, n * EFA_SQ_ROOM);
	return EFA_OK;
}

static struct efa_qp *find_qp(const uint8_t *at)
{
	uint32_t n = bytes_le32(at);

	return n < EFA_QPS && efa.qps[n].used ? &efa.qps[n] : NULL;
}

static enum efa_status modify_qp(const uint8_t *c)
{
	enum {
		STATE = 1,
		QKEY = 4
	};
	struct efa_qp *qp = find_qp(c + 8);
	uint32_t mask = bytes_le32(c + 4);

	if (!qp)
		return EFA_ILLEGAL;
	if (mask & QKEY)
		qp->object.qkey = bytes_le32(c + 20);
	if (mask & STATE)
		qp->object.state = bytes_le32(c + 12);
	if (qp->object.state == IBV_QPS_ERR)
		efa_flush(qp);
	return EFA_OK;
}

static enum efa_status query_qp(const uint8_t *c, uint8_t *a)
{
	struct efa_qp *qp = find_qp(c + 4);

	if (!qp)
		return EFA_ILLEGAL;
	put_32(a, qp->object.state);
	put_32(a + 4, qp->object.qkey);
	return EFA_OK;
}

static void forget_qp(struct efa_qp *qp)
{
	if (qp->used && qp->object.rq.base)
		play_unmap(qp->object.rq.base, qp->rq_size);
	*qp = (struct efa_qp){ 0 };
}

static enum efa_status destroy_qp(const uint8_t *c)
{
	struct efa_qp *qp = find_qp(c + 4);

	if (!qp)
		return EFA_ILLEGAL;
	forget_qp(qp);
	return EFA_OK;
}

/* Each destination has one number, which all domains get. */
static enum efa_status create_ah(const uint8_t *c, uint8_t *a)
{
	struct efa_ah *ah, *free_one = NULL;

	for (ah = efa.ahs; ah < efa.ahs + EFA_AHS; ah++) {
		if (ah->users && !memcmp(ah->gid, c + 4, sizeof(ah->gid)))
			break;
		if (!ah->users && !free_one)
			free_one = ah;
	}
	if (ah == efa.ahs + EFA_AHS)
		ah = free_one;
	if (!ah)
		return EFA_NO_RESOURCES;
	memcpy(ah->gid, c + 4, sizeof(ah->gid));
	ah->users++;
	put_16(a, ah - efa.ahs);
	return EFA_OK;
}

static enum efa_status destroy_ah(uint16_t n)
{
	if (n >= EFA_AHS || !efa.ahs[n].users)
		return EFA_ILLEGAL;
	efa.ahs[n].users--;
	return EFA_OK;
}

static enum efa_status create_eq(const uint8_t *c, uint8_t *a)
{
	uint16_t n = 1;

	while (n < EFA_EQS && efa.eqs[n].used)
		n++;
	if (n == EFA_EQS)
		return EFA_NO_RESOURCES;
	efa.eqs[n] = (struct efa_eq){
		.used = true,
		.depth = bytes_le16(c + 4),
		.vector = c[6],
		.ring = bytes_le64(c + 8),
	};
	put_16(a, n);
	return EFA_OK;
}

static enum efa_status destroy_eq(uint16_t n)
{
	if (n >= EFA_EQS || !efa.eqs[n].used)
		return EFA_ILLEGAL;
	efa.eqs[n].used = false;
	return EFA_OK;
}

enum efa_status efa_execute(const uint8_t *c, uint8_t *answer)
{
	uint8_t *a = answer + ANSWER;

	switch (c[2]) {
	case CREATE_QP:
		return create_qp(c, a);
	case MODIFY_QP:
		return modify_qp(c);
	case QUERY_QP:
		return query_qp(c, a);
	case DESTROY_QP:
		return destroy_qp(c);
	case CREATE_AH:
		return create_ah(c, a);
	case DESTROY_AH:
		return destroy_ah(bytes_le16(c + 4));
	case REG_MR:
		return reg_mr(c, a);
	case DEREG_MR:
		return dereg_mr(bytes_le32(c + 4));
	case CREATE_CQ:
		return create_cq(c, a);
	case DESTROY_CQ:
		return destroy_cq(bytes_le16(c + 4));
	case GET_FEATURE:
		return get_feature(c, a);
	case SET_FEATURE:
		return set_feature(c);
	case GET_STATS:
		return get_stats(c, a);
	case ALLOC_PD:
		return take_number(efa.pds, a);
	case DEALLOC_PD:
		return give_number(efa.pds, bytes_le16(c + 4));
	case ALLOC_UAR:
		return take_number(efa.uars, a);
	case DEALLOC_UAR:
		return give_number(efa.uars, bytes_le16(c + 4));
	case CREATE_EQ:
		return create_eq(c, a);
	case DESTROY_EQ:
		return destroy_eq(bytes_le16(c + 4));
	default:
		return EFA_BAD_OPCODE;
	}
}

void efa_forget_all(void)
{
	for (int i = 0; i < EFA_QPS; i++)
		forget_qp(&efa.qps[i]);
	for (int i = 0; i < EFA_CQS; i++)
		forget_cq(&efa.cqs[i]);
	for (int i = 0; i < EFA_MRS; i++)
		forget_mr(&efa.mrs[i]);
	memset(efa.eqs, 0, sizeof(efa.eqs));
	memset(efa.ahs, 0, sizeof(efa.ahs));
	memset(efa.pds, 0, sizeof(efa.pds));
	memset(efa.uars, 0, sizeof(efa.uars));
}

/* A command that gives an object back does not fail by chance. */
uint32_t efa_random_status(uint32_t opcode, uint32_t random)
{
	switch (opcode) {
	case DESTROY_QP:
	case DESTROY_AH:
	case DEREG_MR:
	case DESTROY_CQ:
	case DEALLOC_PD:
	case DEALLOC_UAR:
	case DESTROY_EQ:
		return EFA_OK;
	default:
		return EFA_NO_RESOURCES + random % EFA_ILLEGAL;
	}
}

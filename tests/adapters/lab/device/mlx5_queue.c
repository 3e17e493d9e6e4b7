/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/adapters/lab/device/mlx5_queue.h"

#include <rdma/mlx5-abi.h>
#include "tests/adapters/lab/model/frame.h"
#include "tests/adapters/lab/shim/shim.h"

enum {
	OP_CREATE_CQ = 0x400,
	OP_CREATE_TIR = 0x900,
	OP_CREATE_SQ = 0x904,
	OP_CREATE_RQ = 0x908,
	OP_CREATE_RQT = 0x916,
	WQ = 0x50,	    /* in the creation of an RQ or an SQ */
	QUEUE = 0x20,	    /* context of an RQ, an SQ, a TIR or a table */
	QUEUES = 0x110,	    /* numbers of the queues of a table */
	IS_TABLE = 1 << 28, /* kind of a TIR that has a table */
	IS_READY = 1,
	TIRS_FROM = 0x500,
	TIR_STEP = 0x40,
	IP_MOST = 16,
};

void mlx5_tir_assign(struct object *qp)
{
	qp->tir = mlx5_tir_next();
}

/* ---- hash */

/* Compute a Toeplitz hash. The window moves over the key. */
static uint32_t hash_of(const uint8_t key[HASH_KEY], const uint8_t *bytes, size_t length)
{
	uint32_t window = get32(key), hash = 0;
	size_t next = 32; /* bit of the key */

	for (size_t i = 0; i < length * 8; i++, next++) {
		if (bytes[i / 8] >> (7 - i % 8) & 1)
			hash ^= window;
		window = window << 1 | (key[next / 8 % HASH_KEY] >> (7 - next % 8) & 1);
	}
	return hash;
}

static size_t address_put(uint8_t *at, const struct mlx5_headers *h, const uint32_t words[4])
{
	int first = h->ip_version == 4 ? 3 : 0;

	for (int i = first; i < 4; i++)
		put32(at + 4 * (i - first), words[i]);
	return 4 * (4 - first);
}

static uint32_t packet_hash(const struct mlx5_packet *p, const struct mlx5_spread *spread)
{
	const struct mlx5_headers *h = &p->headers[0];
	uint64_t ip = h->ip_version == 4   ? spread->fields
		      : h->ip_version == 6 ? spread->fields >> 2
					   : 0;
	uint64_t port = h->l4 == 1 ? spread->fields >> 4 : h->l4 == 2 ? spread->fields >> 6 : 0;
	uint8_t bytes[2 * IP_MOST + 4];
	size_t length = 0;

	if (ip & MLX5_RX_HASH_SRC_IPV4)
		length += address_put(bytes, h, h->src);
	if (ip & MLX5_RX_HASH_DST_IPV4)
		length += address_put(bytes + length, h, h->dst);
	if (port & 1) {
		put16(bytes + length, h->sport);
		length += 2;
	}
	if (port & 2) {
		put16(bytes + length, h->dport);
		length += 2;
	}
	return hash_of(spread->key, bytes, length);
}

/* ---- the queue behind a TIR */

static const struct devx *find(unsigned opcode, uint32_t id)
{
	for (uint32_t i = 0; i < object_count(OBJECT_PRIVATE); i++) {
		const struct object *object = object_at(OBJECT_PRIVATE, i);
		const struct devx *devx = object ? devx_of(object) : NULL;

		if (devx && devx->body && devx->opcode == opcode && (devx->id & INDEX_24) == id)
			return devx;
	}
	return NULL;
}

/* Read how the firmware's TIR spreads packets. Its selector has one IP version and one protocol. */
static void spread_read(const struct devx *tir, struct mlx5_spread *ret)
{
	uint32_t selector = get32(tir->body + QUEUE + 0x50);
	unsigned ip = selector & 3, port = selector >> 2 & 3;

	ret->fields = (uint64_t)ip << (selector >> 31 ? 2 : 0) |
		      (uint64_t)port << (selector >> 30 & 1 ? 6 : 4);
	memcpy(ret->key, tir->body + QUEUE + 0x28, HASH_KEY);
}

static struct object *firmware_queue(const struct mlx5_packet *p, const struct devx *tir,
				     uint32_t *ret_hash)
{
	struct mlx5_spread spread;
	const struct devx *table;
	uint32_t count;

	if (!(get32(tir->body + QUEUE + 4) & IS_TABLE))
		return object_by_number(OBJECT_WQ, get32(tir->body + QUEUE + 0x1c) & INDEX_24);
	table = find(OP_CREATE_RQT, get32(tir->body + QUEUE + 0x20) & INDEX_24);
	count = table ? get32(table->body + QUEUE + 0x18) & 0xffff : 0;
	if (!count || table->length < QUEUES + 4 * (size_t)count)
		return NULL;
	spread_read(tir, &spread);
	*ret_hash = packet_hash(p, &spread);
	return object_by_number(OBJECT_WQ,
				get32(table->body + QUEUES + 4 * (*ret_hash % count)) & INDEX_24);
}

static struct object *verbs_queue(const struct mlx5_packet *p, struct object *qp,
				  uint32_t *ret_hash)
{
	if (!qp->table)
		return qp;
	if (!qp->table->member_count || !qp->device)
		return NULL;
	*ret_hash = packet_hash(p, qp->device);
	return qp->table->members[*ret_hash % qp->table->member_count];
}

struct object *mlx5_queue_find(const struct mlx5_packet *p, uint64_t address, uint32_t *ret_hash)
{
	uint64_t tir = (address - LAB_TIR(TIRS_FROM)) / TIR_STEP + TIRS_FROM;
	const struct devx *devx;

	*ret_hash = 0;
	if (address < LAB_TIR(TIRS_FROM) || tir > INDEX_24)
		return NULL;
	for (uint32_t i = 0; i < object_count(OBJECT_QP); i++) {
		struct object *qp = object_at(OBJECT_QP, i);

		if (qp && qp->tir == tir)
			return verbs_queue(p, qp, ret_hash);
	}
	devx = find(OP_CREATE_TIR, tir);
	return devx ? firmware_queue(p, devx, ret_hash) : NULL;
}

/* ---- queues of the firmware */

static int cq_create(struct object *cq, const struct firmware *f)
{
	cq->ring = (struct queue){
		.entries = 1u << (firmware_get(f, 0x1c) >> 24 & 0x1f),
		.stride = firmware_get(f, 0x10) >> 21 & 7 ? 128 : 64,
		.record = firmware_memory(firmware_get(f, 0x14), firmware_get(f, 0x4c), 8),
	};
	cq->ring.base = firmware_memory(firmware_get(f, 0x58), firmware_get(f, 0x54),
					(size_t)cq->ring.entries * cq->ring.stride);
	cq->arm_seen = cq->ring.record ? cq->ring.record[1] : 0;
	return cq->ring.base && cq->ring.record ? model_create_cq(cq, cq->ring.entries) : EINVAL;
}

/* Describe the ring and the record of an RQ or an SQ. */
static bool ring_read(const struct firmware *f, struct queue *ret)
{
	uint32_t sizes = firmware_get(f, WQ + 0x20);

	ret->entries = 1u << (sizes & 0x1f);
	ret->stride = 1u << (sizes >> 16 & 0xf);
	ret->record = firmware_memory(firmware_get(f, WQ + 0x28), firmware_get(f, WQ + 0x14), 8);
	ret->base = firmware_memory(firmware_get(f, WQ + 0x2c), firmware_get(f, WQ + 0x34),
				    (size_t)ret->entries * ret->stride);
	return ret->record && ret->base;
}

static int queue_create(struct object *queue, const struct firmware *f)
{
	bool sends = queue->type == OBJECT_QP;
	struct queue *ring = sends ? &queue->sq : &queue->rq;
	struct object *cq = object_by_number(OBJECT_CQ, firmware_get(f, QUEUE + 8) & INDEX_24);

	queue->user_index = firmware_get(f, QUEUE + 4) & INDEX_24;
	queue->pd = object_by_number(OBJECT_PD, firmware_get(f, WQ + 8) & INDEX_24);
	queue->qp_type = IBV_QPT_RAW_PACKET;
	*(sends ? &queue->send_cq : &queue->recv_cq) = cq;
	if (!cq || !queue->pd || !ring_read(f, ring))
		return EINVAL;
	if (sends)
		ring->record++;
	model_frame_open();
	return 0;
}

int mlx5_queue_create(struct object *object, struct firmware *f)
{
	unsigned opcode = firmware_get(f, 0) >> 16;
	enum object_type type = opcode == OP_CREATE_CQ	 ? OBJECT_CQ
				: opcode == OP_CREATE_RQ ? OBJECT_WQ
							 : OBJECT_QP;
	struct object *of;
	int r;

	if (!model_has_frames() ||
	    (opcode != OP_CREATE_CQ && opcode != OP_CREATE_RQ && opcode != OP_CREATE_SQ))
		return EPROTONOSUPPORT;
	of = object_new(type);
	if (!of)
		return ENOMEM;
	r = type == OBJECT_CQ ? cq_create(of, f) : queue_create(of, f);
	if (r) {
		object_free(of);
		return r == EINVAL ? firmware_status(f, FIRMWARE_BAD_PARAMETER) : r;
	}
	firmware_attach(object, of);
	firmware_put(f, 8, of->number);
	return 0;
}

void mlx5_queue_modify(struct object *queue, const struct firmware *f)
{
	bool is_ready = (firmware_get(f, QUEUE) >> 20 & 0xf) == IS_READY;

	queue->state = is_ready ? IBV_QPS_RTS : IBV_QPS_RESET;
	if (!is_ready)
		queue->sq.consumed = queue->rq.consumed = 0;
}

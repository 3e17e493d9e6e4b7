/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The engine without network, threads and clock: two connected QPs, a wire that loses, repeats
 * and reorders as the test demands, and a clock that the test moves. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "providers/uroce/verbs/verbs.h"
#include "providers/uroce/engine/engine.h"

enum {
	MTU = 256,
	REF_MAX = 4096, /* largest message that is one packet, if the path has such messages */
	SQ_SIZE = 64,
	RQ_SIZE = 64,
	MAX_SGE = 4,
	CQ_SIZE = 4096,
	WIRE_SIZE = 8192,
	BUF = 1 << 20,
	MS = 1000000,
};

enum fate {
	PASS,
	DROP,
	TWICE,
	LATE
};

struct sim;
typedef enum fate (*wire_script)(struct sim *sim, const struct uroce_hdr *hdr, unsigned int number);

struct frame {
	uint8_t bytes[UROCE_HEADER_MAX + REF_MAX + 4];
	uint32_t length;
	bool placed;
};

struct sim {
	struct uroce_host host;
	struct uroce_dev dev;
	struct uroce_path path;
	struct verbs_pd pd;
	struct verbs_context *vctx;
	struct uroce_qp *qp[2];
	struct uroce_cq cq[2];
	uint8_t *buf[2];
	struct uroce_key *key[2];
	struct frame *wire;
	uint32_t wire_head, wire_tail;
	struct frame late;
	bool has_late;
	unsigned int number; /* packets offered to the wire */
	unsigned int dropped;
	unsigned int placed; /* writes that the initiator performed itself */
	bool full;
	wire_script script;
	uint64_t seed;
	uint32_t longest; /* bytes that one read asked for */
	uint64_t now;
};

/* --- the wire --- */

static void wire_append(struct sim *sim, const struct frame *frame)
{
	assert_true(sim->wire_head - sim->wire_tail < WIRE_SIZE);
	sim->wire[sim->wire_head++ % WIRE_SIZE] = *frame;
}

static int wire_send(struct uroce_path *path, const struct uroce_av *av, const struct uroce_tx *tx)
{
	struct sim *sim = container_of(path, struct sim, path);
	struct frame frame = {};
	uint32_t header;
	uint8_t *p;

	if (sim->full)
		return -EAGAIN;
	assert_true(tx->length <= (av->ref_min ? REF_MAX : MTU));
	header = uroce_wire_pack(tx->hdr, tx->length, frame.bytes);
	frame.placed = tx->placed;
	p = frame.bytes + header;
	for (int i = 0; i < tx->iovcnt; i++) {
		memcpy(p, tx->iov[i].iov_base, tx->iov[i].iov_len);
		p += tx->iov[i].iov_len;
	}
	frame.length = header + tx->length + uroce_wire_pad(tx->length);
	assert_true(tx->placed ? !tx->iovcnt : true);
	switch (sim->script ? sim->script(sim, tx->hdr, sim->number++) : PASS) {
	case DROP:
		sim->dropped++;
		return 0;
	case TWICE:
		wire_append(sim, &frame);
		break;
	case LATE:
		if (!sim->has_late) {
			sim->late = frame;
			sim->has_late = true;
			return 0;
		}
		break;
	case PASS:
		break;
	}
	wire_append(sim, &frame);
	if (sim->has_late) {
		sim->has_late = false;
		wire_append(sim, &sim->late);
	}
	return 0;
}

/* Whether the peer is in the middle of a copy. */
static bool peer_copies;

static bool wire_at_work(struct uroce_path *path, const struct uroce_av *av, uint32_t own_qpn)
{
	return peer_copies;
}

static const struct uroce_path_ops wire_ops = { .send = wire_send, .at_work = wire_at_work };

/* A path on which the initiator can write by itself. */
static int place(struct uroce_path *path, const struct uroce_av *av, const struct uroce_rdma *rdma)
{
	struct sim *sim = container_of(path, struct sim, path);
	uint8_t *to = (uint8_t *)(uintptr_t)rdma->remote_addr;

	assert_int_equal(rdma->kind, UROCE_RDMA_WRITE);
	for (int i = 0; i < rdma->iovcnt; i++) {
		memcpy(to, rdma->iov[i].iov_base, rdma->iov[i].iov_len);
		to += rdma->iov[i].iov_len;
	}
	sim->placed++;
	return 0;
}

static int fetch_nothing(struct uroce_path *path, const struct uroce_payload *payload,
			 uint32_t offset, void *dst, uint32_t length)
{
	assert_null(payload->data);
	return 0;
}

static const struct uroce_path_ops placing_ops = { .send = wire_send,
						   .fetch = fetch_nothing,
						   .rdma = place };

static void deliver(struct sim *sim, const struct frame *frame)
{
	static const uint8_t grh[GRH_LEN];
	struct uroce_packet pkt = {};
	int header = uroce_wire_unpack(frame->bytes, frame->length, &pkt.hdr, &pkt.payload.length);
	struct uroce_qp *qp;

	assert_true(header > 0);
	pkt.payload.data = frame->placed ? NULL : frame->bytes + header;
	pkt.payload.path = &sim->path;
	pkt.any_length = sim->qp[0]->av.ref_min;
	if (hdr_flags(&pkt.hdr) & PKT_DETH)
		pkt.grh = grh;
	qp = sim->qp[pkt.hdr.dest_qpn & 1];
	uroce_lock(&qp->lock);
	if (hdr_flags(&pkt.hdr) & PKT_REQUEST)
		uroce_resp_packet(qp, &pkt);
	else
		uroce_comp_packet(qp, &pkt, sim->now);
	uroce_unlock(&qp->lock);
}

static void owed(struct sim *sim)
{
	struct uroce_qp *qp, *next;
	int r;

	for (qp = TAILQ_FIRST(&sim->host.engine.strands[0].acks); qp; qp = next) {
		next = TAILQ_NEXT(qp, ack_entry);
		uroce_lock(&qp->lock);
		while ((r = uroce_resp_turn(qp)) == -EBUSY)
			;
		if (!r) {
			TAILQ_REMOVE(&sim->host.engine.strands[0].acks, qp, ack_entry);
			qp->on_acks = false;
		}
		uroce_unlock(&qp->lock);
	}
}

/* Deliver everything on the wire, and everything that follows from it. */
static void sim_run(struct sim *sim)
{
	do {
		while (sim->wire_tail != sim->wire_head) {
			struct frame frame = sim->wire[sim->wire_tail++ % WIRE_SIZE];

			deliver(sim, &frame);
		}
		owed(sim);
	} while (sim->wire_tail != sim->wire_head);
}

static void pass_time(struct sim *sim, uint64_t ns)
{
	struct uroce_timer *timer;

	sim->now += ns;
	while ((timer = uroce_wheel_expire(&sim->host.engine.wheel, sim->now))) {
		struct uroce_qp *qp = container_of(timer, struct uroce_qp, timer);

		uroce_lock(&qp->lock);
		uroce_req_timeout(qp, sim->now);
		uroce_unlock(&qp->lock);
		sim_run(sim);
	}
	sim_run(sim);
}

/* Run and let time pass until nothing is outstanding, or @limit ms are over. */
static void run(struct sim *sim, unsigned int limit)
{
	sim_run(sim);
	for (unsigned int i = 0; i < limit; i++) {
		if (sim->qp[0]->sq.tail == sim->qp[0]->sq.head &&
		    sim->qp[1]->sq.tail == sim->qp[1]->sq.head)
			break;
		pass_time(sim, MS);
	}
}

/* --- set-up --- */

static struct uroce_qp *qp_new(struct sim *sim, unsigned int side, enum ibv_qp_type type)
{
	struct uroce_qp *qp = calloc(1, sizeof(*qp));

	qp->engine = &sim->host.engine;
	qp->dev = &sim->dev;
	qp->type = type;
	qp->vqp.qp.qp_num = 0x10 + side;
	qp->vqp.qp.pd = &sim->pd.pd;
	qp->vqp.qp.context = &sim->vctx->context;
	qp->dest_qpn = 0x10 + !side;
	qp->mtu = MTU;
	qp->access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	qp->av.path = &sim->path;
	qp->av.mtu = MTU;
	qp->send_cq = qp->recv_cq = &sim->cq[side];
	qp->sq.stride = 512;
	qp->sq.size = SQ_SIZE;
	qp->sq.mask = SQ_SIZE - 1;
	qp->sq.max_sge = MAX_SGE;
	qp->sq.ring = calloc(SQ_SIZE, qp->sq.stride);
	assert_int_equal(uroce_rq_alloc(&qp->rq, &sim->pd.pd, 0, RQ_SIZE, MAX_SGE), 0);
	qp->resp.rwqe = calloc(1, qp->rq.stride);
	qp->resp.res_size = 16;
	qp->resp.res = calloc(16, sizeof(*qp->resp.res));
	qp->resp.max_rd_atomic = 8;
	qp->resp.min_rnr_timer = 12;
	qp->req.max_rd_atomic = 4;
	qp->req.window = qp->req.window_max = 64;
	qp->req.retry_cnt = qp->req.retry_left = 7;
	qp->req.rnr_retry = qp->req.rnr_left = 3;
	qp->req.timeout = 14;
	qp->state = IBV_QPS_RTS;
	return qp;
}

static void psn_set(struct sim *sim, uint32_t psn)
{
	for (int side = 0; side < 2; side++) {
		sim->qp[side]->req.psn = sim->qp[side]->req.una = sim->qp[side]->req.max_psn = psn;
		sim->qp[side]->resp.psn = psn;
	}
}

/* No other process is shown a QP. */
static void nobody_looks(struct uroce_qp *qp)
{
}

static struct engine_events events;

static struct sim *sim_new(enum ibv_qp_type type)
{
	struct uroce_context *ctx = calloc(1, sizeof(*ctx));
	struct sim *sim = calloc(1, sizeof(*sim));
	struct ibv_device *device = calloc(1, sizeof(*device));

	snprintf(device->name, sizeof(device->name), "sim");
	ctx->vctx.context.device = device;
	assert_int_equal(uroce_event_open(ctx), 0);
	ctx->dev = &sim->dev;
	sim->vctx = &ctx->vctx;
	sim->pd.pd.context = &sim->vctx->context;
	sim->now = 1000ull * MS;
	uroce_host_init(&sim->host, sim->now);
	events = uroce_engine_events;
	events.stopped = nobody_looks;
	sim->host.engine.events = &events;
	assert_int_equal(uroce_keys_new(&sim->host.engine.keys), 0);
	sim->dev.host = &sim->host;
	sim->path =
		(struct uroce_path){ .ops = &wire_ops, .host = &sim->host.paths, .name = "sim" };
	sim->wire = calloc(WIRE_SIZE, sizeof(*sim->wire));
	for (unsigned int side = 0; side < 2; side++) {
		struct uroce_cq *cq = &sim->cq[side];

		cq->ring = calloc(CQ_SIZE, sizeof(*cq->ring));
		cq->mask = CQ_SIZE - 1;
		cq->limit = CQ_SIZE;
		cq->engine = &sim->host.engine;
		cq->vcq.cq.context = &sim->vctx->context;
		sim->buf[side] = calloc(1, BUF);
		assert_int_equal(uroce_key_new(sim->host.engine.keys, &sim->pd.pd, sim->buf[side],
					       BUF, (uintptr_t)sim->buf[side],
					       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
						       IBV_ACCESS_REMOTE_READ |
						       IBV_ACCESS_REMOTE_ATOMIC,
					       &sim->key[side]),
				 0);
		sim->qp[side] = qp_new(sim, side, type);
	}
	psn_set(sim, 100);
	return sim;
}

static void sim_free(struct sim *sim)
{
	struct uroce_context *ctx = (struct uroce_context *)sim->vctx;

	for (unsigned int side = 0; side < 2; side++) {
		struct uroce_qp *qp = sim->qp[side];

		free(qp->sq.ring);
		free(qp->rq.ring);
		free(qp->resp.rwqe);
		free(qp->resp.res);
		free(qp);
		free(sim->cq[side].ring);
		free(sim->buf[side]);
	}
	uroce_keys_free(sim->host.engine.keys);
	uroce_event_close(ctx);
	close(ctx->vctx.context.async_fd);
	free(ctx->vctx.context.device);
	free(ctx);
	free(sim->wire);
	free(sim);
}

/* --- work requests --- */

static struct uroce_swqe *post(struct sim *sim, unsigned int side, enum ibv_wr_opcode opcode,
			       uint32_t offset, uint32_t length)
{
	struct uroce_qp *qp = sim->qp[side];
	struct uroce_swqe *wqe = sq_wqe(&qp->sq, qp->sq.head);

	assert_true(qp->sq.head - qp->sq.tail < SQ_SIZE);
	*wqe = (struct uroce_swqe){ .wr_id = qp->sq.head,
				    .opcode = opcode,
				    .flags = IBV_SEND_SIGNALED,
				    .num_sge = 1,
				    .length = length };
	wqe->sge[0] =
		(struct ibv_sge){ (uintptr_t)sim->buf[side] + offset, length, sim->key[side]->key };
	return wqe;
}

static void ring(struct sim *sim, unsigned int side)
{
	struct uroce_qp *qp = sim->qp[side];

	uroce_lock(&qp->lock);
	qp->sq.head++;
	uroce_req_run(qp, sim->now);
	uroce_unlock(&qp->lock);
}

static void post_rdma(struct sim *sim, unsigned int side, enum ibv_wr_opcode opcode,
		      uint32_t offset, uint32_t length, uint32_t remote_offset)
{
	struct uroce_swqe *wqe = post(sim, side, opcode, offset, length);

	wqe->rdma.remote_addr = (uintptr_t)sim->buf[!side] + remote_offset;
	wqe->rdma.rkey = sim->key[!side]->key;
	wqe->imm_data = htobe32(0x1234);
	ring(sim, side);
}

static void post_send(struct sim *sim, unsigned int side, uint32_t offset, uint32_t length)
{
	post(sim, side, IBV_WR_SEND, offset, length);
	ring(sim, side);
}

static void post_recv(struct sim *sim, unsigned int side, uint32_t offset, uint32_t length)
{
	struct uroce_rq *rq = &sim->qp[side]->rq;
	struct uroce_rwqe *wqe = rq_wqe(rq, rq->head);

	wqe->wr_id = 1000 + rq->head;
	wqe->length = length;
	wqe->num_sge = 1;
	wqe->sge[0] =
		(struct ibv_sge){ (uintptr_t)sim->buf[side] + offset, length, sim->key[side]->key };
	rq->head++;
}

static const struct uroce_cqe *completion(struct sim *sim, unsigned int side)
{
	struct uroce_cq *cq = &sim->cq[side];

	return cq->tail == cq->head ? NULL : &cq->ring[cq->tail++ & cq->mask];
}

static void expect(struct sim *sim, unsigned int side, enum ibv_wc_status status,
		   enum ibv_wc_opcode opcode)
{
	const struct uroce_cqe *cqe = completion(sim, side);

	assert_non_null(cqe);
	assert_int_equal(cqe->wc.status, status);
	assert_int_equal(cqe->wc.opcode, opcode);
}

static void fill(struct sim *sim, unsigned int side, uint32_t offset, uint32_t length)
{
	for (uint32_t i = 0; i < length; i++)
		sim->buf[side][offset + i] = (i * 7 + offset) ^ (i >> 8);
}

static void same(struct sim *sim, uint32_t from, uint32_t to, uint32_t length)
{
	assert_memory_equal(sim->buf[0] + from, sim->buf[1] + to, length);
}

/* --- no loss --- */

static void test_send_sizes(void **state)
{
	static const uint32_t sizes[] = { 0, 1, 3, 255, 256, 257, 512, 1000, 70000 };
	struct sim *sim = sim_new(IBV_QPT_RC);

	for (unsigned int i = 0; i < ARRAY_SIZE(sizes); i++) {
		fill(sim, 0, 0, sizes[i]);
		post_recv(sim, 1, 4096, BUF / 2);
		post_send(sim, 0, 0, sizes[i]);
		run(sim, 1);
		expect(sim, 0, IBV_WC_SUCCESS, IBV_WC_SEND);
		assert_int_equal(sim->cq[1].ring[sim->cq[1].tail & (CQ_SIZE - 1)].wc.byte_len,
				 sizes[i]);
		expect(sim, 1, IBV_WC_SUCCESS, IBV_WC_RECV);
		same(sim, 0, 4096, sizes[i]);
	}
	sim_free(sim);
}

static void test_write_read_atomic(void **state)
{
	struct sim *sim = sim_new(IBV_QPT_RC);
	uint64_t *counter = (uint64_t *)(sim->buf[1] + 512 * 1024);
	struct uroce_swqe *wqe;

	fill(sim, 0, 0, 100000);
	post_rdma(sim, 0, IBV_WR_RDMA_WRITE, 0, 100000, 64);
	run(sim, 1);
	expect(sim, 0, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	same(sim, 0, 64, 100000);

	post_recv(sim, 1, 0, 16);
	post_rdma(sim, 0, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 5000, 200000);
	run(sim, 1);
	expect(sim, 0, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	expect(sim, 1, IBV_WC_SUCCESS, IBV_WC_RECV_RDMA_WITH_IMM);

	fill(sim, 1, 300000, 60001);
	post_rdma(sim, 0, IBV_WR_RDMA_READ, 400000, 60001, 300000);
	run(sim, 1);
	expect(sim, 0, IBV_WC_SUCCESS, IBV_WC_RDMA_READ);
	same(sim, 400000, 300000, 60001);

	*counter = 40;
	wqe = post(sim, 0, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8);
	wqe->atomic.remote_addr = (uintptr_t)counter;
	wqe->atomic.rkey = sim->key[1]->key;
	wqe->atomic.compare_add = 2;
	ring(sim, 0);
	run(sim, 1);
	expect(sim, 0, IBV_WC_SUCCESS, IBV_WC_FETCH_ADD);
	assert_int_equal(*counter, 42);
	assert_int_equal(*(uint64_t *)sim->buf[0], 40);
	sim_free(sim);
}

static void test_psn_wrap(void **state)
{
	struct sim *sim = sim_new(IBV_QPT_RC);

	psn_set(sim, PSN_MASK - 5);
	fill(sim, 0, 0, 20000);
	post_rdma(sim, 0, IBV_WR_RDMA_WRITE, 0, 20000, 0);
	post_rdma(sim, 0, IBV_WR_RDMA_READ, 500000, 20000, 0);
	run(sim, 1);
	expect(sim, 0, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	expect(sim, 0, IBV_WC_SUCCESS, IBV_WC_RDMA_READ);
	assert_memory_equal(sim->buf[0], sim->buf[0] + 500000, 20000);
	sim_free(sim);
}

/* A path on which a long message is one packet and the initiator can write by itself. */
static struct sim *placing_new(void)
{
	struct sim *sim = sim_new(IBV_QPT_RC);

	sim->path.ops = &placing_ops;
	for (int side = 0; side < 2; side++)
		sim->qp[side]->av.ref_min = MTU + 1;
	return sim;
}

static enum fate drop_acks_once(struct sim *sim, const struct uroce_hdr *hdr, unsigned int number)
{
	return !sim->dropped && (hdr->opcode & UROCE_OPERATION_MASK) == UROCE_ACK ? DROP : PASS;
}

/* A write that the initiator placed belongs to the target: the packet's repetition changes no
 * memory. */
static void test_placed_once(void **state)
{
	struct sim *sim = placing_new();

	sim->script = drop_acks_once;
	fill(sim, 0, 0, REF_MAX);
	post_recv(sim, 1, 0, 16);
	post_rdma(sim, 0, IBV_WR_RDMA_WRITE_WITH_IMM, 0, REF_MAX, 5000);
	assert_int_equal(sim->placed, 1);
	sim_run(sim);
	expect(sim, 1, IBV_WC_SUCCESS, IBV_WC_RECV_RDMA_WITH_IMM);
	same(sim, 0, 5000, REF_MAX);
	assert_null(completion(sim, 0));
	memset(sim->buf[1] + 5000, 0, REF_MAX);
	run(sim, 100);
	expect(sim, 0, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	assert_int_equal(sim->dropped, 1);
	assert_int_equal(sim->placed, 1);
	for (uint32_t i = 0; i < REF_MAX; i++)
		assert_int_equal(sim->buf[1][5000 + i], 0);
	sim_free(sim);
}

/* A write that travelled as a packet is not placed when its packet is repeated. */
static void test_placed_not_later(void **state)
{
	struct sim *sim = placing_new();

	post_rdma(sim, 0, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 1,
		  0); /* no receive: refused for a while */
	fill(sim, 0, 0, REF_MAX);
	post_rdma(sim, 0, IBV_WR_RDMA_WRITE_WITH_IMM, 0, REF_MAX, 5000);
	sim_run(sim);
	post_recv(sim, 1, 0, 16);
	post_recv(sim, 1, 0, 16);
	run(sim, 1000);
	expect(sim, 0, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	expect(sim, 0, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	assert_int_equal(sim->placed, 0);
	same(sim, 0, 5000, REF_MAX);
	sim_free(sim);
}

/* A write behind placed writes is placed, but a write behind a send is not. */
static void test_placed_in_order(void **state)
{
	struct sim *sim = placing_new();

	for (int i = 0; i < 8; i++)
		post_recv(sim, 1, 6000, 16);
	post_rdma(sim, 0, IBV_WR_RDMA_WRITE_WITH_IMM, 0, REF_MAX, 5000);
	post_rdma(sim, 0, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 0, 5000);
	post_rdma(sim, 0, IBV_WR_RDMA_WRITE_WITH_IMM, 0, REF_MAX, 5000);
	assert_int_equal(sim->placed, 2);
	post_send(sim, 0, 0, 16);
	post_rdma(sim, 0, IBV_WR_RDMA_WRITE_WITH_IMM, 0, REF_MAX, 5000);
	assert_int_equal(sim->placed, 2);
	run(sim, 10);
	for (int i = 0; i < 5; i++)
		assert_int_equal(completion(sim, 0)->wc.status, IBV_WC_SUCCESS);
	post_rdma(sim, 0, IBV_WR_RDMA_WRITE_WITH_IMM, 0, REF_MAX, 5000);
	assert_int_equal(sim->placed, 3);
	run(sim, 10);
	sim_free(sim);
}

/* A short write behind placed writes is placed, so that later ones can be placed too. If no write
 * before it was placed, a short write is sent as a packet. */
static void test_placed_small(void **state)
{
	struct sim *sim = placing_new();

	for (int i = 0; i < 4; i++)
		post_recv(sim, 1, 6000, 16);
	fill(sim, 0, 0, REF_MAX);
	post_rdma(sim, 0, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 16, 5000);
	assert_int_equal(sim->placed, 0);
	run(sim, 10);
	post_rdma(sim, 0, IBV_WR_RDMA_WRITE_WITH_IMM, 0, REF_MAX, 5000);
	post_rdma(sim, 0, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 16, 5000 + REF_MAX);
	post_rdma(sim, 0, IBV_WR_RDMA_WRITE_WITH_IMM, 16, REF_MAX - 16, 5016);
	assert_int_equal(sim->placed, 3);
	run(sim, 10);
	for (int i = 0; i < 4; i++)
		expect(sim, 0, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	same(sim, 0, 5000, REF_MAX);
	assert_memory_equal(sim->buf[0], sim->buf[1] + 5000 + REF_MAX, 16);
	sim_free(sim);
}

/* No write is in flight and the last one was long. Therefore a few bytes are part of a stream, and
 * not a short message. */
static void test_placed_small_later(void **state)
{
	struct sim *sim = placing_new();

	for (int i = 0; i < 4; i++)
		post_recv(sim, 1, 6000, 16);
	post_rdma(sim, 0, IBV_WR_RDMA_WRITE_WITH_IMM, 0, REF_MAX, 5000);
	run(sim, 10);
	post_rdma(sim, 0, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 16, 5000 + REF_MAX);
	assert_int_equal(sim->placed, 2);
	run(sim, 10);
	post_rdma(sim, 0, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 16, 5016 + REF_MAX);
	assert_int_equal(sim->placed, 2);
	run(sim, 10);
	for (int i = 0; i < 3; i++)
		expect(sim, 0, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	sim_free(sim);
}

/* Return whether @bytes were copied from their place to the target; otherwise they are in the
 * buffer. */
static bool post_from(struct sim *sim, unsigned int side, uint8_t flags, uint32_t offset,
		      const void *bytes, uint32_t length, uint32_t remote_offset)
{
	struct uroce_swqe *wqe = post(sim, side, IBV_WR_RDMA_WRITE_WITH_IMM, offset, length);
	bool placed;

	wqe->flags |= flags;
	wqe->rdma.remote_addr = (uintptr_t)sim->buf[!side] + remote_offset;
	wqe->rdma.rkey = sim->key[!side]->key;
	uroce_lock(&sim->qp[side]->lock);
	placed = uroce_req_place_from(sim->qp[side], wqe, bytes);
	uroce_unlock(&sim->qp[side]->lock);
	if (!placed)
		memcpy(sim->buf[side] + offset, bytes, length);
	ring(sim, side);
	return placed;
}

/* Place bytes of unregistered memory. Bytes that go by way of the buffer arrive too. */
static void test_placed_from(void **state)
{
	struct sim *sim = placing_new();
	uint8_t bytes[REF_MAX];

	for (int i = 0; i < 8; i++)
		post_recv(sim, 1, 0, 16);
	memset(sim->buf[0], 0, REF_MAX);
	for (uint32_t i = 0; i < REF_MAX; i++)
		bytes[i] = i * 7;
	assert_true(post_from(sim, 0, 0, 0, bytes, REF_MAX, 5000));
	memset(bytes, 0xaa, 8); /* the program may reuse them */
	assert_true(post_from(sim, 0, 0, 0, bytes, REF_MAX, 5000 + REF_MAX));
	assert_int_equal(sim->placed, 2);
	assert_int_equal(sim->buf[0][100], 0);
	assert_int_equal(sim->buf[1][5000 + 1], 7);
	assert_memory_equal(sim->buf[1] + 5000 + REF_MAX, bytes, REF_MAX);
	/* Behind a send, or with a fence, the write cannot be placed. */
	post_send(sim, 0, 0, 16);
	assert_false(post_from(sim, 0, 0, 0, bytes, REF_MAX, 5000 + 2 * REF_MAX));
	run(sim, 10);
	assert_false(post_from(sim, 0, IBV_SEND_FENCE, 0, bytes, REF_MAX, 5000));
	run(sim, 10);
	assert_memory_equal(sim->buf[1] + 5000 + 2 * REF_MAX, bytes, REF_MAX);
	for (int i = 0; i < 5; i++)
		assert_int_equal(completion(sim, 0)->wc.status, IBV_WC_SUCCESS);
	sim_free(sim);
}

/* A write for which the peer has no receive waits, and the write behind it goes by way of the
 * buffer. */
static void test_placed_from_waits(void **state)
{
	struct sim *sim = placing_new();
	uint8_t bytes[REF_MAX];

	memset(bytes, 0x5a, sizeof(bytes));
	post_rdma(sim, 0, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 1,
		  0); /* no receive: refused for a while */
	sim_run(sim);
	assert_false(post_from(sim, 0, 0, 0, bytes, REF_MAX, 5000));
	assert_int_equal(sim->placed, 0);
	post_recv(sim, 1, 0, 16);
	post_recv(sim, 1, 0, 16);
	run(sim, 1000);
	for (int i = 0; i < 2; i++)
		assert_int_equal(completion(sim, 0)->wc.status, IBV_WC_SUCCESS);
	assert_memory_equal(sim->buf[1] + 5000, bytes, REF_MAX);
	sim_free(sim);
}

/* --- loss --- */

static enum fate drop_nth(struct sim *sim, const struct uroce_hdr *hdr, unsigned int number)
{
	return number == sim->seed ? DROP : PASS;
}

/* Whichever single packet is lost, of any kind, everything completes. */
static void test_drop_each(void **state)
{
	for (unsigned int lost = 0; lost < 60; lost++) {
		struct sim *sim = sim_new(IBV_QPT_RC);

		sim->script = drop_nth;
		sim->seed = lost;
		fill(sim, 0, 0, 3000);
		fill(sim, 1, 100000, 3000);
		post_recv(sim, 1, 4096, 8192);
		post_send(sim, 0, 0, 3000);
		post_rdma(sim, 0, IBV_WR_RDMA_WRITE, 0, 2500, 50000);
		post_rdma(sim, 0, IBV_WR_RDMA_READ, 200000, 3000, 100000);
		post_rdma(sim, 0, IBV_WR_RDMA_WRITE, 0, 100, 60000);
		run(sim, 3000);
		expect(sim, 0, IBV_WC_SUCCESS, IBV_WC_SEND);
		expect(sim, 0, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
		expect(sim, 0, IBV_WC_SUCCESS, IBV_WC_RDMA_READ);
		expect(sim, 0, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
		expect(sim, 1, IBV_WC_SUCCESS, IBV_WC_RECV);
		assert_null(completion(sim, 1));
		same(sim, 0, 4096, 3000);
		same(sim, 0, 50000, 2500);
		same(sim, 200000, 100000, 3000);
		sim_free(sim);
	}
}

static uint64_t next_random(struct sim *sim)
{
	sim->seed = sim->seed * 6364136223846793005ull + 1442695040888963407ull;
	return sim->seed >> 33;
}

static enum fate rough_sea(struct sim *sim, const struct uroce_hdr *hdr, unsigned int number)
{
	uint64_t r = next_random(sim) % 100;

	return r < 4 ? DROP : r < 6 ? TWICE : r < 10 ? LATE : PASS;
}

static void rough_round(struct sim *sim, unsigned int round)
{
	uint32_t length = next_random(sim) % 9000, at = (round % 8) * 16384;
	uint64_t *counter = (uint64_t *)(sim->buf[1] + 900000);
	uint64_t before = *counter;
	struct uroce_swqe *wqe;

	fill(sim, 0, at, length);
	post_recv(sim, 1, 300000 + at, 16384);
	post_send(sim, 0, at, length);
	post_rdma(sim, 0, IBV_WR_RDMA_WRITE, at, length, 500000 + at);
	post_rdma(sim, 0, IBV_WR_RDMA_READ, 700000, length, 500000 + at);
	wqe = post(sim, 0, IBV_WR_ATOMIC_FETCH_AND_ADD, 800000, 8);
	wqe->atomic.remote_addr = (uintptr_t)counter;
	wqe->atomic.rkey = sim->key[1]->key;
	wqe->atomic.compare_add = 1;
	ring(sim, 0);
	run(sim, 20000);
	expect(sim, 0, IBV_WC_SUCCESS, IBV_WC_SEND);
	expect(sim, 0, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	expect(sim, 0, IBV_WC_SUCCESS, IBV_WC_RDMA_READ);
	expect(sim, 0, IBV_WC_SUCCESS, IBV_WC_FETCH_ADD);
	expect(sim, 1, IBV_WC_SUCCESS, IBV_WC_RECV);
	same(sim, at, 300000 + at, length);
	same(sim, at, 500000 + at, length);
	assert_memory_equal(sim->buf[0] + 700000, sim->buf[0] + at, length);
	assert_int_equal(*counter, before + 1); /* executed exactly once */
	assert_int_equal(*(uint64_t *)(sim->buf[0] + 800000), before);
}

static void test_rough_sea(void **state)
{
	for (unsigned int seed = 1; seed <= 40; seed++) {
		struct sim *sim = sim_new(IBV_QPT_RC);

		sim->script = rough_sea;
		sim->seed = seed;
		psn_set(sim, (PSN_MASK - 200 + seed) & PSN_MASK);
		for (unsigned int round = 0; round < 25; round++)
			rough_round(sim, round);
		sim_free(sim);
	}
}

static enum fate drop_all(struct sim *sim, const struct uroce_hdr *hdr, unsigned int number)
{
	return DROP;
}

static void test_retry_exceeded(void **state)
{
	struct sim *sim = sim_new(IBV_QPT_RC);

	sim->script = drop_all;
	sim->qp[0]->req.retry_cnt = sim->qp[0]->req.retry_left = 2;
	post_send(sim, 0, 0, 10);
	post_send(sim, 0, 0, 10);
	run(sim, 1000);
	expect(sim, 0, IBV_WC_RETRY_EXC_ERR, IBV_WC_SEND);
	expect(sim, 0, IBV_WC_WR_FLUSH_ERR, IBV_WC_SEND);
	assert_int_equal(sim->qp[0]->state, IBV_QPS_ERR);
	assert_int_equal(sim->qp[0]->first_error.status, IBV_WC_RETRY_EXC_ERR);
	/* One, two and four timeouts of 4.096 us << 14, no sooner. */
	assert_in_range(sim->now / MS - 1000, 7 * 67, 7 * 67 + 40);
	sim_free(sim);
}

static enum fate drop_acks(struct sim *sim, const struct uroce_hdr *hdr, unsigned int number)
{
	return hdr_flags(hdr) & PKT_REQUEST ? PASS : DROP;
}

/* The probes during silence become rarer: 2, 4, ... 64, 64 ms apart, with any timeout. */
static void test_probe_intervals(void **state)
{
	struct sim *sim = sim_new(IBV_QPT_RC);

	sim->script = drop_all;
	sim->qp[0]->req.timeout = 20;
	post_send(sim, 0, 0, 10);
	run(sim, 1000);
	assert_in_range(sim->number, 10, 25);
	sim_free(sim);
}

enum {
	PROBED = 8 * MTU
};

/* Lose a message or its answer, as @script demands, until the first probe. */
static struct sim *probe(enum ibv_wr_opcode opcode, enum ibv_wc_opcode completed,
			 wire_script script)
{
	struct sim *sim = sim_new(IBV_QPT_RC);

	fill(sim, opcode == IBV_WR_RDMA_READ, 0, PROBED);
	sim->script = script;
	post_rdma(sim, 0, opcode, 0, PROBED, 0);
	sim_run(sim);
	sim->script = NULL;
	run(sim, 4);
	expect(sim, 0, IBV_WC_SUCCESS, completed);
	same(sim, 0, 0, PROBED);
	return sim;
}

/* The peer has everything and only its answer is late: one packet goes out again, and the QP
 * does not slow down. */
static void test_probe_late(void **state)
{
	struct sim *sim = probe(IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE, drop_acks);

	assert_int_equal(sim->qp[0]->counters.resent, 1);
	assert_int_equal(sim->qp[0]->req.window, sim->qp[0]->req.window_max);
	sim_free(sim);
}

/* The whole message was lost: the answer to the probe reports that, and the rest follows at
 * once. */
static void test_probe_lost(void **state)
{
	struct sim *sim = probe(IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE, drop_all);

	assert_int_equal(sim->qp[0]->counters.resent, PROBED / MTU);
	assert_true(sim->qp[0]->req.window < sim->qp[0]->req.window_max);
	sim_free(sim);
}

/* The peer is stopped for long: each probe is one packet, and the window is as large afterwards. */
static void test_probe_stopped(void **state)
{
	struct sim *sim = sim_new(IBV_QPT_RC);

	sim->script = drop_acks;
	sim->qp[0]->req.timeout = 20;
	fill(sim, 0, 0, PROBED);
	post_rdma(sim, 0, IBV_WR_RDMA_WRITE, 0, PROBED, 0);
	run(sim, 100);
	assert_in_range(sim->qp[0]->counters.resent, 3, 7);
	assert_int_equal(sim->qp[0]->req.window, sim->qp[0]->req.window_max);
	sim->script = NULL;
	run(sim, 100);
	expect(sim, 0, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	assert_in_range(sim->qp[0]->counters.resent, 3, 8);
	sim_free(sim);
}

/* An answer that comes sooner than any round trip belongs to the packet's first transmission. If
 * it acknowledges no more than that packet, it reports no loss. */
static void test_probe_crossed(void **state)
{
	struct sim *sim = sim_new(IBV_QPT_RC);
	struct uroce_requester *req = &sim->qp[0]->req;

	sim->script = drop_acks;
	req->timeout = 20;
	req->rtt = 50 * MS;
	post_rdma(sim, 0, IBV_WR_RDMA_WRITE, 0, PROBED, 0);
	while (!req->probing)
		pass_time(sim, MS);
	uroce_lock(&sim->qp[0]->lock);
	uroce_comp_ack(sim->qp[0], req->una, AETH_ACK, sim->now);
	uroce_unlock(&sim->qp[0]->lock);
	assert_int_equal(sim->qp[0]->counters.resent, 1);
	assert_int_equal(req->window, req->window_max);
	sim->script = NULL;
	run(sim, 200);
	expect(sim, 0, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	assert_int_equal(sim->qp[0]->counters.resent, 2);
	sim_free(sim);
}

/* A probe cannot ask for a response: the request goes out again. */
static void test_probe_read(void **state)
{
	sim_free(probe(IBV_WR_RDMA_READ, IBV_WC_RDMA_READ, drop_all));
}

/* After slow answers of a peer its packets are no longer sent twice. After fast ones they are,
 * soon. */
static void test_round_trip(void **state)
{
	struct sim *sim = sim_new(IBV_QPT_RC);
	unsigned int before = 0;

	for (unsigned int i = 0; i < 60; i++) {
		unsigned int slow = i < 20 ? 10 : 0;

		if (i == 10)
			before = sim->qp[0]->counters.resent;
		if (i == 20)
			assert_int_equal(sim->qp[0]->counters.resent, before);
		post_recv(sim, 1, 4096, 600);
		post_send(sim, 0, 0, 600);
		sim->script = slow ? drop_acks : NULL;
		sim_run(sim);
		for (unsigned int ms = 0; ms + 1 < slow; ms++)
			pass_time(sim, MS);
		sim->script = NULL;
		/* The late acknowledgement arrives. */
		uroce_lock(&sim->qp[0]->lock);
		if (slow)
			uroce_comp_ack(sim->qp[0], psn_add(sim->qp[1]->resp.psn, PSN_MASK),
				       AETH_ACK, sim->now);
		uroce_unlock(&sim->qp[0]->lock);
		run(sim, 1);
		expect(sim, 0, IBV_WC_SUCCESS, IBV_WC_SEND);
		pass_time(sim, MS);
	}
	before = sim->qp[0]->counters.resent;
	sim->script = drop_all;
	post_send(sim, 0, 0, 600);
	run(sim, 4);
	assert_true(sim->qp[0]->counters.resent > before);
	sim_free(sim);
}

/* --- receiver not ready --- */

static void test_rnr_wait(void **state)
{
	struct sim *sim = sim_new(IBV_QPT_RC);

	fill(sim, 0, 0, 600);
	post_send(sim, 0, 0, 600);
	post_send(sim, 0, 0, 600);
	sim_run(sim);
	assert_null(completion(sim, 0));
	post_recv(sim, 1, 4096, 600);
	post_recv(sim, 1, 8192, 600);
	run(sim, 100);
	expect(sim, 0, IBV_WC_SUCCESS, IBV_WC_SEND);
	expect(sim, 0, IBV_WC_SUCCESS, IBV_WC_SEND);
	expect(sim, 1, IBV_WC_SUCCESS, IBV_WC_RECV);
	same(sim, 0, 4096, 600);
	same(sim, 0, 8192, 600);
	sim_free(sim);
}

static void test_rnr_exceeded(void **state)
{
	struct sim *sim = sim_new(IBV_QPT_RC);

	post_send(sim, 0, 0, 600);
	run(sim, 100);
	expect(sim, 0, IBV_WC_RNR_RETRY_EXC_ERR, IBV_WC_SEND);
	sim_free(sim);
}

/* --- every NAK --- */

static void expect_refused(struct sim *sim, enum ibv_wc_status status, enum ibv_wc_opcode opcode)
{
	run(sim, 10);
	expect(sim, 0, status, opcode);
	assert_int_equal(sim->qp[0]->state, IBV_QPS_ERR);
	assert_int_equal(sim->qp[1]->state, IBV_QPS_ERR);
	sim_free(sim);
}

static void test_nak_wrong_rkey(void **state)
{
	struct sim *sim = sim_new(IBV_QPT_RC);
	struct uroce_swqe *wqe = post(sim, 0, IBV_WR_RDMA_WRITE, 0, 100);

	wqe->rdma.remote_addr = (uintptr_t)sim->buf[1];
	wqe->rdma.rkey = sim->key[1]->key ^ 1;
	ring(sim, 0);
	expect_refused(sim, IBV_WC_REM_ACCESS_ERR, IBV_WC_RDMA_WRITE);
}

static void test_nak_out_of_range(void **state)
{
	struct sim *sim = sim_new(IBV_QPT_RC);

	post_rdma(sim, 0, IBV_WR_RDMA_WRITE, 0, 1000, BUF - 999);
	expect_refused(sim, IBV_WC_REM_ACCESS_ERR, IBV_WC_RDMA_WRITE);
}

static void test_nak_no_right(void **state)
{
	struct sim *sim = sim_new(IBV_QPT_RC);

	sim->qp[1]->access = IBV_ACCESS_REMOTE_READ;
	post_rdma(sim, 0, IBV_WR_RDMA_WRITE, 0, 1000, 0);
	expect_refused(sim, IBV_WC_REM_INV_REQ_ERR, IBV_WC_RDMA_WRITE);
}

/* The target revokes the access right in the middle of a message, at its first packet. */
static enum fate right_ends(struct sim *sim, const struct uroce_hdr *hdr, unsigned int number)
{
	if (hdr->dest_qpn == sim->qp[0]->vqp.qp.qp_num)
		sim->qp[1]->access = 0;
	return PASS;
}

static void test_nak_right_ends(void **state)
{
	struct sim *sim = sim_new(IBV_QPT_RC);

	memset(sim->buf[0], 1, BUF);
	memset(sim->buf[1], 0, BUF);
	sim->script = right_ends;
	sim->qp[0]->req.window = sim->qp[0]->req.window_max = 8;
	post_rdma(sim, 0, IBV_WR_RDMA_WRITE, 0, BUF, 0);
	run(sim, 10);
	expect(sim, 0, IBV_WC_REM_INV_REQ_ERR, IBV_WC_RDMA_WRITE);
	assert_int_equal(sim->buf[1][BUF - 1], 0);
	sim_free(sim);
}

static void test_nak_right_to_read_ends(void **state)
{
	struct sim *sim = sim_new(IBV_QPT_RC);

	memset(sim->buf[0], 0, BUF);
	memset(sim->buf[1], 1, BUF);
	sim->script = right_ends;
	post_rdma(sim, 0, IBV_WR_RDMA_READ, 0, BUF, 0);
	run(sim, 10);
	expect(sim, 0, IBV_WC_REM_ACCESS_ERR, IBV_WC_RDMA_READ);
	assert_int_equal(sim->buf[0][BUF - 1], 0);
	sim_free(sim);
}

static void test_nak_read_only_region(void **state)
{
	struct sim *sim = sim_new(IBV_QPT_RC);

	sim->key[1]->access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE;
	post_rdma(sim, 0, IBV_WR_RDMA_READ, 0, 1000, 0);
	expect_refused(sim, IBV_WC_REM_ACCESS_ERR, IBV_WC_RDMA_READ);
}

static void test_nak_recv_too_short(void **state)
{
	struct sim *sim = sim_new(IBV_QPT_RC);

	post_recv(sim, 1, 0, 999);
	post_send(sim, 0, 0, 1000);
	run(sim, 10);
	expect(sim, 1, IBV_WC_LOC_LEN_ERR, IBV_WC_RECV);
	expect_refused(sim, IBV_WC_REM_INV_REQ_ERR, IBV_WC_SEND);
}

static void test_nak_other_pd(void **state)
{
	struct sim *sim = sim_new(IBV_QPT_RC);
	struct verbs_pd other = {};

	sim->qp[1]->vqp.qp.pd = &other.pd;
	post_rdma(sim, 0, IBV_WR_RDMA_WRITE, 0, 1000, 0);
	expect_refused(sim, IBV_WC_REM_ACCESS_ERR, IBV_WC_RDMA_WRITE);
}

static void test_local_protection(void **state)
{
	struct sim *sim = sim_new(IBV_QPT_RC);

	post(sim, 0, IBV_WR_SEND, 0, 100)->sge[0].lkey ^= 0x100;
	ring(sim, 0);
	run(sim, 1);
	expect(sim, 0, IBV_WC_LOC_PROT_ERR, IBV_WC_SEND);
	assert_int_equal(sim->qp[0]->state, IBV_QPS_ERR);
	assert_int_equal(sim->number, 0); /* no packet was sent */
	sim_free(sim);
}

/* Put a request into the queue without sending it before the next one. */
static void queue(struct sim *sim, unsigned int side, struct uroce_swqe *wqe, unsigned int flags)
{
	wqe->flags = flags;
	sim->qp[side]->sq.head++;
}

/* Sends without a waiting program are acknowledged together with the next send. */
static void test_acknowledged_together(void **state)
{
	struct sim *sim = sim_new(IBV_QPT_RC);

	for (unsigned int i = 0; i < 4; i++)
		post_recv(sim, 1, i * 100, 100);
	for (unsigned int i = 0; i < 3; i++)
		queue(sim, 0, post(sim, 0, IBV_WR_SEND, i * 100, 100), 0);
	post_send(sim, 0, 300, 100);
	run(sim, 1);
	assert_int_equal(sim->qp[0]->sq.tail, 4);
	assert_int_equal(sim->qp[0]->counters.rx_packets, 1);
	sim_free(sim);
}

/* A QP fails while a peer copies with the QP's permission: the application gets the error after
 * the copy. */
static void test_flush_waits(void **state)
{
	struct sim *sim = sim_new(IBV_QPT_RC);
	struct uroce_qp *qp = sim->qp[0];

	post_recv(sim, 0, 0, 100);
	post_send(sim, 0, 100, 100);
	peer_copies = true;
	uroce_lock(&qp->lock);
	uroce_req_give_up(qp, IBV_WC_REM_OP_ERR);
	assert_int_equal(qp->state, IBV_QPS_ERR);
	uroce_req_timeout(qp, sim->now);
	uroce_unlock(&qp->lock);
	assert_null(completion(sim, 0));
	peer_copies = false;
	uroce_lock(&qp->lock);
	uroce_req_timeout(qp, sim->now);
	uroce_unlock(&qp->lock);
	expect(sim, 0, IBV_WC_REM_OP_ERR, IBV_WC_SEND);
	expect(sim, 0, IBV_WC_WR_FLUSH_ERR, IBV_WC_RECV);
	assert_null(completion(sim, 0));
	sim_free(sim);
}

/* A request with a wrong key fails early, behind one without an answer. The QP is stopped: the
 * first request is flushed, and therefore the second one, too. */
static void test_flush_behind(void **state)
{
	struct sim *sim = sim_new(IBV_QPT_RC);
	struct uroce_qp *qp = sim->qp[0];

	sim->script = drop_all;
	post_send(sim, 0, 0, 10);
	post(sim, 0, IBV_WR_SEND, 0, 100)->sge[0].lkey ^= 0x100;
	ring(sim, 0);
	run(sim, 1);
	assert_null(completion(sim, 0));
	uroce_lock(&qp->lock);
	uroce_qp_error(qp);
	uroce_unlock(&qp->lock);
	expect(sim, 0, IBV_WC_WR_FLUSH_ERR, IBV_WC_SEND);
	expect(sim, 0, IBV_WC_WR_FLUSH_ERR, IBV_WC_SEND);
	assert_null(completion(sim, 0));
	sim_free(sim);
}

/* The duration of a peer's copy costs no retry. */
static void test_copy_costs_no_retry(void **state)
{
	struct sim *sim = sim_new(IBV_QPT_RC);

	sim->script = drop_all;
	sim->qp[0]->req.retry_cnt = sim->qp[0]->req.retry_left = 0;
	post_send(sim, 0, 0, 10);
	peer_copies = true;
	run(sim, 10000);
	assert_int_equal(sim->qp[0]->state, IBV_QPS_RTS);
	peer_copies = false;
	run(sim, 10000);
	expect(sim, 0, IBV_WC_RETRY_EXC_ERR, IBV_WC_SEND);
	sim_free(sim);
}

/* The initiator can read by itself, but has no access right. */
static void test_read_refused(void **state)
{
	struct sim *sim = sim_new(IBV_QPT_RC);

	sim->path.ops = &placing_ops;
	sim->qp[0]->req.max_rd_atomic = 0;
	post_rdma(sim, 0, IBV_WR_RDMA_READ, 0, 100, 0);
	run(sim, 10);
	expect(sim, 0, IBV_WC_LOC_QP_OP_ERR, IBV_WC_RDMA_READ);
	sim_free(sim);
}

static void flush(struct sim *sim, uint8_t level, uint32_t length)
{
	struct uroce_swqe *wqe = post(sim, 0, IBV_WR_FLUSH, 0, 0);

	wqe->num_sge = 0;
	wqe->length = length;
	wqe->rdma.remote_addr = 1; /* nowhere */
	wqe->rdma.rkey = sim->key[1]->key;
	wqe->rdma.flush_type = FETH_TYPE_GLOBAL;
	wqe->rdma.flush_level = level;
	ring(sim, 0);
	run(sim, 10);
}

/* A flush of the region has no range, and a flush of a range has one. */
static void test_flush_region(void **state)
{
	struct sim *sim = sim_new(IBV_QPT_RC);

	sim->key[1]->access |= IBV_ACCESS_FLUSH_GLOBAL;
	flush(sim, FETH_LEVEL_MR, 0);
	expect(sim, 0, IBV_WC_SUCCESS, IBV_WC_FLUSH);
	flush(sim, FETH_LEVEL_MR, UINT32_MAX);
	expect(sim, 0, IBV_WC_SUCCESS, IBV_WC_FLUSH);
	flush(sim, FETH_LEVEL_RANGE, 100);
	expect(sim, 0, IBV_WC_REM_ACCESS_ERR, IBV_WC_FLUSH);
	sim_free(sim);
}

/* ... unless a request fails locally: then an acknowledgement is requested at once, and no
 * request behind the failure leaves. */
static void test_follower_fails(void **state)
{
	struct sim *sim = sim_new(IBV_QPT_RC);

	post_recv(sim, 1, 0, 100);
	post_recv(sim, 1, 100, 100);
	queue(sim, 0, post(sim, 0, IBV_WR_SEND, 0, 100), 0);
	post(sim, 0, IBV_WR_SEND, 0, 100)->sge[0].lkey ^= 0x100;
	ring(sim, 0);
	post_send(sim, 0, 0, 100);
	run(sim, 1); /* less than what a lost packet would cost */
	assert_int_equal(sim->qp[0]->state, IBV_QPS_ERR);
	expect(sim, 0, IBV_WC_LOC_PROT_ERR, IBV_WC_SEND);
	expect(sim, 0, IBV_WC_WR_FLUSH_ERR, IBV_WC_SEND);
	expect(sim, 1, IBV_WC_SUCCESS, IBV_WC_RECV);
	assert_int_equal(sim->qp[1]->rq.tail, 1);
	sim_free(sim);
}

static uint8_t operation_on_wire(const struct sim *sim)
{
	const struct frame *frame = &sim->wire[sim->wire_tail % WIRE_SIZE];
	struct uroce_hdr hdr;
	uint32_t length;

	assert_true(uroce_wire_unpack(frame->bytes, frame->length, &hdr, &length) > 0);
	return hdr.opcode & UROCE_OPERATION_MASK;
}

/* A side that sleeps until a message arrives acknowledges the message before it answers. */
static void test_sleeper_acknowledges_first(void **state)
{
	for (int sleeps = 0; sleeps < 2; sleeps++) {
		struct sim *sim = sim_new(IBV_QPT_RC);

		post_recv(sim, 0, 100, 100);
		post_recv(sim, 1, 0, 100);
		post_send(sim, 0, 0, 100);
		deliver(sim, &sim->wire[sim->wire_tail++ % WIRE_SIZE]);
		atomic_store(&sim->cq[1].armed_next, sleeps);
		post_send(sim, 1, 200, 100);
		assert_int_equal(operation_on_wire(sim) == UROCE_ACK, sleeps);
		run(sim, 1);
		assert_int_equal(sim->qp[0]->sq.tail, 1);
		assert_int_equal(sim->qp[1]->sq.tail, 1);
		sim_free(sim);
	}
}

/* A hostile wire: acknowledgements of packets that were never sent must not change anything. */
static void test_invented_acks(void **state)
{
	struct sim *sim = sim_new(IBV_QPT_RC);
	struct uroce_packet ack = { .hdr = { .opcode = UROCE_RC | UROCE_ACK,
					     .psn = 5000,
					     .syndrome = AETH_ACK | AETH_ACK_NO_CREDIT } };

	sim->script = drop_all;
	post_send(sim, 0, 0, 10);
	uroce_lock(&sim->qp[0]->lock);
	uroce_comp_packet(sim->qp[0], &ack, sim->now);
	ack.hdr.psn = 99;
	uroce_comp_packet(sim->qp[0], &ack, sim->now);
	ack.hdr.syndrome = AETH_NAK | NAK_REMOTE_ACCESS;
	uroce_comp_packet(sim->qp[0], &ack, sim->now);
	uroce_unlock(&sim->qp[0]->lock);
	assert_null(completion(sim, 0));
	assert_int_equal(sim->qp[0]->state, IBV_QPS_RTS);
	sim_free(sim);
}

/* --- UC --- */

static void test_uc_gap(void **state)
{
	struct sim *sim = sim_new(IBV_QPT_UC);

	sim->script = drop_nth;
	sim->seed = 1; /* the middle of the first message */
	fill(sim, 0, 0, 700);
	post_recv(sim, 1, 4096, 1000);
	post_send(sim, 0, 0, 700);
	post_send(sim, 0, 0, 700);
	run(sim, 1);
	expect(sim, 0, IBV_WC_SUCCESS, IBV_WC_SEND);
	expect(sim, 0, IBV_WC_SUCCESS, IBV_WC_SEND);
	expect(sim, 1, IBV_WC_SUCCESS, IBV_WC_RECV);
	assert_null(completion(sim, 1));
	same(sim, 0, 4096, 700);
	sim_free(sim);
}

/* --- flow --- */

static void test_path_full(void **state)
{
	struct sim *sim = sim_new(IBV_QPT_RC);

	post_recv(sim, 1, 0, 1000);
	sim->full = true;
	post_send(sim, 0, 0, 1000);
	assert_true(sim->qp[0]->on_blocked);
	sim->full = false;
	uroce_lock(&sim->qp[0]->lock);
	sim->qp[0]->req.path_full = false;
	uroce_req_run(sim->qp[0], sim->now);
	uroce_unlock(&sim->qp[0]->lock);
	run(sim, 1);
	expect(sim, 0, IBV_WC_SUCCESS, IBV_WC_SEND);
	sim_free(sim);
}

static void test_read_limit(void **state)
{
	struct sim *sim = sim_new(IBV_QPT_RC);

	for (int i = 0; i < 10; i++)
		post_rdma(sim, 0, IBV_WR_RDMA_READ, i * 1000, 1000, 0);
	assert_int_equal(sim->qp[0]->req.rd_atomic, 4);
	run(sim, 10);
	for (int i = 0; i < 10; i++)
		expect(sim, 0, IBV_WC_SUCCESS, IBV_WC_RDMA_READ);
	assert_int_equal(sim->qp[0]->req.rd_atomic, 0);
	sim_free(sim);
}

/* No request asks for more than half of the largest window, and each request begins at the end
 * of the one before. */
static enum fate count_reads(struct sim *sim, const struct uroce_hdr *hdr, unsigned int number)
{
	if (hdr->opcode == (UROCE_RC | UROCE_READ_REQUEST)) {
		assert_in_range(hdr->dma_len, 1, max_of(UROCE_WINDOW / 2, UROCE_READ_PART) * MTU);
		sim->longest = max_of(sim->longest, hdr->dma_len);
		assert_int_equal((hdr->va - (uintptr_t)sim->buf[1]) % MTU, 0);
		sim->seed += hdr->dma_len;
	}
	return PASS;
}

static enum fate count_reads_rough(struct sim *sim, const struct uroce_hdr *hdr,
				   unsigned int number)
{
	count_reads(sim, hdr, number);
	return number % 97 == 13 ? DROP : number % 89 == 5 ? TWICE : number % 83 == 7 ? LATE : PASS;
}

static void long_read(wire_script script, uint32_t window)
{
	const uint32_t part = max_of(window / 2, (uint32_t)UROCE_READ_PART);
	const uint32_t length = 400001; /* the last part is not whole */
	struct sim *sim = sim_new(IBV_QPT_RC);

	sim->script = script;
	psn_set(sim, PSN_MASK - 700);
	sim->qp[0]->req.window = sim->qp[0]->req.window_max = window;
	fill(sim, 1, 0, length);
	post_rdma(sim, 0, IBV_WR_RDMA_READ, 500000, length, 0);
	post_rdma(sim, 0, IBV_WR_RDMA_WRITE, 0, 1000, 900000);
	assert_int_equal(sim->qp[0]->req.rd_atomic, (window + part - 1) / part);
	run(sim, 20000);
	expect(sim, 0, IBV_WC_SUCCESS, IBV_WC_RDMA_READ);
	expect(sim, 0, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	same(sim, 500000, 0, length);
	assert_int_equal(sim->qp[0]->req.rd_atomic, 0);
	assert_int_equal(sim->longest, part * MTU);
	if (script == count_reads)
		assert_int_equal(sim->seed, length);
	else
		assert_true(sim->dropped > 5);
	sim_free(sim);
}

static void test_long_read(void **state)
{
	long_read(count_reads, UROCE_WINDOW);
	long_read(count_reads, UROCE_READ_PART);
	/* With no size of the window does a repeated request cross the end of the original one. */
	for (uint32_t window = 8; window <= UROCE_WINDOW; window += 7)
		long_read(count_reads_rough, window);
}

/* Deliver a request as the peer might send it. */
static void inject(struct sim *sim, unsigned int side, struct uroce_hdr hdr, uint32_t length)
{
	struct frame frame = {};
	uint32_t header;

	hdr.pkey = UROCE_PKEY_DEFAULT;
	hdr.dest_qpn = 0x10 + side;
	header = uroce_wire_pack(&hdr, length, frame.bytes);
	frame.length = header + length + uroce_wire_pad(length);
	deliver(sim, &frame);
}

/* --- invalidation --- */

/* The request whose key cannot be invalidated fails, not the one behind it. */
static void test_invalidate_refused(void **state)
{
	static const uint32_t lengths[] = { 0, 100, 700 };

	for (unsigned int i = 0; i < ARRAY_SIZE(lengths); i++) {
		struct sim *sim = sim_new(IBV_QPT_RC);
		struct uroce_swqe *wqe;

		post_recv(sim, 1, 0, 1000);
		post_recv(sim, 1, 0, 1000);
		wqe = post(sim, 0, IBV_WR_SEND_WITH_INV, 0, lengths[i]);
		wqe->invalidate_rkey = sim->key[1]->key; /* a region is no window */
		sim->qp[0]->sq.head++;
		post_send(sim, 0, 0, 100);
		run(sim, 10);
		expect(sim, 0, IBV_WC_REM_ACCESS_ERR, IBV_WC_SEND);
		expect(sim, 0, IBV_WC_WR_FLUSH_ERR, IBV_WC_SEND);
		expect(sim, 1, IBV_WC_REM_ACCESS_ERR, IBV_WC_RECV);
		assert_int_equal(sim->qp[1]->resp.psn,
				 psn_add(100, lengths[i] ? (lengths[i] - 1) / MTU : 0));
		sim_free(sim);
	}
}

/* --- duplicates --- */

static struct uroce_hdr read_request(const struct sim *sim, uint32_t psn, uint32_t offset,
				     uint32_t length)
{
	return (struct uroce_hdr){ .opcode = UROCE_RC | UROCE_READ_REQUEST,
				   .ack_req = true,
				   .psn = psn,
				   .va = (uintptr_t)sim->buf[1] + offset,
				   .rkey = sim->key[1]->key,
				   .dma_len = length };
}

/* Expect responses of side 1 from @psn on, with @length bytes of its memory from @offset on. */
static void expect_answer(struct sim *sim, uint32_t psn, uint32_t offset, uint32_t length)
{
	uint32_t packets = (length - 1) / MTU + 1;

	owed(sim);
	assert_int_equal(sim->wire_head - sim->wire_tail, packets);
	for (uint32_t i = 0; i < packets; i++) {
		const struct frame *frame = &sim->wire[sim->wire_tail++ % WIRE_SIZE];
		uint8_t opcode = packets == 1	    ? UROCE_READ_RESP_ONLY
				 : !i		    ? UROCE_READ_RESP_FIRST
				 : i == packets - 1 ? UROCE_READ_RESP_LAST
						    : UROCE_READ_RESP_MIDDLE;
		struct uroce_hdr hdr = {};
		uint32_t part;
		int header = uroce_wire_unpack(frame->bytes, frame->length, &hdr, &part);

		assert_int_equal(hdr.opcode, UROCE_RC | opcode);
		assert_int_equal(hdr.psn, psn_add(psn, i));
		assert_int_equal(part, min_of(length - i * MTU, (uint32_t)MTU));
		assert_memory_equal(frame->bytes + header, sim->buf[1] + offset + i * MTU, part);
	}
}

static void expect_no_answer(struct sim *sim)
{
	owed(sim);
	assert_int_equal(sim->wire_head, sim->wire_tail);
	assert_int_equal(sim->qp[1]->state, IBV_QPS_RTS);
}

/* A peer may ask for 2 GiB at once. Other QPs have their turn during the answer, and every pass
 * sends a part of it, also a pass of a busy poller. */
static void test_read_in_turns(void **state)
{
	struct sim *sim = sim_new(IBV_QPT_RC);
	struct uroce_engine *engine = &sim->host.engine;
	uint32_t packets = BUF / MTU, turns = 0;

	uroce_lock(&sim->host.paths.progress_lock);
	inject(sim, 1, read_request(sim, 100, 0, BUF), 0);
	while (uroce_strand_must_run(engine, 0)) {
		assert_true(uroce_answers_wait(engine));
		uroce_strand_run(engine, 0, 1, true, false, 0);
		turns++;
		assert_in_range(sim->wire_head, turns, turns * packets / 8);
	}
	assert_false(uroce_answers_wait(engine));
	expect_answer(sim, 100, 0, BUF);
	/* An answer that only waits for room does not count as waiting. */
	inject(sim, 1, read_request(sim, psn_add(100, packets), 0, BUF), 0);
	sim->full = true;
	uroce_strand_run(engine, 0, 0, false, false, 0);
	assert_true(uroce_strand_must_run(engine, 0));
	assert_false(uroce_answers_wait(engine));
	uroce_unlock(&sim->host.paths.progress_lock);
	sim_free(sim);
}

static void expect_nak(struct sim *sim, uint32_t psn, uint8_t syndrome)
{
	const struct frame *frame = &sim->wire[sim->wire_tail++ % WIRE_SIZE];
	struct uroce_hdr hdr = {};
	uint32_t length;

	assert_true(uroce_wire_unpack(frame->bytes, frame->length, &hdr, &length) > 0);
	assert_int_equal(hdr.opcode, UROCE_RC | UROCE_ACK);
	assert_int_equal(hdr.psn, psn);
	assert_int_equal(hdr.syndrome, syndrome);
}

/* A request behind a long answer is refused. The refusal adds at most one turn of that answer. The
 * requester is asked to repeat it behind the answer, and no later request is executed meanwhile. */
static void test_refused_behind_long_read(void **state)
{
	struct sim *sim = sim_new(IBV_QPT_RC);
	uint32_t packets = BUF / MTU;
	struct uroce_hdr bad = { .opcode = UROCE_RC | UROCE_WRITE_ONLY,
				 .psn = 100 + packets,
				 .va = (uintptr_t)sim->buf[1],
				 .rkey = sim->key[1]->key ^ 1,
				 .dma_len = 4 };
	struct uroce_hdr send = { .opcode = UROCE_RC | UROCE_SEND_ONLY, .psn = bad.psn + 1 };

	post_recv(sim, 1, 0, 100);
	inject(sim, 1, read_request(sim, 100, 0, BUF), 0);
	for (uint32_t i = 1; i <= 3; i++) {
		inject(sim, 1, bad, bad.dma_len);
		assert_in_range(sim->wire_head, i, i * packets / 8);
		inject(sim, 1, send, 4);
	}
	assert_int_equal(sim->qp[1]->state, IBV_QPS_RTS);
	assert_null(completion(sim, 1));
	owed(sim);
	assert_int_equal(sim->wire_head, packets + 1);
	sim->wire_tail = packets;
	expect_nak(sim, bad.psn, AETH_NAK | NAK_PSN_SEQUENCE);
	inject(sim, 1, bad, bad.dma_len);
	expect_nak(sim, bad.psn, AETH_NAK | NAK_REMOTE_ACCESS);
	assert_int_equal(sim->qp[1]->state, IBV_QPS_ERR);
	expect(sim, 1, IBV_WC_WR_FLUSH_ERR, IBV_WC_RECV);
	sim_free(sim);
}

/* The requester gets the data of its read and fails because of the request behind it, also without
 * room for answers. */
static void test_fails_behind_long_read(void **state)
{
	for (int full = 0; full < 2; full++) {
		struct sim *sim = sim_new(IBV_QPT_RC);
		struct uroce_swqe *wqe;

		sim->path.lossless = true; /* on such a path a read is requested at once */
		sim->qp[0]->req.window = UINT16_MAX;
		fill(sim, 1, 0, BUF);
		post_rdma(sim, 0, IBV_WR_RDMA_READ, 0, BUF, 0);
		wqe = post(sim, 0, IBV_WR_RDMA_WRITE, 0, 100);
		wqe->rdma.remote_addr = (uintptr_t)sim->buf[1];
		wqe->rdma.rkey = sim->key[1]->key ^ 1;
		ring(sim, 0);
		assert_int_equal(sim->wire_head, 2);
		sim->full = full;
		while (sim->wire_tail < 2)
			deliver(sim, &sim->wire[sim->wire_tail++ % WIRE_SIZE]);
		sim->full = false;
		run(sim, 10);
		expect(sim, 0, IBV_WC_SUCCESS, IBV_WC_RDMA_READ);
		same(sim, 0, 0, BUF);
		expect_refused(sim, IBV_WC_REM_ACCESS_ERR, IBV_WC_RDMA_WRITE);
	}
}

/* A thread that stops a queue pair waits for one turn at most. */
static void test_stops_in_long_read(void **state)
{
	struct sim *sim = sim_new(IBV_QPT_RC);
	struct uroce_qp *qp = sim->qp[1];
	uint32_t packets = BUF / MTU, turns = 1;

	inject(sim, 1, read_request(sim, 100, 0, BUF), 0);
	uroce_lock(&qp->lock);
	for (; !uroce_qp_owed_flush(qp); turns++)
		assert_in_range(sim->wire_head, turns, turns * packets / 8);
	uroce_unlock(&qp->lock);
	assert_in_range(turns, 8, packets);
	expect_answer(sim, 100, 0, BUF);
	sim_free(sim);
}

/* A part of a read may be requested again: the answer is that part, and a request outside of the
 * first one is refused. */
static void test_read_again(void **state)
{
	struct sim *sim = sim_new(IBV_QPT_RC);
	struct uroce_hdr again;

	fill(sim, 1, 0, 10000);
	inject(sim, 1, read_request(sim, 100, 0, 1000), 0);
	expect_answer(sim, 100, 0, 1000);
	inject(sim, 1, read_request(sim, 100, 0, 1000), 0);
	expect_answer(sim, 100, 0, 1000);
	inject(sim, 1, read_request(sim, 101, MTU, 1000 - MTU), 0);
	expect_answer(sim, 101, MTU, 1000 - MTU);
	inject(sim, 1, read_request(sim, 101, MTU, MTU), 0);
	expect_answer(sim, 101, MTU, MTU);
	inject(sim, 1, read_request(sim, 101, MTU, 2 * MTU - 7), 0);
	expect_answer(sim, 101, MTU, 2 * MTU - 7);

	inject(sim, 1, read_request(sim, 100, 0, 1001), 0);
	expect_no_answer(sim);
	inject(sim, 1, read_request(sim, 100, 5000, 100), 0);
	expect_no_answer(sim);
	/* more packets than the first request had */
	inject(sim, 1, read_request(sim, 103, 0, 1000), 0);
	expect_no_answer(sim);
	again = read_request(sim, 100, 0, 1000);
	again.va -= 1;
	inject(sim, 1, again, 0);
	expect_no_answer(sim);
	again = read_request(sim, 100, 0, 1000);
	again.rkey ^= 0x100;
	inject(sim, 1, again, 0);
	expect_no_answer(sim);
	again.opcode = UROCE_RC | UROCE_FETCH_ADD;
	inject(sim, 1, again, 0);
	expect_no_answer(sim);
	sim_free(sim);
}

/* --- messages that are too long --- */

/* A message that is too long for its receive is lost, like a message that does not arrive. */
static void test_uc_too_long(void **state)
{
	struct sim *sim = sim_new(IBV_QPT_UC);

	fill(sim, 0, 0, 1000);
	post_recv(sim, 1, 4096, 300);
	post_send(sim, 0, 0, 301);
	post_send(sim, 0, 0, 1000);
	post_send(sim, 0, 0, 299);
	run(sim, 1);
	for (int i = 0; i < 3; i++)
		expect(sim, 0, IBV_WC_SUCCESS, IBV_WC_SEND);
	expect(sim, 1, IBV_WC_SUCCESS, IBV_WC_RECV);
	assert_null(completion(sim, 1));
	same(sim, 0, 4096, 299);
	assert_int_equal(sim->qp[1]->state, IBV_QPS_RTS);
	sim_free(sim);
}

/* Network types that UCX and others derive from the field of InfiniBand's service level. */
static void test_ud_network(void **state)
{
	static const char *const texts[] = { "::ffff:192.0.2.1", "2001:db8::1", "fe80::1" };
	static const uint8_t sl[] = { 10, 9, 9 };
	struct sim *sim = sim_new(IBV_QPT_UD);

	sim->qp[1]->qkey = 0x11;
	for (unsigned int i = 0; i < ARRAY_SIZE(texts); i++) {
		struct uroce_packet pkt = { .hdr = { .opcode = UROCE_UD | UROCE_SEND_ONLY,
						     .qkey = 0x11 },
					    .payload.data = sim->buf[0] };
		struct uroce_route route = {};
		const struct uroce_cqe *cqe;
		uint8_t grh[GRH_LEN];

		assert_int_equal(inet_pton(AF_INET6, texts[i], &route.sgid), 1);
		route.dgid = route.sgid;
		uroce_grh_fill(&route, 0, grh);
		pkt.grh = grh;
		post_recv(sim, 1, 0, 100);
		uroce_lock(&sim->qp[1]->lock);
		uroce_resp_packet(sim->qp[1], &pkt);
		uroce_unlock(&sim->qp[1]->lock);
		cqe = completion(sim, 1);
		assert_non_null(cqe);
		assert_int_equal(cqe->wc.sl, sl[i]);
	}
	sim_free(sim);
}

static void datagram(struct sim *sim, uint32_t length)
{
	const struct uroce_hdr hdr = { .opcode = UROCE_UD | UROCE_SEND_ONLY,
				       .qkey = 0x11,
				       .src_qpn = 0x10 };

	inject(sim, 1, hdr, length);
}

static void test_ud_too_long(void **state)
{
	struct sim *sim = sim_new(IBV_QPT_UD);
	const struct uroce_cqe *cqe;

	sim->qp[1]->qkey = 0x11;
	post_recv(sim, 1, 0, GRH_LEN + 100);
	post_recv(sim, 1, 0, 20);
	datagram(sim, 101);
	assert_null(completion(sim, 1));
	datagram(sim, 100);
	cqe = completion(sim, 1);
	assert_non_null(cqe);
	assert_int_equal(cqe->wc.status, IBV_WC_SUCCESS);
	assert_int_equal(cqe->wc.wr_id, 1000);
	assert_int_equal(cqe->wc.byte_len, GRH_LEN + 100);
	datagram(sim, 0); /* not even its header */
	assert_null(completion(sim, 1));
	assert_int_equal(sim->qp[1]->state, IBV_QPS_RTS);
	sim_free(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_send_sizes),
		cmocka_unit_test(test_write_read_atomic),
		cmocka_unit_test(test_psn_wrap),
		cmocka_unit_test(test_placed_once),
		cmocka_unit_test(test_placed_not_later),
		cmocka_unit_test(test_placed_in_order),
		cmocka_unit_test(test_placed_small),
		cmocka_unit_test(test_placed_small_later),
		cmocka_unit_test(test_placed_from),
		cmocka_unit_test(test_placed_from_waits),
		cmocka_unit_test(test_drop_each),
		cmocka_unit_test(test_rough_sea),
		cmocka_unit_test(test_retry_exceeded),
		cmocka_unit_test(test_probe_intervals),
		cmocka_unit_test(test_probe_late),
		cmocka_unit_test(test_probe_lost),
		cmocka_unit_test(test_probe_stopped),
		cmocka_unit_test(test_probe_crossed),
		cmocka_unit_test(test_probe_read),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_rnr_wait),
		cmocka_unit_test(test_rnr_exceeded),
		cmocka_unit_test(test_nak_wrong_rkey),
		cmocka_unit_test(test_nak_out_of_range),
		cmocka_unit_test(test_nak_no_right),
		cmocka_unit_test(test_nak_right_ends),
		cmocka_unit_test(test_nak_right_to_read_ends),
		cmocka_unit_test(test_nak_read_only_region),
		cmocka_unit_test(test_nak_recv_too_short),
		cmocka_unit_test(test_nak_other_pd),
		cmocka_unit_test(test_local_protection),
		cmocka_unit_test(test_acknowledged_together),
		cmocka_unit_test(test_sleeper_acknowledges_first),
		cmocka_unit_test(test_flush_waits),
		cmocka_unit_test(test_flush_behind),
		cmocka_unit_test(test_read_refused),
		cmocka_unit_test(test_flush_region),
		cmocka_unit_test(test_copy_costs_no_retry),
		cmocka_unit_test(test_follower_fails),
		cmocka_unit_test(test_invented_acks),
		cmocka_unit_test(test_uc_gap),
		cmocka_unit_test(test_path_full),
		cmocka_unit_test(test_read_limit),
		cmocka_unit_test(test_long_read),
		cmocka_unit_test(test_invalidate_refused),
		cmocka_unit_test(test_read_in_turns),
		cmocka_unit_test(test_refused_behind_long_read),
		cmocka_unit_test(test_fails_behind_long_read),
		cmocka_unit_test(test_stops_in_long_read),
		cmocka_unit_test(test_read_again),
		cmocka_unit_test(test_uc_too_long),
		cmocka_unit_test(test_ud_too_long),
		cmocka_unit_test(test_ud_network),
	};

	uroce_copy_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

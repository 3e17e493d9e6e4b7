/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Requests and completions of the paravirtual adapter, as both sides write them, and invalid
 * ones. */
#include "tests/unit/vmw_pvrdma/fake.h"

#define UAR(f, offset) (*(const uint32_t *)((f)->uar + (offset)))

static uint64_t word_64(const void *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static int post(struct fake *f, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad = NULL;
	int r = pvrdma_post_send(&f->qp.vqp.qp, wr, &bad);

	assert_true(!r == !bad);
	return r;
}

static int poll(struct fake *f, struct ibv_wc *wc)
{
	return pvrdma_poll_cq(&f->cq.vcq.cq, 1, wc);
}

/* Write a completion as the device does. */
static void complete(struct fake *f, const struct pvrdma_cqe *cqe)
{
	struct pvrdma_ring *ring = &f->cq.ring;
	uint32_t tail = atomic_load(&ring->words->tail);

	memcpy(pvrdma_ring_slot(ring, tail), cqe, sizeof(*cqe));
	atomic_store(&ring->words->tail, pvrdma_ring_next(ring, tail));
}

static void test_send(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_sge sge = { 0x1000, 0x20, 0x5 };
	struct ibv_send_wr wr = {
		.wr_id = 7,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.sg_list = &sge,
		.num_sge = 1,
	};
	const uint32_t *wqe = (const void *)f->sq;

	assert_int_equal(post(f, &wr), 0);
	assert_int_equal(word_64(wqe), 7);
	assert_int_equal(wqe[2], 1);
	assert_int_equal(wqe[4], 2);
	assert_int_equal(wqe[5], 2);
	assert_int_equal(word_64(wqe + 20), 0x1000);
	assert_int_equal(wqe[22], 0x20);
	assert_int_equal(wqe[23], 0x5);
	assert_int_equal(((uint32_t *)f->words)[0], 1);
	assert_int_equal(UAR(f, 0), 0x40000000 | FAKE_HANDLE);
	fake_free(f);
}

static void test_read(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_READ, .wr.rdma = { 0x2000, 9 } };
	const uint32_t *wqe = (const void *)f->sq;

	assert_int_equal(post(f, &wr), 0);
	assert_int_equal(wqe[4], 4);
	assert_int_equal(word_64(wqe + 8), 0x2000);
	assert_int_equal(wqe[10], 9);
	fake_free(f);
}

/* Values that differ from those of verbs. */
static void test_invalidate(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_send_wr second = { .opcode = IBV_WR_LOCAL_INV, .invalidate_rkey = 0x77 };
	struct ibv_send_wr first = {
		.opcode = IBV_WR_SEND_WITH_INV,
		.invalidate_rkey = 0x55,
		.next = &second,
	};
	const uint32_t *wqe = (const void *)f->sq;
	const struct pvrdma_cqe done = { .qp = FAKE_HANDLE, .opcode = PVRDMA_WC_LOCAL_INV };
	const struct pvrdma_cqe received = {
		.qp = FAKE_HANDLE,
		.opcode = PVRDMA_WC_RECV,
		.wc_flags = PVRDMA_WC_WITH_INVALIDATE | PVRDMA_WC_WITH_SMAC,
		.imm_data = 0x55,
	};
	struct ibv_wc wc;

	assert_int_equal(post(f, &first), 0);
	assert_int_equal(wqe[4], 8);
	assert_int_equal(wqe[6], 0x55);
	assert_int_equal(wqe[(1 << FAKE_SEND_SHIFT) / 4 + 4], 10);
	assert_int_equal(wqe[(1 << FAKE_SEND_SHIFT) / 4 + 6], 0x77);
	complete(f, &done);
	assert_int_equal(poll(f, &wc), 1);
	assert_int_equal(wc.opcode, IBV_WC_LOCAL_INV);
	complete(f, &received);
	assert_int_equal(poll(f, &wc), 1);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.wc_flags, IBV_WC_WITH_INV);
	assert_int_equal(wc.invalidated_rkey, 0x55);
	fake_free(f);
}

static void test_refused(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_sge sge[FAKE_SGES + 1] = { { 0x1000, 8, 5 } };
	struct ibv_send_wr wr = { .sg_list = sge, .num_sge = 1, .opcode = IBV_WR_SEND };

	wr.send_flags = IBV_SEND_INLINE;
	assert_int_equal(post(f, &wr), EINVAL);
	sge[0].length = 0; /* inline data of no bytes sets no inline flag */
	assert_int_equal(post(f, &wr), 0);
	assert_int_equal(((uint32_t *)f->sq)[5], 0);
	wr.send_flags = 0;
	wr.num_sge = FAKE_SGES + 1;
	assert_int_equal(post(f, &wr), EINVAL);
	wr.num_sge = -1;
	assert_int_equal(post(f, &wr), EINVAL);
	wr.num_sge = 1;
	wr.opcode = IBV_WR_BIND_MW;
	assert_int_equal(post(f, &wr), EINVAL);
	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	wr.wr.atomic.remote_addr = 4;
	assert_int_equal(post(f, &wr), EINVAL);
	assert_int_equal(((uint32_t *)f->words)[0], 1);
	f->qp.sq.max_sge = -1;
	wr.opcode = IBV_WR_SEND;
	assert_int_equal(post(f, &wr), EINVAL);
	fake_free(f);
}

/* The kernel is not asked for less memory than needed: each limit is kept, but both together are
 * too much. */
static void test_srq_too_long(void **state)
{
	struct ibv_srq_init_attr_ex attr = { .attr = { .max_wr = 1 << 20, .max_sge = 127 } };
	const struct verbs_create_srq in = { .attr = &attr };
	struct fake *f = fake_create(IBV_QPT_RC);
	struct pvrdma_srq srq = { .vsrq.srq.context = &f->ctx->vctx.context };

	srq.vsrq.srq_type = IBV_SRQT_BASIC;
	f->ctx->page_size = FAKE_PAGE;
	f->ctx->vctx.context.cmd_fd = -1;
	assert_int_equal(pvrdma_create_srq(&srq.vsrq, &in), -EINVAL);
	assert_null(srq.buf.base);
	fake_free(f);
}

/* As many requests as there are slots, in each round of the ring. */
static void test_rounds(void **state)
{
	struct fake *f = fake_create(IBV_QPT_UD);
	struct pvrdma_ring *ring = &f->qp.sq.ring;
	struct pvrdma_ah ah = { .av = { .port_pd = 0x01000005 } };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .wr.ud = { &ah.ah, 9, 10 } };
	const uint32_t *wqe = (const void *)f->sq;

	for (int round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < ring->entries; i++)
			assert_int_equal(post(f, &wr), 0);
		assert_int_equal(post(f, &wr), ENOMEM);
		assert_int_equal(atomic_load(&ring->words->tail) ^ ring->entries,
				 atomic_load(&ring->words->head));
		atomic_store(&ring->words->head, atomic_load(&ring->words->tail));
	}
	assert_int_equal(wqe[8], 9);
	assert_int_equal(wqe[9], 10);
	assert_int_equal(wqe[10], 0x01000005);
	wr.wr.ud.ah = NULL;
	assert_int_equal(post(f, &wr), EINVAL);
	fake_free(f);
}

static void test_receive(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_sge sge = { 0x1000, 0x20, 0x5 };
	struct ibv_recv_wr wr = { .wr_id = 3, .sg_list = &sge, .num_sge = 1 }, *bad;

	assert_int_equal(pvrdma_post_recv(&f->qp.vqp.qp, &wr, &bad), 0);
	assert_int_equal(word_64(f->rq), 3);
	assert_int_equal(word_64(f->rq + 16), 0x1000);
	assert_int_equal(((uint32_t *)f->words)[2], 1);
	assert_int_equal(UAR(f, 0), 0x80000000 | FAKE_HANDLE);
	assert_int_equal(pvrdma_post_srq_recv(&f->srq.vsrq.srq, &wr, &bad), 0);
	assert_int_equal(((uint32_t *)f->srq_words)[2], 1);
	assert_int_equal(UAR(f, 8), 0x40000000 | FAKE_SRQN);
	for (uint32_t i = 1; i < f->srq.rq.ring.entries; i++)
		assert_int_equal(pvrdma_post_srq_recv(&f->srq.vsrq.srq, &wr, &bad), 0);
	assert_int_equal(pvrdma_post_srq_recv(&f->srq.vsrq.srq, &wr, &bad), ENOMEM);
	wr.num_sge = FAKE_SGES + 1;
	assert_int_equal(pvrdma_post_recv(&f->qp.vqp.qp, &wr, &bad), EINVAL);
	f->qp.rq.max_sge = -1;
	wr.num_sge = 1;
	assert_int_equal(pvrdma_post_recv(&f->qp.vqp.qp, &wr, &bad), EINVAL);
	fake_free(f);
}

/* As many requests of a list are taken as there is room for, and the first refused one is
 * returned. */
static void test_lists(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	uint32_t sends = f->qp.sq.ring.entries, receives = f->qp.rq.ring.entries;
	struct ibv_send_wr send[FAKE_PAGE >> FAKE_SEND_SHIFT], more = {}, *bad_send;
	struct ibv_recv_wr recv[FAKE_PAGE >> FAKE_RECV_SHIFT], another = {}, *bad_recv;

	for (uint32_t i = 0; i < sends; i++)
		send[i] = (struct ibv_send_wr){
			.opcode = IBV_WR_SEND,
			.next = i + 1 < sends ? &send[i + 1] : &more,
		};
	assert_int_equal(pvrdma_post_send(&f->qp.vqp.qp, send, &bad_send), ENOMEM);
	assert_ptr_equal(bad_send, &more);
	assert_int_equal(atomic_load(&f->qp.sq.ring.words->tail), sends);
	assert_int_equal(UAR(f, 0), 0x40000000 | FAKE_HANDLE);
	for (uint32_t i = 0; i < receives; i++)
		recv[i] = (struct ibv_recv_wr){
			.next = i + 1 < receives ? &recv[i + 1] : &another,
		};
	assert_int_equal(pvrdma_post_recv(&f->qp.vqp.qp, recv, &bad_recv), ENOMEM);
	assert_ptr_equal(bad_recv, &another);
	assert_int_equal(atomic_load(&f->qp.rq.ring.words->tail), receives);
	assert_int_equal(UAR(f, 0), 0x80000000 | FAKE_HANDLE);
	fake_free(f);
}

static void test_poll(void **state)
{
	const struct pvrdma_cqe cqe = {
		.wr_id = 77,
		.qp = FAKE_HANDLE & PVRDMA_HANDLE_MASK,
		.opcode = PVRDMA_WC_RECV,
		.byte_len = 24,
		.imm_data = htobe32(0xdeadbeef),
		.src_qp = 0x99,
		.wc_flags = PVRDMA_WC_GRH | PVRDMA_WC_WITH_IMM,
		.sl = 3,
	};
	const struct pvrdma_cqe failed = { .qp = FAKE_HANDLE, .status = 12 };
	const struct pvrdma_cqe strange = { .qp = FAKE_HANDLE, .status = 99 };
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_wc wc;

	assert_int_equal(poll(f, &wc), 0);
	assert_int_equal(UAR(f, 4), 0x80000000 | FAKE_CQN);
	pvrdma_req_notify_cq(&f->cq.vcq.cq, 0);
	assert_int_equal(UAR(f, 4), 0x40000000 | FAKE_CQN);
	pvrdma_req_notify_cq(&f->cq.vcq.cq, 1);
	assert_int_equal(UAR(f, 4), 0x20000000 | FAKE_CQN);
	complete(f, &cqe);
	assert_int_equal(poll(f, &wc), 1);
	/* A present completion needs no doorbell. */
	assert_int_equal(UAR(f, 4), 0x20000000 | FAKE_CQN);
	assert_int_equal(wc.wr_id, 77);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.byte_len, 24);
	assert_int_equal(be32toh(wc.imm_data), 0xdeadbeef);
	assert_int_equal(wc.qp_num, FAKE_QPN);
	assert_int_equal(wc.src_qp, 0x99);
	assert_int_equal(wc.wc_flags, IBV_WC_GRH | IBV_WC_WITH_IMM);
	assert_int_equal(wc.sl, 3);
	assert_int_equal(((uint32_t *)f->cq_words)[3], 1);
	complete(f, &failed);
	assert_int_equal(poll(f, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_RETRY_EXC_ERR);
	complete(f, &strange);
	assert_int_equal(poll(f, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_GENERAL_ERR);
	fake_free(f);
}

/* Completions without a queue pair are skipped, and those behind them are found. */
static void test_unknown(void **state)
{
	const struct pvrdma_cqe nobody = { .qp = FAKE_HANDLE + 1 }, good = { .qp = FAKE_HANDLE };
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_wc wc[4];

	complete(f, &nobody);
	complete(f, &good);
	complete(f, &nobody);
	assert_int_equal(pvrdma_poll_cq(&f->cq.vcq.cq, 4, wc), 1);
	assert_int_equal(wc[0].qp_num, FAKE_QPN);
	assert_int_equal(((uint32_t *)f->cq_words)[3], 3);
	fake_free(f);
}

/* Completions of a destroyed queue pair are removed, although its handle has more bits than they
 * have. The others stay, in order, also across the end of the ring. */
static void test_clean(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct pvrdma_ring *ring = &f->cq.ring;
	uint32_t first = 2 * ring->entries - 3;
	struct ibv_wc wc;

	assert_int_equal(idtable_put(&f->ctx->qpns, 0x13, pvrdma_qpn_entry(FAKE_QPN + 1)), 0);
	ring->index = first;
	atomic_store(&ring->words->tail, first);
	atomic_store(&ring->words->head, first);
	for (uint32_t n = 0; n < 8; n++)
		complete(f, &(struct pvrdma_cqe){ .wr_id = n, .qp = 0x12 + n % 2 });
	pvrdma_cqs_clean(&f->qp, true);
	assert_null(idtable_find(&f->ctx->qpns, 0x12));
	assert_int_equal((atomic_load(&ring->words->tail) - atomic_load(&ring->words->head)) &
				 ring->mask,
			 4);
	for (uint32_t n = 1; n < 8; n += 2) {
		assert_int_equal(poll(f, &wc), 1);
		assert_int_equal(wc.wr_id, n);
		assert_int_equal(wc.qp_num, FAKE_QPN + 1);
	}
	assert_int_equal(poll(f, &wc), 0);
	fake_free(f);
}

/* The queue pair of the last completion is not used after its end, when its handle may belong to
 * another queue pair. */
static void test_gone(void **state)
{
	const struct pvrdma_cqe cqe = { .qp = FAKE_HANDLE };
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_wc wc;

	complete(f, &cqe);
	assert_int_equal(poll(f, &wc), 1);
	pvrdma_cqs_clean(&f->qp, true);
	complete(f, &cqe);
	assert_int_equal(poll(f, &wc), 0);
	assert_int_equal(idtable_put(&f->ctx->qpns, FAKE_HANDLE & PVRDMA_HANDLE_MASK,
				     pvrdma_qpn_entry(FAKE_QPN + 1)),
			 0);
	complete(f, &cqe);
	assert_int_equal(poll(f, &wc), 1);
	assert_int_equal(wc.qp_num, FAKE_QPN + 1);
	fake_free(f);
}

/* The device's word is no index, or an index that no ring can have. */
static void test_words(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	uint32_t entries = f->cq.ring.entries;
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct ibv_wc wc;

	atomic_store(&f->cq.ring.words->tail, 2 * entries);
	assert_true(poll(f, &wc) < 0);
	atomic_store(&f->cq.ring.words->tail, entries + 1);
	assert_true(poll(f, &wc) < 0);
	atomic_store(&f->cq.ring.words->tail, UINT32_MAX);
	assert_true(poll(f, &wc) < 0);
	pvrdma_cqs_clean(&f->qp, false);
	atomic_store(&f->qp.sq.ring.words->head, UINT32_MAX);
	assert_int_equal(post(f, &wr), ENOMEM);
	atomic_store(&f->qp.sq.ring.words->head, 1);
	assert_int_equal(post(f, &wr), ENOMEM);
	fake_free(f);
}

/* ---- invalid entries of a device, one by one */

enum {
	ENTRIES = FAKE_PAGE >> FAKE_CQE_SHIFT,
};

/* @polled: result of ibv_poll_cq() for one entry, and the entry's status in @wc if it is known */
static const struct attack {
	const char *what;
	struct pvrdma_cqe cqe;
	uint32_t tail; /* value of the tail; 0: the value behind the first entry, which is @cqe */
	int polled;
	enum ibv_wc_status status;
	enum ibv_wc_opcode opcode;
} attacks[] = {
	{ "a queue pair of nobody", { .qp = 0x13 }, 0, 0 },
	{ "the highest handle", { .qp = ~0ull }, 0, 0 },
	{ "bits of a handle that no kernel gave",
	  { .qp = ~0xffffull | FAKE_HANDLE },
	  0,
	  1,
	  IBV_WC_SUCCESS,
	  IBV_WC_SEND },
	{ "every bit of a status",
	  { .qp = FAKE_HANDLE, .status = ~0 },
	  0,
	  1,
	  IBV_WC_GENERAL_ERR,
	  IBV_WC_SEND },
	{ "the status behind the last",
	  { .qp = FAKE_HANDLE, .status = PVRDMA_WC_GENERAL_ERR + 1 },
	  0,
	  1,
	  IBV_WC_GENERAL_ERR,
	  IBV_WC_SEND },
	{ "every bit of an opcode",
	  { .qp = FAKE_HANDLE, .opcode = ~0 },
	  0,
	  1,
	  IBV_WC_SUCCESS,
	  IBV_WC_SEND },
	{ "an opcode between sends and receives",
	  { .qp = FAKE_HANDLE, .opcode = PVRDMA_WC_RECV - 1 },
	  0,
	  1,
	  IBV_WC_SUCCESS,
	  IBV_WC_SEND },
	{ "an opcode behind the receives",
	  { .qp = FAKE_HANDLE, .opcode = PVRDMA_WC_RECV_RDMA_WITH_IMM + 1 },
	  0,
	  1,
	  IBV_WC_SUCCESS,
	  IBV_WC_SEND },
	{ "every flag, and more bytes than there were",
	  { .qp = FAKE_HANDLE,
	    .opcode = PVRDMA_WC_RECV,
	    .byte_len = UINT32_MAX,
	    .wc_flags = UINT32_MAX },
	  0,
	  1,
	  IBV_WC_SUCCESS,
	  IBV_WC_RECV },
	{ "nothing, and an entry is there", { .qp = FAKE_HANDLE }, 2 * ENTRIES, -EIO },
	{ "one more than the ring has", { .qp = FAKE_HANDLE }, ENTRIES + 1, -EIO },
	{ "a place behind this one", { .qp = FAKE_HANDLE }, 2 * ENTRIES - 1, -EIO },
	{ "a number that is negative", { .qp = FAKE_HANDLE }, UINT32_MAX, -EIO },
	{ "the highest number", { .qp = FAKE_HANDLE }, INT32_MAX, -EIO },
};

/* Whatever happened before, the next entry is read if the device's word is right. */
static void assert_goes_on(struct fake *f)
{
	const struct pvrdma_cqe good = { .wr_id = 5, .qp = FAKE_HANDLE };
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND };
	struct ibv_recv_wr recv = {}, *bad;
	struct ibv_wc wc;

	atomic_store(&f->cq.ring.words->tail, f->cq.ring.index);
	complete(f, &good);
	assert_int_equal(poll(f, &wc), 1);
	assert_int_equal(wc.wr_id, 5);
	assert_int_equal(wc.qp_num, FAKE_QPN);
	assert_int_equal(post(f, &send), 0);
	assert_int_equal(pvrdma_post_recv(&f->qp.vqp.qp, &recv, &bad), 0);
}

static void test_attacks(void **state)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(attacks); i++) {
		const struct attack *a = &attacks[i];
		struct fake *f = fake_create(IBV_QPT_RC);
		struct ibv_wc wc;
		int polled;

		complete(f, &a->cqe);
		if (a->tail)
			atomic_store(&f->cq.ring.words->tail, a->tail);
		polled = poll(f, &wc);
		if (polled != a->polled && !(polled < 0 && a->polled < 0))
			print_error("%s: %d, not %d\n", a->what, polled, a->polled);
		assert_true(a->polled < 0 ? polled < 0 : polled == a->polled);
		if (polled > 0) {
			assert_int_equal(wc.status, a->status);
			assert_int_equal(wc.opcode, a->opcode);
		}
		assert_goes_on(f);
		fake_free(f);
	}
}

/* A ring full of entries without a queue pair is given back, and no entry is returned. */
static void test_full_of_nobody(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_wc wc[4];

	for (int i = 0; i < ENTRIES; i++)
		complete(f, &(struct pvrdma_cqe){ .qp = 0x13 + i });
	assert_int_equal(pvrdma_poll_cq(&f->cq.vcq.cq, 4, wc), 0);
	assert_int_equal(atomic_load(&f->cq.ring.words->head), ENTRIES);
	assert_goes_on(f);
	fake_free(f);
}

/* Words of a request ring by which no request fits, or that no ring can have. */
static void test_request_words(void **state)
{
	static const uint32_t heads[] = { UINT32_MAX, INT32_MAX, 1, 2, 1u << 31 };
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND };
	struct ibv_recv_wr recv = {}, *bad;
	struct fake *f = fake_create(IBV_QPT_RC);

	for (unsigned int i = 0; i < ARRAY_SIZE(heads); i++) {
		atomic_store(&f->qp.sq.ring.words->head, heads[i]);
		atomic_store(&f->qp.rq.ring.words->head, heads[i]);
		atomic_store(&f->srq.rq.ring.words->head, heads[i]);
		assert_int_equal(post(f, &send), ENOMEM);
		assert_int_equal(pvrdma_post_recv(&f->qp.vqp.qp, &recv, &bad), ENOMEM);
		assert_int_equal(pvrdma_post_srq_recv(&f->srq.vsrq.srq, &recv, &bad), ENOMEM);
	}
	atomic_store(&f->qp.sq.ring.words->head, 0);
	assert_int_equal(post(f, &send), 0);
	fake_free(f);
}

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void random_fill(char *page, uint64_t *random)
{
	uint64_t at = random_next(random) % (FAKE_PAGE - 8);

	random_next(random);
	memcpy(page + at, random, 8);
}

/* Whatever the device writes into shared memory, no byte is written outside of the rings, which
 * lie between inaccessible pages. With valid words the rings work again. */
static void test_hostile(void **state)
{
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND }, *bad_send;
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_recv_wr recv = {}, *bad_recv;
	uint64_t random = 0x9e3779b97f4a7c15;
	struct ibv_wc wc[8];
	int good = 0;

	for (int i = 0; i < 200000; i++) {
		char *pages[] = { f->sq,    f->rq,	 f->cqes,     f->srqes,
				  f->words, f->cq_words, f->srq_words };
		uint32_t tail = f->cq.ring.index + random_next(&random) % 3;
		struct pvrdma_cqe *cqe = pvrdma_ring_slot(&f->cq.ring, f->cq.ring.index);
		int n;

		for (unsigned int k = 0; k < ARRAY_SIZE(pages); k++)
			random_fill(pages[k], &random);
		/* Mostly words that could be valid, and completions of existing queue pairs. */
		if (random % 4)
			atomic_store(&f->cq.ring.words->tail, tail & (2 * f->cq.ring.entries - 1));
		if (random % 3)
			cqe->qp = FAKE_HANDLE;
		n = pvrdma_poll_cq(&f->cq.vcq.cq, ARRAY_SIZE(wc), wc);
		good += n > 0;
		assert_true(n <= (int)ARRAY_SIZE(wc));
		pvrdma_post_send(&f->qp.vqp.qp, &send, &bad_send);
		pvrdma_post_recv(&f->qp.vqp.qp, &recv, &bad_recv);
		pvrdma_post_srq_recv(&f->srq.vsrq.srq, &recv, &bad_recv);
		if (i % 1000 == 0)
			pvrdma_cqs_clean(&f->qp, false);
	}
	assert_true(good > 1000);
	atomic_store(&f->qp.sq.ring.words->head, f->qp.sq.ring.index);
	assert_int_equal(post(f, &send), 0);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_send),	      cmocka_unit_test(test_read),
		cmocka_unit_test(test_invalidate),    cmocka_unit_test(test_refused),
		cmocka_unit_test(test_rounds),	      cmocka_unit_test(test_receive),
		cmocka_unit_test(test_lists),	      cmocka_unit_test(test_poll),
		cmocka_unit_test(test_unknown),	      cmocka_unit_test(test_clean),
		cmocka_unit_test(test_words),	      cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_srq_too_long),  cmocka_unit_test(test_gone),
		cmocka_unit_test(test_attacks),	      cmocka_unit_test(test_full_of_nobody),
		cmocka_unit_test(test_request_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

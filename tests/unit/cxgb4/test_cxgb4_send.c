/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Requests and receives in the rings, their doorbells, and requests that only this adapter refuses.
 */
#include "tests/unit/cxgb4/fake.h"

static char data[INLINE + 1];

static void words(const void *at, int first, int count, const uint64_t *expected)
{
	for (int i = 0; i < count; i++)
		assert_int_equal(fake_word(at, first + i), expected[i]);
}
#define WORDS(at, first, ...)                                           \
	words(at, first, sizeof((const uint64_t[]){ __VA_ARGS__ }) / 8, \
	      (const uint64_t[]){ __VA_ARGS__ })

/* Check the first word. The device returns the index in the byte order of the host. */
static void head(const char *at, uint8_t opcode, uint8_t flags, uint16_t index, uint8_t len16)
{
	assert_int_equal((uint8_t)at[0], opcode);
	assert_int_equal((uint8_t)at[1], flags);
	assert_memory_equal(at + 2, &index, sizeof(index));
	assert_int_equal((uint8_t)at[7], len16);
}

static int post(struct fake *f, enum ibv_wr_opcode opcode, unsigned int flags, int sges)
{
	struct ibv_send_wr wr = adapter_send_wr(opcode, sges);

	wr.send_flags = flags;
	wr.invalidate_rkey = opcode == IBV_WR_SEND_WITH_INV ? 0x99 : wr.invalidate_rkey;
	return adapter_post(&f->adapter, wr);
}

/* Requests of one entry take the fast path, and one slot each. */
static void test_plain(void **state)
{
	struct fake *f = fake_create();

	assert_int_equal(post(f, IBV_WR_SEND, IBV_SEND_SIGNALED, 1), 0);
	head(f->sends, WR_SEND, WR_COMPLETION, 0, 4);
	WORDS(f->sends, 1, 3ull << 32, 8ull << 32, 0, LIST_WORD(1), 0x2200000008, 0x1000);
	assert_int_equal(fake_doorbell(f, DB_SQ), 1);
	assert_int_equal(post(f, IBV_WR_RDMA_WRITE, IBV_SEND_FENCE, 1), 0);
	head(f->sends + SLOT, WR_WRITE, 0, 1, 4);
	WORDS(f->sends + SLOT, 2, 8ull << 32 | 7, 0x2000, LIST_WORD(1), 0x2200000008, 0x1000);
	assert_int_equal(post(f, IBV_WR_SEND, IBV_SEND_SOLICITED | IBV_SEND_FENCE, 1), 0);
	head(f->sends + 2 * SLOT, WR_SEND, WR_SOLICITED | WR_FENCE, 2, 4);
	assert_int_equal(fake_word(f->sends + 2 * SLOT, 1), (uint64_t)RI_SEND_SE << 32);
	fake_free(f);
}

/* Other requests by the table of operations. */
static void test_operations(void **state)
{
	static const struct {
		enum ibv_wr_opcode opcode;
		unsigned int flags;
		uint8_t wr, bits;
		uint64_t first; /* word 1 */
	} all[] = {
		{ IBV_WR_SEND_WITH_INV, 0, WR_SEND, 0, (uint64_t)RI_SEND_INV << 32 | 0x99 },
		{ IBV_WR_SEND_WITH_INV, IBV_SEND_SOLICITED, WR_SEND, WR_SOLICITED,
		  (uint64_t)RI_SEND_SE_INV << 32 | 0x99 },
		{ IBV_WR_RDMA_WRITE_WITH_IMM, IBV_SEND_SIGNALED, WR_WRITE, WR_COMPLETION | WR_IMM,
		  0x1122334400000000 },
		{ IBV_WR_RDMA_WRITE, IBV_SEND_SOLICITED, WR_WRITE, WR_SOLICITED, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		struct fake *f = fake_create();

		assert_int_equal(post(f, all[i].opcode, all[i].flags, 2), 0);
		head(f->sends, all[i].wr, all[i].bits, 0, 5);
		assert_int_equal(fake_word(f->sends, 1), all[i].first);
		WORDS(f->sends, 4, LIST_WORD(2), 0x2200000008, 0x1000, 0x2200000008, 0x2000);
		assert_int_equal(fake_doorbell(f, DB_SQ), 2);
		fake_free(f);
	}
}

/* A read has one entry. A read without an entry has a key that the adapter does not use. */
static void test_reads(void **state)
{
	struct fake *f = fake_create();

	assert_int_equal(post(f, IBV_WR_RDMA_READ, IBV_SEND_SIGNALED, 1), 0);
	head(f->sends, WR_READ, 0, 0, 3);
	WORDS(f->sends, 1, 0, 0x22ull << 32, 0x1000ull << 32 | 8, 7ull << 32, 0x2000ull << 32);
	assert_int_equal(post(f, IBV_WR_RDMA_READ, 0, 0), 0);
	WORDS(f->sends + SLOT, 1, 0, 2ull << 32, 0, 2ull << 32, 0);
	assert_int_equal(post(f, IBV_WR_RDMA_READ, 0, 2), EINVAL);
	fake_free(f);
}

/* Inline data of each size, on the fast path and behind the end of the ring. Zeros fill the last
 * unit. */
static void test_inline(void **state)
{
	struct fake *f = fake_create();
	uint32_t slot = 0;

	for (uint32_t i = 0; i < sizeof(data); i++)
		data[i] = i + 1;
	for (uint32_t i = 0; i < 3 * INLINE; i++) {
		uint32_t length = i % (INLINE + 1), len16 = (40 + length + 15) / 16;
		struct ibv_wc wc;

		memset(f->sends, 0x77, SEND_RING);
		assert_int_equal(adapter_send(&f->adapter, i, IBV_SEND_INLINE | IBV_SEND_SIGNALED,
					      data, length),
				 0);
		head(f->sends + slot * SLOT, WR_SEND, WR_COMPLETION, i % SENDS, len16);
		assert_int_equal(fake_word(f->sends + slot * SLOT, AT_DATA), INLINE_WORD(length));
		for (uint32_t at = 40; at < len16 * 16; at++) {
			char byte = f->sends[(slot * SLOT + at) % SEND_RING];

			assert_int_equal(byte, at - 40 < length ? data[at - 40] : 0);
		}
		slot = (slot + slots_of(len16)) % (SEND_RING / SLOT);
		fake_sent(f, i % SENDS, 0);
		assert_int_equal(fake_poll(&f->send_cq, &wc, 1), 1);
		assert_int_equal(wc.wr_id, i);
	}
	fake_free(f);
}

/* A request of one slot goes into the register of the queue, and a longer one is announced. */
static void test_copy(void **state)
{
	struct fake *f = fake_create();

	f->qp.sq.ring.copy = f->copy;
	assert_int_equal(post(f, IBV_WR_SEND, 0, 1), 0);
	assert_memory_equal(f->copy, f->sends, SLOT);
	assert_int_equal(fake_doorbell(f, DB_SQ), 0);
	memset(f->copy, 0x77, SLOT);
	assert_int_equal(post(f, IBV_WR_SEND, 0, 4), 0);
	assert_int_equal(f->copy[0], 0x77);
	assert_int_equal(fake_doorbell(f, DB_SQ), 2);
	fake_free(f);
}

/* If the kernel wants to ring the doorbells and refuses, the slots remain to be announced. */
static void test_by_kernel(void **state)
{
	struct fake *f = fake_create();

	memset(&f->by_kernel, 1, sizeof(f->by_kernel));
	assert_int_equal(post(f, IBV_WR_SEND, 0, 1), 0);
	assert_int_equal(post(f, IBV_WR_SEND, 0, 4), 0);
	assert_int_equal(f->qp.sq.ring.unannounced, 3);
	assert_int_equal(fake_doorbell(f, DB_SQ), 0);
	fake_free(f);
}

/* A doorbell of a T4 announces a limited number of slots. */
static void test_most(void **state)
{
	struct fake *f = fake_create();

	f->qp.sq.ring.most = 2;
	f->qp.sq.ring.id = 0x8000;
	f->qp.sq.max_inline = INLINE_MAX;
	assert_int_equal(post(f, IBV_WR_SEND, 0, 4), 0);
	assert_int_equal(fake_doorbell(f, DB_SQ), 0x8002);
	assert_int_equal(post(f, IBV_WR_SEND, 0, 1), 0);
	assert_int_equal(fake_doorbell(f, DB_SQ), 0x8001);
	fake_free(f);
}

/* A write and a send of 16 bytes are one request, if the firmware accepts it. */
static void test_pair(void **state)
{
	struct fake *f = fake_create();
	struct ibv_sge sges[2] = { { 0x1000, 8, 0x22 }, { 0x3000, 16, 0x23 } };
	struct ibv_send_wr send = { .wr_id = 2,
				    .sg_list = &sges[1],
				    .num_sge = 1,
				    .opcode = IBV_WR_SEND,
				    .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr write = { .wr_id = 1,
				     .next = &send,
				     .sg_list = &sges[0],
				     .num_sge = 1,
				     .opcode = IBV_WR_RDMA_WRITE,
				     .wr.rdma = { 0x2000, 7 } };
	struct ibv_send_wr *bad;
	uint16_t second = 1;
	struct ibv_wc wc[2];

	f->qp.sq.pairs = true;
	assert_int_equal(cx_post_send(f->adapter.qp, &write, &bad), 0);
	head(f->sends, WR_WRITE_SEND, 0, 0, 6);
	assert_int_equal(f->sends[9], WR_COMPLETION);
	assert_memory_equal(f->sends + 10, &second, sizeof(second));
	WORDS(f->sends, 2, 8ull << 32 | 7, 0x2000, LIST_WORD(1), 0x2300000010, 0x3000);
	WORDS(f->sends, 8, LIST_WORD(1), 0x2200000008, 0x1000);
	assert_int_equal(fake_doorbell(f, DB_SQ), 2);
	fake_sent(f, 1, 0);
	assert_int_equal(fake_poll(&f->send_cq, wc, 2), 1);
	assert_int_equal(wc[0].wr_id, 2);
	/* A send of another size is a request of its own. */
	sges[1].length = 8;
	assert_int_equal(cx_post_send(f->adapter.qp, &write, &bad), 0);
	head(f->sends + 2 * SLOT, WR_WRITE, 0, 2, 4);
	head(f->sends + 3 * SLOT, WR_SEND, WR_COMPLETION, 3, 4);
	fake_free(f);
}

/* Requests that other adapters accept. */
static void test_refused(void **state)
{
	struct fake *f = fake_create();

	assert_int_equal(post(f, IBV_WR_SEND_WITH_IMM, 0, 1), EINVAL);
	assert_int_equal(post(f, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 1), EOPNOTSUPP);
	assert_int_equal(post(f, IBV_WR_LOCAL_INV, 0, 0), EINVAL);
	assert_int_equal(post(f, IBV_WR_BIND_MW, 0, 0), EINVAL);
	f->qp.sq.has_imm = false;
	assert_int_equal(post(f, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 1), EINVAL);
	assert_int_equal(fake_doorbell(f, DB_SQ), 0);
	assert_int_equal(f->qp.sq.ring.at, 0);
	fake_free(f);
}

/* A receive of one entry takes the fast path. Each receive advances by its own slots. */
static void test_receives(void **state)
{
	struct fake *f = fake_create();

	assert_int_equal(adapter_receive(&f->adapter, 1, 1), 0);
	head(f->receives, WR_RECV, 0, 0, 2);
	WORDS(f->receives, 1, LIST_WORD(1), 0x4400000008, 0x5000);
	assert_int_equal(adapter_receive(&f->adapter, 2, 2), 0);
	head(f->receives + SLOT, WR_RECV, 0, 1, 3);
	WORDS(f->receives + SLOT, 1, LIST_WORD(2), 0x4400000008, 0x5000, 0x4500000008, 0x6000);
	assert_int_equal(adapter_receive(&f->adapter, 3, 0), 0);
	head(f->receives + 2 * SLOT, WR_RECV, 0, 2, 1);
	assert_int_equal(f->qp.rq.ring.at, 3);
	assert_int_equal(fake_doorbell(f, DB_RQ), 1);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),	cmocka_unit_test(test_operations),
		cmocka_unit_test(test_reads),	cmocka_unit_test(test_inline),
		cmocka_unit_test(test_copy),	cmocka_unit_test(test_by_kernel),
		cmocka_unit_test(test_most),	cmocka_unit_test(test_pair),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_receives),
		ADAPTER_TESTS(fake_adapter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

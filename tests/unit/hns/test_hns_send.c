/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Words of requests, and refused requests. */
#include "tests/unit/hns/fake.h"

static void words(const void *at, int first, int count, const uint32_t *expected)
{
	for (int i = 0; i < count; i++)
		assert_int_equal(adapter_word_32(at, first + i), expected[i]);
}
#define WORDS(at, first, ...)                                           \
	words(at, first, sizeof((const uint32_t[]){ __VA_ARGS__ }) / 4, \
	      (const uint32_t[]){ __VA_ARGS__ })

/* A request of one entry takes the fast path. The owner's bit changes with the next wrap. */
static void test_plain(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);

	assert_int_equal(adapter_post(&f->adapter, adapter_send_wr(IBV_WR_SEND, 1)), 0);
	WORDS(f->sends, 0, 0x180, 8, 0, 0x01000000, 0);
	WORDS(f->sends, 8, 8, 0x22, 0x1000, 0);
	assert_int_equal(f->doorbell, htole64(0x100000033));
	assert_int_equal(f->sq_record, 1);
	assert_int_equal(adapter_post(&f->adapter, adapter_send_wr(IBV_WR_RDMA_WRITE_WITH_IMM, 1)),
			 0);
	WORDS(f->sends + WQE, 0, 0x184, 8, 0x11223344, 0x01000000, 0, 7, 0x2000, 0);
	for (int i = 2; i < SENDS; i++)
		assert_int_equal(adapter_post(&f->adapter, adapter_send_wr(IBV_WR_SEND, 1)), 0);
	assert_int_equal(adapter_post(&f->adapter, adapter_send_wr(IBV_WR_SEND, 1)), ENOMEM);
	f->qp.sq.tail = SENDS;
	assert_int_equal(adapter_post(&f->adapter, adapter_send_wr(IBV_WR_SEND, 1)), 0);
	WORDS(f->sends, 0, 0x100);
	assert_int_equal(f->sq_record, SENDS + 1);
	fake_free(f);
}

/* Entries after the second are in the ring of segments. Entries of length 0 are left out. */
static void test_lists(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_send_wr wr = adapter_send_wr(IBV_WR_SEND_WITH_INV, 4);

	wr.invalidate_rkey = 0x99;
	wr.sg_list[1].length = 0;
	f->qp.sq.segment = SEGMENTS - 1;
	assert_int_equal(adapter_post(&f->adapter, wr), 0);
	WORDS(f->sends, 0, 0x181, 24, 0x99, 0x03000000, SEGMENTS - 1);
	WORDS(f->sends, 12, 8, 0x22, 0x3000, 0);
	WORDS(f->segments + (SEGMENTS - 1) * SEGMENT, 0, 8, 0x22, 0x4000, 0);
	assert_int_equal(f->qp.sq.segment, SEGMENTS);
	assert_int_equal(adapter_post(&f->adapter, adapter_send_wr(IBV_WR_RDMA_READ, 4)), 0);
	WORDS(f->sends + WQE, 3, 0x04000000, 0, 7, 0x2000, 0);
	WORDS(f->segments, 0, 8, 0x22, 0x3000, 0, 8, 0x22, 0x4000, 0);
	wr = adapter_send_wr(IBV_WR_SEND, 0);
	wr.sg_list = NULL;
	wr.send_flags = IBV_SEND_FENCE | IBV_SEND_SOLICITED;
	assert_int_equal(adapter_post(&f->adapter, wr), 0);
	WORDS(f->sends + 2 * WQE, 0, 0xc80, 0, 0, 0, 2);
	fake_free(f);
}

static void test_atomics(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	struct ibv_send_wr wr = adapter_send_wr(IBV_WR_ATOMIC_CMP_AND_SWP, 1);

	wr.wr.atomic.remote_addr = 0x2000;
	wr.wr.atomic.rkey = 7;
	wr.wr.atomic.compare_add = 4;
	wr.wr.atomic.swap = 5;
	assert_int_equal(adapter_post(&f->adapter, wr), 0);
	WORDS(f->sends, 0, 0x186, 8, 0, 0x01000000, 0, 7, 0x2000, 0, 8, 0x22, 0x1000, 0, 5, 0, 4,
	      0);
	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	assert_int_equal(adapter_post(&f->adapter, wr), 0);
	WORDS(f->sends + WQE, 12, 4, 0, 0, 0);
	wr.wr.atomic.remote_addr++;
	assert_int_equal(adapter_post(&f->adapter, wr), EINVAL);
	wr.wr.atomic.remote_addr--;
	wr.num_sge = 2;
	assert_int_equal(adapter_post(&f->adapter, wr), EINVAL);
	wr.num_sge = 1;
	wr.sg_list->length = 16; /* no pointers are read */
	assert_int_equal(adapter_post(&f->adapter, wr), EINVAL);
	wr.sg_list->length = 8;
	wr.send_flags = IBV_SEND_INLINE;
	assert_int_equal(adapter_post(&f->adapter, wr), EINVAL);
	assert_int_equal(f->sq_record, 2);
	fake_free(f);
}

static struct ibv_send_wr inline_wr(enum ibv_wr_opcode opcode, const char *bytes, uint32_t length)
{
	struct ibv_send_wr wr = adapter_send_wr(opcode, 2);

	wr.send_flags |= IBV_SEND_INLINE;
	wr.sg_list[0] = (struct ibv_sge){ (uintptr_t)bytes, length / 2, 0 };
	wr.sg_list[1] = (struct ibv_sge){ (uintptr_t)bytes + length / 2, length - length / 2, 0 };
	return wr;
}

static void test_inline(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);
	char bytes[65];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = i + 1;
	assert_int_equal(adapter_post(&f->adapter, inline_wr(IBV_WR_SEND, bytes, 32)), 0);
	WORDS(f->sends, 0, 0x1180, 32, 0, 0x02000000, 0);
	assert_memory_equal(f->sends + AT_DATA, bytes, 32);
	f->qp.sq.segment = SEGMENTS - 1;
	assert_int_equal(adapter_post(&f->adapter, inline_wr(IBV_WR_RDMA_WRITE, bytes, 33)), 0);
	WORDS(f->sends + WQE, 0, 0x1183, 33, 0, 0x03000000, (SEGMENTS - 1) | INLINE_OUT);
	assert_memory_equal(f->segments + (SEGMENTS - 1) * SEGMENT, bytes, SEGMENT);
	assert_memory_equal(f->segments, bytes + SEGMENT, 33 - SEGMENT);
	assert_int_equal(f->qp.sq.segment, SEGMENTS + 2);
	assert_int_equal(adapter_post(&f->adapter, inline_wr(IBV_WR_SEND, bytes, 65)), EINVAL);
	assert_int_equal(adapter_post(&f->adapter, inline_wr(IBV_WR_RDMA_READ, bytes, 8)), EINVAL);
	f->qp.sq.mtu = 16;
	assert_int_equal(adapter_post(&f->adapter, inline_wr(IBV_WR_SEND, bytes, 32)), EINVAL);
	fake_free(f);
}

static void test_datagrams(void **state)
{
	static const char bytes[] = "abcdefghijklmnop";
	struct hns_ah ah = { .pd_number = 0x10, .sport = 0xe341, .sl = 5 };
	struct fake *f = fake_create(IBV_QPT_UD);
	struct ibv_send_wr wr = adapter_send_wr(IBV_WR_SEND, 1);

	memset(ah.words, 0x5a, sizeof(ah.words));
	wr.wr.ud.ah = &ah.ah;
	wr.wr.ud.remote_qpn = 0x321;
	wr.wr.ud.remote_qkey = 0x11111111;
	assert_int_equal(adapter_post(&f->adapter, wr), 0);
	WORDS(f->sends, 0, 0x180, 8, 0, 0x01000010, 0, 0xe3410000, 0x11111111, 0x321, 0x5a5a5a5a);
	WORDS(f->segments, 0, 8, 0x22, 0x1000, 0);
	assert_int_equal(f->doorbell, htole64(0x0005000100000033));
	wr.wr.ud.remote_qkey = 0x80000000;
	f->qp.sq.qkey = 0x1234;
	wr.send_flags |= IBV_SEND_INLINE;
	wr.sg_list[0] = (struct ibv_sge){ (uintptr_t)bytes, 8, 0 };
	assert_int_equal(adapter_post(&f->adapter, wr), 0);
	WORDS(f->sends + WQE, 0, 0x1180, 8 | 0x62610000, 0, 0x63000010, 0x666564, 0xe3416867,
	      0x1234);
	assert_int_equal(f->qp.sq.segment, 1);
	wr.sg_list[0].length = 9;
	assert_int_equal(adapter_post(&f->adapter, wr), 0);
	WORDS(f->sends + 2 * WQE, 0, 0x1180, 9, 0, 0x01000010, 1 | INLINE_OUT);
	assert_memory_equal(f->segments + SEGMENT, bytes, 9);
	wr.opcode = IBV_WR_RDMA_WRITE;
	assert_int_equal(adapter_post(&f->adapter, wr), EINVAL);
	wr.opcode = IBV_WR_SEND;
	wr.wr.ud.ah = NULL;
	assert_int_equal(adapter_post(&f->adapter, wr), EINVAL);
	fake_free(f);
}

/* A single request is written into the page. Several requests are written only into the ring. */
static void test_direct(void **state)
{
	struct ibv_send_wr wr = adapter_send_wr(IBV_WR_SEND, 1), second = wr, *bad;
	struct fake *f = fake_create(IBV_QPT_RC);

	f->qp.sq.direct = f->qp.sq.doorbell = (char *)f->direct;
	f->qp.sq.tag |= 5ull << HNS_DB_SL_SHIFT;
	assert_int_equal(adapter_post(&f->adapter, wr), 0);
	assert_int_equal(adapter_word_32(f->direct, 0), 0x8000a1a0);
	assert_memory_equal(f->direct, f->sends, WQE);
	wr.next = &second;
	assert_int_equal(hns_post_send(&f->qp.vqp.qp, &wr, &bad), 0);
	assert_int_equal(le64toh(f->direct[0]), 0x0005000300000033);
	/* A list whose second request is refused. */
	second.opcode = IBV_WR_TSO;
	assert_int_equal(hns_post_send(&f->qp.vqp.qp, &wr, &bad), EINVAL);
	assert_ptr_equal(bad, &second);
	assert_int_equal(le64toh(f->direct[0]), 0x0005000400000033);
	/* In the next phase the bits for the direct page are clear again. */
	f->qp.sq.head = f->qp.sq.tail = SENDS;
	wr.next = NULL;
	f->qp.sq.direct = NULL;
	assert_int_equal(adapter_post(&f->adapter, wr), 0);
	assert_int_equal(adapter_word_32(f->sends, 0), 0x100);
	fake_free(f);
}

/* Requests that other adapters accept, and states without a send queue. */
static void test_refused(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);

	assert_int_equal(adapter_post(&f->adapter, adapter_send_wr(IBV_WR_LOCAL_INV, 0)), EINVAL);
	assert_int_equal(adapter_post(&f->adapter, adapter_send_wr(IBV_WR_BIND_MW, 0)), EINVAL);
	for (int i = IBV_QPS_RESET; i < IBV_QPS_RTS; i++) {
		hns_qp_post_limits_set(&f->qp, i);
		assert_int_equal(adapter_post(&f->adapter, adapter_send_wr(IBV_WR_SEND, 1)),
				 EINVAL);
	}
	assert_int_equal(f->sq_record, 0);
	assert_int_equal(adapter_word_32(f->sends, 0), 0);
	fake_free(f);
}

/* The rest of a receive's list is cleared, or on HIP08 a special segment ends the list. */
static void test_receives(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);

	memset(f->receives, 0xff, sizeof(f->receives));
	assert_int_equal(adapter_receive(&f->adapter, 1, 1), 0);
	WORDS(f->receives, 0, 8, 0x44, 0x5000, 0, 0, 0, 0, 0);
	assert_int_equal(f->rq_record, 1);
	assert_int_equal(adapter_receive(&f->adapter, 2, 3), EINVAL);
	f->qp.rq.ends = true;
	f->qp.rq.recorded = false;
	f->qp.rq.tag = hns_doorbell(HNS_DB_RQ, QPN);
	f->qp.rq.doorbell = (char *)&f->doorbell;
	hns_qp_post_limits_set(&f->qp, IBV_QPS_RTS);
	assert_int_equal(adapter_receive(&f->adapter, 2, 1), 0);
	WORDS(f->receives + 32, 4, LENGTH_END, 0, 0, 0);
	assert_int_equal(f->doorbell, htole64(0x201000033));
	assert_int_equal(adapter_receive(&f->adapter, 3, 0), 0);
	WORDS(f->receives + 64, 0, LENGTH_END, 0, 0, 0);
	assert_int_equal(adapter_receive(&f->adapter, 4, 1), 0);
	assert_int_equal(adapter_receive(&f->adapter, 5, 1), ENOMEM);
	hns_qp_post_limits_set(&f->qp, IBV_QPS_RESET);
	assert_int_equal(adapter_receive(&f->adapter, 6, 1), EINVAL);
	fake_free(f);
}

/* Each post in the error state asks the kernel to flush it, after its record was written. */
static void test_flushed(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC);

	hns_qp_post_limits_set(&f->qp, IBV_QPS_ERR);
	assert_int_equal(adapter_post(&f->adapter, adapter_send_wr(IBV_WR_SEND, 1)), 0);
	assert_int_equal(f->sq_record, 1);
	assert_int_equal(adapter_receive(&f->adapter, 1, 1), 0);
	assert_int_equal(f->rq_record, 1);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),	  cmocka_unit_test(test_lists),
		cmocka_unit_test(test_atomics),	  cmocka_unit_test(test_inline),
		cmocka_unit_test(test_datagrams), cmocka_unit_test(test_direct),
		cmocka_unit_test(test_refused),	  cmocka_unit_test(test_receives),
		cmocka_unit_test(test_flushed),	  ADAPTER_TESTS(fake_adapter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

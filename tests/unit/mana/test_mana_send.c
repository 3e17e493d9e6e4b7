/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Bytes of requests, the end of the ring, full queues, and refused requests. */
#include "tests/unit/mana/fake.h"

static uint64_t word(const uint64_t *ring, uint32_t at)
{
	return le64toh(ring[at / sizeof(uint64_t)]);
}

static void test_bytes(void **state)
{
	struct fake *f = fake_create();

	assert_int_equal(fake_send(f, 1, IBV_WR_SEND, IBV_SEND_SIGNALED, 1), 0);
	assert_int_equal(word(f->sq, 0), 0x4400060200000001);
	assert_int_equal(word(f->sq, 8), 0x00000001fffffe42);
	assert_int_equal(word(f->sq, 32), 0x1122334455667788);
	assert_int_equal(word(f->sq, 40), 0x0000000199aabbcc);
	assert_int_equal(fake_register(f, DB_SEND), SQ | (uint64_t)64 << 32);
	assert_int_equal(fake_send(f, 1, IBV_WR_RDMA_WRITE, IBV_SEND_FENCE, 5000), 0);
	assert_int_equal(word(f->sq, 64), 0x0400060200000001);
	assert_int_equal(word(f->sq, 72), 0x00000002ffffff25);
	assert_int_equal(word(f->sq, 80), 0xa5a6a7a8a1a2a3a4);
	assert_int_equal(word(f->sq, 88), (uint64_t)5000 << 32 | 0xb1b2b3b4);
	assert_int_equal(fake_send(f, 1, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_SEND_SOLICITED, 1), 0);
	assert_int_equal(word(f->sq, 128), 0x4400070100000000);
	/* The write before had five packets, and the numbers began again. */
	assert_int_equal(word(f->sq, 136), 0x0000000300000486);
	assert_int_equal(word(f->sq, 160), 0x01020304);
	assert_int_equal(word(f->sq, 176), 0x1122334455667788);
	fake_free(f);
}

static void test_read(void **state)
{
	struct fake *f = fake_create();

	assert_int_equal(fake_send(f, 1, IBV_WR_RDMA_READ, 0, 5), 0);
	assert_int_equal(word(f->reads, 0), 0x4000020100000000);
	assert_int_equal(word(f->reads, 8), FIRST_PSN);
	assert_int_equal(word(f->reads, 16), 0x1122334455667788);
	assert_int_equal(fake_register(f, DB_RECV), READS | 1 << 24 | (uint64_t)32 << 32);
	assert_int_equal(word(f->sq, 32), 1);
	assert_int_equal(word(f->sq, 40), 0);
	fake_free(f);
}

/* The list of a request goes round the end of the ring. */
static void test_end(void **state)
{
	struct fake *f = fake_create();

	f->qp.sq.ring.head = sizeof(f->sq) / UNIT - 1;
	assert_int_equal(fake_send(f, 1, IBV_WR_SEND, 0, 5), 0);
	assert_int_equal(word(f->sq, sizeof(f->sq) - 24), 0x00000001fffffe02);
	assert_int_equal(word(f->sq, 0), 0x1122334455667788);
	/* Numbers of units begin again, and the doorbell with them. */
	f->qp.sq.ring.head = UNITS_MASK - 1;
	assert_int_equal(fake_send(f, 1, IBV_WR_SEND, 0, 5), 0);
	assert_int_equal(f->qp.sq.ring.head, 0);
	assert_int_equal(fake_register(f, DB_SEND), SQ);
	fake_free(f);
}

static int post(struct fake *f, struct ibv_send_wr wr)
{
	struct ibv_send_wr *bad = NULL;
	int r = mana_post_send(&f->qp.vqp.qp, &wr, &bad);

	assert_true(!r || bad == &wr);
	return r;
}

static void test_refused(void **state)
{
	struct ibv_sge sge[SGES + 1] = { { 1, 1, 1 }, { 2, 0x80000000, 2 }, { 3, 1, 3 } };
	struct fake *f = fake_create();

	assert_int_equal(post(f, (struct ibv_send_wr){ .opcode = IBV_WR_SEND_WITH_INV }), EINVAL);
	assert_int_equal(post(f, (struct ibv_send_wr){ .opcode = 100 }), EINVAL);
	assert_int_equal(post(f, (struct ibv_send_wr){ .opcode = IBV_WR_ATOMIC_CMP_AND_SWP }),
			 EOPNOTSUPP);
	assert_int_equal(post(f, (struct ibv_send_wr){ .opcode = IBV_WR_SEND,
						       .sg_list = sge,
						       .num_sge = SGES + 1 }),
			 EINVAL);
	assert_int_equal(
		post(f,
		     (struct ibv_send_wr){ .opcode = IBV_WR_SEND, .sg_list = sge, .num_sge = -1 }),
		EINVAL);
	assert_int_equal(post(f, (struct ibv_send_wr){ .opcode = IBV_WR_SEND, .num_sge = 1 }),
			 EINVAL);
	assert_int_equal(
		post(f,
		     (struct ibv_send_wr){ .opcode = IBV_WR_SEND, .sg_list = sge, .num_sge = 2 }),
		EINVAL);
	assert_int_equal(post(f, (struct ibv_send_wr){ .opcode = IBV_WR_SEND,
						       .sg_list = sge,
						       .num_sge = 1,
						       .send_flags = IBV_SEND_INLINE }),
			 EINVAL);
	assert_int_equal(post(f, (struct ibv_send_wr){ .opcode = IBV_WR_SEND,
						       .sg_list = sge,
						       .num_sge = 1,
						       .send_flags = IBV_SEND_IP_CSUM }),
			 EINVAL);
	assert_int_equal(f->qp.sq.ring.head, 0);
	assert_int_equal(fake_register(f, DB_SEND), 0);
	fake_free(f);
}

/* Both queues of a read can be full. A refused read takes no room in either queue. */
static void test_full(void **state)
{
	struct fake *f = fake_create();

	for (int i = 0; i < SENDS; i++)
		assert_int_equal(fake_send(f, i, IBV_WR_RDMA_READ, 0, 1), 0);
	assert_int_equal(fake_send(f, 0, IBV_WR_RDMA_READ, 0, 1), ENOMEM);
	assert_int_equal(f->qp.sq.reads.head, SENDS);
	atomic_store(&f->qp.sq.completed, SENDS);
	f->qp.sq.reads.head = sizeof(f->reads) / UNIT;
	assert_int_equal(fake_send(f, 0, IBV_WR_RDMA_READ, 0, 1), ENOMEM);
	assert_int_equal(f->qp.sq.ring.head, 2 * SENDS);
	assert_int_equal(fake_send(f, 0, IBV_WR_SEND, 0, 1), 0);
	fake_free(f);
}

/* A doorbell has room for 255 receives. */
static void test_many_receives(void **state)
{
	enum {
		MANY = 256
	};
	static struct mana_received received[MANY];
	static uint64_t ring[MANY * UNIT / 8];
	struct ibv_recv_wr wr[MANY] = { 0 }, *bad;
	struct fake *f = fake_create();

	f->qp.rq.received = received;
	f->qp.rq.mask = MANY - 1;
	f->qp.rq.max_post = MANY;
	f->qp.rq.ring.base = (char *)ring;
	f->qp.rq.ring.mask = sizeof(ring) - 1;
	for (int i = 0; i < MANY - 1; i++)
		wr[i].next = &wr[i + 1];
	assert_int_equal(mana_post_recv(&f->qp.vqp.qp, wr, &bad), 0);
	assert_int_equal(fake_register(f, DB_RECV), RQ | 1 << 24 | (uint64_t)MANY * UNIT << 32);
	assert_int_equal(word(ring, 0), 0x0000020100000000);
	assert_int_equal(word(ring, 16), 1);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes), cmocka_unit_test(test_read),
		cmocka_unit_test(test_end),   cmocka_unit_test(test_refused),
		cmocka_unit_test(test_full),  cmocka_unit_test(test_many_receives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

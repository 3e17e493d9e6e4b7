/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Requests in the ring: their places, requests across the end of the ring, and refused requests. */
#include "tests/unit/qedr/fake.h"

static char data[INLINE_MAX + 1];

/* Return the byte at @at of inline data that begin at element @first of the ring. */
static char inline_byte(const struct fake *f, uint32_t first, uint32_t at)
{
	uint32_t byte = at / 8 * 8 + 7 - at % 8;

	return f->sends[(first * ELEMENT + byte) % sizeof(f->sends)];
}

/* Each request lies behind the previous one. Requests of all sizes continue at the beginning of the
 * ring. */
static void test_inline(void **state)
{
	struct fake *f = fake_create();
	uint32_t first = 0, before = 0;
	struct ibv_wc wc;

	for (uint32_t i = 0; i < sizeof(data); i++)
		data[i] = i + 1;
	for (uint32_t length = 0; length <= INLINE_MAX; length++) {
		uint32_t size = HEAD_ELEMENTS + (length + ELEMENT - 1) / ELEMENT;
		const uint8_t *second = (const uint8_t *)f->sends + first * ELEMENT;

		assert_int_equal(
			fake_post(f, length, IBV_SEND_SIGNALED | IBV_SEND_INLINE, data, length), 0);
		assert_int_equal(second[4] | second[5] << 8, length);
		assert_int_equal(second[14], size);
		assert_int_equal(second[15], before);
		for (uint32_t i = 0; i < length; i++)
			assert_int_equal(inline_byte(f, first + HEAD_ELEMENTS, i), data[i]);
		fake_sent(f, f->qp.cookie, length + 1, 0);
		assert_int_equal(fake_poll(&f->send_cq, &wc, 1), 1);
		assert_int_equal(wc.byte_len, length);
		first = (first + size) % SEND_RING;
		before = size;
	}
	assert_int_equal(fake_post(f, 0, IBV_SEND_INLINE, data, INLINE_MAX + 1), EINVAL);
	fake_free(f);
}

static int post(struct fake *f, struct ibv_send_wr wr)
{
	struct ibv_send_wr *bad = NULL;
	char *at = f->qp.sq.at;
	int r = qedr_post_send(&f->qp.vqp.qp, &wr, &bad);

	/* A refused request leaves nothing in the ring. */
	if (r) {
		assert_ptr_equal(bad, &wr);
		assert_ptr_equal(f->qp.sq.at, at);
	}
	return r;
}

static void test_refused(void **state)
{
	struct fake *f = fake_create();
	struct ibv_sge sge[5] = { { 0x1000, 8, 1 } };
	struct ibv_send_wr wr = { .sg_list = sge, .num_sge = 1, .opcode = IBV_WR_LOCAL_INV };

	assert_int_equal(post(f, wr), EINVAL);
	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	assert_int_equal(post(f, wr), EOPNOTSUPP);
	f->qp.sq.atomics = true;
	wr.num_sge = 2;
	assert_int_equal(post(f, wr), EINVAL);
	wr.opcode = IBV_WR_RDMA_READ;
	wr.send_flags = IBV_SEND_INLINE;
	assert_int_equal(post(f, wr), EINVAL);
	wr.send_flags = 1 << 4;
	assert_int_equal(post(f, wr), EINVAL);
	wr.send_flags = 0;
	wr.num_sge = 5;
	assert_int_equal(post(f, wr), EINVAL);
	wr.num_sge = -1;
	assert_int_equal(post(f, wr), EINVAL);
	wr.num_sge = 4;
	wr.sg_list = NULL;
	assert_int_equal(post(f, wr), EINVAL);
	wr.sg_list = sge;
	sge[1].length = sge[2].length = UINT32_MAX;
	assert_int_equal(post(f, wr), EINVAL);
	assert_int_equal(f->registers[0], 0);
	assert_int_equal(f->qp.sq.before, 0);
	fake_free(f);
}

/* A full queue takes no request, until a completion of several was polled. */
static void test_full(void **state)
{
	struct fake *f = fake_create();
	struct ibv_wc wc;

	/* Limit the requests to this small ring. The kernel's rings have room for all requests. */
	f->qp.sq.max_post = 6;
	for (int i = 0; i < 6; i++)
		assert_int_equal(fake_post(f, i, 0, data, 8), 0);
	assert_int_equal(fake_post(f, 6, IBV_SEND_SIGNALED, data, 8), ENOMEM);
	fake_sent(f, f->qp.cookie, 6, 0);
	assert_int_equal(fake_poll(&f->send_cq, &wc, 1), 0);
	assert_int_equal(fake_post(f, 7, IBV_SEND_SIGNALED, data, 8), 0);
	f->qp.sq.max_post = 0; /* as in a state that accepts no requests */
	assert_int_equal(fake_post(f, 8, 0, data, 8), EINVAL);
	fake_free(f);
}

/* If a request of a list is refused, one doorbell announces the requests before it. */
static void test_list(void **state)
{
	struct fake *f = fake_create();
	struct ibv_sge sge = { 0x1000, 8, 1 };
	struct ibv_send_wr wr[3] = {}, *bad;

	for (int i = 0; i < 3; i++)
		wr[i] = (struct ibv_send_wr){ .next = i < 2 ? &wr[i + 1] : NULL,
					      .sg_list = &sge,
					      .num_sge = 1,
					      .opcode = IBV_WR_SEND };
	wr[2].opcode = IBV_WR_BIND_MW;
	assert_int_equal(qedr_post_send(&f->qp.vqp.qp, wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr[2]);
	assert_int_equal(le64toh(f->registers[0]), ICID | 2 << 16);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inline),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

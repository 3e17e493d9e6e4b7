/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Requests in the ring: their places, requests across the end of the ring, and requests that only
 * this adapter refuses. */
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

static int refused(struct fake *f, struct ibv_send_wr wr)
{
	char *at = f->qp.sq.at;
	int r = adapter_post(&f->adapter, wr);

	/* A refused request takes no place in the ring. */
	assert_ptr_equal(f->qp.sq.at, at);
	return r;
}

/* Requests that other adapters accept. */
static void test_refused(void **state)
{
	struct fake *f = fake_create();

	assert_int_equal(refused(f, adapter_send_wr(IBV_WR_LOCAL_INV, 1)), EINVAL);
	assert_int_equal(refused(f, adapter_send_wr(IBV_WR_BIND_MW, 0)), EINVAL);
	assert_int_equal(refused(f, adapter_send_wr(IBV_WR_ATOMIC_FETCH_AND_ADD, 1)), EOPNOTSUPP);
	f->qp.sq.atomics = true;
	assert_int_equal(refused(f, adapter_send_wr(IBV_WR_ATOMIC_FETCH_AND_ADD, 2)), EINVAL);
	assert_int_equal(refused(f, adapter_send_wr(IBV_WR_RDMA_READ, 5)), EINVAL);
	assert_int_equal(f->registers[0], 0);
	assert_int_equal(f->qp.sq.before, 0);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inline),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

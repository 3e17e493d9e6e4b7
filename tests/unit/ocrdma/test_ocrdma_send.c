/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Requests in the ring, their copies in the adapter, and those that only this adapter
 * refuses. */
#include "tests/unit/ocrdma/fake.h"

static char data[INLINE_MAX + 1];

/* Check inline data in the ring. The adapter converts them as it converts words. */
static void inline_equal(const char *at, uint32_t length)
{
	for (uint32_t i = 0; i < length; i += 4) {
		uint32_t word = adapter_word_32(at, i / 4);

		assert_memory_equal(&word, data + i, min_of(length - i, (uint32_t)4));
	}
}

/* Inline data of each size lie behind the header, in the room of at least one entry. The adapter
 * gets a copy of the same bytes. */
static void test_inline(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC, false);
	struct ibv_wc wc;

	for (uint32_t i = 0; i < sizeof(data); i++)
		data[i] = i + 1;
	f->qp.sq.window = f->window;
	for (uint32_t length = 0; length <= INLINE_MAX; length++) {
		const char *slot = f->sends + length % SLOTS * SLOT;
		uint32_t bytes =
			HEADER + max_of(ROUND_UP(length, (uint32_t)ENTRY), (uint32_t)ENTRY);

		memset(f->window, 0x77, sizeof(f->window));
		assert_int_equal(adapter_send(&f->adapter, length,
					      IBV_SEND_INLINE | IBV_SEND_SIGNALED, data, length),
				 0);
		assert_int_equal(adapter_word_32(slot, 0),
				 bytes / SIZE_UNIT << SIZE_SHIFT | REQUEST_SIGNALED);
		assert_int_equal(adapter_word_32(slot, AT_LENGTH), length);
		inline_equal(slot + HEADER, length);
		assert_memory_equal(f->window, slot, HEADER);
		assert_memory_equal(f->window + HEADER, data, length);
		assert_int_equal(f->window[bytes], 0x77);
		fake_sent(f, QP_ID, length % SLOTS, 0);
		assert_int_equal(fake_poll(&f->send_cq, &wc, 1), 1);
	}
	assert_int_equal(adapter_send(&f->adapter, 0, IBV_SEND_INLINE, data, INLINE_MAX + 1),
			 EINVAL);
	fake_free(f);
}

static int refused(struct fake *f, struct ibv_send_wr wr)
{
	int r = adapter_post(&f->adapter, wr);

	assert_int_equal(f->registers[0], 0);
	assert_int_equal(atomic_load(&f->qp.sq.head), 0);
	return r;
}

/* Requests that other adapters accept. */
static void test_refused(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC, false);

	assert_int_equal(refused(f, adapter_send_wr(IBV_WR_LOCAL_INV, 1)), EINVAL);
	assert_int_equal(refused(f, adapter_send_wr(32, 1)), EINVAL);
	fake_free(f);
}

/* A datagram has no inline data, and needs an address. */
static void test_datagrams(void **state)
{
	struct fake *f = fake_create(IBV_QPT_UD, false);
	struct oc_ah ah = { .id = 0x30, .type = 1 };
	struct ibv_sge sge = { 0x1000, 8, 1 };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND };

	assert_int_equal(refused(f, wr), EINVAL);
	wr.wr.ud.ah = &ah.ah;
	wr.wr.ud.remote_qpn = 0x77;
	wr.wr.ud.remote_qkey = 0x22222222;
	wr.send_flags = IBV_SEND_INLINE;
	assert_int_equal(refused(f, wr), EINVAL);
	wr.send_flags = 0;
	assert_int_equal(adapter_post(&f->adapter, wr), 0);
	assert_int_equal(adapter_word_32(f->sends, AT_BODY), 0x77);
	assert_int_equal(adapter_word_32(f->sends, AT_BODY + 1), 0x22222222);
	assert_int_equal(adapter_word_32(f->sends, AT_BODY + 2), 0x30);
	assert_int_equal(adapter_word_32(f->sends, AT_BODY + 3), 1);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inline),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_datagrams),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

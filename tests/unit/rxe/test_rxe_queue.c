/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/unit/rxe/fake.h"

/* A memory file whose first page begins as the head of a ring. */
static int ring_file(uint32_t shift, uint32_t mask, size_t size)
{
	struct rxe_queue_buf head = { .log2_elem_size = shift, .index_mask = mask };
	int fd = memfd_create("ring", 0);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, size), 0);
	assert_int_equal(pwrite(fd, &head, sizeof(head), 0), sizeof(head));
	return fd;
}

static int map(uint32_t shift, uint32_t mask, uint32_t size, size_t elem_size,
	       struct rxe_queue *queue)
{
	struct fake *f = fake_create(IBV_QPT_RC, 0);
	struct mminfo mi = { .size = size };
	int fd = ring_file(shift, mask, 8192);
	int r;

	f->vctx.context.cmd_fd = fd;
	r = rxe_queue_map(&f->vctx.context, "ring", &mi, elem_size, queue);
	close(fd);
	fake_free(f);
	return r;
}

static void test_map(void **state)
{
	struct rxe_queue queue = {};

	assert_int_equal(map(6, 7, 4096, 48, &queue), 0);
	assert_int_equal(queue.mask, 7);
	assert_int_equal(queue.shift, 6);
	assert_int_equal(queue.size, 4096);
	assert_ptr_equal(rxe_queue_slot(&queue, 3), (char *)queue.buf + 384 + 3 * 64);
	rxe_queue_unmap(&queue);
	assert_null(queue.buf);
	rxe_queue_unmap(&queue);
}

/* 58 slots of 64 bytes fit into a page behind the head, 64 do not. */
static void test_map_geometry(void **state)
{
	struct rxe_queue queue = {};

	assert_int_equal(map(6, 31, 4096, 48, &queue), 0);
	rxe_queue_unmap(&queue);
	assert_int_equal(map(6, 63, 4096, 48, &queue), -EIO);
	assert_int_equal(map(6, 6, 4096, 48, &queue), -EIO);
	assert_int_equal(map(6, UINT32_MAX, 4096, 48, &queue), -EIO);
	assert_int_equal(map(5, 7, 4096, 48, &queue), -EIO);
	assert_int_equal(map(32, 0, 4096, 48, &queue), -EIO);
	assert_int_equal(map(64, 0, 4096, 48, &queue), -EIO);
	assert_int_equal(map(6, 7, 100, 48, &queue), -EIO);
	assert_null(queue.buf);
}

static void test_map_fails(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC, 0);
	struct mminfo mi = { .size = 4096 };
	struct rxe_queue queue = {};

	f->vctx.context.cmd_fd = -1;
	assert_int_equal(rxe_queue_map(&f->vctx.context, "ring", &mi, 48, &queue), -EBADF);
	fake_free(f);
}

/* Index mask 7: slot 0 follows slot 7; the ring is full if the producer is one behind the
 * consumer. */
static void test_wrap(void **state)
{
	struct rxe_queue queue = fake_queue(8, 6, 0);

	queue.buf->producer_index = 7;
	rxe_queue_publish(&queue, rxe_queue_next(&queue, rxe_queue_producer(&queue)));
	assert_int_equal(queue.buf->producer_index, 0);
	queue.buf->consumer_index = 7;
	assert_true(rxe_queue_full(&queue, 6));
	assert_false(rxe_queue_full(&queue, 5));
	assert_true(rxe_queue_empty(&queue, 0));
	queue.buf->producer_index = 1;
	assert_false(rxe_queue_empty(&queue, 0));
	free(queue.buf);
}

/* Whatever the indices are overwritten with, no slot outside the ring is accessed. */
static void test_damaged_indices(void **state)
{
	struct rxe_queue queue = fake_queue(8, 6, 0);

	queue.buf->producer_index = 0xdeadbeef;
	queue.buf->consumer_index = 0xfffffff8;
	queue.buf->index_mask = UINT32_MAX;
	queue.buf->log2_elem_size = 30;
	assert_int_equal(rxe_queue_producer(&queue), 7);
	assert_int_equal(rxe_queue_consumer(&queue), 0);
	assert_true(rxe_queue_full(&queue, 7));
	assert_true(rxe_queue_empty(&queue, 7));
	free(queue.buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_map),
		cmocka_unit_test(test_map_geometry),
		cmocka_unit_test(test_map_fails),
		cmocka_unit_test(test_wrap),
		cmocka_unit_test(test_damaged_indices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

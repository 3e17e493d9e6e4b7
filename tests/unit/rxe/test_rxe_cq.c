/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion rings: the plain and the extended poll, and creation with a fake kernel. */
#include "tests/unit/rxe/fake.h"

static struct {
	int result; /* of the next create or resize */
	struct mminfo mi;
	int destroyed;
} kernel;

int uverbs_create_cq(struct verbs_cq *cq, const struct verbs_create_cq *in)
{
	if (!kernel.result)
		memcpy(in->udata->out, &kernel.mi, in->udata->out_len);
	return kernel.result;
}

int uverbs_resize_cq(struct verbs_cq *cq, const struct verbs_resize_cq *in)
{
	if (!kernel.result)
		memcpy(in->udata->out, &kernel.mi, in->udata->out_len);
	return kernel.result;
}

int uverbs_destroy_cq(struct verbs_cq *cq)
{
	kernel.destroyed++;
	return 0;
}

/* Write completion number @i as the kernel does, in slot @i modulo the ring. */
static void push(struct rxe_cq *cq, uint32_t i)
{
	struct ib_uverbs_wc wc = {
		.wr_id = i,
		.opcode = 128,
		.vendor_err = i + 1,
		.byte_len = i + 2,
		.ex.imm_data = htobe32(i),
		.qp_num = i + 3,
		.src_qp = i + 4,
		.wc_flags = 2,
		.pkey_index = i + 5,
		.slid = i + 6,
		.sl = i + 7,
		.dlid_path_bits = i + 8,
	};
	uint32_t producer = cq->queue.buf->producer_index;

	memcpy(rxe_queue_slot(&cq->queue, producer), &wc, sizeof(wc));
	cq->queue.buf->producer_index = rxe_queue_next(&cq->queue, producer);
}

static struct rxe_cq *cq_create(uint64_t wc_flags)
{
	struct rxe_cq *cq = calloc(1, sizeof(*cq));

	cq->queue = fake_queue(4, 6, 0xa5);
	rxe_cq_ex_set_slots(cq, wc_flags);
	return cq;
}

static void cq_free(struct rxe_cq *cq)
{
	free(cq->queue.buf);
	free(cq);
}

static void expect_wc(const struct ibv_wc *wc, uint32_t i)
{
	assert_int_equal(wc->wr_id, i);
	assert_int_equal(wc->status, IBV_WC_SUCCESS);
	assert_int_equal(wc->opcode, IBV_WC_RECV);
	assert_int_equal(wc->vendor_err, i + 1);
	assert_int_equal(wc->byte_len, i + 2);
	assert_int_equal(wc->imm_data, htobe32(i));
	assert_int_equal(wc->qp_num, i + 3);
	assert_int_equal(wc->src_qp, i + 4);
	assert_int_equal(wc->wc_flags, IBV_WC_WITH_IMM);
	assert_int_equal(wc->pkey_index, i + 5);
	assert_int_equal(wc->slid, i + 6);
	assert_int_equal(wc->sl, i + 7);
	assert_int_equal(wc->dlid_path_bits, i + 8);
}

static void test_bytes(void **state)
{
	struct rxe_cq *cq = cq_create(0);
	struct ibv_wc wc;

	push(cq, 0);
	assert_memory_equal(fake_slot(&cq->queue, 0, 8), "\0\0\0\0\x80\0\0\0", 8);
	assert_memory_equal(fake_slot(&cq->queue, 0, 36), "\2\0\0\0", 4);
	assert_int_equal(rxe_poll_cq(&cq->vcq.cq, 1, &wc), 1);
	expect_wc(&wc, 0);
	cq_free(cq);
}

static void test_poll(void **state)
{
	struct rxe_cq *cq = cq_create(0);
	struct ibv_wc wc[4];

	cq->queue.buf->producer_index = cq->queue.buf->consumer_index = 2;
	assert_int_equal(rxe_poll_cq(&cq->vcq.cq, 4, wc), 0);
	for (uint32_t i = 0; i < 3; i++)
		push(cq, i);
	assert_int_equal(rxe_poll_cq(&cq->vcq.cq, 0, wc), 0);
	assert_int_equal(rxe_poll_cq(&cq->vcq.cq, 2, wc), 2);
	expect_wc(&wc[0], 0);
	expect_wc(&wc[1], 1);
	assert_int_equal(cq->queue.buf->consumer_index, 0);
	assert_int_equal(rxe_poll_cq(&cq->vcq.cq, 4, wc), 1);
	expect_wc(&wc[0], 2);
	assert_int_equal(rxe_poll_cq(&cq->vcq.cq, 4, wc), 0);
	assert_int_equal(cq->queue.buf->consumer_index, 1);
	assert_int_equal(atomic_load(&cq->lock.held), 0);
	cq_free(cq);
}

/* The kernel's value of this flag is that of IBV_WC_IP_CSUM_OK. */
static void test_invalidate_flag(void **state)
{
	struct rxe_cq *cq = cq_create(0);
	struct ibv_poll_cq_attr attr = {};
	struct ibv_wc wc;

	for (int i = 0; i < 2; i++) {
		push(cq, i);
		((struct ib_uverbs_wc *)rxe_queue_slot(&cq->queue, i))->wc_flags = 1 | 4;
	}
	assert_int_equal(rxe_poll_cq(&cq->vcq.cq, 1, &wc), 1);
	assert_int_equal(wc.wc_flags, IBV_WC_GRH | IBV_WC_WITH_INV);
	assert_int_equal(ibv_start_poll(&cq->vcq.cq_ex, &attr), 0);
	assert_int_equal(ibv_wc_read_wc_flags(&cq->vcq.cq_ex), IBV_WC_GRH | IBV_WC_WITH_INV);
	ibv_end_poll(&cq->vcq.cq_ex);
	cq_free(cq);
}

static void test_ex_empty(void **state)
{
	struct rxe_cq *cq = cq_create(0);
	struct ibv_poll_cq_attr attr = {};

	assert_int_equal(ibv_start_poll(&cq->vcq.cq_ex, &attr), ENOENT);
	assert_int_equal(atomic_load(&cq->lock.held), 0);
	cq_free(cq);
}

static void test_ex_fields(void **state)
{
	struct rxe_cq *cq = cq_create(rxe_cq_ex_wc_flags);
	struct ibv_cq_ex *ex = &cq->vcq.cq_ex;
	struct ibv_poll_cq_attr attr = {};

	push(cq, 9);
	assert_int_equal(ibv_start_poll(ex, &attr), 0);
	assert_int_equal(ex->wr_id, 9);
	assert_int_equal(ex->status, IBV_WC_SUCCESS);
	assert_int_equal(ibv_wc_read_opcode(ex), IBV_WC_RECV);
	assert_int_equal(ibv_wc_read_vendor_err(ex), 10);
	assert_int_equal(ibv_wc_read_byte_len(ex), 11);
	assert_int_equal(ibv_wc_read_imm_data(ex), htobe32(9));
	assert_int_equal(ibv_wc_read_invalidated_rkey(ex), htobe32(9));
	assert_int_equal(ibv_wc_read_qp_num(ex), 12);
	assert_int_equal(ibv_wc_read_src_qp(ex), 13);
	assert_int_equal(ibv_wc_read_wc_flags(ex), IBV_WC_WITH_IMM);
	assert_int_equal(ibv_wc_read_slid(ex), 15);
	assert_int_equal(ibv_wc_read_sl(ex), 16);
	assert_int_equal(ibv_wc_read_dlid_path_bits(ex), 17);
	ibv_end_poll(ex);
	assert_int_equal(cq->queue.buf->consumer_index, 1);
	cq_free(cq);
}

/* After next_poll returned ENOENT, the current entry is still held: end_poll releases exactly
 * that entry and unlocks exactly once. */
static void test_ex_end_after_last(void **state)
{
	struct rxe_cq *cq = cq_create(0);
	struct ibv_cq_ex *ex = &cq->vcq.cq_ex;
	struct ibv_poll_cq_attr attr = {};

	cq->queue.buf->producer_index = cq->queue.buf->consumer_index = 3;
	push(cq, 0);
	push(cq, 1);
	assert_int_equal(ibv_start_poll(ex, &attr), 0);
	assert_int_equal(ibv_next_poll(ex), 0);
	assert_int_equal(ex->wr_id, 1);
	assert_int_equal(ibv_next_poll(ex), ENOENT);
	assert_int_equal(cq->queue.buf->consumer_index, 0);
	assert_int_equal(atomic_load(&cq->lock.held), 1);
	/* A completion that arrives meanwhile is not lost. */
	push(cq, 2);
	ibv_end_poll(ex);
	assert_int_equal(cq->queue.buf->consumer_index, 1);
	assert_int_equal(atomic_load(&cq->lock.held), 0);
	assert_int_equal(ibv_start_poll(ex, &attr), 0);
	assert_int_equal(ex->wr_id, 2);
	ibv_end_poll(ex);
	assert_int_equal(ibv_start_poll(ex, &attr), ENOENT);
	cq_free(cq);
}

static void test_ex_slots(void **state)
{
	struct rxe_cq *cq = cq_create(IBV_WC_EX_WITH_SL);

	assert_non_null(cq->vcq.cq_ex.read_sl);
	assert_non_null(cq->vcq.cq_ex.read_opcode);
	assert_null(cq->vcq.cq_ex.read_byte_len);
	assert_null(cq->vcq.cq_ex.read_completion_ts);
	cq_free(cq);
}

/* Let the kernel offer a ring of @slots elements of 2^@shift bytes. */
static void kernel_offer(struct fake *f, uint32_t slots, uint32_t shift)
{
	struct rxe_queue_buf head = { .log2_elem_size = shift, .index_mask = slots - 1 };

	if (f->vctx.context.cmd_fd != f->pipe[1])
		close(f->vctx.context.cmd_fd);
	f->vctx.context.cmd_fd = memfd_create("ring", 0);
	assert_int_equal(ftruncate(f->vctx.context.cmd_fd, 4096), 0);
	assert_int_equal(write(f->vctx.context.cmd_fd, &head, sizeof(head)), sizeof(head));
	kernel.mi = (struct mminfo){ .size = 4096 };
	kernel.result = 0;
	kernel.destroyed = 0;
}

static void test_create_resize(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC, 0);
	struct rxe_cq cq = { .vcq.cq.context = &f->vctx.context };
	struct ibv_cq_init_attr_ex attr = { .cqe = 3 };
	struct verbs_create_cq in = { .attr = &attr };
	struct verbs_resize_cq resize = { .cqe = 7 };
	struct ibv_wc wc;

	kernel_offer(f, 4, 6);
	assert_int_equal(rxe_create_cq(&cq.vcq, &in), 0);
	assert_int_equal(cq.queue.mask, 3);
	assert_null(cq.vcq.cq_ex.start_poll);

	kernel.result = -EINVAL;
	assert_int_equal(rxe_resize_cq(&cq.vcq, &resize), -EINVAL);
	assert_int_equal(cq.queue.mask, 3);
	kernel_offer(f, 8, 6);
	assert_int_equal(rxe_resize_cq(&cq.vcq, &resize), 0);
	assert_int_equal(cq.queue.mask, 7);
	/* Without the new ring the old one stays, and polling it is harmless. */
	kernel.mi.size = 0;
	assert_int_equal(rxe_resize_cq(&cq.vcq, &resize), -EIO);
	assert_int_equal(rxe_poll_cq(&cq.vcq.cq, 1, &wc), 0);
	assert_int_equal(rxe_destroy_cq(&cq.vcq), 0);
	assert_null(cq.queue.buf);
	close(f->vctx.context.cmd_fd);
	fake_free(f);
}

static void test_create_fails(void **state)
{
	struct fake *f = fake_create(IBV_QPT_RC, 0);
	struct rxe_cq cq = { .vcq.cq.context = &f->vctx.context };
	struct ibv_cq_init_attr_ex attr = { .cqe = 3,
					    .wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP };
	struct verbs_create_cq in = { .attr = &attr, .extended = true };

	/* Slots too small for a completion. */
	kernel_offer(f, 4, 5);
	assert_int_equal(rxe_create_cq(&cq.vcq, &in), -EOPNOTSUPP);
	assert_int_equal(kernel.destroyed, 0);
	attr.wc_flags = 0;
	assert_int_equal(rxe_create_cq(&cq.vcq, &in), -EIO);
	assert_int_equal(kernel.destroyed, 1);
	kernel.result = -ENOMEM;
	assert_int_equal(rxe_create_cq(&cq.vcq, &in), -ENOMEM);
	assert_int_equal(kernel.destroyed, 1);
	close(f->vctx.context.cmd_fd);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes),		cmocka_unit_test(test_poll),
		cmocka_unit_test(test_invalidate_flag), cmocka_unit_test(test_ex_empty),
		cmocka_unit_test(test_ex_fields),	cmocka_unit_test(test_ex_end_after_last),
		cmocka_unit_test(test_ex_slots),	cmocka_unit_test(test_create_resize),
		cmocka_unit_test(test_create_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

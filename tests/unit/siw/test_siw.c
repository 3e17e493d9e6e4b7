/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A soft iWARP device without a kernel: rings in private memory, doorbells into a pipe. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "providers/siw/siw.h"

#define SLOTS 4

struct fake {
	struct verbs_device device;
	struct verbs_context vctx;
	struct siw_qp qp;
	struct siw_srq srq;
	struct siw_cq cq;
	struct siw_sqe sq[SLOTS];
	struct siw_rqe rq[SLOTS], srq_slots[SLOTS];
	char cq_ring[SLOTS * sizeof(struct siw_cqe) + sizeof(struct siw_cq_ctrl)];
	int pipe[2]; /* doorbells arrive in [0] */
};

static struct fake *fake_create(void)
{
	struct fake *f = calloc(1, sizeof(*f));

	strcpy(f->device.device.name, "fake0");
	f->vctx.context.device = &f->device.device;
	assert_int_equal(pipe2(f->pipe, O_NONBLOCK), 0);
	f->vctx.context.cmd_fd = f->pipe[1];
	f->qp.vqp.qp = (struct ibv_qp){
		.context = &f->vctx.context, .qp_type = IBV_QPT_RC, .qp_num = 0x11, .handle = 3
	};
	f->qp.slots = f->sq;
	f->qp.mask = SLOTS - 1;
	f->qp.max_sge = 3;
	f->qp.always = SIW_WQE_VALID;
	kit_doorbell_init(&f->qp.doorbell, &f->qp.vqp.qp);
	f->qp.rq = (struct siw_recv_queue){ .slots = f->rq, .mask = SLOTS - 1, .max_sge = 2 };
	f->srq.vsrq.srq.context = &f->vctx.context;
	f->srq.rq =
		(struct siw_recv_queue){ .slots = f->srq_slots, .mask = SLOTS - 1, .max_sge = 2 };
	f->cq.vcq.cq.context = &f->vctx.context;
	f->cq.slots = (struct siw_cqe *)f->cq_ring;
	f->cq.mask = SLOTS - 1;
	return f;
}

static void fake_free(struct fake *f)
{
	close(f->pipe[0]);
	close(f->pipe[1]);
	free(f);
}

/* Doorbells since the last call. */
static int doorbells(struct fake *f)
{
	uint8_t bytes[32];
	int n = 0;

	while (read(f->pipe[0], bytes, sizeof(bytes)) == sizeof(bytes)) {
		assert_memory_equal(bytes, "\x1c\0\0\0\x08\0\1\0", 8);
		assert_memory_equal(bytes + 16, "\3\0\0\0\0\0\0\0\0\0\0\0", 12);
		n++;
	}
	return n;
}

static int post(struct fake *f, struct ibv_send_wr *wr, struct ibv_send_wr **ret_bad)
{
	return siw_post_send(&f->qp.vqp.qp, wr, ret_bad);
}

static void post_ok(struct fake *f, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad = wr;

	assert_int_equal(post(f, wr, &bad), 0);
	assert_null(bad);
}

/* The kernel takes the posted requests. */
static void kernel_takes(struct fake *f)
{
	for (int i = 0; i < SLOTS; i++)
		f->sq[i].flags = 0;
}

static struct ibv_sge sge = { .addr = 0x10000, .length = 0x40, .lkey = 0x501 };

static void test_send_bytes(void **state)
{
	struct fake *f = fake_create();
	struct ibv_send_wr send = {
		.wr_id = 0x77,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.sg_list = &sge,
		.num_sge = 1,
	};
	struct ibv_send_wr write = {
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_FENCE,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = { .remote_addr = 0x2000, .rkey = 0x901 },
	};
	struct ibv_send_wr inv = {
		.opcode = IBV_WR_SEND_WITH_INV,
		.invalidate_rkey = 0xa01,
		.wr.rdma.rkey = 0x666,
	};

	post_ok(f, &send);
	assert_memory_equal(&f->sq[0], "\x77\0\0\0\0\0\0\0\x05\0\x01\x03", 12);
	assert_memory_equal((char *)&f->sq[0] + 24, "\0\0\1\0\0\0\0\0\x40\0\0\0\x01\x05\0\0", 16);
	post_ok(f, &write);
	assert_memory_equal((char *)&f->sq[1] + 8, "\x11\0\1\0\x01\x09\0\0\0\x20\0\0\0\0\0\0", 16);
	post_ok(f, &inv);
	assert_memory_equal((char *)&f->sq[2] + 8, "\x01\0\0\5\x01\x0a\0\0", 8);
	/* Until the kernel has taken the first request, it finds the others without a doorbell. */
	assert_int_equal(doorbells(f), 1);
	fake_free(f);
}

/* The kernel crashes on an empty entry beside others. */
static void test_empty_entries(void **state)
{
	struct ibv_sge sges[] = { { .addr = 1 }, { .addr = 2, .length = 2 }, { .addr = 3 } };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = sges, .num_sge = 3 };
	struct fake *f = fake_create();

	post_ok(f, &wr);
	assert_int_equal(f->sq[0].num_sge, 1);
	assert_int_equal(f->sq[0].sge[0].laddr, 2);
	wr.num_sge = 1;
	post_ok(f, &wr);
	assert_int_equal(f->sq[1].num_sge, 1);
	assert_int_equal(f->sq[1].sge[0].laddr, 1);
	assert_int_equal(f->sq[1].sge[0].length, 0);
	wr.num_sge = 0;
	post_ok(f, &wr);
	assert_int_equal(f->sq[2].num_sge, 0);
	fake_free(f);
}

static void test_inline(void **state)
{
	struct fake *f = fake_create();
	char bytes[81] = "xyz";
	struct ibv_sge two[2] = { { .addr = (uintptr_t)bytes, .length = 1 },
				  { .addr = (uintptr_t)bytes + 1, .length = 2 } };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED,
		.sg_list = two,
		.num_sge = 2,
	}, *bad;

	post_ok(f, &wr);
	assert_memory_equal((char *)&f->sq[0] + 8, "\x07\0\1\0", 4);
	assert_memory_equal((char *)&f->sq[0] + 32, "\3\0\0\0", 4);
	assert_memory_equal((char *)&f->sq[0] + 40, "xyz", 3);
	two[1].length = 79;
	post_ok(f, &wr);
	two[1].length = 80;
	assert_int_equal(post(f, &wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr);
	/* Refuse requests with which the kernel would hang. */
	two[1].length = 2;
	wr.opcode = IBV_WR_RDMA_READ;
	assert_int_equal(post(f, &wr, &bad), EINVAL);
	wr.opcode = IBV_WR_SEND_WITH_INV;
	assert_int_equal(post(f, &wr, &bad), EINVAL);
	wr.opcode = IBV_WR_RDMA_READ;
	wr.send_flags = IBV_SEND_FENCE;
	assert_int_equal(post(f, &wr, &bad), EINVAL);
	assert_int_equal(f->qp.next, 2);
	fake_free(f);
}

static void test_refusals(void **state)
{
	static const enum ibv_wr_opcode absent[] = {
		IBV_WR_SEND_WITH_IMM,
		IBV_WR_RDMA_WRITE_WITH_IMM,
		IBV_WR_ATOMIC_CMP_AND_SWP,
		IBV_WR_ATOMIC_FETCH_AND_ADD,
		IBV_WR_LOCAL_INV,
		IBV_WR_BIND_MW,
		IBV_WR_TSO,
		IBV_WR_DRIVER1,
		IBV_WR_FLUSH,
		IBV_WR_ATOMIC_WRITE,
		1000,
	};
	struct ibv_sge many[4] = {};
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = many, .num_sge = 4 }, *bad;
	struct fake *f = fake_create();
	bool atomic;

	assert_int_equal(post(f, &wr, &bad), EINVAL);
	wr.num_sge = -1;
	assert_int_equal(post(f, &wr, &bad), EINVAL);
	wr.num_sge = 2;
	wr.opcode = IBV_WR_RDMA_READ;
	assert_int_equal(post(f, &wr, &bad), EINVAL);
	wr.opcode = IBV_WR_SEND;
	wr.num_sge = 1;
	wr.sg_list = NULL;
	assert_int_equal(post(f, &wr, &bad), EINVAL);
	many[0].length = many[1].length = UINT32_MAX;
	wr.sg_list = many;
	wr.num_sge = 2;
	assert_int_equal(post(f, &wr, &bad), EINVAL);
	for (size_t i = 0; i < ARRAY_SIZE(absent); i++) {
		wr = (struct ibv_send_wr){ .opcode = absent[i] };
		/* The log explains it: the device has no atomics. */
		atomic = absent[i] == IBV_WR_ATOMIC_CMP_AND_SWP ||
			 absent[i] == IBV_WR_ATOMIC_FETCH_AND_ADD;
		assert_int_equal(post(f, &wr, &bad), atomic ? EOPNOTSUPP : EINVAL);
	}
	assert_int_equal(doorbells(f), 0);
	for (int i = 0; i < SLOTS; i++)
		assert_int_equal(f->sq[i].flags, 0);
	fake_free(f);
}

/* Cases that need a doorbell, in a ring whose count wraps around. */
static void test_doorbell(void **state)
{
	struct fake *f = fake_create();
	struct ibv_send_wr wrs[SLOTS + 1] = {}, *bad;

	for (int i = 0; i <= SLOTS; i++) {
		wrs[i].opcode = IBV_WR_SEND;
		wrs[i].next = i < SLOTS ? &wrs[i + 1] : NULL;
	}
	f->qp.next = UINT32_MAX - 1;
	assert_int_equal(post(f, &wrs[0], &bad), ENOMEM);
	assert_ptr_equal(bad, &wrs[SLOTS]);
	assert_int_equal(doorbells(f), 1);
	assert_int_equal(f->qp.next, SLOTS - 2);
	assert_int_equal(post(f, &wrs[SLOTS], &bad), ENOMEM);
	assert_int_equal(doorbells(f), 0);
	/* The kernel took all but the last request: it will find the next one without a
	 * doorbell. */
	for (int i = 0; i < SLOTS; i++)
		f->sq[i].flags = i == 1 ? SIW_WQE_VALID : 0;
	post_ok(f, &wrs[SLOTS]);
	assert_int_equal(doorbells(f), 0);
	kernel_takes(f);
	post_ok(f, &wrs[SLOTS]);
	assert_int_equal(doorbells(f), 1);
	fake_free(f);
}

/* The kernel accepts no doorbell: the requests are withdrawn, and the ring is unchanged. */
static void test_withdraw(void **state)
{
	struct fake *f = fake_create();
	struct ibv_send_wr second = { .opcode = IBV_WR_SEND };
	struct ibv_send_wr first = { .opcode = IBV_WR_SEND, .next = &second }, *bad;

	f->vctx.context.cmd_fd = -1;
	assert_int_equal(post(f, &first, &bad), EBADF);
	assert_ptr_equal(bad, &first);
	assert_int_equal(f->qp.next, 0);
	assert_int_equal(f->sq[0].flags | f->sq[1].flags, 0);
	f->vctx.context.cmd_fd = f->pipe[1];
	post_ok(f, &first);
	assert_int_equal(doorbells(f), 1);
	fake_free(f);
}

static void test_recv(void **state)
{
	struct ibv_sge two[3] = { { .addr = 0x1000, .length = 16, .lkey = 1 }, { .lkey = 2 } };
	struct ibv_recv_wr wrs[SLOTS + 1] = {}, *bad;
	struct fake *f = fake_create();

	for (int i = 0; i <= SLOTS; i++)
		wrs[i] = (struct ibv_recv_wr){ .wr_id = i,
					       .sg_list = two,
					       .num_sge = 2,
					       .next = i < SLOTS ? &wrs[i + 1] : NULL };
	f->qp.rq.next = UINT32_MAX;
	assert_int_equal(siw_post_recv(&f->qp.vqp.qp, wrs, &bad), ENOMEM);
	assert_ptr_equal(bad, &wrs[SLOTS]);
	assert_int_equal(f->rq[3].id, 0);
	assert_int_equal(f->rq[0].id, 1);
	assert_memory_equal((char *)&f->rq[0] + 8, "\1\0\2", 3);
	assert_memory_equal(f->rq[0].sge, two, 2 * sizeof(two[0]));
	wrs[SLOTS].num_sge = 3;
	assert_int_equal(siw_post_srq_recv(&f->srq.vsrq.srq, &wrs[SLOTS], &bad), EINVAL);
	wrs[SLOTS].num_sge = -1;
	assert_int_equal(siw_post_srq_recv(&f->srq.vsrq.srq, &wrs[SLOTS], &bad), EINVAL);
	wrs[SLOTS].num_sge = 1;
	wrs[SLOTS].sg_list = NULL;
	assert_int_equal(siw_post_srq_recv(&f->srq.vsrq.srq, &wrs[SLOTS], &bad), EINVAL);
	wrs[SLOTS].num_sge = 0;
	assert_int_equal(siw_post_srq_recv(&f->srq.vsrq.srq, &wrs[SLOTS], &bad), 0);
	assert_int_equal(f->srq_slots[0].flags, SIW_WQE_VALID);
	f->qp.rq.slots = NULL;
	assert_int_equal(siw_post_recv(&f->qp.vqp.qp, wrs, &bad), EINVAL);
	assert_ptr_equal(bad, wrs);
	fake_free(f);
}

/* An empty list and a missing @bad_wr are no errors. @bad_wr of an empty list is not written. */
static void test_null_lists(void **state)
{
	struct fake *f = fake_create();
	struct ibv_recv_wr recv = { .num_sge = 0 }, *bad_recv = &recv;
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND }, *bad_send = &send;

	assert_int_equal(post(f, NULL, &bad_send), 0);
	assert_int_equal(post(f, NULL, NULL), 0);
	assert_int_equal(doorbells(f), 0);
	assert_int_equal(post(f, &send, NULL), 0);
	send.num_sge = 100;
	assert_int_equal(post(f, &send, NULL), EINVAL);
	assert_int_equal(siw_post_recv(&f->qp.vqp.qp, NULL, &bad_recv), 0);
	assert_null(bad_recv);
	assert_int_equal(siw_post_recv(&f->qp.vqp.qp, &recv, NULL), 0);
	assert_int_equal(siw_post_srq_recv(&f->srq.vsrq.srq, NULL, NULL), 0);
	assert_int_equal(siw_post_srq_recv(&f->srq.vsrq.srq, &recv, NULL), 0);
	assert_int_equal(f->srq_slots[0].flags, SIW_WQE_VALID);
	recv.num_sge = 3;
	assert_int_equal(siw_post_recv(&f->qp.vqp.qp, &recv, NULL), EINVAL);
	assert_int_equal(siw_post_srq_recv(&f->srq.vsrq.srq, &recv, NULL), EINVAL);
	f->qp.rq.slots = NULL;
	assert_int_equal(siw_post_recv(&f->qp.vqp.qp, NULL, NULL), 0);
	fake_free(f);
}

static void complete(struct fake *f, uint32_t index, uint8_t opcode, uint16_t status)
{
	f->cq.slots[index % SLOTS] = (struct siw_cqe){
		.id = 0x88 + index,
		.flags = SIW_WQE_VALID,
		.opcode = opcode,
		.status = status,
		.bytes = 64,
		.qp_id = 5,
	};
}

static void test_poll(void **state)
{
	struct fake *f = fake_create();
	struct ibv_wc wc[3] = {};

	assert_int_equal(siw_poll_cq(&f->cq.vcq.cq, 3, wc), 0);
	complete(f, 0, SIW_OP_RECEIVE, SIW_WC_SUCCESS);
	complete(f, 1, SIW_OP_SEND, SIW_WC_WR_FLUSH_ERR);
	complete(f, 2, SIW_OP_READ, 999);
	complete(f, 3, 255, SIW_WC_GENERAL_ERR);
	assert_int_equal(siw_poll_cq(&f->cq.vcq.cq, 0, wc), 0);
	assert_int_equal(siw_poll_cq(&f->cq.vcq.cq, 3, wc), 3);
	assert_int_equal(wc[0].wr_id, 0x88);
	assert_int_equal(wc[0].opcode, IBV_WC_RECV);
	assert_int_equal(wc[0].status, IBV_WC_SUCCESS);
	assert_int_equal(wc[0].byte_len, 64);
	assert_int_equal(wc[0].qp_num, 5);
	assert_int_equal(wc[1].status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(wc[2].status, IBV_WC_GENERAL_ERR);
	assert_int_equal(wc[2].opcode, IBV_WC_RDMA_READ);
	/* The slots are given back to the kernel. */
	for (int i = 0; i < 3; i++)
		assert_int_equal(f->cq.slots[i].flags, 0);
	complete(f, 4, SIW_OP_WRITE, SIW_WC_SUCCESS);
	assert_int_equal(siw_poll_cq(&f->cq.vcq.cq, 3, wc), 2);
	assert_int_equal(wc[1].wr_id, 0x8c);
	assert_int_equal(wc[1].opcode, IBV_WC_RDMA_WRITE);
	fake_free(f);
}

/* The current slot belongs to the process, those before it to the kernel. */
static void test_poll_ex(void **state)
{
	struct ibv_poll_cq_attr attr = {};
	struct fake *f = fake_create();
	struct ibv_cq_ex *ex = &f->cq.vcq.cq_ex;

	siw_cq_ex_set_slots(&f->cq, IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_QP_NUM);
	assert_int_equal(ibv_start_poll(ex, &attr), ENOENT);
	complete(f, 0, SIW_OP_RECEIVE, SIW_WC_SUCCESS);
	complete(f, 1, SIW_OP_SEND, SIW_WC_WR_FLUSH_ERR);
	assert_int_equal(ibv_start_poll(ex, &attr), 0);
	assert_int_equal(ex->wr_id, 0x88);
	assert_int_equal(ibv_wc_read_opcode(ex), IBV_WC_RECV);
	assert_int_equal(ibv_wc_read_byte_len(ex), 64);
	assert_int_equal(ibv_wc_read_qp_num(ex), 5);
	assert_int_equal(f->cq.slots[0].flags, SIW_WQE_VALID);
	assert_int_equal(ibv_next_poll(ex), 0);
	assert_int_equal(f->cq.slots[0].flags, 0);
	assert_int_equal(ex->status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(ibv_next_poll(ex), ENOENT);
	assert_int_equal(ex->wr_id, 0x89);
	ibv_end_poll(ex);
	assert_int_equal(f->cq.slots[1].flags, 0);
	complete(f, 2, SIW_OP_READ, SIW_WC_SUCCESS);
	assert_int_equal(ibv_start_poll(ex, &attr), 0);
	assert_int_equal(ex->wr_id, 0x8a);
	ibv_end_poll(ex);
	fake_free(f);
}

static void test_arm(void **state)
{
	struct fake *f = fake_create();
	char *word = f->cq_ring + SLOTS * 32;

	siw_req_notify_cq(&f->cq.vcq.cq, 1);
	assert_memory_equal(word, "\1\0\0\0", 4);
	siw_req_notify_cq(&f->cq.vcq.cq, 0);
	assert_memory_equal(word, "\3\0\0\0\0\0\0\0", 8);
	fake_free(f);
}

/* The kernel's answer describes no valid ring. */
static void test_ring(void **state)
{
	struct fake *f = fake_create();
	struct kit_page page;

	assert_int_equal(siw_ring_map(&f->vctx.context, "ring", 0, 3, 8, 0, &page), -EIO);
	assert_int_equal(siw_ring_map(&f->vctx.context, "ring", 0, 0, 8, 0, &page), -EIO);
	assert_int_equal(siw_ring_map(&f->vctx.context, "ring", 0, 1u << 31, 120, 0, &page), -EIO);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_send_bytes), cmocka_unit_test(test_empty_entries),
		cmocka_unit_test(test_inline),	   cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_doorbell),   cmocka_unit_test(test_withdraw),
		cmocka_unit_test(test_recv),	   cmocka_unit_test(test_poll),
		cmocka_unit_test(test_null_lists), cmocka_unit_test(test_arm),
		cmocka_unit_test(test_ring),	   cmocka_unit_test(test_poll_ex),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

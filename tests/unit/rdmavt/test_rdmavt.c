/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A device of rdmavt without a kernel: rings in private memory, commands into a pipe. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "providers/rdmavt/rdmavt.h"

enum {
	LAST = 4, /* the last slot of each ring */
	SGES = 2,
	STRIDE = 16 + SGES * 16,
	GUARD = 64, /* bytes around a ring, which must not change */
};

struct ring {
	uint8_t before[GUARD];
	_Alignas(8) uint8_t bytes[8 + (LAST + 1) * 48];
	uint8_t after[GUARD];
};

struct fake {
	struct verbs_device device;
	struct verbs_context vctx;
	struct rvt_qp qp;
	struct rvt_srq srq;
	struct rvt_cq cq;
	struct ring rq_ring, srq_ring, cq_ring;
	int pipe[2]; /* commands arrive in [0] */
};

/* One command to send, as the kernel reads it. */
struct sent {
	struct ib_uverbs_cmd_hdr hdr;
	struct ib_uverbs_post_send cmd;
	_Alignas(8) uint8_t bytes[8192];
};

static void queue_init(struct rvt_recv_queue *rq, struct ring *ring)
{
	*rq = (struct rvt_recv_queue){
		.last = LAST,
		.max_sge = SGES,
		.stride = STRIDE,
		.wq = (struct rvt_rwq *)ring->bytes,
		.ring.base = ring->bytes,
	};
}

static struct fake *fake_create(void)
{
	static const struct verbs_provider provider = { .name = "fake" };
	struct fake *f = calloc(1, sizeof(*f));

	strcpy(f->device.device.name, "fake0");
	f->device.provider = &provider;
	f->vctx.context.device = &f->device.device;
	assert_int_equal(pipe2(f->pipe, O_NONBLOCK), 0);
	f->vctx.context.cmd_fd = f->pipe[1];
	f->qp.vqp.qp = (struct ibv_qp){ .context = &f->vctx.context,
					.qp_type = IBV_QPT_RC,
					.state = IBV_QPS_RTS,
					.handle = 3 };
	f->qp.send_ops = 1u << IBV_WR_SEND | 1u << IBV_WR_RDMA_WRITE |
			 1u << IBV_WR_ATOMIC_CMP_AND_SWP | 1u << IBV_WR_SEND_WITH_INV;
	f->qp.max_send_sge = 96;
	queue_init(&f->qp.rq, &f->rq_ring);
	f->srq.vsrq.srq.context = &f->vctx.context;
	queue_init(&f->srq.rq, &f->srq_ring);
	f->cq.vcq.cq.context = &f->vctx.context;
	f->cq.wc = (struct rvt_cq_wc *)f->cq_ring.bytes;
	f->cq.last = LAST;
	return f;
}

static void ring_check(const struct ring *ring)
{
	static const uint8_t clean[GUARD];

	assert_memory_equal(ring->before, clean, GUARD);
	assert_memory_equal(ring->after, clean, GUARD);
}

static void fake_free(struct fake *f)
{
	ring_check(&f->rq_ring);
	ring_check(&f->srq_ring);
	ring_check(&f->cq_ring);
	close(f->pipe[0]);
	close(f->pipe[1]);
	free(f);
}

/* Read the next command. A pipe joins the bytes of several writes, so the length of each command is
 * in its head. */
static bool command_read(struct fake *f, struct sent *sent)
{
	ssize_t length, head = sizeof(sent->hdr);

	if (read(f->pipe[0], &sent->hdr, head) != head)
		return false;
	length = sent->hdr.in_words * 4 - head;
	assert_int_equal(read(f->pipe[0], &sent->cmd, length), length);
	assert_int_equal(length,
			 sizeof(sent->cmd) + sent->cmd.wr_count * 56 + sent->cmd.sge_count * 16);
	assert_int_equal(sent->hdr.command, IB_USER_VERBS_CMD_POST_SEND);
	assert_int_equal(sent->hdr.out_words, 1);
	assert_int_equal(sent->cmd.qp_handle, 3);
	assert_int_equal(sent->cmd.wqe_size, 56);
	return true;
}

static int post(struct fake *f, struct ibv_send_wr *wr, struct ibv_send_wr **ret_bad)
{
	return rvt_post_send(&f->qp.vqp.qp, wr, ret_bad);
}

static int recv_post(struct fake *f, struct ibv_recv_wr *wr, struct ibv_recv_wr **ret_bad)
{
	return rvt_post_recv(&f->qp.vqp.qp, wr, ret_bad);
}

static struct ibv_sge sge = { .addr = 0x1000, .length = 0x80, .lkey = 0x7 };

static void test_send_fields(void **state)
{
	struct ibv_sge two[2] = { { .addr = 1, .length = 2, .lkey = 3 }, { .addr = 4 } };
	struct ibv_send_wr inv = { .opcode = IBV_WR_SEND_WITH_INV, .invalidate_rkey = 0xa01 };
	struct ibv_send_wr atomic = {
		.opcode = IBV_WR_ATOMIC_CMP_AND_SWP,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.atomic = { .remote_addr = 8, .compare_add = 9, .swap = 10, .rkey = 11 },
		.next = &inv,
	};
	struct ibv_send_wr write = {
		.wr_id = 0x77,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE,
		.sg_list = two,
		.num_sge = 2,
		.wr.rdma = { .remote_addr = 0x2000, .rkey = 0x901 },
		.next = &atomic,
	};
	struct ibv_send_wr *bad = &write;
	struct fake *f = fake_create();
	struct ib_uverbs_send_wr *wr;
	struct sent sent;

	assert_int_equal(post(f, &write, &bad), 0);
	assert_null(bad);
	assert_true(command_read(f, &sent));
	assert_int_equal(sent.cmd.wr_count, 3);
	assert_int_equal(sent.cmd.sge_count, 3);
	wr = (struct ib_uverbs_send_wr *)sent.bytes;
	assert_int_equal(wr[0].wr_id, 0x77);
	assert_int_equal(wr[0].num_sge, 2);
	assert_int_equal(wr[0].send_flags, IBV_SEND_SIGNALED | IBV_SEND_FENCE);
	assert_int_equal(wr[0].wr.rdma.remote_addr, 0x2000);
	assert_int_equal(wr[0].wr.rdma.rkey, 0x901);
	assert_int_equal(wr[1].wr.atomic.compare_add, 9);
	assert_int_equal(wr[1].wr.atomic.swap, 10);
	assert_int_equal(wr[1].wr.atomic.rkey, 11);
	assert_int_equal(wr[2].opcode, IBV_WR_SEND_WITH_INV);
	assert_int_equal(wr[2].ex.invalidate_rkey, 0xa01);
	assert_memory_equal(&wr[3], two, sizeof(two));
	assert_memory_equal((char *)&wr[3] + sizeof(two), &sge, sizeof(sge));
	fake_free(f);
}

static void test_send_datagram(void **state)
{
	struct ibv_ah ah = { .handle = 0x55 };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.ud = { .ah = &ah, .remote_qpn = 0x99, .remote_qkey = 0x1111 },
	}, *bad;
	struct fake *f = fake_create();
	struct ib_uverbs_send_wr *to;
	struct sent sent;

	f->qp.vqp.qp.qp_type = IBV_QPT_UD;
	assert_int_equal(post(f, &wr, &bad), 0);
	assert_true(command_read(f, &sent));
	to = (struct ib_uverbs_send_wr *)sent.bytes;
	assert_int_equal(to->wr.ud.ah, 0x55);
	assert_int_equal(to->wr.ud.remote_qpn, 0x99);
	assert_int_equal(to->wr.ud.remote_qkey, 0x1111);
	wr.wr.ud.ah = NULL;
	assert_int_equal(post(f, &wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr);
	fake_free(f);
}

/* A long list is sent in several commands, in order. The list itself does not change. */
static void test_send_lists(void **state)
{
	enum {
		COUNT = 200
	};
	struct ibv_send_wr wrs[COUNT] = {}, before[COUNT], *bad;
	struct fake *f = fake_create();
	struct ibv_sge many[96] = {};
	struct ib_uverbs_send_wr *wr;
	struct sent sent;
	int n = 0;

	for (int i = 0; i < COUNT; i++)
		wrs[i] = (struct ibv_send_wr){
			.wr_id = i,
			.opcode = IBV_WR_SEND,
			.sg_list = many,
			.num_sge = i == 100 ? 96 : i % 3,
			.next = i + 1 < COUNT ? &wrs[i + 1] : NULL,
		};
	memcpy(before, wrs, sizeof(wrs));
	assert_int_equal(post(f, wrs, &bad), 0);
	while (command_read(f, &sent)) {
		wr = (struct ib_uverbs_send_wr *)sent.bytes;
		for (uint32_t i = 0; i < sent.cmd.wr_count; i++, n++)
			assert_int_equal(wr[i].wr_id, n);
	}
	assert_int_equal(n, COUNT);
	assert_memory_equal(wrs, before, sizeof(wrs));
	fake_free(f);
}

/* The requests in front of one that is refused are posted. */
static void test_send_refusals(void **state)
{
	struct ibv_send_wr second = { .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1 };
	struct ibv_send_wr first = { .opcode = IBV_WR_SEND, .next = &second }, *bad;
	struct fake *f = fake_create();
	struct sent sent;

	second.opcode = IBV_WR_LOCAL_INV;
	assert_int_equal(post(f, &first, &bad), EINVAL);
	assert_ptr_equal(bad, &second);
	assert_true(command_read(f, &sent));
	assert_int_equal(sent.cmd.wr_count, 1);
	second.opcode = 1000;
	assert_int_equal(post(f, &second, &bad), EINVAL);
	second.opcode = IBV_WR_SEND;
	second.num_sge = 97;
	assert_int_equal(post(f, &second, &bad), EINVAL);
	second.num_sge = -1;
	assert_int_equal(post(f, &second, &bad), EINVAL);
	second.num_sge = 1;
	second.sg_list = NULL;
	assert_int_equal(post(f, &second, &bad), EINVAL);
	second.sg_list = &sge;
	second.send_flags = IBV_SEND_INLINE;
	assert_int_equal(post(f, &second, &bad), EINVAL);
	second.send_flags = IBV_SEND_IP_CSUM;
	assert_int_equal(post(f, &second, &bad), EINVAL);
	second.send_flags = 1u << 26; /* a flag of the kernel's own */
	assert_int_equal(post(f, &second, NULL), EINVAL);
	assert_false(command_read(f, &sent));
	second.send_flags = IBV_SEND_INLINE;
	second.num_sge = 0;
	assert_int_equal(post(f, &second, &bad), 0);
	assert_true(command_read(f, &sent));
	assert_int_equal(((struct ib_uverbs_send_wr *)sent.bytes)->send_flags, 0);
	f->vctx.context.cmd_fd = -1;
	assert_int_equal(post(f, &first, &bad), EBADF);
	assert_ptr_equal(bad, &first);
	assert_int_equal(post(f, NULL, &bad), 0);
	fake_free(f);
}

/* A number of 64 bits in the order of this host, as the kernel and the library share it. */
static uint64_t number_at(const uint8_t *bytes)
{
	uint64_t number;

	memcpy(&number, bytes, sizeof(number));
	return number;
}

static void test_recv(void **state)
{
	struct ibv_recv_wr wrs[LAST + 1] = {}, *bad;
	struct fake *f = fake_create();
	struct rvt_rwq *wq = f->qp.rq.wq;

	for (int i = 0; i <= LAST; i++)
		wrs[i] = (struct ibv_recv_wr){ .wr_id = 5 + i,
					       .sg_list = &sge,
					       .num_sge = 1,
					       .next = i < LAST ? &wrs[i + 1] : NULL };
	wq->head.val = wq->tail.val = LAST;
	assert_int_equal(recv_post(f, wrs, &bad), ENOMEM);
	assert_ptr_equal(bad, &wrs[LAST]);
	assert_int_equal(wq->head.val, LAST - 1);
	/* The first one is in the last slot, the second in the first. */
	assert_int_equal(number_at(f->rq_ring.bytes + 8 + LAST * STRIDE), 5);
	assert_int_equal(number_at(f->rq_ring.bytes + 8), 6);
	assert_int_equal(f->rq_ring.bytes[8 + 8], 1);
	assert_memory_equal(f->rq_ring.bytes + 8 + 16, &sge, sizeof(sge));
	/* The kernel has taken one receive. */
	wq->tail.val = 0;
	assert_int_equal(recv_post(f, &wrs[LAST], &bad), 0);
	assert_int_equal(wq->head.val, LAST);
	assert_null(bad);
	fake_free(f);
}

static void test_recv_refusals(void **state)
{
	static const enum ibv_qp_state closed[] = { IBV_QPS_RESET, IBV_QPS_ERR };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = SGES + 1 }, *bad;
	struct fake *f = fake_create();

	assert_int_equal(recv_post(f, &wr, &bad), EINVAL);
	assert_int_equal(rvt_post_srq_recv(&f->srq.vsrq.srq, &wr, &bad), EINVAL);
	wr.num_sge = -1;
	assert_int_equal(recv_post(f, &wr, &bad), EINVAL);
	wr.num_sge = 1;
	wr.sg_list = NULL;
	assert_int_equal(rvt_post_srq_recv(&f->srq.vsrq.srq, &wr, NULL), EINVAL);
	wr.num_sge = 0;
	for (size_t i = 0; i < ARRAY_SIZE(closed); i++) {
		f->qp.vqp.qp.state = closed[i];
		assert_int_equal(recv_post(f, &wr, &bad), EINVAL);
		assert_ptr_equal(bad, &wr);
	}
	assert_int_equal(f->qp.rq.wq->head.val, 0);
	f->qp.vqp.qp.state = IBV_QPS_RTS;
	assert_int_equal(recv_post(f, &wr, NULL), 0);
	assert_int_equal(recv_post(f, NULL, &bad), 0);
	assert_int_equal(rvt_post_srq_recv(&f->srq.vsrq.srq, NULL, NULL), 0);
	/* A queue pair with an SRQ has no ring. */
	f->qp.rq = (struct rvt_recv_queue){};
	rvt_recv_queue_unmap(&f->qp.rq);
	assert_int_equal(recv_post(f, &wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr);
	/* An SRQ whose new ring could not be mapped is full. */
	f->srq.rq.ring.base = NULL;
	rvt_recv_queue_unmap(&f->srq.rq);
	assert_int_equal(rvt_post_srq_recv(&f->srq.vsrq.srq, &wr, &bad), ENOMEM);
	fake_free(f);
}

/* The kernel completes the next request. */
static void complete(struct fake *f, uint64_t wr_id)
{
	struct rvt_cq_wc *wc = f->cq.wc;

	wc->uqueue[wc->head.val] = (struct ib_uverbs_wc){ .wr_id = wr_id, .opcode = 0x80, .sl = 5 };
	wc->head.val = wc->head.val == LAST ? 0 : wc->head.val + 1;
}

static int poll(struct fake *f, int count, struct ibv_wc *wc)
{
	return rvt_poll_cq(&f->cq.vcq.cq, count, wc);
}

static void test_poll(void **state)
{
	struct fake *f = fake_create();
	struct ibv_wc wc[8] = {};

	assert_int_equal(poll(f, 8, wc), 0);
	for (int i = 0; i < 3; i++)
		complete(f, i);
	assert_int_equal(poll(f, 0, wc), 0);
	assert_int_equal(poll(f, -1, wc), 0);
	assert_int_equal(poll(f, 2, wc), 2);
	assert_int_equal(wc[1].wr_id, 1);
	assert_int_equal(wc[1].opcode, IBV_WC_RECV);
	assert_int_equal(wc[1].sl, 5);
	assert_int_equal(f->cq.wc->tail.val, 2);
	for (int i = 3; i < 6; i++)
		complete(f, i);
	assert_int_equal(poll(f, 8, wc), 4);
	assert_int_equal(wc[0].wr_id, 2);
	assert_int_equal(wc[3].wr_id, 5);
	assert_int_equal(f->cq.wc->tail.val, 1);
	assert_int_equal(poll(f, 8, wc), 0);
	fake_free(f);
}

/* With indices that no kernel writes, only memory of the rings is read or written. */
static void test_attacks(void **state)
{
	static const uint32_t wild[] = { LAST + 1, LAST + 2, 1u << 31, UINT32_MAX };
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad;
	struct fake *f = fake_create();
	struct ibv_wc wc[20];

	for (size_t i = 0; i < ARRAY_SIZE(wild); i++) {
		f->cq.wc->head.val = wild[i];
		f->cq.wc->tail.val = 0;
		assert_int_equal(poll(f, 20, wc), LAST);
		assert_int_equal(f->cq.wc->tail.val, LAST);
		assert_int_equal(poll(f, 20, wc), 0);
		f->cq.wc->head.val = 1;
		f->cq.wc->tail.val = wild[i];
		assert_in_range(poll(f, 20, wc), 0, LAST + 1);
		assert_in_range(f->cq.wc->tail.val, 0, LAST);
		f->qp.rq.wq->head.val = wild[i];
		f->qp.rq.wq->tail.val = 1;
		assert_int_equal(recv_post(f, &recv, &bad), 0);
		assert_int_equal(f->qp.rq.wq->head.val, 0);
		/* The ring never looks full with such an index. */
		f->qp.rq.wq->tail.val = wild[i];
		assert_int_equal(recv_post(f, &recv, &bad), 0);
	}
	fake_free(f);
}

/* Answers of the kernel that describe no valid ring. */
static void test_ring(void **state)
{
	struct fake *f = fake_create();
	struct rvt_ring_resp resp = {};
	struct kit_page page = {};

	assert_int_equal(rvt_ring_map(&f->vctx.context, "ring", &resp, UINT32_MAX, 48, &page),
			 -EIO);
	assert_int_equal(rvt_ring_map(&f->vctx.context, "ring", &resp, 1u << 27, 48, &page), -EIO);
	f->vctx.context.cmd_fd = -1;
	assert_int_equal(rvt_ring_map(&f->vctx.context, "ring", &resp, 255, 48, &page), -EBADF);
	assert_null(page.base);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_send_fields),   cmocka_unit_test(test_send_datagram),
		cmocka_unit_test(test_send_lists),    cmocka_unit_test(test_send_refusals),
		cmocka_unit_test(test_recv),	      cmocka_unit_test(test_poll),
		cmocka_unit_test(test_recv_refusals), cmocka_unit_test(test_attacks),
		cmocka_unit_test(test_ring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

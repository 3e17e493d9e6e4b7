/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * usage: mlx5_inline poll
 * extended
 * srq
 * read
 * atomic
 * wide
 * none
 * fault
 *
 * Data that the adapter writes into a completion is in the program's memory when the completion
 * is polled. A page fault of a shared receive posts the receive a second time.
 */
#include "tests/adapters/lab/scenario/script.h"

#include <endian.h>
#include <string.h>
#include <infiniband/mlx5dv.h>

enum {
	PIECE = 10, /* bytes of each entry of a request */
	PAGE_FAULT_SYNDROME = 0x22,
	PAGE_FAULT_VENDOR = 0x93,
};

static const char text[] = "sixty-four bytes of a message that comes in its own completion.";
static struct script s;
static struct ibv_cq_ex *extended;

static struct mlx5_cqe64 entry(unsigned int opcode, uint32_t length, unsigned int low)
{
	struct mlx5_cqe64 cqe = { 0 };

	cqe.byte_cnt = htobe32(length);
	cqe.op_own = opcode << 4 | low;
	return cqe;
}

static void queue_pair(void)
{
	const struct ibv_qp_cap cap = { 8, 8, 8, 8, 0 };
	struct ibv_qp_init_attr attr = {
		.send_cq = extended ? ibv_cq_ex_to_cq(extended) : s.recv_cq,
		.recv_cq = extended ? ibv_cq_ex_to_cq(extended) : s.recv_cq,
		.srq = s.srq,
		.cap = cap,
		.qp_type = IBV_QPT_RC,
	};

	s.qp = ibv_create_qp(s.pd, &attr);
	must(s.qp, "qp");
	s.recv_cq = attr.recv_cq;
	for (int state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++)
		script_modify(&s, state);
}

/* Entries of PIECE bytes, 0x100 bytes apart. */
static void receive(unsigned int count, uint64_t wr_id)
{
	struct ibv_sge sges[8];
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = sges, .num_sge = count }, *bad;

	for (unsigned int i = 0; i < count; i++)
		sges[i] = script_sge(&s, i * 0x100, PIECE);
	must(!(s.srq ? ibv_post_srq_recv(s.srq, &wr, &bad) : ibv_post_recv(s.qp, &wr, &bad)),
	     "receive");
}

static bool arrived(uint32_t length)
{
	for (uint32_t i = 0; i < length; i++)
		if (*(char *)(SCRIPT_BUFFER + i / PIECE * 0x100 + i % PIECE) != text[i])
			return false;
	return true;
}

static void inject(const struct mlx5_cqe64 *cqe)
{
	struct mlx5_cqe64 copy = *cqe;

	if (cqe->op_own & MLX5_INLINE_SCATTER_32)
		memcpy(&copy, text, 32);
	must(!lab_entry(s.recv_cq->handle, &copy, sizeof(copy)), "entry");
}

static void polled(uint64_t wr_id, uint32_t length)
{
	struct ibv_poll_cq_attr attr = {};
	struct ibv_wc wc;

	if (extended) {
		must(!ibv_start_poll(extended, &attr), "poll");
		must(extended->status == IBV_WC_SUCCESS && extended->wr_id == wr_id &&
			     ibv_wc_read_byte_len(extended) == length,
		     "completion");
		ibv_end_poll(extended);
		return;
	}
	must(ibv_poll_cq(s.recv_cq, 1, &wc) == 1 && wc.status == IBV_WC_SUCCESS &&
		     wc.wr_id == wr_id && wc.byte_len == length,
	     "completion");
}

/* Twenty-five bytes into three pieces, and around the ring. */
static void receives(void)
{
	struct mlx5_cqe64 cqe;

	for (unsigned int i = 0; i < 20; i++) {
		memset((void *)SCRIPT_BUFFER, 0, 0x800);
		receive(4, 0x40 + i);
		cqe = entry(MLX5_CQE_RESP_SEND, 25, MLX5_INLINE_SCATTER_32);
		cqe.wqe_counter = htobe16(s.srq ? i % 16 : i);
		inject(&cqe);
		polled(0x40 + i, 25);
		must(arrived(25) && !*(char *)(SCRIPT_BUFFER + 0x205), "bytes");
	}
}

static void read_or_atomic(bool atomic)
{
	struct ibv_sge sges[4];
	struct ibv_send_wr wr = { .sg_list = sges,
				  .num_sge = atomic ? 1 : 4,
				  .opcode = atomic ? IBV_WR_ATOMIC_FETCH_AND_ADD : IBV_WR_RDMA_READ,
				  .send_flags = IBV_SEND_SIGNALED };
	uint32_t length = atomic ? 8 : 30, block = 0;
	struct mlx5_cqe64 cqe;

	for (int i = 0; i < 4; i++)
		sges[i] = script_sge(&s, i * 0x100, atomic ? 8 : PIECE);
	/* Ten times around the ring, whose end falls between pieces. */
	for (unsigned int i = 0; i < 80; i++) {
		memset((void *)SCRIPT_BUFFER, 0, 0x800);
		wr.wr_id = i;
		must(!script_send(&s, &wr), "send");
		cqe = entry(MLX5_CQE_REQ, length, MLX5_INLINE_SCATTER_32);
		cqe.wqe_counter = htobe16(block);
		cqe.sop_drop_qpn =
			htobe32((atomic ? MLX5_OPCODE_ATOMIC_FA : MLX5_OPCODE_RDMA_READ) << 24);
		inject(&cqe);
		block += atomic ? 1 : 2;
		polled(i, length);
		must(arrived(length), "bytes");
	}
}

/* Completions of 128 bytes have 64 for data in their first half. */
static void wide(void)
{
	struct mlx5_cqe64 cqe = entry(MLX5_CQE_RESP_SEND, 64, MLX5_INLINE_SCATTER_64);
	struct mlx5dv_cq out = {};
	struct mlx5dv_obj obj = { .cq = { .in = s.recv_cq, .out = &out } };

	receive(7, 1);
	must(!mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ) && out.cqe_size == 128, "completions");
	memcpy(out.buf, text, 64);
	inject(&cqe);
	polled(1, 64);
	must(arrived(64), "bytes");
}

static void fault(void)
{
	struct mlx5_cqe64 cqe = entry(MLX5_CQE_RESP_ERR, 0, 0);
	struct mlx5_err_cqe *error = (void *)&cqe;
	struct ibv_wc wc;

	for (unsigned int i = 0; i < 16; i++) {
		receive(1, 0x70 + i);
		error->syndrome = PAGE_FAULT_SYNDROME;
		error->vendor_err_synd = PAGE_FAULT_VENDOR;
		cqe.wqe_counter = htobe16(2 * i % 8);
		inject(&cqe);
		must(ibv_poll_cq(s.recv_cq, 1, &wc) == 0, "a fault is no completion");
		cqe = entry(MLX5_CQE_RESP_SEND, 5, MLX5_INLINE_SCATTER_32);
		cqe.wqe_counter = htobe16((2 * i + 1) % 8);
		memset((void *)SCRIPT_BUFFER, 0, 0x800);
		inject(&cqe);
		polled(0x70 + i, 5);
		must(arrived(5), "the request is the same");
		cqe = entry(MLX5_CQE_RESP_ERR, 0, 0);
	}
}

int main(int argc, char **argv)
{
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 7, .max_sge = 7 } };
	struct ibv_cq_init_attr_ex cq_attr = { .cqe = 16, .wc_flags = IBV_WC_EX_WITH_BYTE_LEN };
	const char *kind = argc > 1 ? argv[1] : "poll";

	script_open(&s);
	if (!strcmp(kind, "extended")) {
		extended = ibv_create_cq_ex(s.context, &cq_attr);
		must(extended, "extended cq");
	}
	if (!strcmp(kind, "srq") || !strcmp(kind, "fault")) {
		srq_attr.attr.max_wr = *kind == 's' ? 15 : 7;
		s.srq = ibv_create_srq(s.pd, &srq_attr);
		must(s.srq, "srq");
	}
	queue_pair();
	if (!strcmp(kind, "read") || !strcmp(kind, "atomic"))
		read_or_atomic(*kind == 'a');
	else if (!strcmp(kind, "wide"))
		wide();
	else if (!strcmp(kind, "fault"))
		fault();
	else if (strcmp(kind, "none"))
		receives();
	return 0;
}

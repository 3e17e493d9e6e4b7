/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Send and receive raw packets as packet processors do that use verbs only to make queues. They
 * take addresses of mlx5dv_init_obj(), write requests, records and registers themselves, and read
 * completions out of the ring. VPP's rdma plug-in receives by a work queue, and XLIO asks for the
 * numbers of the firmware's send queue.
 */
#include "tests/adapters/lab/scenario/script.h"

#include <endian.h>
#include <string.h>
#include <infiniband/mlx5dv.h>

enum {
	WQES = 64,
	CQES = 64,
	FRAME = 1514,
	CONSUMED = 0, /* word of the record of a completion queue */
	ROUNDS = 3,   /* through the rings */
	INLINE_HEADER = 18,
};

struct rx_entry {
	struct mlx5_wqe_data_seg data;
};

struct tx_entry {
	struct mlx5_wqe_ctrl_seg ctrl;
	struct mlx5_wqe_eth_seg eth; /* with the first 18 bytes of the packet */
	struct mlx5_wqe_data_seg data;
};

static struct mlx5_cqe64 *entry_at(const struct mlx5dv_cq *cq, uint32_t n)
{
	return (void *)((char *)cq->buf + (size_t)(n & (cq->cqe_cnt - 1)) * cq->cqe_size);
}

/* Check the completion of request @n and give it back. */
static void take(const struct mlx5dv_cq *cq, uint32_t n, uint8_t opcode)
{
	const struct mlx5_cqe64 *cqe = entry_at(cq, n);

	must((cqe->op_own & MLX5_CQE_OWNER_MASK) == !!(n & cq->cqe_cnt), "owner of a completion");
	must(mlx5dv_get_cqe_opcode((struct mlx5_cqe64 *)cqe) == opcode, "opcode of a completion");
	must(be16toh(cqe->wqe_counter) == (n & 0xffff), "number of a request");
	cq->dbrec[CONSUMED] = htobe32((n + 1) & 0xffffff);
}

static struct ibv_cq *cq_make(struct script *s)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = CQES - 1 };
	struct mlx5dv_cq_init_attr dv = { .comp_mask = MLX5DV_CQ_INIT_ATTR_MASK_CQE_SIZE,
					  .cqe_size = sizeof(struct mlx5_cqe64) };
	struct ibv_cq_ex *cq = mlx5dv_create_cq(s->context, &attr, &dv);

	must(cq, "cq");
	return ibv_cq_ex_to_cq(cq);
}

static void cq_is(const struct mlx5dv_cq *cq)
{
	must(cq->cqe_size == sizeof(struct mlx5_cqe64) && cq->cqe_cnt == CQES, "completions");
	must(cq->cqn && cq->cq_uar, "number and register of a completion queue");
	/* An entry that the adapter has not written belongs to the adapter. */
	for (uint32_t i = 0; i < cq->cqe_cnt; i++)
		must(mlx5dv_get_cqe_opcode(entry_at(cq, i)) == MLX5_CQE_INVALID, "a new entry");
}

/* ---- VPP: receive */

static void receive(struct script *s)
{
	struct ibv_wq_init_attr wq_attr = {
		.wq_type = IBV_WQT_RQ, .max_wr = WQES, .max_sge = 1, .pd = s->pd
	};
	struct ibv_wq_attr ready = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY };
	struct mlx5dv_cq cq = { 0 };
	struct mlx5dv_rwq wq = { 0 };
	struct mlx5dv_obj obj = { .cq.out = &cq, .rwq.out = &wq };
	struct lab_completion done = { .receive = true,
				       .wc = { .opcode = IBV_WC_RECV, .byte_len = FRAME } };
	struct rx_entry *ring;

	obj.cq.in = wq_attr.cq = cq_make(s);
	obj.rwq.in = ibv_create_wq(s->context, &wq_attr);
	must(obj.rwq.in && !ibv_modify_wq(obj.rwq.in, &ready), "work queue");
	must(!mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ | MLX5DV_OBJ_RWQ), "init_obj");
	cq_is(&cq);
	must(wq.stride == sizeof(*ring) && wq.wqe_cnt == WQES, "receives");
	ring = wq.buf;
	for (uint32_t i = 0; i < wq.wqe_cnt; i++)
		mlx5dv_set_data_seg(&ring[i].data, FRAME, s->mr->lkey,
				    SCRIPT_BUFFER + (uint64_t)i * FRAME % SCRIPT_BYTES);
	done.cq = obj.cq.in->handle;
	done.wq = obj.rwq.in->handle;
	for (uint32_t n = 0; n < ROUNDS * CQES; n++) {
		wq.dbrec[MLX5_RCV_DBR] = htobe32((n + WQES) & 0xffff);
		done.index = n;
		must(!lab_complete(&done), "complete");
		must(be32toh(entry_at(&cq, n)->byte_cnt) == FRAME, "length of a packet");
		take(&cq, n, MLX5_CQE_RESP_SEND);
	}
	must(!ibv_destroy_wq(obj.rwq.in) && !ibv_destroy_cq(obj.cq.in), "destroy");
}

/* ---- VPP and XLIO: send */

static void request_write(struct tx_entry *entry, const struct script *s, uint32_t n)
{
	memset(entry, 0, sizeof(*entry));
	mlx5dv_set_ctrl_seg(&entry->ctrl, n, MLX5_OPCODE_SEND, 0, s->qp->qp_num,
			    MLX5_WQE_CTRL_CQ_UPDATE, sizeof(*entry) / 16, 0, 0);
	entry->eth.inline_hdr_sz = htobe16(INLINE_HEADER);
	mlx5dv_set_data_seg(&entry->data, FRAME - INLINE_HEADER, s->mr->lkey, SCRIPT_BUFFER);
}

/* Ring the doorbell. If a register has two halves, use them in turn. */
static void ring(const struct mlx5dv_qp *qp, const struct tx_entry *entry, uint32_t n)
{
	uint64_t word;

	memcpy(&word, &entry->ctrl, sizeof(word));
	__atomic_thread_fence(__ATOMIC_RELEASE);
	qp->dbrec[MLX5_SND_DBR] = htobe32((n + 1) & 0xffff);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	*(volatile uint64_t *)((char *)qp->bf.reg + (n & 1) * qp->bf.size) = word;
}

static void send(struct script *s)
{
	struct ibv_cq *plain = s->send_cq;
	const struct ibv_qp_cap cap = { .max_send_wr = WQES, .max_send_sge = 1 };
	struct mlx5dv_qp qp = { .comp_mask = MLX5DV_QP_MASK_UAR_MMAP_OFFSET |
					     MLX5DV_QP_MASK_RAW_QP_HANDLES };
	struct mlx5dv_cq cq = { 0 };
	struct mlx5dv_pd pd = { 0 };
	struct mlx5dv_obj obj = { .qp.out = &qp, .cq.out = &cq, .pd = { .in = s->pd, .out = &pd } };
	struct lab_completion done = { .sent_as = IBV_WR_SEND };
	struct tx_entry *entries;

	obj.cq.in = s->send_cq = cq_make(s);
	script_qp(s, IBV_QPT_RAW_PACKET, &cap);
	obj.qp.in = s->qp;
	for (int state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++) {
		struct ibv_qp_attr attr = { .qp_state = state, .port_num = 1 };

		must(!ibv_modify_qp(s->qp, &attr,
				    IBV_QP_STATE | (state == IBV_QPS_INIT ? IBV_QP_PORT : 0)),
		     "modify");
	}
	must(!mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP | MLX5DV_OBJ_CQ | MLX5DV_OBJ_PD), "init_obj");
	cq_is(&cq);
	must(pd.pdn, "number of the protection domain");
	must(qp.comp_mask == (MLX5DV_QP_MASK_UAR_MMAP_OFFSET | MLX5DV_QP_MASK_RAW_QP_HANDLES),
	     "both groups are answered");
	must(qp.sqn == 0x74 && qp.tisn == 0x72, "numbers of the firmware's objects");
	must(qp.sq.stride == sizeof(*entries) && qp.sq.wqe_cnt >= WQES &&
		     !(qp.sq.wqe_cnt & (qp.sq.wqe_cnt - 1)),
	     "requests");
	entries = qp.sq.buf;
	done.cq = s->send_cq->handle;
	done.qp = s->qp->handle;
	for (uint32_t n = 0; n < ROUNDS * CQES; n++) {
		struct tx_entry *entry = &entries[n & (qp.sq.wqe_cnt - 1)];

		must(lab_is_at(entry, sizeof(*entry), "qp0.sq", (char *)entry - (char *)qp.sq.buf),
		     "a request in the ring");
		request_write(entry, s, n);
		ring(&qp, entry, n);
		must(!lab_complete(&done), "complete");
		take(&cq, n, MLX5_CQE_REQ);
	}
	script_qp_close(s);
	must(!ibv_destroy_cq(s->send_cq), "destroy");
	s->send_cq = plain;
}

int main(void)
{
	struct script s = { 0 };

	script_open(&s);
	receive(&s);
	send(&s);
	script_close(&s);
	return 0;
}

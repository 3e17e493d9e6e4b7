/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Use the results of mlx5dv_init_obj() as drivers do that write the rings themselves: addresses,
 * strides, counts, doorbell records and registers. */
#include "tests/adapters/lab/scenario/script.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <infiniband/mlx5dv.h>

enum {
	WQES = 128,
	OPCODE_NOP = 0,
};

struct striding_entry {
	struct mlx5_wqe_srq_next_seg head;
	struct mlx5_wqe_data_seg data;
};

static bool inside(const void *at, size_t length, const char *name, size_t offset)
{
	return lab_is_at && lab_is_at(at, length, name, offset);
}

static struct ibv_wq *wq_make(struct script *s, bool striding)
{
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ, .max_wr = WQES, .max_sge = 1, .pd = s->pd, .cq = s->recv_cq
	};
	struct mlx5dv_wq_init_attr dv = {
		.comp_mask = MLX5DV_WQ_INIT_ATTR_MASK_STRIDING_RQ,
		.striding_rq_attrs = { .single_stride_log_num_of_bytes = 6,
				       .single_wqe_log_num_of_strides = 9 },
	};
	struct ibv_wq *wq = striding ? mlx5dv_create_wq(s->context, &attr, &dv)
				     : ibv_create_wq(s->context, &attr);

	must(wq, "wq");
	return wq;
}

static struct mlx5dv_rwq wq_show(struct ibv_wq *wq)
{
	struct mlx5dv_rwq out = {};
	struct mlx5dv_obj obj = { .rwq = { .in = wq, .out = &out } };

	must(!mlx5dv_init_obj(&obj, MLX5DV_OBJ_RWQ), "init_obj of a work queue");
	return out;
}

/* Each entry begins with a segment that is empty. */
static void striding(struct script *s)
{
	struct ibv_wq *wq = wq_make(s, true);
	struct mlx5dv_rwq out = wq_show(wq);
	struct striding_entry *entry = out.buf;

	must(out.stride == sizeof(*entry) && out.wqe_cnt == WQES, "striding: entries");
	for (unsigned int i = 0; i < out.wqe_cnt; i++)
		must(inside(&entry[i].data, sizeof(entry[i].data), "wq0.buffer",
			    i * sizeof(*entry) + 16),
		     "striding: a data segment in the ring");
	must(inside(out.dbrec, 4, "wq0.record", 0), "striding: record");
	must(!ibv_destroy_wq(wq), "destroy");
}

static void cyclic(struct script *s)
{
	struct ibv_wq *wq = wq_make(s, false);
	struct mlx5dv_rwq out = wq_show(wq);

	must(out.wqe_cnt == WQES && out.stride >= sizeof(struct mlx5_wqe_data_seg), "entries");
	for (unsigned int i = 0; i < out.wqe_cnt; i++)
		must(inside((char *)out.buf + i * out.stride, out.stride, "wq1.buffer",
			    i * out.stride),
		     "an entry in the ring");
	must(inside(out.dbrec, 4, "wq1.record", 0), "record");
	must(!ibv_destroy_wq(wq), "destroy");
}

static void srq(struct script *s)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 100, .max_sge = 2 } };
	struct ibv_srq *srq = ibv_create_srq(s->pd, &attr);
	struct mlx5dv_srq out = { .comp_mask = MLX5DV_SRQ_MASK_SRQN };
	struct mlx5dv_obj obj = { .srq = { .in = srq, .out = &out } };

	must(srq && !mlx5dv_init_obj(&obj, MLX5DV_OBJ_SRQ), "init_obj of an srq");
	for (unsigned int i = 0; i <= out.tail; i++)
		must(inside((char *)out.buf + i * out.stride, out.stride, "srq0.buffer",
			    i * out.stride),
		     "an entry in the srq");
	must(inside(out.dbrec, 4, "srq0.record", 0), "record of the srq");
	must(!ibv_destroy_srq(srq), "destroy");
}

/* Send a NOP and read its completion out of the ring. */
static void nop(struct script *s, struct mlx5dv_qp *qp, struct mlx5dv_cq *cq, uint16_t n)
{
	struct mlx5_wqe_ctrl_seg *ctrl =
		(void *)((char *)qp->sq.buf + (n & (qp->sq.wqe_cnt - 1)) * qp->sq.stride);
	const struct lab_completion done = { .cq = s->send_cq->handle,
					     .qp = s->qp->handle,
					     .sent_as = IBV_WR_SEND };
	const struct mlx5_cqe64 *cqe =
		(void *)((char *)cq->buf + (n & (cq->cqe_cnt - 1)) * cq->cqe_size);
	uint64_t word;

	must(inside(ctrl, qp->sq.stride, "qp0.sq", (n & (qp->sq.wqe_cnt - 1)) * qp->sq.stride),
	     "a send request in the ring");
	mlx5dv_set_ctrl_seg(ctrl, n, OPCODE_NOP, 0, s->qp->qp_num, MLX5_WQE_CTRL_CQ_UPDATE, 1, 0,
			    0);
	qp->dbrec[MLX5_SND_DBR] = htobe32(n + 1);
	memcpy(&word, ctrl, sizeof(word));
	*(volatile uint64_t *)((char *)qp->bf.reg + (n & 1) * qp->bf.size) = word;
	must(!lab_complete(&done), "complete");
	must((cqe->op_own & MLX5_CQE_OWNER_MASK) == !!(n & cq->cqe_cnt), "the completion's owner");
	must(be16toh(cqe->wqe_counter) == n, "the request that the register told of");
	must(be32toh(cqe->sop_drop_qpn) << 8 == s->qp->qp_num << 8, "the queue pair's number");
	cq->dbrec[0] = htobe32((n + 1) & 0xffffff);
}

static void queue_pair(struct script *s)
{
	const struct ibv_qp_cap cap = { 32, 32, 2, 2, 64 };
	struct mlx5dv_qp qp = { .comp_mask = MLX5DV_QP_MASK_UAR_MMAP_OFFSET };
	struct mlx5dv_cq cq = {};
	struct mlx5dv_obj obj = { .qp = { .out = &qp }, .cq = { .in = s->send_cq, .out = &cq } };

	script_qp(s, IBV_QPT_RC, &cap);
	obj.qp.in = s->qp;
	must(!mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP | MLX5DV_OBJ_CQ), "init_obj of a queue pair");
	must(qp.comp_mask == MLX5DV_QP_MASK_UAR_MMAP_OFFSET, "the register's offset");
	for (int state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++)
		script_modify(s, state);
	for (unsigned int i = 0; i < qp.rq.wqe_cnt; i++)
		must(inside((char *)qp.rq.buf + i * qp.rq.stride, qp.rq.stride, "qp0.rq",
			    i * qp.rq.stride),
		     "a receive in the ring");
	must(inside(qp.dbrec, 8, "qp0.record", 0), "record of the queue pair");
	for (unsigned int n = 0; n < 3 * cq.cqe_cnt; n++)
		nop(s, &qp, &cq, n);
	script_qp_close(s);
}

int main(void)
{
	struct script s = { 0 };

	script_open(&s);
	striding(&s);
	cyclic(&s);
	srq(&s);
	queue_pair(&s);
	script_close(&s);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Direct verbs of mlx4: a message between two queue pairs of one process. This program writes
 * the request into the ring and reads the completion from the other ring, several times round
 * both. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <infiniband/mlx4dv.h>

enum {
	ROUNDS = 200,
	LENGTH = 40,
	SEND_CQES = 31,
};

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static char memory[2 * 4096] __attribute__((aligned(4096)));

static void must(bool good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(1);
}

static struct ibv_qp *make_qp(struct ibv_cq *send_cq, struct ibv_cq *recv_cq)
{
	struct ibv_qp_init_attr attr = { .send_cq = send_cq,
					 .recv_cq = recv_cq,
					 .qp_type = IBV_QPT_RC,
					 .cap = { 8, 8, 1, 1, 0 } };
	struct ibv_qp *qp = ibv_create_qp(pd, &attr);

	must(qp, "qp");
	return qp;
}

static void connect_to(struct ibv_qp *qp, const struct ibv_qp *peer)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	must(!ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
	     "INIT");
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer->qp_num,
		.min_rnr_timer = 12,
		.max_dest_rd_atomic = 1,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh.hop_limit = 1 },
	};
	must(!ibv_query_gid(context, 1, 0, &attr.ah_attr.grh.dgid), "gid");
	must(!ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				    IBV_QP_MIN_RNR_TIMER),
	     "RTR");
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
				     .timeout = 14,
				     .retry_cnt = 7,
				     .rnr_retry = 7,
				     .max_rd_atomic = 1 };
	must(!ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				    IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
	     "RTS");
}

/* Write request number @n, with its first word last. */
static void send_directly(const struct mlx4dv_qp *qp, uint32_t n)
{
	char *slot = (char *)qp->buf.buf + qp->sq.offset +
		     ((size_t)(n & (qp->sq.wqe_cnt - 1)) << qp->sq.wqe_shift);
	struct mlx4_wqe_ctrl_seg *ctrl = (void *)slot;
	uint32_t owner = n & qp->sq.wqe_cnt ? 1u << 31 : 0;

	mlx4dv_set_data_seg((void *)(ctrl + 1), LENGTH, mr->lkey, (uintptr_t)memory);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	ctrl->srcrb_flags = htobe32(MLX4_WQE_CTRL_CQ_UPDATE);
	ctrl->imm = 0;
	ctrl->fence_size = 2;
	__atomic_store_n(&ctrl->owner_opcode, htobe32(owner | MLX4_OPCODE_SEND), __ATOMIC_RELEASE);
	*(volatile uint32_t *)qp->sdb = qp->doorbell_qpn;
}

/* Wait for completion number @n of the sends. */
static void wait_directly(const struct mlx4dv_cq *cq, uint32_t n, uint32_t qpn)
{
	char *entry = (char *)cq->buf.buf + (size_t)(n & (cq->cqe_cnt - 1)) * cq->cqe_size;
	struct mlx4_cqe *cqe = (void *)(entry + cq->cqe_size - sizeof(*cqe));
	uint8_t ours = n & cq->cqe_cnt ? MLX4_CQE_OWNER_MASK : 0;

	while ((__atomic_load_n(&cqe->owner_sr_opcode, __ATOMIC_ACQUIRE) & MLX4_CQE_OWNER_MASK) !=
	       ours)
		usleep(100);
	must(mlx4dv_get_cqe_opcode(cqe) == MLX4_OPCODE_SEND, "opcode");
	must((be32toh(cqe->vlan_my_qpn) & MLX4_CQE_QPN_MASK) == qpn, "qpn");
	must(be16toh(cqe->wqe_index) == n, "index");
	*cq->set_ci_db = htobe32((n + 1) & 0xffffff);
}

static void receive(struct ibv_qp *qp)
{
	struct ibv_sge sge = { (uintptr_t)memory + 4096, 4096, mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	memset(memory + 4096, 0, LENGTH);
	must(!ibv_post_recv(qp, &wr, &bad), "receive");
}

static void check(struct ibv_cq *cq)
{
	struct ibv_wc wc;
	int got;

	while (!(got = ibv_poll_cq(cq, 1, &wc)))
		usleep(100);
	must(got == 1 && wc.status == IBV_WC_SUCCESS && wc.byte_len == LENGTH, "completion");
	must(!memcmp(memory, memory + 4096, LENGTH), "data");
}

int main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct mlx4dv_cq dv_cq = { .comp_mask = MLX4DV_CQ_MASK_UAR };
	struct mlx4dv_context facts = { 0 };
	struct ibv_cq *send_cq, *recv_cq;
	struct mlx4dv_qp dv_qp = { 0 };
	struct ibv_qp *from, *to;
	struct mlx4dv_obj obj;

	must(list && list[0], "device");
	context = ibv_open_device(list[0]);
	must(context, "context");
	must(!mlx4dv_query_device(context, &facts), "query");
	pd = ibv_alloc_pd(context);
	mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	send_cq = ibv_create_cq(context, SEND_CQES, NULL, NULL, 0);
	recv_cq = ibv_create_cq(context, SEND_CQES, NULL, NULL, 0);
	must(pd && mr && send_cq && recv_cq, "objects");
	from = make_qp(send_cq, recv_cq);
	to = make_qp(recv_cq, recv_cq);
	connect_to(from, to);
	connect_to(to, from);
	obj.qp.in = from;
	obj.qp.out = &dv_qp;
	obj.cq.in = send_cq;
	obj.cq.out = &dv_cq;
	must(!mlx4dv_init_obj(&obj, MLX4DV_OBJ_QP | MLX4DV_OBJ_CQ), "init_obj");
	must((char *)dv_qp.sdb == (char *)dv_cq.cq_uar + MLX4_SEND_DOORBELL, "registers");
	for (uint32_t n = 0; n < ROUNDS; n++) {
		memset(memory, n + 1, LENGTH);
		receive(to);
		send_directly(&dv_qp, n);
		wait_directly(&dv_cq, n, from->qp_num);
		check(recv_cq);
	}
	must(!ibv_destroy_qp(from) && !ibv_destroy_qp(to) && !ibv_destroy_cq(send_cq) &&
		     !ibv_destroy_cq(recv_cq) && !ibv_dereg_mr(mr) && !ibv_dealloc_pd(pd) &&
		     !ibv_close_device(context),
	     "destroy");
	ibv_free_device_list(list);
	printf("%d messages, %u slots, %u entries of %d bytes, receives of %u bytes inline\n",
	       ROUNDS, dv_qp.sq.wqe_cnt, dv_cq.cqe_cnt, dv_cq.cqe_size, facts.max_inl_recv_sz);
	return 0;
}

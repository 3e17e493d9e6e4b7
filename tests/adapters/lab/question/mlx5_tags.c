/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tag matching with wrong requests and wrong completions: each is refused, and the list stays
 * valid. With MLX5_CQE_SIZE=128 data also come inside a completion.
 */
#include "tests/adapters/lab/scenario/script.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <infiniband/mlx5dv.h>

enum {
	TAGS = 3,
	CONSUMED = 1,
	APPENDED = 5,
	MESSAGE = 10,
};

static const char text[] = "forty-eight bytes that come inside a completion";
static struct script s;
static struct ibv_cq_ex *cq;
static uint32_t polls;

static void make(void)
{
	struct ibv_cq_init_attr_ex queue = { .cqe = 16, .wc_flags = IBV_WC_EX_WITH_TM_INFO };
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 4, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ |
			     IBV_SRQ_INIT_ATTR_TM,
		.srq_type = IBV_SRQT_TM,
		.pd = s.pd,
		.cq = s.recv_cq,
		.tm_cap = { .max_num_tags = TAGS, .max_ops = 8 },
	};

	must(!ibv_create_srq_ex(s.context, &attr) && errno == EINVAL, "tags in a plain queue");
	cq = ibv_create_cq_ex(s.context, &queue);
	must(cq, "queue");
	attr.cq = ibv_cq_ex_to_cq(cq);
	s.srq = ibv_create_srq_ex(s.context, &attr);
	must(s.srq, "srq");
}

static int post(struct ibv_srq *srq, enum ibv_ops_wr_opcode opcode, uint32_t handle, int sges)
{
	static struct ibv_sge sge[2];
	struct ibv_ops_wr *bad, op = {
		.opcode = opcode,
		.tm = { .handle = handle,
			.add = { .recv_wr_id = 7, .sg_list = sge, .num_sge = sges } },
	};

	sge[0] = script_sge(&s, 0, 64);
	return ibv_post_srq_ops(srq, &op, &bad);
}

/* Put bytes into the first half of the next entry. */
static void data_put(const char *data)
{
	struct mlx5dv_cq out = { 0 };
	struct mlx5dv_obj obj = { .cq = { .in = ibv_cq_ex_to_cq(cq), .out = &out } };

	must(!mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ) && out.cqe_size == 128, "completions");
	memcpy((char *)out.buf + polls % out.cqe_cnt * out.cqe_size, data, sizeof(text));
}

/* Write an entry about tag matching, and return the result of a poll. */
static int poll(uint8_t app_op, uint16_t index, const char *data)
{
	struct ibv_poll_cq_attr attr = { 0 };
	unsigned int opcode = app_op == APPENDED ? MLX5_CQE_NO_PACKET : MLX5_CQE_RESP_SEND;
	const struct mlx5_cqe64 entry = {
		.app = 1,
		.app_op = app_op,
		.app_info = htobe16(index),
		.byte_cnt = htobe32(sizeof(text)),
		.op_own = opcode << 4 | (data ? MLX5_INLINE_SCATTER_64 : 0),
	};
	int r;

	if (data)
		data_put(data);
	must(!lab_entry(ibv_cq_ex_to_cq(cq)->handle, &entry, sizeof(entry)), "entry");
	polls++;
	r = ibv_start_poll(cq, &attr);
	if (r)
		return r;
	r = cq->status;
	must(cq->wr_id == 7 || r, "wr_id");
	ibv_end_poll(cq);
	return r;
}

static void wrong_requests(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq *basic = ibv_create_srq(s.pd, &attr);

	must(basic && post(basic, IBV_WR_TAG_SYNC, 0, 0) == EINVAL, "a queue without tags");
	must(!ibv_destroy_srq(basic), "destroy basic");
	must(post(s.srq, IBV_WR_TAG_ADD, 0, 2) == EINVAL, "two buffers");
	must(post(s.srq, IBV_WR_TAG_ADD, 0, -1) == EINVAL, "-1 buffers");
	must(post(s.srq, IBV_WR_TAG_DEL, 0, 0) == EINVAL, "a receive that was not added");
	must(post(s.srq, IBV_WR_TAG_DEL, UINT32_MAX, 0) == EINVAL, "a handle beyond the list");
	must(post(s.srq, (enum ibv_ops_wr_opcode)9, 0, 0) == EINVAL, "an unknown opcode");
}

int main(void)
{
	script_open(&s);
	make();
	wrong_requests();
	for (int i = 0; i < TAGS; i++)
		must(!post(s.srq, IBV_WR_TAG_ADD, 0, 1), "add");
	must(post(s.srq, IBV_WR_TAG_ADD, 0, 1) == ENOMEM, "a full list");
	must(poll(MESSAGE, UINT16_MAX, NULL) == EIO, "a message beyond the list");
	must(poll(APPENDED, 0, NULL) == EIO, "an operation that was not posted");
	must(poll(MESSAGE, TAGS, NULL) == IBV_WC_GENERAL_ERR, "a message of a free receive");
	must(!poll(MESSAGE, 0, NULL) && !poll(CONSUMED, 1, NULL), "messages");
	must(!post(s.srq, IBV_WR_TAG_ADD, 0, 1), "add again");
	must(post(s.srq, IBV_WR_TAG_ADD, 0, 1) == ENOMEM, "a list that is full again");
	must(!post(s.srq, IBV_WR_TAG_DEL, 2, 0), "delete");
	must(poll(MESSAGE, 2, NULL) == IBV_WC_GENERAL_ERR, "a message that was faster");
	must(!post(s.srq, IBV_WR_TAG_ADD, 0, 1), "add the last");
	if (getenv("MLX5_CQE_SIZE")) {
		must(!poll(MESSAGE, 1, text), "data inside");
		must(!memcmp((void *)(uintptr_t)SCRIPT_BUFFER, text, sizeof(text)), "data");
	}
	must(!ibv_destroy_srq(s.srq) && !ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), "destroy");
	script_close(&s);
	return 0;
}

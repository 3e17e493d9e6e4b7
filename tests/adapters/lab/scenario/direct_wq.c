/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A work queue of mlx5 whose receives have strides, and one without; and strides that are refused.
 */
#include "tests/adapters/lab/scenario/script.h"

#include <errno.h>
#include <infiniband/mlx5dv.h>

static struct ibv_wq *create(struct script *s, const char *what, uint32_t log_bytes,
			     uint32_t log_count, bool striding)
{
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ, .max_wr = 4, .max_sge = 1, .pd = s->pd, .cq = s->recv_cq
	};
	struct mlx5dv_wq_init_attr dv = {
		.comp_mask = striding ? MLX5DV_WQ_INIT_ATTR_MASK_STRIDING_RQ : 0,
		.striding_rq_attrs = { .single_stride_log_num_of_bytes = log_bytes,
				       .single_wqe_log_num_of_strides = log_count,
				       .two_byte_shift_en = 1 },
	};
	struct ibv_wq *wq;

	step("%s", what);
	errno = 0;
	wq = mlx5dv_create_wq(s->context, &attr, &dv);
	step("-> %s, errno %d", wq ? "made" : "none", errno);
	return wq;
}

static void use(struct script *s, struct ibv_wq *wq)
{
	struct ibv_wq_attr ready = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY };
	struct ibv_sge sge = script_sge(s, 0x1000, 0x8000);
	struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 }, *bad;

	step("ready: %d", ibv_modify_wq(wq, &ready));
	for (int i = 0; i < 5; i++)
		step("receive: %d", ibv_post_wq_recv(wq, &wr, &bad));
	step("destroy: %d", ibv_destroy_wq(wq));
}

int main(void)
{
	struct script s = { 0 };
	struct ibv_wq *wq;

	script_open(&s);
	wq = create(&s, "strides", 6, 9, true);
	must(wq, "strides");
	use(&s, wq);
	wq = create(&s, "none", 0, 0, false);
	must(wq, "none");
	use(&s, wq);
	create(&s, "strides of too few bytes", 5, 9, true);
	create(&s, "too many strides", 6, 17, true);
	script_close(&s);
	return 0;
}

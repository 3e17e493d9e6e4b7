/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A matcher in a table of RDMA packets names a port, and other matchers do not. The trace shows the
 * kernel's requests. */
#include "tests/adapters/lab/scenario/script.h"

#include <errno.h>
#include <infiniband/mlx5dv.h>

enum {
	PORT = 1
};

static struct mlx5dv_flow_matcher *create(struct ibv_context *ctx, unsigned int type,
					  uint64_t masks)
{
	struct mlx5dv_flow_match_parameters nothing = { 0 };
	struct mlx5dv_flow_matcher_attr attr = {
		.type = IBV_FLOW_ATTR_NORMAL,
		.match_mask = &nothing,
		.comp_mask = masks,
		.ft_type = type,
		.ib_port = PORT,
	};

	errno = 0;
	return mlx5dv_create_flow_matcher(ctx, &attr);
}

int main(void)
{
	const uint64_t type = MLX5DV_FLOW_MATCHER_MASK_FT_TYPE;
	const uint64_t both = type | MLX5DV_FLOW_MATCHER_MASK_IB_PORT;
	const unsigned int tables[] = { MLX5DV_FLOW_TABLE_TYPE_RDMA_TRANSPORT_RX,
					MLX5DV_FLOW_TABLE_TYPE_RDMA_TRANSPORT_TX };
	struct script s = { 0 };

	script_open(&s);
	for (int i = 0; i < 2; i++) {
		struct mlx5dv_flow_matcher *matcher = create(s.context, tables[i], both);

		must(matcher, "a matcher with a port");
		must(!mlx5dv_destroy_flow_matcher(matcher), "destroy");
		must(!create(s.context, tables[i], type) && errno == EINVAL, "no port");
	}
	must(!create(s.context, MLX5DV_FLOW_TABLE_TYPE_NIC_RX, both) && errno == EOPNOTSUPP,
	     "a table without ports");
	script_close(&s);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ping-pong over several reliable connections that share one receive queue. */
#include "pingpong.h"

static const struct pp_program program = {
	.letters = "pdismqrnlegoc",
	.defaults = {
		.tcp_port = 18515,
		.ib_port = 1,
		.size = 4096,
		.mtu = IBV_MTU_1024,
		.num_qp = 16,
		.rx_depth = 500,
		.iters = 1000,
		.gid_index = -1,
	},
	.type = IBV_QPT_RC,
	.many_qps = true,
	.odp_needs = "RC send, receive and srq",
	.odp_caps = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_SRQ_RECV,
	.create_qps = pp_qps_create,
	.connect_qp = pp_qp_connect,
	.post_recv = pp_post_recv,
	.post_send = pp_post_send,
};

int main(int argc, char **argv)
{
	return pp_main(&program, argc, argv);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ping-pong over an unreliable connection: a lost message ends the game. */
#include "pingpong.h"

static const struct pp_program program = {
	.letters = "pdismrnlegc",
	.defaults = {
		.tcp_port = 18515,
		.ib_port = 1,
		.size = 4096,
		.mtu = IBV_MTU_1024,
		.num_qp = 1,
		.rx_depth = 500,
		.iters = 1000,
		.gid_index = -1,
	},
	.type = IBV_QPT_UC,
	.plain = 0x7b,
	.create_qps = pp_qps_create,
	.connect_qp = pp_qp_connect,
	.post_recv = pp_post_recv,
	.post_send = pp_post_send,
};

int main(int argc, char **argv)
{
	return pp_main(&program, argc, argv);
}

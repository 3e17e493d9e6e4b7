/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* All kinds of plain requests, which have a separate path into the ring. A test posts each by both
 * paths. To use the other path, the test declares no operation as plain. */
#ifndef TESTS_UNIT_MLX_PLAIN_H
#define TESTS_UNIT_MLX_PLAIN_H

#include "providers/mlx/mlx.h"
#include "tests/unit/page.h"

/* @use: called with a list of each kind. @ah: address handle of datagrams, which are only sends; or
 * NULL */
static inline void plain_each(struct ibv_ah *ah, void (*use)(struct ibv_send_wr *wr, void *arg),
			      void *arg)
{
	static const uint32_t lengths[] = {
		1, 3, 4, 7, 12, 27, 28, 29, 31, 43, 44, 45, 59, 60, 61
	};
	static char bytes[64];
	struct ibv_sge sges[2] = {};
	struct ibv_send_wr wrs[2];

	for (unsigned int i = 0; i < sizeof(bytes); i++)
		bytes[i] = i + 1;
	for (unsigned int n = 0; n < 32 * ARRAY_SIZE(lengths) * 8; n++) {
		unsigned int op = n % 32, flags = n / 32 % 8 << 1, length = lengths[n / 256];

		if (!(MLX_PLAIN_OPS >> op & 1) ||
		    (ah && op != IBV_WR_SEND && op != IBV_WR_SEND_WITH_IMM) ||
		    (op == IBV_WR_RDMA_READ && flags & IBV_SEND_INLINE))
			continue;
		for (int i = 0; i < 2; i++) {
			sges[i] = (struct ibv_sge){
				.addr = (uintptr_t)bytes,
				.length = length,
				.lkey = 0x1234 + i,
			};
			wrs[i] = (struct ibv_send_wr){
				.wr_id = 2 * n + i,
				.opcode = op,
				.send_flags = flags,
				.sg_list = &sges[i],
				.num_sge = 1,
				.imm_data = htobe32(0x01020304 + i),
				.wr.rdma = { .remote_addr = 0x1122334455667788, .rkey = 0xabcd },
			};
			if (ah) {
				wrs[i].wr.ud.ah = ah;
				wrs[i].wr.ud.remote_qpn = 0x55;
				wrs[i].wr.ud.remote_qkey = 0x11111111;
			}
		}
		use(wrs, arg);
		wrs[0].next = &wrs[1];
		use(wrs, arg);
	}
}

#endif

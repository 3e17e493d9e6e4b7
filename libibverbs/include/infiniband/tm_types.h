/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef _TM_TYPES_H
#define _TM_TYPES_H

#include <linux/types.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * enum ibv_tmh_op, struct ibv_tmh - the header in front of each message to a tag-matching SRQ
 *
 * @opcode: enum ibv_tmh_op; rendezvous messages carry a struct ibv_rvh behind this header
 * @reserved: zero
 * @app_ctx: handed to the receiving application as it is
 * @tag: what the device compares with the posted tags
 *
 * 16 bytes, network order.
 */
enum ibv_tmh_op {
	IBV_TMH_NO_TAG = 0,
	IBV_TMH_RNDV = 1,
	IBV_TMH_FIN = 2,
	IBV_TMH_EAGER = 3,
};

struct ibv_tmh {
	uint8_t opcode;
	uint8_t reserved[3];
	__be32 app_ctx;
	__be64 tag;
};

/**
 * struct ibv_rvh - rendezvous: where the receiver reads the payload from
 *
 * @va: address in the sender's region @rkey
 * @len: bytes
 *
 * 16 bytes, network order.
 */
struct ibv_rvh {
	__be64 va;
	__be32 rkey;
	__be32 len;
};

#ifdef __cplusplus
}
#endif

#endif

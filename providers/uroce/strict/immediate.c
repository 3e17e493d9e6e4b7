/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Immediate data that looks like a number in host order. Both orders are valid data, so one value
 * proves nothing. A counter in host order shows: in network order its values are far apart, and
 * only their highest byte or two change.
 */
#include <endian.h>
#include <inttypes.h>

#include "providers/uroce/strict/record.h"

enum {
	SMALL = 0x10000, /* numbers below this leave half of the bytes 0 */
	ROW = 4,
};

void strict_immediate_check(struct strict_qp *sqp, const char *verb, uint64_t wr_id,
			    unsigned int opcode, __be32 data)
{
	uint32_t number = (uint32_t)data;
	bool next = number == sqp->immediate + 1;

	if ((opcode != IBV_WR_SEND_WITH_IMM && opcode != IBV_WR_RDMA_WRITE_WITH_IMM) ||
	    htobe32(1) == 1)
		return;
	if (number >= SMALL)
		sqp->immediates = 0;
	else
		sqp->immediates = next ? sqp->immediates + 1 : 1;
	sqp->immediate = number;
	if (sqp->immediates == ROW)
		strict_fault(STRICT_RULE_IMMEDIATE, sqp->record.ctx,
			     "qp 0x%x: %s of request 0x%" PRIx64
			     ": the last %u immediate data look like numbers in host order, of "
			     "which %u arrives as 0x%x",
			     sqp->record.number, verb, wr_id, ROW, number, be32toh(number));
}

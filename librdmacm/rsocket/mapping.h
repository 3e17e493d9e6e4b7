/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A mapping: memory that the peer writes to. */
#ifndef LIBRDMACM_RSOCKET_MAPPING_H
#define LIBRDMACM_RSOCKET_MAPPING_H

#include "librdmacm/rsocket/rs.h"

struct rs_mapping {
	LIST_ENTRY(rs_mapping) of_socket;
	struct ibv_mr *mr;
	uint64_t offset;
	int index; /* index in the peer's list; -1: not announced */
	bool pending;
};

#endif

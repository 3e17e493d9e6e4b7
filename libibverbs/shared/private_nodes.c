/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ibv_query_gid_type() in the private nodes of other releases. Their ibv_devinfo and Python
 * bindings import this one name, and each release whose providers changed has a node with its own
 * number. RDMA_PRIVATE_NODES is CMake's list of the numbers; the build makes PRIVATE_NODES of it.
 */
#include <stdint.h>

#include "libibverbs/library.h"
#include "util/symver.h"

int ibv_query_gid_type(struct ibv_context *ctx, uint8_t port_num, unsigned int index, int *type);

#define NODE(number)                                                                             \
	NODE_SYMBOL(number, node_query_gid_type_##number)                                        \
	VERBS_EXPORT int node_query_gid_type_##number(struct ibv_context *ctx, uint8_t port_num, \
						      unsigned int index, int *type)             \
	{                                                                                        \
		return ibv_query_gid_type(ctx, port_num, index, type);                           \
	}

#define NODE_SYMBOL(number, function)                                                         \
	SYMVER_DIRECTIVE(".symver " #function ",ibv_query_gid_type@IBVERBS_PRIVATE_" #number) \
	SYMVER_ATTRIBUTE("ibv_query_gid_type@IBVERBS_PRIVATE_" #number)                       \
	int function(struct ibv_context *ctx, uint8_t port_num, unsigned int index, int *type);

PRIVATE_NODES

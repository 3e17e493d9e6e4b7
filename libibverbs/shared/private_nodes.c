/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The names that programs import from the private nodes of other releases. Each release whose
 * providers changed has a node with its own number. Its ibv_devinfo and Python bindings import
 * ibv_query_gid_type(), and programs that were built with it may call ibv_wr_opcode_str(), which is
 * in its public header. RDMA_PRIVATE_NODES is CMake's list of the numbers; the build makes
 * PRIVATE_NODES of it.
 */
#include <stdint.h>

#include "libibverbs/library.h"
#include "util/symver.h"

int ibv_query_gid_type(struct ibv_context *ctx, uint8_t port_num, unsigned int index, int *type);

#define NODE(number)                                                                            \
	NODE_SYMBOL(number, int, ibv_query_gid_type, struct ibv_context *ctx, uint8_t port_num, \
		    unsigned int index, int *type)                                              \
	{                                                                                       \
		return ibv_query_gid_type(ctx, port_num, index, type);                          \
	}                                                                                       \
	WR_OPCODE_STR(number)

#define WR_OPCODE_STR(number)                                                           \
	NODE_SYMBOL(number, const char *, ibv_wr_opcode_str, enum ibv_wr_opcode opcode) \
	{                                                                               \
		return ibv_wr_opcode_str(opcode);                                       \
	}

/* Begin the definition of a function that is exported as name@IBVERBS_PRIVATE_<number>. */
#define NODE_SYMBOL(number, type, name, ...)                                                 \
	SYMVER_DIRECTIVE(".symver " #name "_" #number "," #name "@IBVERBS_PRIVATE_" #number) \
	SYMVER_ATTRIBUTE(#name "@IBVERBS_PRIVATE_" #number)                                  \
	VERBS_EXPORT type name##_##number(__VA_ARGS__);                                      \
	VERBS_EXPORT type name##_##number(__VA_ARGS__)

/* The version script gives number 34 its other names. */
WR_OPCODE_STR(34)
PRIVATE_NODES

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A plug-in with at most one fault, which the build chooses. */
#include "libibverbs/provider.h"

#ifdef FIXTURE_wrongabi
#define ABI (RDMA_PROVIDER_ABI - 1)
#else
#define ABI RDMA_PROVIDER_ABI
#endif

#ifdef FIXTURE_wrongsize
#define SIZE (sizeof(struct verbs_provider) - 8)
#else
#define SIZE sizeof(struct verbs_provider)
#endif

#ifdef FIXTURE_undefined
int verbs_function_of_another_release(struct ibv_context *ctx, uint8_t port_num,
				      struct ibv_port_attr *ret_attr);
#endif

#ifndef FIXTURE_noentry

static const struct verbs_ops ops = {
#ifdef FIXTURE_undefined
	.query_port = verbs_function_of_another_release,
#else
	.query_port = NULL,
#endif
};

static const struct verbs_provider provider = {
	.size = SIZE,
	.name = "fixture",
	.driver_id = 77,
#ifndef FIXTURE_noops
	.ops = &ops,
#endif
};

extern const struct verbs_provider_entry verbs_provider_entry;
__attribute__((visibility("default"))) const struct verbs_provider_entry verbs_provider_entry = {
	.abi = ABI,
	.provider = &provider,
};

#ifdef FIXTURE_noops
extern const struct verbs_ops *const fixture_ops;
const struct verbs_ops *const fixture_ops = &ops;
#endif

#endif

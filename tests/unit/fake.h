/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An open device whose provider is the test: no kernel, no discovery. */
#ifndef TESTS_UNIT_FAKE_H
#define TESTS_UNIT_FAKE_H

#include "tests/unit/unit.h"

#include "libibverbs/library.h"

static inline int fake_open(struct verbs_context *ctx, const struct verbs_open_context *in)
{
	ctx->context.num_comp_vectors = 1;
	return 0;
}

/* @provider: its ops need at least open_context. Close with ibv_close_device(). */
static inline struct ibv_context *fake_context(const struct verbs_provider *provider)
{
	struct verbs_device *device = calloc(1, sizeof(*device));
	struct verbs_context *ctx;

	strcpy(device->device.name, "fake0");
	device->provider = provider;
	device->index = -1;
	assert_int_equal(verbs_context_create(device, -1, &(struct verbs_open_context){}, &ctx), 0);
	return &ctx->context;
}

#endif

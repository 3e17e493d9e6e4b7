/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the shared decoder (tests/adapters/lab/device) asks of its surroundings. */
#include <string.h>
#include "tests/adapters/lab/model/model.h"
#include "tests/adapters/lab/shim/trace.h"

const struct device *device = &(const struct device){
	.name = "mlx4",
	.link_layer = IBV_LINK_LAYER_INFINIBAND,
};

/* Requests are run, and not only traced. */
bool model_on(void)
{
	return true;
}

void trace_device_writes(void *to, const void *bytes, size_t length)
{
	memcpy(to, bytes, length);
}

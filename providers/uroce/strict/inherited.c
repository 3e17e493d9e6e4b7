/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Calls on objects that a forked child inherited. They fail with EIO. Calls that end an object are
 * no fault, because libraries make them when the child exits. */
#include <unistd.h>

#include "providers/uroce/strict/record.h"

void strict_inherited(const struct ibv_context *ctx, const char *verb, const char *object,
		      uint32_t number)
{
	strict_fault(STRICT_RULE_FORK, ctx, "%s 0x%x: %s in process %d, which inherited the %s",
		     object, number, verb, getpid(), object);
}

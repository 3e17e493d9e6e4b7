/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "providers/kit/mmio.h"

#if UINTPTR_MAX <= UINT32_MAX
static struct spinlock halves;

void mmio_write_64(void *reg, uint64_t raw)
{
	volatile uint32_t *half = reg;
	uint32_t words[2];

	memcpy(words, &raw, sizeof(words));
	spinlock_lock(&halves);
	half[0] = words[0];
	half[1] = words[1];
	spinlock_unlock(&halves);
}
#endif

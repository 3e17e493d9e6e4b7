/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A doorbell, the check of a completion, and a request in a register. The script `order` checks the
 * instructions that compilers make of them. */
#include "providers/kit/barrier.h"
#include "providers/kit/mmio.h"

void ring(uint32_t *record, void *reg, uint64_t value);
uint32_t look(const volatile uint32_t *owner, const uint32_t *rest);
void burst(void *reg, const void *request);

void ring(uint32_t *record, void *reg, uint64_t value)
{
	barrier_to_device();
	*record = value;
	barrier_wc_start();
	mmio_write_64(reg, value);
	barrier_wc_flush();
}

uint32_t look(const volatile uint32_t *owner, const uint32_t *rest)
{
	while (!*owner)
		;
	barrier_from_device();
	return *rest;
}

void burst(void *reg, const void *request)
{
	mmio_copy_64(reg, request);
}

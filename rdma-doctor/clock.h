/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The monotonic clock. */
#ifndef RDMA_DOCTOR_CLOCK_H
#define RDMA_DOCTOR_CLOCK_H

#include <stdint.h>

#define CLOCK_MS     UINT64_C(1000000)
#define CLOCK_SECOND UINT64_C(1000000000)

/* Return nanoseconds. */
uint64_t clock_now(void);
/* Wait for @ns nanoseconds, or less if SIGINT arrives, which has to be blocked. */
void clock_wait(uint64_t ns);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef INFINIBAND_ARCH_H
#define INFINIBAND_ARCH_H

#include <stdint.h>
#include <endian.h>

#warning "infiniband/arch.h is obsolete: use htobe64() and be64toh() of <endian.h>"

#ifndef ntohll
#undef htonll

/**
 * htonll(), ntohll() - 64-bit host order to network order, and back
 *
 * Kept for old sources only; new code calls htobe64() and be64toh().
 * Threads: any.
 */
static inline __attribute__((deprecated)) uint64_t htonll(uint64_t host)
{
	return htobe64(host);
}

static inline __attribute__((deprecated)) uint64_t ntohll(uint64_t net)
{
	return be64toh(net);
}

/* Visible to the preprocessor, so that another header can see they exist. */
#define htonll htonll
#define ntohll ntohll
#endif

#endif

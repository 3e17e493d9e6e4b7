/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Vectors of memory. */
#ifndef LIBRDMACM_RSOCKET_VECTOR_H
#define LIBRDMACM_RSOCKET_VECTOR_H

#include <stddef.h>
#include <sys/uio.h>

/* Check a vector by the kernel's rules: 0 or -EINVAL. */
int rs_vector_check(const struct iovec *iov, int count);
static inline size_t rs_vector_size(const struct iovec *iov, int count)
{
	size_t size = 0;

	for (int i = 0; i < count; i++)
		size += iov[i].iov_len;
	return size;
}

#endif

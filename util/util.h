/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef UTIL_UTIL_H
#define UTIL_UTIL_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define container_of(ptr, type, member) \
	((type *)((char *)(1 ? (ptr) : &((type *)0)->member) - offsetof(type, member)))

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* Inline a function of the fast path that has several callers, which the compiler would not do. */
#define ALWAYS_INLINE inline __attribute__((always_inline))

/*
 * An attribute of thread-local variables that lets one instruction read them, also in a plug-in.
 * glibc reserves room for such variables of libraries that are loaded later. musl refuses to load
 * such libraries.
 */
#ifdef __GLIBC__
#define TLS_QUICK __attribute__((tls_model("initial-exec")))
#else
#define TLS_QUICK
#endif

#define min_of(a, b)                           \
	({                                     \
		__typeof__(a) min_a = (a);     \
		__typeof__(b) min_b = (b);     \
		min_a < min_b ? min_a : min_b; \
	})
#define max_of(a, b)                           \
	({                                     \
		__typeof__(a) max_a = (a);     \
		__typeof__(b) max_b = (b);     \
		max_a > max_b ? max_a : max_b; \
	})

#define ROUND_UP(n, align) (((n) + (align)-1) / (align) * (align))

/* Return the next power of 2, or @n itself. @n: at most 1 << 31. */
static inline uint32_t round_up_pow2(uint32_t n)
{
	return n <= 1 ? 1 : 1u << (32 - __builtin_clz(n - 1));
}

/*
 * Return whether all bits of @mask are known. Attribute structs grow at their end, so a call with
 * an unknown bit must be refused.
 */
static inline bool comp_mask_ok(uint64_t mask, uint64_t known)
{
	return !(mask & ~known);
}

/*
 * Temporaries that own a resource. A variable with such an attribute is released when it leaves its
 * scope. On success take_fd() or take_ptr() passes the value on.
 */
static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_close(const int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	errno = saved;
}

#define _cleanup_free_	__attribute__((cleanup(cleanup_free)))
#define _cleanup_close_ __attribute__((cleanup(cleanup_close)))

static inline int take_fd(int *fd)
{
	int r = *fd;

	*fd = -1;
	return r;
}

#define take_ptr(p)                            \
	({                                     \
		__typeof__(*(p)) taken = *(p); \
		*(p) = NULL;                   \
		taken;                         \
	})

#define _printf_(fmt, args) __attribute__((format(printf, fmt, args)))

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Why a verb was refused, in words. Functions marked cold run after the refusal. They may query the
 * device to find the cause, but only if the line is printed.
 */
#ifndef LIBIBVERBS_EXPLAIN_H
#define LIBIBVERBS_EXPLAIN_H

#include "libibverbs/library.h"
#include "util/text.h"

#define _cold_ __attribute__((cold, noinline))

/* "<verb>: <argument> is NULL". Return: -EINVAL. */
_cold_ int explain_null(const char *verb, const char *argument);

/* "; <what> <value> is above the device's <limit>" when it is. */
_cold_ void explain_limit(struct text *why, const char *what, uint64_t value,
			  const char *limit_name, uint64_t limit);

/* Whether it is; a device that says nothing of a limit leaves it 0. */
static inline bool limit_exceeded(uint32_t value, uint32_t limit)
{
	return unlikely(value > limit) && limit;
}

/* A GID of RoCE that is an IPv4 address. */
bool explain_gid_is_ipv4(const union ibv_gid *gid);
/* An IPv4 or IPv6 address in words. */
_cold_ void explain_gid(struct text *text, const union ibv_gid *gid);

/* Names of the access flags in @access, joined by '|'. */
_cold_ void explain_access(struct text *text, unsigned int access);

/*
 * After a failure that locked memory may have caused (-ENOMEM, -EPERM, -EAGAIN), when the limit
 * is the cause by its figures, or so low that it is the likely one: "; RLIMIT_MEMLOCK ..." appended
 * to @why, and once a process the notice with what to do about it.
 * @requested: bytes the verb asked to pin, 0 when unknown
 */
_cold_ void explain_memlock(struct text *why, const char *verb, uint64_t requested, int r);

/* One process's figures on locked memory, in bytes; from /proc/self/status. */
struct memlock_facts {
	uint64_t limit;	 /* RLIMIT_MEMLOCK; UINT64_MAX: none */
	uint64_t pinned; /* VmPin: by devices */
	uint64_t locked; /* VmLck: by mlock() */
	bool ipc_lock;	 /* CAP_IPC_LOCK is effective, at least in this user namespace */
};
/* Fill all but the limit from the text of the file. */
void memlock_parse(const char *status, struct memlock_facts *ret_facts);
/* Whether pinning @requested more bytes would break the limit. */
bool memlock_is_cause(const struct memlock_facts *facts, uint64_t requested);
/* Whether the limit is @bytes or less, and counts. */
bool memlock_is_low(const struct memlock_facts *facts, uint64_t bytes);
/* When a device is opened that pins memory: a warning, once a process, if the limit forbids it. */
void memlock_warn_low(void);

#endif

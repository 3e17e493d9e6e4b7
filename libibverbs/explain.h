/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages about refused verbs. Functions marked cold run after the refusal. They may query the
 * device to find the cause, but only if the line is printed.
 */
#ifndef LIBIBVERBS_EXPLAIN_H
#define LIBIBVERBS_EXPLAIN_H

#include "libibverbs/library.h"
#include "util/text.h"

#define _cold_ __attribute__((cold, noinline))

/* Log "<verb>: <argument> is NULL". Return: -EINVAL. */
_cold_ int explain_null(const char *verb, const char *argument);

/* Append "; <what> <value> is above the device's <limit>" if it is. */
_cold_ void explain_limit(struct text *why, const char *what, uint64_t value,
			  const char *limit_name, uint64_t limit);

/* Return whether the value exceeds the limit. Devices leave unknown limits 0. */
static inline bool limit_exceeded(uint32_t value, uint32_t limit)
{
	return unlikely(value > limit) && limit;
}

/* Return whether the GID of RoCE is an IPv4 address. */
bool explain_gid_is_ipv4(const union ibv_gid *gid);
/* Append the IPv4 or IPv6 address as text. */
_cold_ void explain_gid(struct text *text, const union ibv_gid *gid);

/* Append the names of the access flags in @access, joined by '|'. */
_cold_ void explain_access(struct text *text, unsigned int access);

/*
 * Explain a failure that locked memory may have caused (-ENOMEM, -EPERM, -EAGAIN). If the limit is
 * the cause, or so low that it is the likely cause, append "; RLIMIT_MEMLOCK ..." to @why. Once a
 * process also log a remedy.
 * @requested: bytes that the verb had to pin; 0: unknown
 */
_cold_ void explain_memlock(struct text *why, const char *verb, uint64_t requested, int r);

/* Locked memory of a process, in bytes; from /proc/self/status. */
struct memlock_facts {
	uint64_t limit;	 /* RLIMIT_MEMLOCK; UINT64_MAX: none */
	uint64_t pinned; /* VmPin: by devices */
	uint64_t locked; /* VmLck: by mlock() */
	bool ipc_lock;	 /* CAP_IPC_LOCK is effective, at least in this user namespace */
};
/* Fill in all but the limit from the text of the file. */
void memlock_parse(const char *status, struct memlock_facts *ret_facts);
/* Return whether pinning @requested more bytes would exceed the limit. */
bool memlock_is_cause(const struct memlock_facts *facts, uint64_t requested);
/* Return whether the limit is @bytes or less, and applies. */
bool memlock_is_low(const struct memlock_facts *facts, uint64_t bytes);
/* When a device that pins memory is opened, warn once in a process if the limit forbids it. */
void memlock_warn_low(void);

#endif

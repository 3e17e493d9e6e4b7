/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Locked memory, the most frequent cause of a registration that fails with ENOMEM: limit and use of
 * the process, and the way to change the limit in its environment.
 */
#include <fcntl.h>
#include <linux/capability.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "libibverbs/explain.h"
#include "util/place.h"

/*
 * Limits in bytes. Below the first, a device is hardly usable. The second is an old default, which
 * is only a little larger.
 */
#define MEMLOCK_USELESS 32768
#define MEMLOCK_LOW	65536

#define STATUS_SIZE	8192 /* bytes; larger than the status file of any process */

static int file_read(const char *path, char *buffer, size_t size)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, buffer, size - 1);
	if (n < 0)
		return -errno;
	buffer[n] = 0;
	return 0;
}

static uint64_t status_field(const char *status, const char *name, int base)
{
	const char *line = strstr(status, name);

	return line ? strtoull(line + strlen(name), NULL, base) : 0;
}

void memlock_parse(const char *status, struct memlock_facts *ret_facts)
{
	ret_facts->pinned = status_field(status, "\nVmPin:", 10) * 1024;
	ret_facts->locked = status_field(status, "\nVmLck:", 10) * 1024;
	ret_facts->ipc_lock = status_field(status, "\nCapEff:", 16) >> CAP_IPC_LOCK & 1;
}

/*
 * Ignore CAP_IPC_LOCK. The kernel does not accept it from a user namespace, and this process cannot
 * find out whether it is in one.
 */
bool memlock_is_cause(const struct memlock_facts *facts, uint64_t requested)
{
	if (facts->limit == UINT64_MAX)
		return false;
	return !facts->limit || requested > facts->limit ||
	       facts->pinned > facts->limit - requested;
}

bool memlock_is_low(const struct memlock_facts *facts, uint64_t bytes)
{
	return !facts->ipc_lock && facts->limit <= bytes;
}

static int memlock_read(struct memlock_facts *ret_facts)
{
	_cleanup_free_ char *status = malloc(STATUS_SIZE); /* the caller's stack may be small */
	struct rlimit limit;
	int r;

	if (!status)
		return -ENOMEM;
	r = file_read("/proc/self/status", status, STATUS_SIZE);
	if (r < 0)
		return r;
	if (getrlimit(RLIMIT_MEMLOCK, &limit))
		return -errno;
	memlock_parse(status, ret_facts);
	ret_facts->limit = limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
	return 0;
}

/* Read the name of the systemd unit of this process, or return an empty string. */
static void unit_name(char *name, size_t size)
{
	char cgroup[4096];
	char *end, *start;

	name[0] = 0;
	if (file_read("/proc/self/cgroup", cgroup, sizeof(cgroup)) < 0)
		return;
	end = strstr(cgroup, ".service");
	if (!end)
		return;
	end[strlen(".service")] = 0;
	start = strrchr(cgroup, '/');
	/* Skip the service of a user's session, because the limit is not set there. */
	if (start && strncmp(start, "/user@", strlen("/user@")))
		snprintf(name, size, "%s", start + 1);
}

/* Append the change that helps in the environment of this process. */
static void memlock_fix(struct text *text)
{
	char unit[128];

	unit_name(unit, sizeof(unit));
	if (place_is_container(""))
		text_add(text, "start the container with --ulimit memlock=-1:-1");
	else if (unit[0])
		text_add(text, "set LimitMEMLOCK=infinity in %s", unit);
	else
		text_add(text, "set 'memlock' to unlimited in /etc/security/limits.conf and log in "
			       "again");
}

static void memlock_notice(const char *verb, uint64_t requested, const struct memlock_facts *facts)
{
	struct text fix = {};

	memlock_fix(&fix);
	log_notice("libibverbs: Warning: RLIMIT_MEMLOCK is %llu bytes; %llu bytes are pinned "
		   "(VmPin), %llu locked (VmLck), and %s asked for %llu more. %s. To fix it: %s.\n",
		   (unsigned long long)facts->limit, (unsigned long long)facts->pinned,
		   (unsigned long long)facts->locked, verb, (unsigned long long)requested,
		   facts->ipc_lock ? "CAP_IPC_LOCK is effective here, but did not count (user "
				     "namespace?)"
				   : "The process lacks CAP_IPC_LOCK",
		   fix.chars);
}

void explain_memlock(struct text *why, const char *verb, uint64_t requested, int r)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;
	struct memlock_facts facts;

	if (r != -ENOMEM && r != -EPERM && r != -EAGAIN)
		return;
	if (memlock_read(&facts) < 0)
		return;
	if (memlock_is_cause(&facts, requested))
		text_add(why, "; RLIMIT_MEMLOCK is %llu bytes, of which %llu are pinned",
			 (unsigned long long)facts.limit, (unsigned long long)facts.pinned);
	else if (memlock_is_low(&facts, MEMLOCK_LOW))
		text_add(why, "; RLIMIT_MEMLOCK is only %llu bytes",
			 (unsigned long long)facts.limit);
	else
		return;
	if (!atomic_flag_test_and_set(&said))
		memlock_notice(verb, requested, &facts);
}

void memlock_warn_low(void)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;
	struct memlock_facts facts;
	struct rlimit limit;
	struct text fix = {};

	/* Most processes may pin more. One call is enough to exclude them. */
	if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur > MEMLOCK_USELESS)
		return;
	if (memlock_read(&facts) < 0 || !memlock_is_low(&facts, MEMLOCK_USELESS) ||
	    atomic_flag_test_and_set(&said))
		return;
	memlock_fix(&fix);
	log_notice("libibverbs: Warning: RLIMIT_MEMLOCK is %llu bytes. This will severely limit "
		   "memory registrations: %s\n",
		   (unsigned long long)facts.limit, fix.chars);
}

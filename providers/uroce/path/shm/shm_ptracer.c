/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "providers/uroce/path/shm/shm_ptracer.h"
#include "providers/uroce/path/shm/shm.h"

#define SCOPE_HOLDS 1000000000ull /* ns for which the setting is kept */

enum {
	GENERATIONS = 1000, /* limit of a search for an ancestor, because parents may change during
			       the search */
	INIT = 1,
};

/* --- the choice --- */

/* Return whether @pid is @ancestor or one of its descendants. */
static bool comes_from(pid_t pid, pid_t ancestor, shm_process_fn *query)
{
	struct shm_process p;

	for (int i = 0; i < GENERATIONS && pid != ancestor; i++) {
		if (pid <= INIT || !query(pid, &p))
			return false;
		pid = p.parent;
	}
	return pid == ancestor;
}

/* Return the nearest common ancestor; 0: only init. */
static pid_t common_ancestor(pid_t a, pid_t b, shm_process_fn *query)
{
	struct shm_process p;

	for (int i = 0; i < GENERATIONS && a > INIT; i++) {
		if (comes_from(b, a, query))
			return a;
		if (!query(a, &p))
			break;
		a = p.parent;
	}
	return 0;
}

pid_t shm_ptracer_choose(pid_t self, pid_t now, pid_t peer, shm_process_fn *query)
{
	struct shm_process own, other;
	pid_t common;

	if (peer <= 0 || comes_from(self, peer, query))
		return now; /* an ancestor may read in any case */
	if (!now || !query(now, &other))
		return peer;
	if (comes_from(peer, now, query))
		return now;
	common = common_ancestor(now, peer, query);
	if (!common || !query(self, &own) || !query(common, &other) || other.session != own.session)
		return now;
	return common;
}

/* --- this system's processes --- */

static bool process_query(pid_t pid, struct shm_process *ret)
{
	char path[32], text[512];
	const char *end;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	end = strrchr(text, ')'); /* end of the process name, which may contain any character */
	return end && sscanf(end + 1, " %*c %d %*d %d", &ret->parent, &ret->session) == 2;
}

static bool scope_read(void)
{
	FILE *f = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int scope = 0;

	if (!f)
		return false;
	if (fscanf(f, "%d", &scope) != 1)
		scope = 0;
	fclose(f);
	return scope == 1; /* in modes 2 and 3 the named process has no effect */
}

/*
 * Return whether Yama restricts reading. The answer is kept for a while, because hundreds of peers
 * may connect at once.
 */
static bool scope_is_restricted(void)
{
	static bool restricted;
	static uint64_t again;
	uint64_t now = uroce_now();

	if (now < again)
		return restricted;
	again = now + SCOPE_HOLDS;
	restricted = scope_read();
	return restricted;
}

void shm_ptracer_allow(pid_t pid)
{
	/* the named process, and the process that named it; a child has named no process */
	static pid_t now, owner;
	pid_t next;

	pthread_mutex_lock(&uroce_leaf_locks[UROCE_LEAF_PTRACER]);
	if (!scope_is_restricted())
		goto out;
	if (owner != getpid())
		now = 0;
	owner = getpid();
	next = shm_ptracer_choose(owner, now, pid, process_query);
	if (next != now && prctl(PR_SET_PTRACER, (unsigned long)next, 0, 0, 0))
		log_info(
			"uroce: process %d cannot be let read this one's memory, as kernel.yama.ptrace_scope "
			"demands: %s",
			pid, strerror(errno));
	else
		now = next;
out:
	pthread_mutex_unlock(&uroce_leaf_locks[UROCE_LEAF_PTRACER]);
}

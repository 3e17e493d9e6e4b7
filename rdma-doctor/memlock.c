/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Locked memory: the limit of a process, and the place to raise it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "libibverbs/explain.h"
#include "rdma-doctor/doctor.h"

/* Bytes. With less, a queue pair with a few buffers may not work on every device. */
#define MEMLOCK_LEAST (1024 * 1024)

struct memlock {
	struct memlock_facts facts; /* limit is the soft limit */
	uint64_t hard;
	bool initial; /* the process is in the initial user namespace */
};

/* Parse "unlimited" or bytes, and move @text behind them. */
static bool limit_parse(const char **text, uint64_t *ret_limit)
{
	char *end;

	*text += strspn(*text, " \t");
	if (!strncmp(*text, "unlimited", strlen("unlimited"))) {
		*ret_limit = UINT64_MAX;
		*text += strlen("unlimited");
		return true;
	}
	if (**text < '0' || **text > '9')
		return false;
	*ret_limit = strtoull(*text, &end, 10);
	*text = end;
	return true;
}

static int memlock_read_limits(const struct doctor *d, struct memlock *m)
{
	static const char name[] = "\nMax locked memory";
	char path[64], text[4096];
	const char *line;
	int r;

	snprintf(path, sizeof(path), "/proc/%s/limits", d->pid);
	r = host_read(d, path, text, sizeof(text));
	if (r < 0)
		return r;
	line = strstr(text, name);
	if (!line)
		return -ENODATA;
	line += strlen(name);
	return limit_parse(&line, &m->facts.limit) && limit_parse(&line, &m->hard) ? 0 : -ENODATA;
}

static int memlock_read(const struct doctor *d, struct memlock *ret_memlock)
{
	struct memlock m = {};
	char path[64], text[8192];
	unsigned int inside, outside;
	unsigned long long length;
	int r;

	snprintf(path, sizeof(path), "/proc/%s/status", d->pid);
	r = host_read(d, path, text, sizeof(text));
	if (r < 0)
		return r;
	memlock_parse(text, &m.facts);
	r = memlock_read_limits(d, &m);
	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "/proc/%s/uid_map", d->pid);
	m.initial = host_read(d, path, text, sizeof(text)) <= 0 ||
		    (sscanf(text, "%u %u %llu", &inside, &outside, &length) == 3 && !inside &&
		     !outside && length == UINT32_MAX);
	*ret_memlock = m;
	return 0;
}

static void fix_limit(const struct doctor *d, struct finding *f)
{
	char unit[128];

	switch (host_place(d, unit, sizeof(unit))) {
	case HOST_CONTAINER:
		finding_fix(f, "start the container with --ulimit memlock=-1:-1");
		break;
	case HOST_KUBERNETES:
		finding_fix(f, "on the node, LimitMEMLOCK=infinity in the unit of the container "
			       "runtime (containerd.service or crio.service): pods inherit it");
		break;
	case HOST_UNIT:
		finding_fix(f,
			    "systemctl edit %s: [Service] LimitMEMLOCK=infinity, then restart it",
			    finding_word(unit));
		break;
	case HOST_PLAIN:
		finding_fix(f,
			    "'* - memlock unlimited' in a file of /etc/security/limits.d, then log "
			    "in again");
		break;
	}
}

static void memlock_describe(const struct memlock *m, struct finding *f, enum finding_state state)
{
	finding_set(f, state,
		    "RLIMIT_MEMLOCK is %" PRIu64 " bytes, of which %" PRIu64
		    " are pinned (VmPin), and %s",
		    m->facts.limit, m->facts.pinned,
		    m->facts.ipc_lock ? "CAP_IPC_LOCK of a user namespace does not count"
				      : "the process lacks CAP_IPC_LOCK");
}

static void memlock_judge(const struct doctor *d, const struct memlock *m, struct finding *f)
{
	uint64_t limit = m->facts.limit;

	if (limit == UINT64_MAX) {
		finding_ok(f, "RLIMIT_MEMLOCK is unlimited");
		return;
	}
	if (m->facts.ipc_lock && m->initial) {
		finding_ok(f, "CAP_IPC_LOCK lifts the limit of %" PRIu64 " bytes", limit);
		return;
	}
	if (limit < MEMLOCK_LEAST || m->facts.pinned > limit - MEMLOCK_LEAST) {
		memlock_describe(m, f, FINDING_FAILED);
	} else {
		memlock_describe(m, f, FINDING_NOTE);
		finding_note(f, ": registering more ends in ENOMEM");
	}
	if (m->hard == UINT64_MAX)
		finding_fix(f, "ulimit -l unlimited (the hard limit permits it), or for good: ");
	fix_limit(d, f);
}

void memlock_check(struct doctor *d, struct finding *f)
{
	struct memlock m;
	int r;

	if (!d->count && uroce_serves(d)) {
		finding_unneeded(f, "uroce pins no memory");
		return;
	}
	r = memlock_read(d, &m);
	if (r < 0)
		finding_unseen(f, "limits and status of process %s in /proc: %s", d->pid,
			       strerror(-r));
	else
		memlock_judge(d, &m, f);
}

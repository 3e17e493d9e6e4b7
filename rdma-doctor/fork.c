/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Safety of fork() while devices use memory. */
#include <string.h>

#include "rdma-doctor/doctor.h"
#include "util/env.h"

static void fork_requested(struct finding *f)
{
	int r = system_fork_init();

	if (!r) {
		finding_ok(f, "RDMAV_FORK_SAFE is set: registered memory is kept from children");
		return;
	}
	finding_fail(f, "RDMAV_FORK_SAFE is set, but memory cannot be kept from children: %s",
		     strerror(-r));
	finding_fix(f, "use Linux 5.12 or newer, or do not fork while devices are in use");
}

void fork_check(struct doctor *d, struct finding *f)
{
	if (!d->count) {
		finding_unneeded(f, "no kernel device");
	} else if (!d->live || d->system.error) {
		finding_unseen(f, "only RDMA netlink tells whether the kernel copies pinned pages");
	} else if (d->system.copies_on_fork) {
		finding_ok(f, "the kernel copies pinned pages for children");
	} else if (env_is_set(ENV_RDMAV_FORK_SAFE) || env_is_set(ENV_IBV_FORK_SAFE)) {
		fork_requested(f);
	} else {
		finding_note(f, "the kernel, older than 5.12, does not copy pinned pages for "
				"children: a program that forks may send what it no longer sees");
		finding_fix(f, "RDMAV_FORK_SAFE=1 in the environment of programs that fork");
	}
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Last words: messages to peers on other hosts after this process was killed. The guardian of the
 * device, which outlives the process, sends them. They are updated with each change of a
 * connection's state.
 */
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "libibverbs/provider.h"
#include "librdmacm/ibcm/device.h"
#include "librdmacm/ibcm/guard.h"
#include "librdmacm/ibcm/id.h"
#include "librdmacm/ibcm/lock.h"
#include "util/file.h"
#include "util/log.h"

/* --- processes that confine themselves --- */

static unsigned int filters_at_start;

/*
 * Return the number of system call filters of this thread. If the kernel does not count them,
 * return 1 or 0.
 */
static unsigned int filters_now(void)
{
	unsigned int count = 1;
	const char *line;
	char text[4096];

	if (prctl(PR_GET_SECCOMP) != SECCOMP_MODE_FILTER)
		return 0;
	if (file_read_text(AT_FDCWD, "/proc/thread-self/status", text, sizeof(text)) < 0)
		return count;
	line = strstr(text, "\nSeccomp_filters:");
	if (line)
		(void)sscanf(line, " Seccomp_filters: %u", &count);
	return count;
}

__attribute__((constructor)) static void filters_note(void)
{
	filters_at_start = filters_now();
}

/*
 * Return whether the program has set a system call filter for itself. Such a filter may kill the
 * process when it starts a guardian. A filter that existed before, for example the filter of a
 * container, allowed the program to start. Therefore it also allows a guardian to start.
 */
static bool is_confined(void)
{
	static atomic_bool said;

	if (filters_now() == filters_at_start)
		return false;
	if (!atomic_exchange(&said, true))
		log_info(
			"rdma_cm: this process has confined itself to some system calls: nobody will "
			"tell its peers on other hosts when it is killed");
	return true;
}

bool ibcm_guard_begin(const struct ibcm_id *iid)
{
	return !iid->ud && iid->dev && !ibcm_is_child() && !is_confined() &&
	       !verbs_gsi_guard(iid->dev->verbs, &iid->remote_gid);
}

/* --- last words --- */

static void word_set(const struct ibcm_id *iid, const struct verbs_gsi_mad *mad)
{
	int r = verbs_gsi_last_word(iid->dev->verbs, iid->conn.local_id & 0xffff, mad);

	if (r < 0)
		log_debug("rdma_cm: not to be said at the end: %s", strerror(-r));
}

void ibcm_guard_update(struct ibcm_id *iid)
{
	struct verbs_gsi_mad mad = {
		.traffic_class = iid->tos,
		.local_gid = iid->local.gid,
		.remote_gid = iid->remote_gid,
	};
	enum ibcm_state state = iid->conn.state;

	if (!iid->guarded || iid->word_of == state || ibcm_is_child())
		return;
	iid->word_of = state;
	word_set(iid, ibcm_state_last_word(&iid->conn, mad.data) < 0 ? NULL : &mad);
}

void ibcm_guard_end(struct ibcm_id *iid)
{
	if (!iid->guarded || ibcm_is_child())
		return;
	word_set(iid, NULL);
	iid->guarded = false;
}

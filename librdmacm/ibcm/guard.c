/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is said to peers on other hosts when this process is killed, by somebody of the device's who
 * outlives it. It is kept up to date with each connection's state.
 */
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "librdmacm/ibcm/ibcm.h"
#include "util/file.h"

/* --- processes that shut themselves in --- */

static unsigned int filters_at_start;

/* System call filters of this thread. Kernels that do not count them have one or none. */
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
 * A filter that was there when the program started, a container's, has let it start, and will let
 * another. One that the program has put on itself may kill it for trying.
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

/* --- words --- */

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

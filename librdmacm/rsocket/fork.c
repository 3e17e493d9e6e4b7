/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The locks of this library during fork(). */
#include "librdmacm/rsocket/rs.h"

/* Take the locks that a child may need. No two of them are ever held together elsewhere. */
static void fork_prepare(void)
{
	rs_service_fork(true);
	rs_linger_fork(true);
	rs_rouse_fork(true);
	rs_table_fork(true);
}

static void fork_parent(void)
{
	rs_table_fork(false);
	rs_rouse_fork(false);
	rs_linger_fork(false);
	rs_service_fork(false);
}

static void fork_child(void)
{
	rs_table_fork_child();
	fork_parent();
}

static void handlers_register(void)
{
	pthread_atfork(fork_prepare, fork_parent, fork_child);
}

void rs_fork_watch(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, handlers_register);
}

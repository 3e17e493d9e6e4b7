/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The readiness of the descriptor of a listener. */
#include <sys/eventfd.h>

#include "librdmacm/rsocket/rs.h"

void rs_listener_hush(struct rs_socket *s)
{
	eventfd_t count;

	if (s->state == RS_LISTENING && (s->accepted_count || s->spent) && !s->pollers &&
	    !s->sleeper)
		eventfd_read(s->accepted_fd, &count);
}

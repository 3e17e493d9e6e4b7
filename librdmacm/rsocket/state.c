/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Failures of a socket, and their report to the program. */
#include "librdmacm/rsocket/rs.h"

void rs_socket_fail(struct rs_socket *s, int error)
{
	if (s->state == RS_FAILED)
		return;
	s->state = RS_FAILED;
	s->error = error;
}

void rs_error_told(struct rs_socket *s, ssize_t r)
{
	if (likely(r >= 0))
		return;
	pthread_mutex_lock(&s->lock);
	if (s->state == RS_FAILED && s->error == -r)
		s->error = 0;
	pthread_mutex_unlock(&s->lock);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Threads that are cancelled. A call holds locks and a reference to its socket, and what it calls
 * may be cancelled nearly anywhere. So a thread is cancelled only where it sleeps, and gives back
 * first what its call holds.
 */
#include "librdmacm/rsocket/rs.h"

/* Of the thread's outermost call. */
static __thread struct {
	bool may; /* be cancelled where it sleeps */
	struct rs_socket *socket;
	pthread_mutex_t *lock;
} call;

int rs_call_begin(void)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	return state;
}

int rs_call_begin_sleepy(void)
{
	int state = rs_call_begin();

	if (state == PTHREAD_CANCEL_ENABLE)
		call.may = true;
	return state;
}

void rs_call_end(const int *state)
{
	if (*state != PTHREAD_CANCEL_ENABLE)
		return;
	call.may = false;
	call.socket = NULL;
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
}

void rs_call_hold(struct rs_socket *s, pthread_mutex_t *lock)
{
	call.socket = s;
	call.lock = lock;
}

void rs_call_abandon(void)
{
	if (!call.socket)
		return;
	if (call.lock)
		pthread_mutex_unlock(call.lock);
	rs_socket_put(call.socket);
}

bool rs_call_holds(const pthread_mutex_t *lock)
{
	return call.lock == lock;
}

void rs_sleep_begin(void)
{
	if (call.may)
		pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
}

void rs_sleep_end(void)
{
	if (call.may)
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
}

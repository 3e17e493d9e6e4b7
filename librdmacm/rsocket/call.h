/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Calls that are cancelled, or interrupted by a signal handler: cancel.c. */
#ifndef LIBRDMACM_RSOCKET_CALL_H
#define LIBRDMACM_RSOCKET_CALL_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/epoll.h>

struct rs_socket;
struct rs_poller;

/*
 * A public call begins with RS_CALL or RS_CALL_SLEEPY. Before a call
 * sleeps, it registers its lock and reference by rs_call_hold(). The function that sleeps installs
 * a cleanup handler, which undoes its own part and then calls rs_call_abandon().
 */
int rs_call_begin(void);	/* the thread cannot be cancelled */
int rs_call_begin_sleepy(void); /* the thread can be cancelled where it sleeps */
void rs_call_end(const int *state);
#define RS_CALL __attribute__((cleanup(rs_call_end), unused)) int call_ = rs_call_begin()
#define RS_CALL_SLEEPY \
	__attribute__((cleanup(rs_call_end), unused)) int call_ = rs_call_begin_sleepy()
/* The call holds a reference to @s, and @lock, which may be NULL. */
void rs_call_hold(struct rs_socket *s, pthread_mutex_t *lock);
/* The call holds a reference to @p. */
void rs_call_hold_poller(struct rs_poller *p);
void rs_call_abandon(void);
/* Return whether the call holds @lock. */
bool rs_call_holds(const pthread_mutex_t *lock);
/*
 * Return whether @lock is held by a sleeping call of this thread that a signal handler interrupted.
 */
bool rs_call_is_lent(const pthread_mutex_t *lock);
/*
 * Call these around the system call that sleeps. @leave: called before a signal handler runs. It
 * releases the locks that other threads wait for. @mask: the signal mask that the program asked
 * for, or NULL. rs_sleep_begin() returns the mask for the system call. rs_sleep_end() returns
 * whether @leave was called.
 */
const sigset_t *rs_sleep_begin(void (*leave)(void *arg), void *arg, const sigset_t *mask);
bool rs_sleep_end(void);
/*
 * Return whether the handlers that ran during the last sleep are known to resume calls, or to end
 * them.
 */
bool rs_sleep_restarts(void);
bool rs_sleep_interrupts(void);
/*
 * epoll_pwait(), for use between rs_sleep_begin() and rs_sleep_end(). It fails with EINTR only if a
 * handler ran. rs_sleep_begin() may block all signals. A signal that the program ignores, such as
 * SIGCHLD, then stays pending, and the kernel ends epoll_pwait() for it.
 */
int rs_sleep_epoll(int epfd, struct epoll_event *events, int max, int timeout_ms,
		   const sigset_t *mask);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Loaded before QEMU's libraries. QEMU's pvrdma device (7.2) has a thread that reads
 * completions, and frees its data of each request after the guest can see the completion. If the
 * guest then destroys the queue pair or its shared receive queue, another thread frees the same
 * data and its list. QEMU ends with "double free or corruption", or in a destroyed mutex.
 * Therefore a thread that destroys a queue waits here until the other thread has handled the
 * completions that it has read. The wait is limited, because that thread may wait for a lock of
 * the waiting one. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <infiniband/verbs.h>

#define PUBLIC __attribute__((visibility("default")))

/* GLib's. */
void g_free(void *memory);

enum {
	MOST_SECONDS = 5,
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static unsigned long passes;
static bool reading;
static __thread bool reader;

PUBLIC int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **context)
{
	int (*real)(struct ibv_comp_channel *, struct ibv_cq **, void **) =
		(int (*)(struct ibv_comp_channel *, struct ibv_cq **, void **))dlsym(
			RTLD_NEXT, "ibv_get_cq_event");
	int r = real(channel, cq, context);

	if (r)
		return r;
	pthread_mutex_lock(&lock);
	reading = reader = true;
	passes++;
	pthread_mutex_unlock(&lock);
	return 0;
}

PUBLIC void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int count)
{
	void (*real)(struct ibv_cq *, unsigned int) =
		(void (*)(struct ibv_cq *, unsigned int))dlsym(RTLD_NEXT, "ibv_ack_cq_events");

	pthread_mutex_lock(&lock);
	reading = reader = false;
	pthread_cond_broadcast(&ended);
	pthread_mutex_unlock(&lock);
	real(cq, count);
}

static void wait_for_pass(void)
{
	struct timespec until;
	unsigned long pass;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += MOST_SECONDS;
	pthread_mutex_lock(&lock);
	pass = passes;
	while (reading && pass == passes &&
	       pthread_cond_timedwait(&ended, &lock, &until) != ETIMEDOUT)
		;
	pthread_mutex_unlock(&lock);
}

PUBLIC int ibv_destroy_qp(struct ibv_qp *qp)
{
	int (*real)(struct ibv_qp *) = (int (*)(struct ibv_qp *))dlsym(RTLD_NEXT, "ibv_destroy_qp");
	int r = real(qp);

	wait_for_pass();
	return r;
}

PUBLIC int ibv_destroy_srq(struct ibv_srq *srq)
{
	int (*real)(struct ibv_srq *) =
		(int (*)(struct ibv_srq *))dlsym(RTLD_NEXT, "ibv_destroy_srq");
	int r = real(srq);

	wait_for_pass();
	return r;
}

/* PVRDMA_SLOW: microseconds that the thread sleeps before it frees anything, which makes the
 * failure likely. */
PUBLIC void g_free(void *memory)
{
	static void (*real)(void *);
	const char *delay;

	if (!real)
		real = (void (*)(void *))dlsym(RTLD_NEXT, "g_free");
	delay = reader ? getenv("PVRDMA_SLOW") : NULL;
	if (delay)
		usleep(atoi(delay));
	if (real)
		real(memory);
}

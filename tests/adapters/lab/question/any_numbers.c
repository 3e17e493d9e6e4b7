/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A thread destroys a queue pair and is stopped when the kernel has destroyed it. The kernel can
 * give its number to a queue pair that another thread makes. That thread has to wait, because the
 * completions of the old queue pair are not removed yet.
 */
#include "tests/adapters/lab/scenario/script.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/ioctl.h>

static sem_t stopped, go_on, progress;
static atomic_bool was_stopped, waits;
static _Thread_local bool destroys, makes;

/* Replaces the C library's function: stop the thread that destroys after its first command. */
__attribute__((visibility("default"))) int ioctl(int fd, unsigned long request, ...)
{
	int (*real)(int, unsigned long, ...) =
		(int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
	va_list ap;
	void *argument;
	int r;

	va_start(ap, request);
	argument = va_arg(ap, void *);
	va_end(ap);
	r = real(fd, request, argument);
	if (destroys && !atomic_exchange(&was_stopped, true)) {
		sem_post(&stopped);
		sem_wait(&go_on);
	}
	return r;
}

/* Replaces the C library's function: report that the thread that makes a queue pair has to wait. */
__attribute__((visibility("default"))) int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	int (*real)(pthread_mutex_t *) =
		(int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_lock");

	if (!makes)
		return real(mutex);
	if (!pthread_mutex_trylock(mutex))
		return 0;
	if (!atomic_exchange(&waits, true))
		sem_post(&progress);
	return real(mutex);
}

static struct script s;
static enum ibv_qp_type type;

static struct ibv_qp *create(void)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = s.send_cq,
		.recv_cq = s.recv_cq,
		.cap = { 4, 4, 1, 1, 0 },
		.qp_type = type,
	};

	return ibv_create_qp(s.pd, &attr);
}

static void *destroy(void *qp)
{
	destroys = true;
	must(!ibv_destroy_qp(qp), "destroy");
	destroys = false;
	return NULL;
}

static void *make(void *unused)
{
	struct ibv_qp *qp;

	makes = true;
	qp = create();
	makes = false;
	sem_post(&progress);
	return qp;
}

int main(void)
{
	pthread_t destroyer, maker;
	void *made = NULL;
	struct ibv_qp *qp;

	sem_init(&stopped, 0, 0);
	sem_init(&go_on, 0, 0);
	sem_init(&progress, 0, 0);
	script_open(&s);
	type = IBV_QPT_RC;
	qp = create();
	if (!qp) {
		type = IBV_QPT_UD;
		qp = create();
	}
	must(qp, "a queue pair");
	must(!pthread_create(&destroyer, NULL, destroy, qp), "thread");
	sem_wait(&stopped);
	must(!pthread_create(&maker, NULL, make, NULL), "thread");
	sem_wait(&progress);
	must(waits, "a queue pair is made before the completions of the old one are removed");
	sem_post(&go_on);
	must(!pthread_join(destroyer, NULL) && !pthread_join(maker, &made) && made, "join");
	must(!ibv_destroy_qp(made), "destroy");
	script_close(&s);
	return 0;
}

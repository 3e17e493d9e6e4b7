/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The thread that plays the hardware. It reads every ring, and sleeps if there is no work. */
#include "tests/adapters/lab/model/frame.h"
#include "tests/adapters/lab/model/tag.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include "tests/adapters/lab/shim/shim.h"

enum {
	SLEEP_NS = 2000,  /* after a pass without news */
	REST_NS = 100000, /* after many of them */
	PASSES_TO_REST = 100,
	LOOK_NS = 5000000,
	MS_NS = 1000000,
	ASYNC_EVERY = 64,
	PASSES_TO_SETTLE = 16,
};

/* Number of commands that wait for device_lock: the model's thread lets them take it first. */
static atomic_int waiting;

void model_command_begin(void)
{
	atomic_fetch_add(&waiting, 1);
	pthread_mutex_lock(&device_lock);
	atomic_fetch_sub(&waiting, 1);
}

void model_command_end(void)
{
	pthread_mutex_unlock(&device_lock);
}

/* The holder of the lock may be waiting for this thread. Therefore do not wait for long. */
bool model_lock_soon(long ns)
{
	struct timespec until;
	int r = pthread_mutex_trylock(&device_lock);

	if (r) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += ns;
		if (until.tv_nsec >= 1000000000) {
			until.tv_nsec -= 1000000000;
			until.tv_sec++;
		}
		atomic_fetch_add(&waiting, 1);
		r = pthread_mutex_timedlock(&device_lock, &until);
		atomic_fetch_sub(&waiting, 1);
	}
	return !r;
}

void model_look(void)
{
	if (!model_lock_soon(LOOK_NS))
		return;
	model_receive_all();
	pthread_mutex_unlock(&device_lock);
}

/* For tests: sleep as if another thread had taken the processor. */
void model_be_late(void)
{
	static int ms = -1;
	struct timespec time;

	if (ms < 0)
		ms = getenv("DEVICES_LATE") ? atoi(getenv("DEVICES_LATE")) : 0;
	time = (struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * MS_NS };
	if (ms)
		nanosleep(&time, NULL);
}

static struct object *event_object(const struct ibv_async_event *event)
{
	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		return event->element.cq->cq_context;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		return event->element.srq->srq_context;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		return event->element.qp->qp_context;
	default:
		return NULL; /* an event of the port or of the device */
	}
}

static void pass_async_events(void)
{
	struct ibv_async_event event;
	struct object *object;

	while (!ibv_get_async_event(model_context(), &event)) {
		object = event_object(&event);
		if (!object || !object->dc) /* an event of the model's own queue pair is dropped */
			event_async(object, event.event_type);
		ibv_ack_async_event(&event);
	}
}

static bool pass(void)
{
	static unsigned count;
	struct object *object;
	bool did = model_receive_all();

	did |= model_frames();
	if (device->tick)
		device->tick();
	for (uint32_t i = 0; i < object_count(OBJECT_QP); i++) {
		object = object_at(OBJECT_QP, i);
		if (object && object->backend.qp)
			did |= object->dc	       ? model_dc(object)
			       : device->short_numbers ? model_datagram(object)
						       : model_send(object);
		else if (object && object->qp_type == IBV_QPT_RAW_PACKET)
			did |= model_send(object);
	}
	for (uint32_t i = 0; i < object_count(OBJECT_CQ); i++) {
		object = object_at(OBJECT_CQ, i);
		if (object && object->backend.cq)
			did |= model_drain_cq(object);
	}
	if (count++ % ASYNC_EVERY == 0)
		pass_async_events();
	return did;
}

/* Execute everything that was posted before a command, as hardware does, which is faster than a
 * kernel. */
void model_settle(void)
{
	for (int i = 0; model_on() && i < PASSES_TO_SETTLE; i++)
		pass();
}

static void *run(void *unused)
{
	const struct timespec moment = { .tv_nsec = SLEEP_NS }, rest = { .tv_nsec = REST_NS };
	unsigned int idle = 0; /* passes without news */
	bool did;

	/* The scheduler prefers a thread that sleeps for a moment to pollers that never do, but
	 * not a thread that yields. */
	prctl(PR_SET_TIMERSLACK, 1);
	for (;;) {
		pthread_mutex_lock(&device_lock);
		did = pass();
		pthread_mutex_unlock(&device_lock);
		idle = did ? 0 : idle + 1;
		while (!did || atomic_load(&waiting)) {
			did = true;
			nanosleep(idle > PASSES_TO_REST ? &rest : &moment, NULL);
		}
	}
	return NULL;
}

static bool started;

static void before_fork(void)
{
	pthread_mutex_lock(&device_lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&device_lock);
}

/* A child of the process has no model thread and can use nothing that its parent opened. */
static void in_child(void)
{
	pthread_mutex_t fresh = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

	device_lock = fresh;
	waiting = 0;
	started = false;
	model_forget();
	object_forget_all();
}

void model_start(void)
{
	static bool handled;
	sigset_t all, before;
	pthread_t thread;

	if (started)
		return;
	started = true;
	if (!handled)
		pthread_atfork(before_fork, after_fork, in_child);
	handled = true;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&thread, NULL, run, NULL)) {
		fprintf(stderr, "devices: no thread for the model\n");
		exit(1);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static int destroy_cq(struct ibv_cq *cq)
{
	struct ibv_comp_channel *channel = cq->channel;
	int r = ibv_destroy_cq(cq);

	if (!r && channel)
		ibv_destroy_comp_channel(channel);
	return r;
}

static int destroy_pd(struct object *object)
{
	struct ibv_pd *pd = object->backend.pd;

	model_forget_ahs(pd);
	if (object->null_mr)
		ibv_dereg_mr(object->null_mr);
	object->null_mr = NULL;
	return ibv_dealloc_pd(pd);
}

static int destroy_srq(struct object *srq)
{
	int r = ibv_destroy_srq(srq->backend.srq);

	if (!r && srq->tags)
		model_destroy_tags(srq);
	return r;
}

static int destroy(struct object *object)
{
	switch (object->type) {
	case OBJECT_PD:
		return destroy_pd(object);
	case OBJECT_MR:
		return ibv_dereg_mr(object->backend.mr);
	case OBJECT_MW:
		return ibv_dealloc_mw(object->backend.mw);
	case OBJECT_CQ:
		return destroy_cq(object->backend.cq);
	case OBJECT_QP:
		if (object->dc) {
			model_destroy_dc(object);
			return 0;
		}
		if (!device->short_numbers)
			return ibv_destroy_qp(object->backend.qp);
		model_destroy_datagram(object);
		return 0;
	case OBJECT_SRQ:
		return destroy_srq(object);
	case OBJECT_XRCD:
		return ibv_close_xrcd(object->backend.xrcd);
	default:
		return 0;
	}
}

int model_destroy(struct object *object)
{
	int r;

	if (!object->backend.any)
		return 0;
	pass_async_events(); /* no event may name it afterwards */
	r = destroy(object);
	if (r)
		return r;
	object->backend.any = NULL;
	if (object->ring_region)
		ibv_dereg_mr(object->ring_region);
	object->ring_region = NULL;
	return 0;
}

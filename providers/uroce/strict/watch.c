/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A thread that finds programs that wait in vain. Once a second it looks at channels without an
 * armed completion queue, at dropped datagrams, at completion queues that are polled in vain
 * (silent.c) or not polled (left.c), and at sends without a receive (unready.c). A program that
 * hangs makes no call that could find this.
 */
#include <poll.h>
#include <signal.h>
#include <time.h>

#include "providers/uroce/strict/record.h"
#include "util/cancel.h"

enum {
	SUSPECTS = 16, /* of one look */
	STACK = 256 * 1024,
};

/* A completion queue whose completions wait, copied from its record. */
struct suspect {
	struct strict_cq *scq;
	const struct ibv_context *ctx;
	const struct ibv_comp_channel *channel;
	struct strict_site site;
	pid_t poller; /* thread that polled it last */
	uint32_t number;
	bool late; /* armed, but after the completions had come */
};

struct look {
	struct suspect suspects[SUSPECTS];
	unsigned int count;
};

__thread bool strict_watching;
static atomic_int watch_pid; /* process whose thread runs; 0: none */
/* Held during a look, so that its objects stay; taken before the lock of the records. */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static bool is_armed(const struct strict_cq *scq)
{
	return atomic_load(&scq->cq->armed_next) || atomic_load(&scq->cq->armed_solicited);
}

/* Return whether all waiting completions came before the queue was armed. A program that armed it
 * for solicited completions may leave others in it. */
static bool is_late(const struct strict_cq *scq)
{
	return atomic_load(&scq->cq->armed_next) &&
	       atomic_load(&scq->cq->head) == scq->armed_head &&
	       atomic_load(&scq->cq->tail) != scq->armed_head;
}

/* Return whether completions have waited since the last look, and the program has not polled. */
static bool is_stuck(struct strict_cq *scq)
{
	bool waits = atomic_load(&scq->cq->head) != atomic_load(&scq->cq->tail);
	bool stuck = waits && scq->watched && scq->polls == scq->watched_polls;

	scq->watched = waits;
	scq->watched_polls = scq->polls;
	return stuck && scq->event_handled && !scq->unarmed;
}

static bool suspect_find(struct strict_record *record, void *arg)
{
	struct strict_cq *scq = (struct strict_cq *)record;
	struct look *look = arg;

	if (!scq->cq->vcq.cq.channel || !is_stuck(scq) || (is_armed(scq) && !is_late(scq)))
		return false;
	look->suspects[look->count++] = (struct suspect){
		.scq = scq,
		.ctx = record->ctx,
		.channel = scq->cq->vcq.cq.channel,
		.site = record->site,
		.poller = scq->poller,
		.number = record->number,
		.late = is_armed(scq),
	};
	return look->count == SUSPECTS;
}

/* Drop the suspects of a channel that has another queue, which will raise an event. */
static bool channel_works(struct strict_record *record, void *arg)
{
	struct strict_cq *scq = (struct strict_cq *)record;
	struct look *look = arg;

	if (!is_armed(scq) || is_late(scq))
		return false;
	for (unsigned int i = look->count; i--;)
		if (look->suspects[i].channel == scq->cq->vcq.cq.channel)
			look->suspects[i] = look->suspects[--look->count];
	return !look->count;
}

static bool event_waits(int fd)
{
	struct pollfd one = { .fd = fd, .events = POLLIN };

	return poll(&one, 1, 0) != 0;
}

/* Drop the suspects for whose events no thread waits. The others are reported once. */
static void waiting_keep(struct look *look)
{
	for (unsigned int i = look->count; i--;) {
		int fd = look->suspects[i].channel->fd;

		if (event_waits(fd) || !strict_waits_for(fd, look->suspects[i].poller))
			look->suspects[i] = look->suspects[--look->count];
		else
			look->suspects[i].scq->unarmed = true;
	}
}

static void suspect_report(const struct suspect *suspect)
{
	char made[STRICT_SITE_TEXT];

	strict_site_text(&suspect->site, made, sizeof(made));
	strict_fault(STRICT_RULE_ARM, suspect->ctx,
		     "cq 0x%x%s%s: completions wait, and a thread waits for an event, but the "
		     "queue %s",
		     suspect->number, made[0] ? ", made at " : "", made,
		     suspect->late ? "was armed after they had come" : "is not armed");
}

static void queues_look(void)
{
	struct look look = {};

	strict_lock();
	strict_records_visit(STRICT_CQ, suspect_find, &look);
	if (look.count)
		strict_records_visit(STRICT_CQ, channel_works, &look);
	waiting_keep(&look);
	strict_unlock();
	for (unsigned int i = 0; i < look.count; i++)
		suspect_report(&look.suspects[i]);
}

/* --- datagrams --- */

struct dropper {
	struct strict_datagrams of;
	bool found;
};

static bool dropper_find(struct strict_record *record, void *arg)
{
	struct dropper *dropper = arg;

	dropper->of.ctx = record->ctx;
	dropper->of.number = record->number;
	dropper->found = strict_datagram_try_drops((struct strict_qp *)record, &dropper->of.drops);
	return dropper->found;
}

static void datagrams_look(void)
{
	struct dropper dropper;

	do {
		dropper.found = false;
		strict_lock();
		strict_records_visit(STRICT_QP, dropper_find, &dropper);
		strict_unlock();
		if (dropper.found)
			strict_datagrams_report(&dropper.of);
	} while (dropper.found);
}

/* --- the thread --- */

static void *watch(void *unused)
{
	const struct timespec second = { .tv_sec = 1 };

	strict_watching = true;
	for (;;) {
		nanosleep(&second, NULL);
		pthread_mutex_lock(&turn);
		queues_look();
		datagrams_look();
		strict_silence_look();
		strict_left_look();
		strict_unready_look();
		pthread_mutex_unlock(&turn);
	}
	return unused;
}

void strict_watch_start(void)
{
	pid_t pid = getpid(), former = atomic_exchange(&watch_pid, pid);
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;

	if (former == pid)
		return;
	if (former) /* the thread of the parent process may hold it */
		pthread_mutex_init(&turn, NULL);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&thread, &attr, watch, NULL))
		atomic_store(&watch_pid, 0); /* less is found */
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
}

void strict_watch_wait(void)
{
	_cleanup_cancel_ int cancel = cancel_off();

	if (atomic_load(&watch_pid) != getpid())
		return;
	pthread_mutex_lock(&turn);
	pthread_mutex_unlock(&turn);
}

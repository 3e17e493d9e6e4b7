/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Loaded before a program's libraries: print the state of its completions on standard error if
 * SIGTERM ends the program. A program that hangs on a completion channel has lost an event
 * itself, because it did not poll all completions when it asked for the next event, or its
 * device owes an event. Therefore this library polls before and after each request for an event.
 * The program gets those completions at its next poll, and only later ones must raise an event.
 * For completion queues with a channel, ibv_poll_cq() only, and programs with one thread. */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/verbs.h>

enum {
	QUEUES = 8,
	KEPT = 64, /* completions of a queue that were there when an event was asked for */
	STEPS = 32,
};

struct queue {
	struct ibv_cq *cq;
	struct ibv_wc kept[KEPT];
	int first, count;
	unsigned long events, asked, taken, waiting;
};

static struct queue queues[QUEUES];
static int queue_count;
static struct ibv_context_ops real; /* context of the only device */

/* The program's last steps. */
static struct step {
	char what;
	int queue, n;
} steps[STEPS];
static unsigned long step_count;

static const struct queue *last_event; /* queue of the last event */
static bool blind; /* the last poll came after another queue's event, and found no completion */

static void step(char what, const struct queue *queue, int n)
{
	steps[step_count++ % STEPS] = (struct step){ what, (int)(queue - queues), n };
}

static struct queue *queue_of(const struct ibv_cq *cq)
{
	for (int i = 0; i < queue_count; i++)
		if (queues[i].cq == cq)
			return &queues[i];
	return NULL;
}

static int keep(struct queue *queue)
{
	int n;

	if (queue->first) {
		memmove(queue->kept, queue->kept + queue->first,
			queue->count * sizeof(queue->kept[0]));
		queue->first = 0;
	}
	n = real.poll_cq(queue->cq, KEPT - queue->count, queue->kept + queue->count);
	if (n > 0)
		queue->count += n;
	return n;
}

static int watched_poll(struct ibv_cq *cq, int want, struct ibv_wc *wc)
{
	struct queue *queue = queue_of(cq);
	int n = 0, more;

	if (!queue)
		return real.poll_cq(cq, want, wc);
	for (; n < want && queue->count; n++, queue->count--)
		wc[n] = queue->kept[queue->first++];
	more = n < want ? real.poll_cq(cq, want - n, wc + n) : 0;
	if (more > 0)
		n += more;
	queue->taken += n;
	blind = !n && last_event != queue;
	step('p', queue, n);
	return more < 0 && !n ? more : n;
}

static int watched_request(struct ibv_cq *cq, int solicited)
{
	struct queue *queue = queue_of(cq);
	int r;

	if (!queue)
		return real.req_notify_cq(cq, solicited);
	keep(queue);
	r = real.req_notify_cq(cq, solicited);
	keep(queue);
	queue->asked++;
	step('r', queue, queue->count);
	return r;
}

static void say(const char *text)
{
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		_exit(1);
}

static int get_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)
{
	int (*get)(struct ibv_comp_channel *, struct ibv_cq **, void **);

	*(void **)&get = dlsym(RTLD_NEXT, "ibv_get_cq_event");
	return get(channel, cq, cq_context);
}

/* Read the events that the program has not read. */
static void take_events(struct ibv_comp_channel *channel)
{
	struct queue *queue;
	struct ibv_cq *cq;
	void *context;

	fcntl(channel->fd, F_SETFL, fcntl(channel->fd, F_GETFL) | O_NONBLOCK);
	while (!get_event(channel, &cq, &context)) {
		queue = queue_of(cq);
		if (queue)
			queue->waiting++;
	}
}

static const char *verdict_of(struct queue *queue)
{
	static char line[256];
	int before = queue->count, since = keep(queue) > 0 ? queue->count - before : 0;
	const char *verdict = "nothing";

	if (before || queue->waiting)
		verdict = "left";
	else if (since)
		verdict = queue->asked > queue->events ? "owed" : "left";
	snprintf(
		line, sizeof(line),
		"cq_watch: %s: queue %d: %lu completions taken, %d not taken that were there at the last request, %d that came later; %lu requests, %lu events, %lu not taken\n",
		verdict, (int)(queue - queues), queue->taken, before, since, queue->asked,
		queue->events, queue->waiting);
	return line;
}

static void say_steps(void)
{
	char line[64];

	say("cq_watch: its last steps (event, request, poll; queue; completions):");
	for (unsigned long i = step_count > STEPS ? step_count - STEPS : 0; i < step_count; i++) {
		const struct step *s = &steps[i % STEPS];

		snprintf(line, sizeof(line), " %c%d:%d", s->what, s->queue, s->n);
		say(line);
	}
	say("\n");
}

/* The program waits in a system call, otherwise it would have ended: no lock can be held here. */
static void tell(int signal)
{
	for (int i = 0; i < queue_count; i++)
		take_events(queues[i].cq->channel);
	for (int i = 0; i < queue_count; i++)
		say(verdict_of(&queues[i]));
	say_steps();
	_exit(128 + signal);
}

/* A program that ignored the number of completions has used old bytes of its memory as a
 * completion. */
__attribute__((destructor)) static void tell_end(void)
{
	if (!blind)
		return;
	say("cq_watch: blind: it looked into the queue whose event it had not had, found nothing, and ended\n");
	say_steps();
}

#define SHOWN __attribute__((visibility("default")))

SHOWN struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
				   struct ibv_comp_channel *channel, int comp_vector)
{
	struct ibv_cq *(*create)(struct ibv_context *, int, void *, struct ibv_comp_channel *, int);
	struct ibv_cq *cq;

	*(void **)&create = dlsym(RTLD_NEXT, "ibv_create_cq");
	cq = create(context, cqe, cq_context, channel, comp_vector);
	if (!cq || !channel || queue_count == QUEUES)
		return cq;
	if (!queue_count) {
		real = context->ops;
		context->ops.poll_cq = watched_poll;
		context->ops.req_notify_cq = watched_request;
		signal(SIGTERM, tell);
	}
	queues[queue_count++].cq = cq;
	return cq;
}

SHOWN int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)
{
	int r = get_event(channel, cq, cq_context);
	struct queue *queue = r ? NULL : queue_of(*cq);

	if (queue) {
		queue->events++;
		last_event = queue;
		step('e', queue, 0);
	}
	return r;
}

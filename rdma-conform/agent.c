/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "rdma-conform/agent.h"
#include "util/util.h"

int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

struct event *log_event(struct agent_thread *t, enum event_kind kind)
{
	if (t->count == t->room) {
		t->room = t->room ? t->room * 2 : 256;
		t->events = need(realloc(t->events, t->room * sizeof(*t->events)));
	}
	t->events[t->count] = (struct event){
		.step = t->step,
		.epoch = t->epoch,
		.side = t->agent->side,
		.thread = t->number,
		.kind = kind,
	};
	return &t->events[t->count++];
}

struct event *log_done(struct agent_thread *t, int error)
{
	struct event *e = log_event(t, EVENT_DONE);

	e->done.error = error;
	return e;
}

void log_list(struct agent_thread *t, int error, const uint64_t values[5])
{
	memcpy(log_done(t, error)->done.value, values, 5 * sizeof(*values));
}

void log_skip(struct agent_thread *t, enum skip why)
{
	log_event(t, EVENT_SKIP)->skip = why;
}

struct object *object_of(struct agent *agent, char kind, uint8_t number)
{
	if (kind < 'a' || kind > 'z' || number >= OBJECTS)
		return NULL;
	return &agent->objects[kind - 'a'][number];
}

struct object *object_there(struct agent *agent, char kind, uint8_t number)
{
	struct object *o = object_of(agent, kind, number);

	return o && o->there ? o : NULL;
}

static void publication_make(struct agent *agent, struct publication *p)
{
	*p = (struct publication){ .gid = agent->gid, .lid = agent->lid };
	for (unsigned int i = 0; i < OBJECTS; i++) {
		struct object *q = object_there(agent, 'q', i), *r = object_there(agent, 'r', i);
		struct object *w = object_there(agent, 'w', i);

		if (q) {
			p->qp[i].number = q->qp.qp->qp_num;
			p->qp[i].psn = q->qp.psn;
			p->qp[i].port = q->qp.own_port;
		}
		if (r)
			p->region[i] = (struct place){ (uintptr_t)r->region.memory,
						       r->region.mr->rkey, 1 };
		if (w)
			p->mw[i] = (struct place){ w->mw.address, w->mw.mw->rkey, 1 };
	}
}

/* Thread 0 exchanges data for its side. Data that the other side published stays valid when that
 * side has gone.
 */
static void sync_sides(struct agent_thread *t)
{
	struct agent *agent = t->agent;
	struct publication mine, other;

	publication_make(agent, &mine);
	mine.epoch = t->epoch;
	if (agent->alone)
		return;
	if (wire_write(agent->peer, &mine, sizeof(mine)) < 0 ||
	    wire_read(agent->peer, &other, sizeof(other), agent->patience * 3) < 0 ||
	    other.epoch != mine.epoch)
		agent->alone = true;
	else
		agent->other = other;
}

void step_sync(struct agent_thread *t, const struct step *step, struct object *o)
{
	pthread_barrier_wait(&t->agent->barrier);
	if (!t->number) {
		sync_sides(t);
		t->agent->peer_synced = 0;
	}
	pthread_barrier_wait(&t->agent->barrier);
	t->epoch++;
}

int64_t wait_end(const struct agent *agent, uint64_t us)
{
	return min_of(now() + (us ? (int64_t)us * 1000 : agent->patience), agent->end);
}

bool worth_waiting(struct agent *agent, int64_t end)
{
	struct pollfd p = { .fd = agent->peer, .events = POLLIN };

	if (!agent->peer_synced && (agent->alone || poll(&p, 1, 0) == 1))
		agent->peer_synced = now();
	if (agent->peer_synced)
		end = min_of(end, agent->peer_synced + agent->patience / 10);
	return now() < end;
}

void step_pause(struct agent_thread *t, const struct step *step, struct object *o)
{
	usleep(step->n);
}

/* The objects of the process do not change when a child with copies of them exits. */
void step_fork(struct agent_thread *t, const struct step *step, struct object *o)
{
	pid_t child = fork();
	int status = 0;

	if (!child)
		_exit(0);
	if (child > 0)
		waitpid(child, &status, 0);
	log_done(t, child < 0 ? errno : 0)->done.value[0] = status;
}

/* Stop the process. A helper process continues it after @n microseconds. The helper repeats its
 * signal, because the first may arrive before the stop. */
void step_stop(struct agent_thread *t, const struct step *step, struct object *o)
{
	char script[120];
	char *const arguments[] = { (char *)"sh", (char *)"-c", script, NULL };
	pid_t child;
	int r;

	snprintf(script, sizeof(script),
		 "sleep %.6f; while kill -CONT %d 2>/dev/null; do sleep 0.05; done", step->n / 1e6,
		 getpid());
	r = posix_spawnp(&child, "sh", NULL, NULL, arguments, environ);
	if (!r) {
		raise(SIGSTOP); /* The signal goes to this thread. Therefore the process stops
				   before raise() returns. */
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	log_done(t, r);
}

void step_kill(struct agent_thread *t, const struct step *step, struct object *o)
{
	log_done(t, 0);
	raise(SIGKILL);
}

/* The kind of hold on the object of a step. */
enum hold {
	HOLD_NONE,
	HOLD_USE,
	HOLD_MAKE,
	HOLD_END,
};

#define AS_ROW(name, text, hold, letters) { HOLD_##hold, letters, step_##text },
static const struct {
	enum hold hold;
	const char *letters;
	void (*take)(struct agent_thread *t, const struct step *step, struct object *o);
} verbs[VERB_COUNT] = { VERBS(AS_ROW) };

/* Hold the object of @step, to use it or to change it. Log EVENT_SKIP and return NULL if that is
 * not possible. */
static struct object *object_hold(struct agent_thread *t, const struct step *step)
{
	struct object *o = object_of(t->agent, step->kind, step->object);
	enum hold hold = verbs[step->verb].hold;
	int r;

	if (!o || !strchr(verbs[step->verb].letters, step->kind)) {
		log_skip(t, SKIP_ABSENT);
		return NULL;
	}
	r = hold == HOLD_USE ? pthread_rwlock_tryrdlock(&o->lock)
			     : pthread_rwlock_trywrlock(&o->lock);
	if (!r && o->there == (hold != HOLD_MAKE))
		return o;
	if (!r)
		pthread_rwlock_unlock(&o->lock);
	log_skip(t, !r && hold != HOLD_MAKE ? SKIP_ABSENT : SKIP_BUSY);
	return NULL;
}

static void step_take(struct agent_thread *t, const struct step *step)
{
	struct object *o = NULL;

	if (verbs[step->verb].hold) {
		o = object_hold(t, step);
		if (!o)
			return;
	}
	verbs[step->verb].take(t, step, o);
	if (o)
		pthread_rwlock_unlock(&o->lock);
}

static void *thread_run(void *arg)
{
	struct agent_thread *t = arg;
	const struct program *program = t->agent->program;

	for (unsigned int i = 0; i < program->count; i++) {
		const struct step *step = &program->step[i];

		if (step->verb != VERB_SYNC &&
		    (step->side != t->agent->side || step->thread != t->number))
			continue;
		t->step = i;
		step_take(t, step);
	}
	chain_leave_out(t);
	return NULL;
}

/* Destroy the objects that the program left, in an order that frees users first. */
static void clean_up(struct agent_thread *t)
{
	static const char order[] = "wqscrp";
	struct agent *agent = t->agent;

	t->step = agent->program->count;
	for (const char *kind = order; *kind; kind++)
		for (unsigned int i = 0; i < OBJECTS; i++) {
			struct object *o = object_of(agent, *kind, i);

			if (o->there) {
				log_values(t, object_destroy(agent, *kind, o), *kind, i);
				o->there = false;
			}
			if (*kind == 'r' && o->region.memory) {
				munmap(o->region.memory, o->region.length);
				o->region = (struct region){};
			}
		}
	async_read(t, 0);
}

void agent_run(struct agent *agent, const struct program *program)
{
	unsigned int threads = 1;

	agent->program = program;
	agent->alone = false;
	agent->peer_synced = 0;
	agent->end = now() + 2 * agent->patience;
	agent->other = (struct publication){};
	memset(agent->owner, 0, sizeof(agent->owner));
	for (unsigned int i = 0; i < program->count; i++)
		if (program->step[i].side == agent->side)
			threads = max_of(threads, program->step[i].thread + 1u);
	pthread_barrier_init(&agent->barrier, NULL, threads);
	for (unsigned int i = 0; i < THREADS; i++)
		agent->threads[i] = (struct agent_thread){ .agent = agent, .number = i };
	for (unsigned int i = 1; i < threads; i++)
		if (pthread_create(&agent->threads[i].thread, NULL, thread_run, &agent->threads[i]))
			abort();
	thread_run(&agent->threads[0]);
	for (unsigned int i = 1; i < threads; i++)
		pthread_join(agent->threads[i].thread, NULL);
	/* The other side may still use objects of this side. */
	sync_sides(&agent->threads[0]);
	agent->threads[0].epoch++;
	clean_up(&agent->threads[0]);
	pthread_barrier_destroy(&agent->barrier);
}

void agent_forget(struct agent *agent)
{
	for (unsigned int i = 0; i < THREADS; i++) {
		free(agent->threads[i].events);
		free(agent->threads[i].chain);
	}
}

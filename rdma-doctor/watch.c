/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The rungs of --watch: which counters changed, and the meaning of the change. All rungs share one
 * time, which begins with the first rung of --transfer or of --watch.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "libibverbs/tools/json.h"
#include "rdma-doctor/clock.h"
#include "rdma-doctor/transfer.h"
#include "rdma-doctor/watch.h"

void watch_begin(struct doctor *d)
{
	if (!d->watch_seconds || d->watch)
		return;
	d->watch = calloc(1, sizeof(*d->watch));
	if (!d->watch)
		return;
	sample_take(d, &d->watch->before);
	d->watch->begin = clock_now();
	fprintf(stderr, "rdma-doctor: watching %u counters for %u seconds; Ctrl-C ends it\n",
		d->watch->before.count, d->watch_seconds);
}

void watch_drop(struct doctor *d)
{
	if (!d->watch)
		return;
	sample_drop(&d->watch->before);
	free(d->watch->moves);
	free(d->watch);
	d->watch = NULL;
}

static void move_add(struct watch *w, const struct counter *after, uint64_t before)
{
	const struct counter_meaning *meaning = counter_meaning(after->name);

	w->counted++;
	w->counted_of[meaning->kind]++;
	/* A counter that decreased was reset. If it is 0, it did not change since. */
	if (after->value == before || !after->value)
		return;
	w->moves[w->count++] = (struct watch_move){
		.counter = *after,
		.meaning = meaning,
		.by = after->value > before ? after->value - before : after->value,
	};
}

/* Add the counters of uroce, which began with the transfer. */
static void transfer_add(struct sample *sample, const struct transfer *t)
{
	struct counter counter = { .source = SOURCE_UROCE };

	for (unsigned int i = 0; i < t->counter_count; i++) {
		snprintf(counter.owner, sizeof(counter.owner), "%s", t->device);
		snprintf(counter.name, sizeof(counter.name), "%s", t->counters[i].name);
		counter.value = t->counters[i].value;
		sample_add(sample, &counter);
	}
}

static bool sample_has(const struct sample *sample, const char *owner)
{
	for (unsigned int i = 0; i < sample->count; i++)
		if (!strcmp(sample->counters[i].owner, owner))
			return true;
	return false;
}

/* Find the first device or interface that lost all its counters. */
static void gone_find(struct watch *w, const struct sample *after)
{
	const char *owner = "";

	for (unsigned int i = 0; i < w->before.count && !w->gone[0]; i++) {
		if (!strcmp(w->before.counters[i].owner, owner))
			continue;
		owner = w->before.counters[i].owner;
		if (owner[0] && !sample_has(after, owner))
			strcpy(w->gone, owner);
	}
}

static void watch_end(struct doctor *d, struct watch *w)
{
	struct sample after;

	sample_take(d, &after);
	w->ms = (clock_now() - w->begin) / CLOCK_MS;
	gone_find(w, &after);
	if (d->transfer)
		transfer_add(&after, d->transfer);
	w->moves = calloc(after.count + 1, sizeof(*w->moves));
	for (unsigned int i = 0; w->moves && i < after.count; i++) {
		const struct counter *counter = &after.counters[i];
		const struct counter *before = sample_find(&w->before, counter, i);

		if (before || counter->source == SOURCE_UROCE)
			move_add(w, counter, before ? before->value : 0);
	}
	sample_drop(&after);
	w->done = true;
}

/* Return the finished watch, or NULL with the reason in @f. */
static const struct watch *watch_get(struct doctor *d, struct finding *f)
{
	uint64_t passed;

	if (!d->watch_seconds) {
		finding_unneeded(f, "--watch asks for it");
		return NULL;
	}
	watch_begin(d);
	if (!d->watch) {
		finding_unseen(f, "there is no memory for the counters");
		return NULL;
	}
	passed = clock_now() - d->watch->begin;
	if (!d->watch->done && passed < d->watch_seconds * CLOCK_SECOND)
		clock_wait(d->watch_seconds * CLOCK_SECOND - passed);
	if (!d->watch->done)
		watch_end(d, d->watch);
	return d->watch;
}

static void counter_say(const struct counter *counter, char *text, size_t size)
{
	if (counter->port)
		snprintf(text, size, "%s port %u %s", counter->owner, counter->port, counter->name);
	else
		snprintf(text, size, "%s %s", counter->owner[0] ? counter->owner : "UDP",
			 counter->name);
}

/* Return whether @a is the more important of two moves: it is worse, or its row comes first. */
static bool move_precedes(const struct watch_move *a, const struct watch_move *b)
{
	if (a->meaning->state != b->meaning->state)
		return a->meaning->state > b->meaning->state;
	return a->meaning < b->meaning;
}

/* Report the most important move of the kind. Return: it, or NULL if none moved. */
static const struct watch_move *kind_check(struct doctor *d, enum counter_kind kind,
					   struct finding *f)
{
	const struct watch *w = watch_get(d, f);
	const struct watch_move *worst = NULL;
	unsigned int moved = 0;
	char name[160];

	if (!w)
		return NULL;
	if (!w->counted_of[kind]) {
		finding_unseen(f, "no device has a counter of this kind");
		return NULL;
	}
	for (unsigned int i = 0; i < w->count; i++) {
		if (w->moves[i].meaning->kind != kind)
			continue;
		moved++;
		if (!worst || move_precedes(&w->moves[i], worst))
			worst = &w->moves[i];
	}
	if (!worst) {
		finding_ok(f, "none of %u counters moved", w->counted_of[kind]);
		return NULL;
	}
	counter_say(&worst->counter, name, sizeof(name));
	finding_set(f, worst->meaning->state, "%s moved by %" PRIu64 ": %s", name, worst->by,
		    worst->meaning->text);
	if (moved > 1)
		finding_set(f, worst->meaning->state, " (and %u more counters)", moved - 1);
	return worst;
}

void links_check(struct doctor *d, struct finding *f)
{
	const struct watch_move *move = kind_check(d, COUNTER_LINK, f);

	if (d->watch && d->watch->gone[0]) {
		finding_fail(f, "%s%s vanished while it was watched", f->what.length ? "; " : "",
			     d->watch->gone);
		if (!move)
			finding_fix(f, "see the kernel log (dmesg) for the reason");
	}
	if (!move)
		return;
	if (strstr(move->counter.name, "icrc"))
		finding_fix(f,
			    "find the host, switch or tunnel that changes packets; on uroce, unset "
			    "UROCE_FAULTS");
	else if (strstr(move->counter.name, "pci"))
		finding_fix(f, "seat the adapter again, and see the kernel log (dmesg) for AER");
	else
		finding_fix(f,
			    "clean or replace cable and transceiver of %s (ethtool -m INTERFACE), "
			    "then try another port of the switch",
			    move->counter.owner);
}

void drops_check(struct doctor *d, struct finding *f)
{
	const struct watch_move *move = kind_check(d, COUNTER_DROP, f);

	if (!move)
		return;
	if (move->counter.source == SOURCE_UDP)
		finding_fix(f, "see which sockets drop (ss -uamn, column d); raise "
			       "net.core.rmem_max and net.core.rmem_default if they are those of "
			       "uroce");
	else if (strstr(move->counter.name, "out_of_buffer") ||
		 strstr(move->counter.name, "no_receive"))
		finding_fix(f, "the program posts too few receives, or too late: post more, or "
			       "use a shared receive queue with a limit event");
	else
		finding_fix(f,
			    "let the switch pause or mark this traffic before it is dropped (PFC, "
			    "ECN)");
}

void losses_check(struct doctor *d, struct finding *f)
{
	if (kind_check(d, COUNTER_LOSS, f))
		finding_fix(f,
			    "find where packets are dropped: the rungs links and drops here and at "
			    "the peer, then the ports of the switches; on uroce, unset "
			    "UROCE_FAULTS");
}

void receivers_check(struct doctor *d, struct finding *f)
{
	if (kind_check(d, COUNTER_RECEIVER, f))
		finding_fix(f, "the receiving program posts too few receives, or gets too little "
			       "processor time: post more of them, and see its load (top) and its "
			       "limit (cpu.max of its cgroup)");
}

void refusals_check(struct doctor *d, struct finding *f)
{
	if (kind_check(d, COUNTER_REFUSED, f))
		finding_fix(f, "a program has a mistake: see the status of its completions in "
			       "ibv_wc_status(7), and rdma-symptoms(7)");
}

void congestion_check(struct doctor *d, struct finding *f)
{
	if (kind_check(d, COUNTER_CONGESTION, f))
		finding_fix(f,
			    "this is how congestion is controlled, and costs rate: look for many "
			    "senders to one receiver, a slow receiver, or a link of lower speed");
}

void watch_print(const struct watch *w)
{
	char name[160];

	if (!w->done)
		return;
	printf("\n%u of %u counters moved in %" PRIu64 ".%" PRIu64 " s%s\n", w->count, w->counted,
	       w->ms / 1000, w->ms / 100 % 10, w->count ? ":" : ".");
	for (unsigned int i = 0; i < w->count; i++) {
		const struct watch_move *move = &w->moves[i];

		counter_say(&move->counter, name, sizeof(name));
		text_make_printable(name);
		printf("  %-44s %12" PRIu64 "  %s\n", name, move->by,
		       move->meaning->text[0] ? move->meaning->text : "?");
	}
}

static void move_describe(const struct watch_move *move)
{
	json_open(NULL, '{');
	if (move->counter.owner[0])
		json_string("of", move->counter.owner);
	if (move->counter.port)
		json_number("port", move->counter.port);
	json_string("source", counter_source_name(move->counter.source));
	json_string("counter", move->counter.name);
	json_number("moved", move->by);
	json_string("kind", counter_kind_name(move->meaning->kind));
	if (move->meaning->text[0])
		json_string("meaning", move->meaning->text);
	json_close('}');
}

void watch_describe(const struct watch *w)
{
	if (!w->done)
		return;
	json_open("watch", '{');
	json_number("milliseconds", w->ms);
	json_number("counters", w->counted);
	json_open("moved", '[');
	for (unsigned int i = 0; i < w->count; i++)
		move_describe(&w->moves[i]);
	json_close(']');
	json_close('}');
}

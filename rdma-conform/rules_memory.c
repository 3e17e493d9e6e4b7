/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Who may write which memory until when, and which bytes a success means. */
#include <inttypes.h>

#include "rdma-conform/rules.h"

static void wounds(struct check *c, enum harm harm, enum cause cause, int operation,
		   const char *what)
{
	for (unsigned int i = 0; i < c->chances[harm][cause] && operation < 0; i++)
		exercised(c);
	for (unsigned int i = 0; i < c->wound_count; i++) {
		const struct wound *w = &c->wounds[i];
		const struct event *run = &w->seen;
		char held[64] = "bytes without a tag";

		if (w->harm != harm || w->cause != cause)
			continue;
		if (operation >= 0 &&
		    (!w->writer ||
		     w->writer->request->step->verb !=
			     (operation == OP_COUNT ? VERB_RECV : VERB_POST) ||
		     (operation != OP_COUNT && w->writer->request->step->operation != operation)))
			continue;
		if (run->kind == EVENT_RUN && run->run.kind == RUN_TAG)
			snprintf(held, sizeof(held), "byte %" PRIu64 " of #%u.%u",
				 run->run.from + w->offset - run->run.offset, run->run.id,
				 run->run.generation);
		broken(c, w->look, "%s: %u wrong bytes from %u on; the first is %s%s%u", what,
		       w->length, w->offset, held, w->writer ? ", request #" : ", request ",
		       w->writer ? w->writer->request->step->id : 0);
	}
}

static void count_success(struct check *c, int operation)
{
	for (unsigned int i = 0; i < c->writer_count; i++) {
		const struct writer *w = &c->writers[i];
		int own = w->request->step->verb == VERB_RECV ? OP_COUNT
							      : w->request->step->operation;

		if (own == operation && w->success[0] && !w->wild)
			exercised(c);
	}
}

static void recv_bytes(struct check *c)
{
	count_success(c, OP_COUNT);
	wounds(c, HARM_MISSING, 0, OP_COUNT,
	       "a successful receive has other bytes than the message");
	wounds(c, HARM_ORDER, 0, OP_COUNT, "a successful receive has the bytes of another message");
	wounds(c, HARM_SOURCE, CAUSE_COMPLETION, OP_COUNT,
	       "a receive has bytes that the sender wrote after its completion");
}

static void write_bytes(struct check *c)
{
	count_success(c, OP_WRITE);
	wounds(c, HARM_MISSING, 0, OP_WRITE, "a completed write is not in the memory");
	wounds(c, HARM_SOURCE, CAUSE_COMPLETION, OP_WRITE,
	       "a write brought bytes from after its completion");
}

static void read_bytes(struct check *c)
{
	count_success(c, OP_READ);
	wounds(c, HARM_MISSING, 0, OP_READ,
	       "a completed read has other bytes than the memory it read");
	wounds(c, HARM_SOURCE, CAUSE_COMPLETION, OP_READ,
	       "a completed read has other bytes than the memory it read");
}

static void foreign(struct check *c)
{
	wounds(c, HARM_FOREIGN, 0, -1, "memory changed that no request may change");
}

static void refused(struct check *c)
{
	wounds(c, HARM_REFUSED, 0, -1, "a request that must be refused changed memory");
}

static void write_order(struct check *c)
{
	for (unsigned int i = 1; i < c->writer_count; i++)
		if (c->writers[i].request->step->operation == OP_WRITE &&
		    c->writers[i - 1].request->step->operation == OP_WRITE &&
		    c->writers[i].request->step->remote_offset ==
			    c->writers[i - 1].request->step->remote_offset &&
		    c->writers[i].success[0])
			exercised(c);
	wounds(c, HARM_ORDER, 0, OP_WRITE,
	       "an earlier write lies over a later one of the same queue pair");
}

static void late(struct check *c)
{
	wounds(c, HARM_LATE, c->rule->argument, -1, "memory was written after the end");
}

static void source(struct check *c)
{
	wounds(c, HARM_SOURCE, c->rule->argument, -1,
	       "a message has bytes that its memory got after the end");
}

const struct judge rules_memory[] = {
	{ 1, recv_bytes },
	{ 2, write_bytes },
	{ 3, read_bytes },
	{ 4, foreign },
	{ 5, refused },
	{ 6, write_order },
	{ 7, late, CAUSE_COMPLETION },
	{ 8, late, CAUSE_FLUSH },
	{ 9, late, CAUSE_DESTROY },
	{ 10, late, CAUSE_RESET },
	{ 11, late, CAUSE_ERR },
	{ 12, late, CAUSE_DEREG },
	{ 13, late, CAUSE_REREG },
	{ 14, late, CAUSE_ACCESS },
	{ 15, late, CAUSE_INVALIDATE },
	{ 16, source, CAUSE_FLUSH },
	{ 17, source, CAUSE_DESTROY },
	{ 18, source, CAUSE_RESET },
	{ 19, source, CAUSE_DEREG },
	{ 20, source, CAUSE_INLINE },
};
const unsigned int rules_memory_count = ARRAY_SIZE(rules_memory);

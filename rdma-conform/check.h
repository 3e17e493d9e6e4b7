/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A trial is a program and what happened; a rule is one function that reads a trial. These
 * functions do not depend on a device.
 *
 * Order: one event is before another when the same thread recorded it earlier, or when a sync lies
 * between them. If neither of two events is before the other, they may have happened in either
 * order, and a rule must allow both orders.
 */
#ifndef RDMA_CONFORM_CHECK_H
#define RDMA_CONFORM_CHECK_H

#include <infiniband/verbs.h>

#include "rdma-conform/event.h"

#define FINISHES 8
#define WRITERS	 512
#define BROKEN	 16 /* findings that are kept for a trial */
#define REPORT	 320

/* Why an access must have ended. */
enum cause {
	CAUSE_COMPLETION,
	CAUSE_FLUSH,
	CAUSE_DESTROY,
	CAUSE_RESET,
	CAUSE_ERR,
	CAUSE_DEREG,
	CAUSE_REREG,
	CAUSE_ACCESS,
	CAUSE_INVALIDATE,
	CAUSE_INLINE,
	CAUSE_COUNT,
};

/* Reasons why a device must refuse a request. */
enum denial {
	DENIED_NOT,
	DENIED_MAYBE, /* its window changes at the same time */
	DENIED_RKEY,
	DENIED_LKEY,
	DENIED_QKEY,
	DENIED_BOUNDS,
	DENIED_ACCESS,
	DENIED_DOMAIN,
	DENIED_LOCAL_DOMAIN,
	DENIED_WINDOW_BOUNDS,
	DENIED_WINDOW_ACCESS,
	DENIED_WINDOW_GONE,
	DENIED_BIND,
	DENIED_UNALIGNED,
	DENIED_PIECES,
	DENIED_LENGTH,
	DENIED_COUNT,
};

static inline bool pieces_meet(const struct piece *a, const struct piece *b)
{
	return a->region == b->region && a->offset < b->offset + b->length &&
	       b->offset < a->offset + a->length;
}

#define PIECES(of) (of)->piece, (of)->pieces

static inline bool pieces_overlap(const struct piece *a, unsigned int a_count,
				  const struct piece *b, unsigned int b_count)
{
	for (unsigned int i = 0; i < a_count; i++)
		for (unsigned int j = 0; j < b_count; j++)
			if (pieces_meet(&a[i], &b[j]))
				return true;
	return false;
}

struct finishes {
	unsigned int count;
	struct finish {
		enum cause cause;
		const struct event *event;
	} list[FINISHES];
};

/* A request (a post or a receive) and its result. */
struct message {
	const struct step *step; /* NULL: no request has this number */
	const struct event *posted;
	unsigned int accepted; /* how often it was accepted */
	unsigned int completions, successes;
	const struct event *first, *last; /* its completions */
	const struct event *failed;	  /* its first completion with an error */
	const struct message
		*partner; /* of a receive: the send that it took; of that: the receive */
	const struct event *partner_wc;
	unsigned int order; /* among the posts of the queue */
	/* Content of its memory at the post, and later content while the device might read it. */
	struct tag source[4];
	unsigned int sources;
	bool source_known;
	struct finishes released; /* when its memory belongs to the program again */
};

static inline bool released_by(const struct message *m, enum cause cause)
{
	for (unsigned int i = 0; i < m->released.count; i++)
		if (m->released.list[i].cause == cause)
			return true;
	return false;
}

/* A request that changes memory of @side. */
struct writer {
	uint8_t side;
	const struct message *message; /* the message whose bytes are written */
	const struct message *request; /* the post or receive that names the memory */
	struct piece piece[SGES];
	unsigned int pieces;
	uint32_t skip;	 /* offset of the message: size of a datagram's GRH */
	uint32_t length; /* length of the message */
	bool wild;	 /* may write any bytes into its memory */
	bool refused;	 /* must not write */
	const struct event *start;
	const struct event *success[2];
	struct finishes finish;
};

enum harm {
	HARM_LATE,    /* written after @cause */
	HARM_SOURCE,  /* bytes that the sender's memory got after @cause */
	HARM_MISSING, /* a success whose bytes are missing */
	HARM_FOREIGN, /* bytes changed that belong to no request */
	HARM_REFUSED, /* a request that must fail has written */
	HARM_ORDER,   /* an earlier write replaced a later one */
};

/* Wrong bytes in a look. */
struct wound {
	enum harm harm;
	enum cause cause;
	const struct event *look;
	const struct writer *writer; /* the writer that is to blame, or NULL */
	uint32_t offset, length;
	struct event seen; /* the run of wrong bytes */
};

struct trial {
	const struct program *program;
	const struct offer *offers; /* offers of a and b */
	struct event *events;
	unsigned int count;
	bool ended[2]; /* the process of the side died or did not end */
	bool silent[2];
	int signal[2];
};

struct check {
	const struct trial *trial;
	const struct rule *rule; /* the rule that is checked */
	struct message messages[256];
	struct writer writers[WRITERS];
	unsigned int writer_count;
	struct wound wounds[BROKEN];
	unsigned int wound_count;
	/* How often a forbidden effect could have happened, by harm and cause. */
	unsigned int chances[6][CAUSE_COUNT];
	struct {
		const struct rule *rule;
		const struct event *at;
		char text[REPORT];
	} broken[BROKEN];
	unsigned int broken_count;
	uint64_t *exercised; /* counters by index in the table of rules, or NULL */
};

struct rule {
	unsigned int number;
	const char *name;
	const char *sentence;
	const char *source;
	unsigned int each; /* kind of things that @look checks: rules.c */
	void (*look)(struct check *c, const struct event *e, const struct step *s,
		     const struct message *m);
	unsigned int argument; /* argument of a function that several rules share */
};

const struct rule *rule_at(unsigned int index); /* NULL after the last */
unsigned int rule_count(void);

/* Apply the rules. @exercised: a counter for each rule, which is incremented. @wanted: whether to
 * check each rule, or NULL for all. */
void check_trial(struct check *c, const struct trial *trial, const bool *wanted,
		 uint64_t *exercised);

void rule_apply(struct check *c, const struct rule *rule);

/* For source files of rules. */
void exercised(struct check *c, unsigned int times);
/* Count the rule as exercised, and as broken if not @kept. */
void keeps(struct check *c, const struct event *at, bool kept, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
bool before(const struct check *c, const struct event *a, const struct event *b);
const struct step *step_of(const struct check *c, const struct event *e);
const struct message *message_of_wc(const struct check *c, const struct event *wc);
/* Return the message that @wc received, by its immediate, or NULL. */
const struct message *message_by_imm(const struct check *c, const struct event *wc);
/* Return whether one thread posted both messages to one queue. */
bool same_queue(const struct message *a, const struct message *b);
/* Return the event that created the object @kind @number of @side, or NULL. */
const struct event *made(const struct check *c, uint8_t side, char kind, uint8_t number);
const struct step *qp_step(const struct check *c, uint8_t side, uint8_t number);
/* The first step of @verb that succeeded on the object. */
const struct event *done_on(const struct check *c, enum verb verb, uint8_t side, char kind,
			    uint8_t number);
/* The object may have been destroyed before @e, which may be NULL. */
bool may_be_gone(const struct check *c, uint8_t side, char kind, uint8_t number,
		 const struct event *e);
/* Queue pair @number was connected, and no step of the program can have caused a failure that was
 * seen at @e. A short timeout of the connection can cause one. */
bool undisturbed(const struct check *c, uint8_t number, const struct event *e);
/* The reason why the device must refuse this request. */
enum denial message_denied(const struct check *c, const struct message *m);
/* Messages arrive once and in order. */
bool qp_reliable(const struct check *c, uint8_t side, uint8_t number);
/* Also, a completion of the sender confirms them. That of iWARP does not (RFC 5040, 5.5). */
bool qp_confirms(const struct check *c, uint8_t side, uint8_t number);
bool is_send_side(const struct message *m);
bool takes_receive(const struct message *m);
/* Return the first of @f that is before @e, or NULL. */
const struct finish *finish_before(const struct check *c, const struct finishes *f,
				   const struct event *e);
/* The memory of @m may have had this content when the device read it. */
bool message_holds(const struct message *m, uint8_t id, uint8_t generation);
/* The request whose memory @fill used again after its release, if no request of the program may
 * carry the new bytes to the other side; or NULL. */
const struct message *message_released(const struct check *c, const struct event *fill);

#define FOR_EACH_EVENT(c, e)                             \
	for (const struct event *e = (c)->trial->events; \
	     e < (c)->trial->events + (c)->trial->count; e++)
/* The steps that have returned, with their events. */
#define FOR_EACH_STEP(c, e, s) \
	FOR_EACH_EVENT(c, e)   \
	for (const struct step *s = e->kind == EVENT_DONE ? step_of(c, e) : NULL; s; s = NULL)
#define FOR_EACH_FILL(c, e, s, on) \
	FOR_EACH_STEP(c, e, s)     \
	if (s->verb == VERB_FILL && e->side == (on))
#define FOR_EACH_WC(c, e)    \
	FOR_EACH_EVENT(c, e) \
	if (e->kind == EVENT_WC)
#define FOR_EACH_DONE(c, e, v) \
	FOR_EACH_EVENT(c, e)   \
	if (e->kind == EVENT_DONE && step_of(c, e) && step_of(c, e)->verb == (v))
/* Steps of verb @v that succeeded on the object @number of @on. */
#define FOR_EACH_ON(c, e, v, on, number) \
	FOR_EACH_DONE(c, e, v)           \
	if (e->side == (on) && !e->done.error && step_of(c, e)->object == (number))
#define FOR_EACH_MESSAGE(c, m)                                                              \
	for (__typeof__(&(c)->messages[0]) m = (c)->messages; m < (c)->messages + 256; m++) \
		if (m->step)

/*
 * Return whether @condition is true for any thing of a loop: ANY(FOR_EACH_WC(c, e), e->wc.status)
 */
#define ANY(each, condition)              \
	({                                \
		bool any_ = false;        \
		each any_ |= (condition); \
		any_;                     \
	})

#define FOR_EACH_WRITER(c, w) \
	for (const struct writer *w = (c)->writers; w < (c)->writers + (c)->writer_count; w++)

/* Fill in c->messages, c->writers and c->wounds. */
void index_messages(struct check *c);
void index_writers(struct check *c);
void judge_memory(struct check *c);

#endif

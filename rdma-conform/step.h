/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A program is a list of steps. Two processes, a and b, each with up to four threads, take the
 *steps they own in this order; what runs at the same time is all between two steps "sync", which
 *every thread takes.
 *
 *	a0 region r0 n=65536 lw rw
 *	a0 post q0 send #3 r0+0/4096,r0+8192/16 signaled
 *	b0 post q0 write #4 r0+64/256 @r1+512 signaled n=8
 *
 * The first word is process and thread, the second the verb. Then, in any order: objects by letter
 *and number, #message or #message.generation, pieces of local memory as region+offset/length, the
 *other side's memory as @region+offset, numbers (n, x, y), and words.
 */
#ifndef RDMA_CONFORM_STEP_H
#define RDMA_CONFORM_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define OBJECTS	     32 /* of a kind on a side */
#define THREADS	     4	/* threads of a side */
#define SGES	     4
#define STEPS	     1024
#define INLINE_BYTES 64 /* of a request with inline data, at most */
#define NO_OBJECT    255
#define OTHERS	     5

/* clang-format off */
/* X(name in the code, name in the text, effect on its object, letters of the object). The agent
 * holds the object while step_NAME() takes the step. */
#define VERBS(X) \
	X(REGION, region, MAKE, "r") X(REREG, rereg, USE, "r") X(FILL, fill, NONE, "") \
	X(LOOK, look, NONE, "") X(SET, set, NONE, "") X(PEEK, peek, NONE, "") \
	X(CQ, cq, MAKE, "c") X(RESIZE, resize, USE, "c") X(SRQ, srq, MAKE, "s") \
	X(LIMIT, limit, USE, "s") X(MW, mw, MAKE, "w") X(PD, pd, MAKE, "p") X(QP, qp, MAKE, "q") \
	X(CONNECT, connect, USE, "q") X(CROWD, crowd, USE, "c") \
	X(MODIFY, modify, USE, "q") X(ACCESS, access, USE, "q") \
	X(QUERY, query, USE, "q") X(POST, post, USE, "q") X(RECV, recv, USE, "qs") \
	X(POLL, poll, USE, "c") X(DRAIN, drain, USE, "c") X(ARM, arm, USE, "c") \
	X(EVENT, event, USE, "c") X(ASYNC, async, USE, "qs") X(DESTROY, destroy, END, "cpqrsw") \
	X(ATTACH, attach, USE, "q") X(DETACH, detach, USE, "q") X(WATCH, watch, NONE, "") \
	X(PAUSE, pause, NONE, "") X(SYNC, sync, NONE, "") X(FORK, fork, NONE, "") \
	X(STOP, stop, NONE, "") X(KILL, kill, NONE, "") X(TRY, try, NONE, "")

#define OPERATIONS(X) \
	X(SEND, send) X(WRITE, write) X(READ, read) X(FADD, fadd) X(CAS, cas) X(BIND, bind) \
	X(INV, inv)

/* MORE: chain with the next post of this queue. LONG: with more pieces than a queue pair takes.
 * MCAST: to the group. SHARED: memory of memfd_create(). */
#define WORDS(X) \
	X(SIGNALED, signaled) X(FENCE, fence) X(SOLICITED, solicited) X(INLINE, inline) \
	X(IMM, imm) X(INVALIDATE, invalidate) X(MORE, more) X(LONG, long) X(MCAST, mcast) \
	X(LOCAL_WRITE, lw) X(REMOTE_WRITE, rw) X(REMOTE_READ, rr) X(REMOTE_ATOMIC, ra) \
	X(MW_BIND, mwb) X(ON_DEMAND, ondemand) X(SHARED, shared) X(EXTENDED, extended) \
	X(EVENTS, events) X(WR_API, wrapi) X(SIGNAL_ALL, signalall) X(BAD_LKEY, badlkey) \
	X(BAD_RKEY, badrkey) X(BAD_QKEY, badqkey) X(UC, uc) X(UD, ud) \
	X(RESET, reset) X(RTS, rts) X(ERR, err)

/* The probes of a step "try", which need no other side, and their result: 0, an errno, or any errno.
 * probe.c and cm.c have them. */
#define ANY_ERROR -1
#define PROBES(X) VERBS_PROBES(X) CM_PROBES(X)
#define CM_PROBES(X) X(CM_DATA, cmdata, 0) X(CM_REJECT, cmreject, 0) X(CM_LEAVE, cmleave, 0)
#define VERBS_PROBES(X) \
	X(CQ_LIMIT, cqlimit, ANY_ERROR) X(QP_LIMIT, qplimit, ANY_ERROR) X(SRQ_LIMIT, srqlimit, ANY_ERROR) \
	X(NO_WRITE, nowrite, ANY_ERROR) X(GID_INDEX, gidindex, ANY_ERROR) X(PD_BUSY, pdbusy, EBUSY) \
	X(SRQ_BUSY, srqbusy, EBUSY) X(MCAST_GID, mcastgid, ANY_ERROR) X(DM_BYTES, dmbytes, 0) \
	X(DM_LIMIT, dmlimit, ANY_ERROR) X(IMPORT, import, 0) X(XRC_SEND, xrcsend, 0) \
	X(CANCEL, cancel, 0)
/* clang-format on */

#define AS_TEXT(name, text, ...) #text,
#define AS_VERB(name, ...)	 VERB_##name,
#define AS_OPERATION(name, text) OP_##name,
#define AS_WORD(name, text)	 WORD_##name,
#define AS_PROBE(name, ...)	 PROBE_##name,
enum verb {
	VERBS(AS_VERB) VERB_COUNT
};
enum operation {
	OPERATIONS(AS_OPERATION) OP_COUNT
};
enum word {
	WORDS(AS_WORD) WORD_COUNT
};
enum probe {
	PROBES(AS_PROBE) PROBE_COUNT
};
#define HAS(step, name) ((step)->words >> WORD_##name & 1)
#define WORD(name)	(1ull << WORD_##name)

/* Return @memory, or abort if it is NULL. */
static inline void *need(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

struct piece {
	uint8_t region;
	uint32_t offset, length;
};

struct step {
	uint8_t side, thread;
	uint8_t verb, operation;
	char kind; /* letter of the object */
	uint8_t object;
	union { /* further objects, or NO_OBJECT */
		struct {
			uint8_t cq, cq2, srq, mw, pd;
		};
		uint8_t others[OTHERS];
	};
	uint8_t id, generation;
	uint8_t pieces;
	struct piece piece[SGES];
	uint8_t remote; /* region or, with @w, memory window of the other side */
	bool remote_window;
	uint32_t remote_offset;
	uint8_t probe;
	uint64_t words;
	union {
		struct {
			uint64_t n, x, y;
		};
		uint64_t numbers[3];
	};
};

struct program {
	uint64_t seed;
	uint16_t number; /* the number in the tags */
	unsigned int count;
	struct step step[STEPS];
};

extern const char *const verb_names[VERB_COUNT], *const probe_names[PROBE_COUNT];

/* A step without objects. */
struct step step_make(uint8_t side, uint8_t thread, enum verb verb);
/* @line is cut into pieces. Return NULL, or the error. */
const char *step_parse(char *line, struct step *ret_step);
void program_print(FILE *to, const struct program *program);
/* Return NULL, or the error with its line. @text is cut into pieces. */
const char *program_parse(char *text, struct program *ret_program);
struct step *program_add(struct program *program, struct step step);
/* Number of bytes of all pieces. */
uint64_t step_length(const struct step *step);

#endif

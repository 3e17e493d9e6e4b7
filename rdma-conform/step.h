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

#define OBJECTS	  16 /* of a kind, on a side */
#define THREADS	  4  /* of a side */
#define SGES	  4
#define STEPS	  512
#define NO_OBJECT 255

enum verb {
	VERB_REGION,
	VERB_REREG,
	VERB_FILL,
	VERB_LOOK,
	VERB_SET,
	VERB_PEEK,
	VERB_CQ,
	VERB_RESIZE,
	VERB_SRQ,
	VERB_LIMIT,
	VERB_MW,
	VERB_PD,
	VERB_QP,
	VERB_CONNECT,
	VERB_MODIFY,
	VERB_ACCESS,
	VERB_QUERY,
	VERB_POST,
	VERB_RECV,
	VERB_POLL,
	VERB_DRAIN,
	VERB_ARM,
	VERB_EVENT,
	VERB_ASYNC,
	VERB_DESTROY,
	VERB_WATCH,
	VERB_PAUSE,
	VERB_SYNC,
	VERB_FORK,
	VERB_KILL,
	VERB_COUNT,
};

enum operation {
	OP_SEND,
	OP_WRITE,
	OP_READ,
	OP_FADD,
	OP_CAS,
	OP_BIND,
	OP_INV,
	OP_COUNT,
};

/* Words of a step; some mean something for one verb only. */
enum word {
	WORD_SIGNALED,
	WORD_FENCE,
	WORD_SOLICITED,
	WORD_INLINE,
	WORD_IMM,
	WORD_INVALIDATE,
	WORD_MORE, /* chain with the next post of this queue */
	WORD_LOCAL_WRITE,
	WORD_REMOTE_WRITE,
	WORD_REMOTE_READ,
	WORD_REMOTE_ATOMIC,
	WORD_MW_BIND,
	WORD_SHARED, /* memory of memfd_create() */
	WORD_EXTENDED,
	WORD_EVENTS,
	WORD_WR_API,
	WORD_SIGNAL_ALL,
	WORD_BAD_LKEY,
	WORD_BAD_RKEY,
	WORD_BAD_QKEY,
	WORD_RC,
	WORD_UC,
	WORD_UD,
	WORD_RESET,
	WORD_INIT,
	WORD_RTR,
	WORD_RTS,
	WORD_ERR,
	WORD_CLOSED, /* the queue pair is expected to end by a fault of the program's own */
	WORD_COUNT,
};
#define HAS(step, name) ((step)->words >> WORD_##name & 1)
#define WORD(name)	(1u << WORD_##name)

struct piece {
	uint8_t region;
	uint32_t offset, length;
};

struct step {
	uint8_t side, thread;
	uint8_t verb, operation;
	char kind; /* of the object, the letter */
	uint8_t object;
	uint8_t cq, cq2, srq, mw, pd; /* others, or NO_OBJECT */
	uint8_t id, generation;
	uint8_t pieces;
	struct piece piece[SGES];
	uint8_t remote; /* region or, with @w, memory window of the other side */
	bool remote_window;
	uint32_t remote_offset;
	uint32_t words;
	uint64_t n, x, y;
};

struct program {
	uint64_t seed;
	uint16_t number; /* in the tags */
	unsigned int count;
	struct step step[STEPS];
};

extern const char *const verb_names[VERB_COUNT];
extern const char *const operation_names[OP_COUNT];

/* A step without objects. */
struct step step_make(uint8_t side, uint8_t thread, enum verb verb);
void step_print(FILE *to, const struct step *step);
/* @line is cut into pieces. Returns NULL, or what is wrong. */
const char *step_parse(char *line, struct step *ret_step);
void program_print(FILE *to, const struct program *program);
/* Returns NULL, or what is wrong in which line. @text is cut into pieces. */
const char *program_parse(char *text, struct program *ret_program);
struct step *program_add(struct program *program, struct step step);
/* Bytes of all pieces. */
uint64_t step_length(const struct step *step);

#endif

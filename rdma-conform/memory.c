/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Steps on memory: register it, fill it with tags, and record its content. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rdma-conform/agent.h"
#include "util/util.h"

/* A piece without tags is recorded up to this length. */
#define RAW_RUNS 8

int access_flags(uint64_t words)
{
	return (words & WORD(LOCAL_WRITE) ? IBV_ACCESS_LOCAL_WRITE : 0) |
	       (words & WORD(REMOTE_WRITE) ? IBV_ACCESS_REMOTE_WRITE : 0) |
	       (words & WORD(REMOTE_READ) ? IBV_ACCESS_REMOTE_READ : 0) |
	       (words & WORD(REMOTE_ATOMIC) ? IBV_ACCESS_REMOTE_ATOMIC : 0) |
	       (words & WORD(MW_BIND) ? IBV_ACCESS_MW_BIND : 0) |
	       (words & WORD(ON_DEMAND) ? IBV_ACCESS_ON_DEMAND : 0);
}

static uint8_t *memory_make(size_t length, bool shared)
{
	int fd = shared ? memfd_create("rdma-conform", MFD_CLOEXEC) : -1;
	uint8_t *memory;

	if (shared && (fd < 0 || ftruncate(fd, length)))
		abort();
	memory = mmap(NULL, length, PROT_READ | PROT_WRITE,
		      shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, fd, 0);
	if (memory == MAP_FAILED)
		abort();
	if (fd >= 0)
		close(fd);
	return memory;
}

/*
 * The memory stays the same if a region of this number is registered again. If the first
 * registration is refused, there is no memory, and requests that name the region are left out.
 */
void step_region(struct agent_thread *t, const struct step *step, struct object *o)
{
	struct object *pd = object_there(t->agent, 'p', step->pd);
	struct region *r = &o->region;
	bool first = !r->memory;

	if (first) {
		r->length = step->n ?: 4096;
		r->memory = memory_make(r->length, HAS(step, SHARED));
	}
	r->mr = ibv_reg_mr(pd ? pd->pd : t->agent->pd, r->memory, r->length,
			   access_flags(step->words));
	object_made(t, o, r->mr);
	if (!r->mr && first) {
		munmap(r->memory, r->length);
		r->memory = NULL;
	}
}

void step_rereg(struct agent_thread *t, const struct step *step, struct object *o)
{
	int r;

	errno = 0;
	r = ibv_rereg_mr(o->region.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			 access_flags(step->words));
	log_done(t, r ? errno ?: EINVAL : 0);
}

/* Return the memory of a piece, which may be deregistered. Return NULL if the piece is not within
 * it. */
static uint8_t *piece_memory(struct agent *agent, const struct piece *piece)
{
	struct object *o = object_of(agent, 'r', piece->region);

	if (!o || !o->region.memory || piece->offset > o->region.length ||
	    piece->length > o->region.length - piece->offset)
		return NULL;
	return o->region.memory + piece->offset;
}

static bool pieces_there(struct agent_thread *t, const struct step *step)
{
	for (unsigned int i = 0; i < step->pieces; i++)
		if (!piece_memory(t->agent, &step->piece[i])) {
			log_skip(t, SKIP_ABSENT);
			return false;
		}
	return true;
}

void step_fill(struct agent_thread *t, const struct step *step, struct object *o)
{
	struct tag tag = { t->agent->program->number, step->id, step->generation };
	uint64_t offset = 0;

	if (!pieces_there(t, step))
		return;
	for (unsigned int i = 0; i < step->pieces; i++) {
		tag_fill(piece_memory(t->agent, &step->piece[i]), step->piece[i].length, tag,
			 offset);
		offset += step->piece[i].length;
	}
	log_done(t, 0);
}

static struct event *log_run(struct agent_thread *t, enum run_kind kind, uint32_t offset,
			     uint32_t length)
{
	struct event *e = log_event(t, EVENT_RUN);

	e->run.kind = kind;
	e->run.offset = offset;
	e->run.length = length;
	return e;
}

static void log_raw(struct agent_thread *t, const uint8_t *bytes, uint32_t offset, uint32_t length)
{
	for (unsigned int i = 0; length && i < RAW_RUNS; i++) {
		uint32_t n = min_of(length, (uint32_t)RAW);

		memcpy(log_run(t, RUN_RAW, offset, n)->run.raw, bytes, n);
		bytes += n;
		offset += n;
		length -= n;
	}
	if (length)
		log_run(t, RUN_LONG, offset, length);
}

static void look(struct agent_thread *t, const uint8_t *bytes, uint32_t length)
{
	uint16_t program = t->agent->program->number;
	uint32_t raw = 0, done = 0;

	while (done < length) {
		struct event *e;
		struct tag tag;
		uint64_t from;

		if (!tag_read(bytes + done, length - done, program, &tag, &from)) {
			done++;
			raw++;
			continue;
		}
		log_raw(t, bytes + done - raw, done - raw, raw);
		raw = tag_match(bytes + done, length - done, tag, from);
		e = log_run(t, RUN_TAG, done, raw);
		e->run.id = tag.id;
		e->run.generation = tag.generation;
		e->run.from = from;
		done += raw;
		raw = 0;
	}
	log_raw(t, bytes + done - raw, done - raw, raw);
}

/* Look at a copy, because another side may be writing. */
void step_look(struct agent_thread *t, const struct step *step, struct object *o)
{
	uint32_t length = step_length(step), done = 0;
	uint8_t *copy;

	if (!pieces_there(t, step))
		return;
	copy = need(malloc(length + 1));
	for (unsigned int i = 0; i < step->pieces; i++) {
		memcpy(copy + done, piece_memory(t->agent, &step->piece[i]), step->piece[i].length);
		done += step->piece[i].length;
	}
	log_done(t, 0)->done.value[0] = length;
	look(t, copy, length);
	free(copy);
}

static _Atomic uint64_t *word_of(struct agent_thread *t, const struct step *step)
{
	struct piece piece = step->piece[0];
	void *memory;

	piece.length = 8;
	memory = step->pieces ? piece_memory(t->agent, &piece) : NULL;
	if (!memory || piece.offset % 8) {
		log_skip(t, SKIP_ABSENT);
		return NULL;
	}
	return memory;
}

void step_set(struct agent_thread *t, const struct step *step, struct object *o)
{
	_Atomic uint64_t *word = word_of(t, step);

	if (!word)
		return;
	atomic_store(word, step->x);
	log_done(t, 0);
}

void step_peek(struct agent_thread *t, const struct step *step, struct object *o)
{
	_Atomic uint64_t *word = word_of(t, step);

	if (word)
		log_done(t, 0)->done.value[0] = atomic_load(word);
}

/* Wait for at most @n microseconds until the first word of the piece changes, then for @x
 * microseconds. */
void step_watch(struct agent_thread *t, const struct step *step, struct object *o)
{
	_Atomic uint64_t *word = word_of(t, step);
	uint64_t before;
	int64_t end = now() + step->n * 1000;
	bool changed = false;

	if (!word)
		return;
	before = atomic_load(word);
	while (!changed && now() < end)
		changed = atomic_load(word) != before;
	end = now() + step->x * 1000;
	while (changed && now() < end)
		;
	log_done(t, 0)->done.value[0] = changed;
}

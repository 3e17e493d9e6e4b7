/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A program is made of scenes that run at the same time. A scene has its own objects and its own
 * thread on each side, and puts its steps into phases. A sync separates two phases.
 */
#ifndef RDMA_CONFORM_SCENE_H
#define RDMA_CONFORM_SCENE_H

#include "rdma-conform/generate.h"

enum phase {
	PHASE_MAKE,
	PHASE_LINK, /* connecting; no sync follows */
	PHASE_CONNECT,
	PHASE_ACT,
	PHASE_AFTER,
	PHASE_LOOK,
	PHASE_END,
	PHASES,
};

#define SIDE_A 0
#define SIDE_B 1

struct maker {
	uint64_t random;
	const struct offer *offer;
	struct program *program;
	struct program phases[PHASES];
	uint8_t next_id;
	uint8_t scenes;
};

struct scene {
	struct maker *maker;
	uint8_t number;	     /* of thread and queue pair; regions and CQs: twice this */
	uint32_t used[2][2]; /* used bytes of each region */
	uint64_t qp_words;
	unsigned int timeout, retries, rnr_retries;
	unsigned int send_depth, recv_depth;
	uint64_t region_words[2];
	uint64_t cq_words;
	uint8_t srq;
};

uint64_t pick(struct maker *m, uint64_t below);
bool chance(struct maker *m, unsigned int percent);
uint8_t new_id(struct maker *m);
struct step *add(struct scene *s, enum phase phase, uint8_t side, enum verb verb);
/* A step on the scene's queue pair, completion queue, or region 0 or 1. */
struct step *add_qp(struct scene *s, enum phase phase, uint8_t side, enum verb verb);
struct step *add_cq(struct scene *s, enum phase phase, uint8_t side, enum verb verb);
struct step *add_region(struct scene *s, enum phase phase, uint8_t side, enum verb verb,
			unsigned int which);
/* Allocate memory that no other request uses. */
struct piece place(struct scene *s, uint8_t side, unsigned int which, uint32_t length);
/* Add a fill or a look of @pieces. */
void add_fill(struct scene *s, enum phase phase, uint8_t side, uint8_t id, uint8_t generation,
	      const struct piece *pieces, unsigned int count);
void add_look(struct scene *s, enum phase phase, uint8_t side, struct piece piece);
/* Choose a length of a message, often near a limit at which devices behave differently. */
uint32_t message_length(struct scene *s, uint32_t limit);
/* Cut memory of @length into up to SGES pieces. Return their number. */
unsigned int shape(struct scene *s, uint8_t side, uint32_t length, struct piece *ret_pieces);
/* Create regions, completion queue and queue pair, and connect. Call this last, when the sizes are
 * known. */
void scene_frame(struct scene *s);
/* End each side: ERR, drain, destroy. */
void scene_end(struct scene *s);

void scene_traffic(struct scene *s);

/* A scene of the file "scenes". */
struct written {
	char name[64];
	unsigned int weight;
	char needs[16]; /* the feature that the device must support, or empty */
};
extern const char scenes_text[];
/* Go to the next scene. @at is scenes_text at first. Return false after the last. */
bool scene_next(const char **at, struct written *ret_written);
/* Return false if the device lacks a feature that it needs. */
bool scene_write(struct scene *s, const struct written *written);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A program is made of scenes that play at the same time. A scene has objects and a thread of its
 * own on each side, and puts its steps into phases; a sync lies between two phases.
 */
#ifndef RDMA_CONFORM_SCENE_H
#define RDMA_CONFORM_SCENE_H

#include "rdma-conform/generate.h"

enum phase {
	PHASE_MAKE,
	PHASE_LINK, /* connecting; no sync behind it */
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
	uint8_t number; /* of thread and queue pair; of completion queues and regions times two */
	uint32_t used[2][2]; /* bytes of each region */
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
/* Memory that nothing else uses. */
struct piece place(struct scene *s, uint8_t side, unsigned int which, uint32_t length);
/* Add a fill or a look of @pieces. */
void add_fill(struct scene *s, enum phase phase, uint8_t side, uint8_t id, uint8_t generation,
	      const struct piece *pieces, unsigned int count);
void add_look(struct scene *s, enum phase phase, uint8_t side, struct piece piece);
/* A length that a message may have: often at the edges of what devices do differently. */
uint32_t message_length(struct scene *s, uint32_t limit);
/* Cut memory of @length into up to SGES pieces. Returns how many. */
unsigned int shape(struct scene *s, uint8_t side, uint32_t length, struct piece *ret_pieces);
/* Make regions, completion queue, queue pair, and connect. To be called last: the sizes are known
 * then. */
void scene_frame(struct scene *s);
/* Let each side come to its end: ERR, drain, destroy. */
void scene_end(struct scene *s);

void scene_traffic(struct scene *s);

/* A scene of the file "scenes". */
struct written {
	char name[64];
	unsigned int weight;
	char needs[16]; /* what the device has to offer, or empty */
};
extern const char scenes_text[];
/* Go from scene to scene, with @at = scenes_text at first. False behind the last. */
bool scene_next(const char **at, struct written *ret_written);
/* False: the device does not offer what it needs. */
bool scene_write(struct scene *s, const struct written *written);

#endif

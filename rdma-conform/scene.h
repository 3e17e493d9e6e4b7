/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A program is made of scenes that run at the same time. A scene has its own objects and its own
 * thread on each side, and puts its steps into phases. A sync separates two phases. The file
 * "scenes" has the scenes and explains their language.
 */
#ifndef RDMA_CONFORM_SCENE_H
#define RDMA_CONFORM_SCENE_H

#include "rdma-conform/event.h"

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

struct maker {
	uint64_t random;
	const struct offer *offer;
	struct program phases[PHASES];
	uint8_t next_id;
};

/* Return a random number below @below. */
uint64_t pick(struct maker *m, uint64_t below);

struct scene {
	char name[64];
	unsigned int weight;
	char needs[16]; /* the feature that the device must support, or empty */
	const char *lines;
};

/* Read the scene behind *@at, which is NULL at first. Return false after the last one. */
bool scene_next(const char **at, struct scene *ret_scene);
bool scene_offered(const struct scene *scene, const struct offer *offer);
/* Add the steps of @scene for thread @thread of both sides. */
void scene_write(struct maker *m, const struct scene *scene, uint8_t thread);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The actions of a rule in the entries of one half. apply.c collects them in a struct dr_result. A
 * format encodes the result in the images of entries.
 *
 * Only files of this folder include this header. The functions take no lock.
 */
#ifndef MLX5_STEERING_APPLY_H
#define MLX5_STEERING_APPLY_H

#include "providers/mlx5/steering/action.h"

enum {
	DR_VLANS_MAX = 2, /* tags that a rule may push, or remove */
	/* Kinds of entries of format 0. */
	DR_KIND_SHIFT = 28,
	DR_KIND_SEND = 1,
	DR_KIND_RECEIVE = 2,
	DR_KIND_MODIFY = 6,
};

/* All actions of a rule in one half. */
struct dr_result {
	struct mlx5dv_dr_domain *domain;
	enum dr_half half;
	uint64_t to;	   /* address of the destination */
	uint16_t function; /* function that owns the address */
	bool has_tag, has_counter;
	uint32_t tag, counter;
	unsigned int pops, pushes;
	uint32_t vlans[DR_VLANS_MAX];
	/* NULL: none */
	const struct mlx5dv_dr_action *decap, *encap, *modify, *hit, *meter, *ct;
	const struct dr_crossing *crossing; /* of @ct if its object belongs to another domain */
};

/* crossing.c. Find the entries through which a rule of @domain uses a context of another domain.
 * -EINVAL: the object is not linked to the domain; -EBUSY: a rule uses the context. */
int dr_crossing_find(struct mlx5dv_dr_domain *domain, const struct dr_aso *aso,
		     const struct dr_crossing **ret);
/* apply_1.c. Write an entry that has only the action of a connection. */
void dr_connection_make(const struct mlx5dv_dr_domain *domain, enum dr_half half,
			const struct dr_aso *aso, uint8_t *image);

/* Write the actions of a rule into its images. */
int dr_actions_apply(const struct mlx5dv_dr_rule *rule, enum dr_half half,
		     struct dr_images *images);

/* The encodings of entry_0.c and entry_1.c. */
int dr_apply_0(const struct dr_result *result, struct dr_images *images);
int dr_apply_1(const struct dr_result *result, struct dr_images *images);

/* Return the last image. */
static inline uint8_t *dr_images_last(struct dr_images *images)
{
	return images->image[images->count - 1];
}

/* Add an entry that has only actions. NULL: the rule has too many entries. */
static inline uint8_t *dr_images_add(struct dr_images *images, uint16_t lookup, enum dr_half half)
{
	uint8_t *image;

	if (images->count == DR_IMAGES_MAX)
		return NULL;
	image = images->image[images->count++];
	images->domain->format->init(image, lookup, images->domain->caps.function, half);
	return image;
}

#endif

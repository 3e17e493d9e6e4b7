/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Encode actions in entries of formats 1 to 3. An entry has room for 8 bytes of actions, or for 12
 * if it is wide. Some actions may not share an entry.
 */
#include "providers/mlx5/steering/apply.h"

enum {
	COUNTER = 0x00,
	REPARSE_AT = 0x08,
	REPARSE = 1 << 3,
	WIDE_ACTIONS = 0x14,
	ACTIONS = 0x18,
	SINGLE = 4, /* bytes of an action */
	DOUBLE = 8,
	TRIPLE = 12,
	FORMAT_SHIFTED = 3,	   /* first format with other positions of anchors */
	FORMAT_POP_AND_MODIFY = 1, /* only here can one entry do both */
	LOOKUP_ACTIONS = DR_LOOKUP_WIDE | DR_LOOKUP_NONE,
};

enum action_id {
	REMOVE_BY_SIZE = 0x08,
	REMOVE_HEADERS = 0x09,
	INSERT_INLINE = 0x0a,
	INSERT_POINTER = 0x0b,
	FLOW_TAG = 0x0c,
	ACCELERATED_LIST = 0x0e,
	MODIFY_LIST = 0x0f,
	ASO = 0x12,
};

/* Positions in a packet. */
enum anchor {
	ANCHOR_VLAN = 0x02,
	ANCHOR_IP = 0x07,
	ANCHOR_INNER_MAC = 0x13,
};

enum {
	DECAPSULATE = 1 << 3 | 1 << 2, /* the completion also reports the VNI */
	VLAN_OFFSET = 6,	       /* position behind the MAC addresses, in units of 2 bytes */
	ATTRIBUTE_ENCAP = 1,
	ASO_HIT_LINES = 512, /* contexts of an object */
	ASO_METER_LINES = 2,
	ASO_CT = 1,
	ASO_POLICER = 2,
	ASO_HIT = 4,
};

/* The entry that gets the next action. */
struct place {
	struct dr_images *images;
	const struct dr_result *result;
	uint8_t *image;
	unsigned int at; /* offset of the next action */
	bool shifted;
	bool may_modify, may_count, may_insert, may_pop;
	bool full; /* the rule has too many entries */
};

static unsigned int room(const struct place *p)
{
	return DR_CONTROL_SIZE - p->at;
}

static void entry_add(struct place *p)
{
	uint8_t *image = dr_images_add(p->images, LOOKUP_ACTIONS, p->result->half);

	p->may_modify = p->may_count = p->may_insert = p->may_pop = true;
	p->full |= !image;
	p->image = image ?: p->image;
	p->at = WIDE_ACTIONS;
}

/* Continue in a new entry if the current entry has too little room. Do so as well if @may is false:
 * the entry must not have the action. */
static void place_need(struct place *p, unsigned int bytes, bool may)
{
	if (!may || room(p) < bytes)
		entry_add(p);
}

static void put(struct place *p, uint32_t word)
{
	dr_word_set(p->image, p->at, ~0u, word);
	p->at += SINGLE;
}

static void put_double(struct place *p, uint32_t first, uint32_t second)
{
	put(p, first);
	put(p, second);
}

static void reparse(struct place *p)
{
	dr_word_set(p->image, REPARSE_AT, REPARSE, REPARSE);
}

/* Encode the removal of all headers before @end. */
static uint32_t remove_to(const struct place *p, enum anchor end, uint32_t flags)
{
	return (uint32_t)REMOVE_HEADERS << 24 | (uint32_t)end << (p->shifted ? 10 : 8) | flags;
}

/* ---- actions */

static void changes_put(struct place *p, const struct dr_changes *changes)
{
	reparse(p);
	if (changes->is_inline) {
		put_double(p, dr_word_get(changes->first, 0), dr_word_get(changes->first, 4));
	} else if (changes->pattern) {
		put_double(p, (uint32_t)ACCELERATED_LIST << 24 | changes->index,
			   changes->count << 24 | changes->argument_id);
	} else {
		/* A list of changes needs two words. */
		put(p,
		    (uint32_t)MODIFY_LIST << 24 | changes->count << 16 | (changes->index & 0xffff));
		p->at += SINGLE;
	}
}

static void pop_put(struct place *p, unsigned int tags)
{
	reparse(p);
	put(p, (uint32_t)REMOVE_BY_SIZE << 24 | (uint32_t)ANCHOR_VLAN << (p->shifted ? 17 : 16) |
		       2 * tags);
}

static void push_put(struct place *p, uint32_t vlan)
{
	reparse(p);
	put_double(p, (uint32_t)INSERT_INLINE << 24 | VLAN_OFFSET << 9, vlan);
}

static void encap_put(struct place *p, const struct mlx5dv_dr_action *action)
{
	const struct dr_reformat *reformat = &action->reformat;

	reparse(p);
	if (action->kind == DR_ACTION_ENCAP_L3)
		put(p, remove_to(p, ANCHOR_IP, 0));
	put_double(p,
		   (uint32_t)INSERT_POINTER << 24 | (uint32_t)reformat->size / 2 << 3 |
			   ATTRIBUTE_ENCAP,
		   reformat->id);
}

static void aso_put(struct place *p, const struct dr_aso *aso, unsigned int lines, uint32_t type,
		    uint32_t fields)
{
	put_double(p, (uint32_t)ASO << 24 | (aso->object->object_id + aso->offset / lines),
		   (uint32_t)aso->reg << 30 | type << 24 | fields);
}

static void hit_put(struct place *p, const struct dr_aso *aso)
{
	uint32_t set = aso->flags & MLX5DV_DR_ACTION_FLAGS_ASO_FIRST_HIT_SET ? 0 : 1 << 9;

	aso_put(p, aso, ASO_HIT_LINES, ASO_HIT, set | aso->offset % ASO_HIT_LINES);
}

static void meter_put(struct place *p, const struct dr_aso *aso)
{
	uint32_t color = aso->flags & MLX5DV_DR_ACTION_FLAGS_ASO_FLOW_METER_RED	     ? 0
			 : aso->flags & MLX5DV_DR_ACTION_FLAGS_ASO_FLOW_METER_YELLOW ? 1
			 : aso->flags & MLX5DV_DR_ACTION_FLAGS_ASO_FLOW_METER_GREEN  ? 2
										     : 3;

	aso_put(p, aso, ASO_METER_LINES, ASO_POLICER, color << 1 | aso->offset % ASO_METER_LINES);
}

static void ct_put(struct place *p, const struct dr_aso *aso)
{
	aso_put(p, aso, 1, ASO_CT,
		!(aso->flags & MLX5DV_DR_ACTION_FLAGS_ASO_CT_DIRECTION_INITIATOR));
}

/* ---- the order in which the adapter executes them */

static bool may_modify_after_pop(const struct place *p)
{
	return p->result->domain->caps.format == FORMAT_POP_AND_MODIFY;
}

static void encap_add(struct place *p)
{
	const struct mlx5dv_dr_action *encap = p->result->encap;

	if (!encap)
		return;
	place_need(p, encap->kind == DR_ACTION_ENCAP_L2 ? DOUBLE : TRIPLE, p->may_insert);
	encap_put(p, encap);
}

/* Add the action of a connection, or a new entry to which the entry of a link leads. */
static void connection_add(struct place *p)
{
	const struct dr_result *result = p->result;

	if (result->crossing) {
		entry_add(p);
		p->images->crossing = result->crossing;
		p->images->crossing_at = p->images->count - 1;
	} else if (result->ct) {
		place_need(p, DOUBLE, true);
		ct_put(p, &result->ct->aso);
	}
}

static void sent_apply(struct place *p)
{
	const struct dr_result *result = p->result;

	if (result->meter) {
		place_need(p, DOUBLE, true);
		meter_put(p, &result->meter->aso);
		p->may_pop = false;
	}
	if (result->pops) {
		place_need(p, SINGLE, p->may_pop);
		pop_put(p, result->pops);
		p->may_modify = may_modify_after_pop(p);
	}
	connection_add(p);
	if (result->has_counter)
		dr_word_set(p->image, COUNTER, 0xffffff, result->counter);
	if (result->modify) {
		place_need(p, DOUBLE, p->may_modify);
		changes_put(p, &result->modify->modify.changes);
		p->may_insert = false;
	}
	for (unsigned int i = 0; i < result->pushes; i++) {
		place_need(p, DOUBLE, p->may_insert);
		push_put(p, result->vlans[i]);
	}
	if (result->hit) {
		place_need(p, DOUBLE, true);
		hit_put(p, &result->hit->aso);
	}
	encap_add(p);
}

static void decap_add(struct place *p)
{
	const struct mlx5dv_dr_action *decap = p->result->decap;

	if (!decap)
		return;
	if (decap->kind == DR_ACTION_DECAP_L3) {
		changes_put(p, &decap->modify.changes);
	} else {
		reparse(p);
		put(p, remove_to(p, ANCHOR_INNER_MAC, DECAPSULATE));
	}
	p->may_modify = p->may_count = false;
}

static void received_apply(struct place *p)
{
	const struct dr_result *result = p->result;

	decap_add(p);
	if (result->has_tag) {
		place_need(p, SINGLE, true);
		put(p, (uint32_t)FLOW_TAG << 24 | result->tag);
	}
	if (result->pops) {
		place_need(p, SINGLE, p->may_modify);
		pop_put(p, result->pops);
		p->may_count = false;
		p->may_modify = may_modify_after_pop(p);
	}
	if (result->hit) {
		place_need(p, DOUBLE, true);
		hit_put(p, &result->hit->aso);
	}
	if (result->modify) {
		place_need(p, DOUBLE, p->may_modify);
		changes_put(p, &result->modify->modify.changes);
	}
	for (unsigned int i = 0; i < result->pushes; i++) {
		place_need(p, DOUBLE, p->may_modify);
		push_put(p, result->vlans[i]);
	}
	if (result->meter) {
		place_need(p, DOUBLE, true);
		meter_put(p, &result->meter->aso);
		p->may_modify = false;
	}
	connection_add(p);
	if (result->has_counter) {
		if (!p->may_count)
			entry_add(p);
		dr_word_set(p->image, COUNTER, 0xffffff, result->counter);
	}
	encap_add(p);
}

void dr_connection_make(const struct mlx5dv_dr_domain *domain, enum dr_half half,
			const struct dr_aso *aso, uint8_t *image)
{
	const struct dr_result result = { .half = half };
	struct dr_images images = { .domain = domain };
	struct place p = { .images = &images, .result = &result };

	entry_add(&p);
	ct_put(&p, aso);
	memcpy(image, p.image, DR_IMAGE_SIZE);
}

int dr_apply_1(const struct dr_result *result, struct dr_images *images)
{
	struct place p = {
		.images = images,
		.result = result,
		.image = dr_images_last(images),
		.at = dr_image_is_wide(dr_images_last(images)) ? WIDE_ACTIONS : ACTIONS,
		.shifted = result->domain->caps.format >= FORMAT_SHIFTED,
		.may_modify = true,
		.may_count = true,
		.may_insert = true,
		.may_pop = true,
	};

	if (result->half == DR_SEND)
		sent_apply(&p);
	else
		received_apply(&p);
	return p.full ? -EINVAL : 0;
}

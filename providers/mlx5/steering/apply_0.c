/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Encode actions in entries of format 0: an entry has one change of the packet. */
#include "providers/mlx5/steering/apply.h"

/* Offsets of words of the control part. */
enum {
	KIND = 0x00,
	ACTION = 0x0c,	/* sent packets: kind and size; changes of headers: their number */
	POINTER = 0x10, /* flow tag, index of changes or of a header, VLAN tag */
	TUNNEL = 0x14,	/* and the low half of the counter */
	COUNTER_HIGH = 0x18,
	FLAGS = 0x1c,
};

enum {
	PUSH = 1, /* kinds of actions on sent packets */
	ENCAP_L3 = 3,
	ENCAP_L2 = 4,
	TUNNEL_DECAP_L2 = 2,
	TUNNEL_DECAP_L3 = 3,
	TUNNEL_POP = 4,
	GO_BACK = 1 << 4, /* sent: another action follows; received: drop unsuitable packets */
};

struct place {
	struct dr_images *images;
	enum dr_half half;
	uint8_t *image;
	bool is_modify;
	bool full;
};

static void entry_add(struct place *p)
{
	uint8_t *image = dr_images_add(p->images, DR_LOOKUP_NONE, p->half);

	p->full |= !image;
	p->image = image ?: p->image;
	p->is_modify = false;
}

static void counter_put(struct place *p, const struct dr_result *result)
{
	if (!result->has_counter)
		return;
	dr_word_set(p->image, COUNTER_HIGH, 0xff00, result->counter >> 16 << 8);
	dr_word_set(p->image, TUNNEL, 0xffff, result->counter);
}

static void changes_put(struct place *p, const struct dr_changes *changes)
{
	p->is_modify = true;
	dr_word_set(p->image, KIND, 0xf0000000, (uint32_t)DR_KIND_MODIFY << DR_KIND_SHIFT);
	dr_word_set(p->image, ACTION, 0xffff0000, changes->count << 16);
	dr_word_set(p->image, POINTER, ~0u, changes->index);
}

static void flag_set(struct place *p)
{
	dr_word_set(p->image, FLAGS, GO_BACK, GO_BACK);
}

/* ---- sent packets */

static void push_put(struct place *p, uint32_t vlan, bool more)
{
	dr_word_set(p->image, ACTION, 7u << 23, PUSH << 23);
	dr_word_set(p->image, POINTER, ~0u, vlan);
	if (more)
		flag_set(p);
}

static void encap_put(struct place *p, const struct mlx5dv_dr_action *action, bool goes_back)
{
	uint32_t kind = action->kind == DR_ACTION_ENCAP_L2 ? ENCAP_L2 : ENCAP_L3;

	dr_word_set(p->image, ACTION, 7u << 23 | 0x3f << 16,
		    kind << 23 | (uint32_t)action->reformat.size / 2 << 16);
	dr_word_set(p->image, POINTER, ~0u, action->reformat.id);
	if (goes_back)
		flag_set(p);
}

static void sent_apply(struct place *p, const struct dr_result *result)
{
	if (result->modify)
		changes_put(p, &result->modify->modify.changes);
	for (unsigned int i = 0; i < result->pushes; i++) {
		if (i || result->modify)
			entry_add(p);
		push_put(p, result->vlans[i], result->encap);
	}
	if (result->encap) {
		if (result->modify || result->pushes)
			entry_add(p);
		encap_put(p, result->encap, result->domain->caps.has_priority_tag);
	}
	counter_put(p, result);
}

/* ---- received packets */

static void tunnel_put(struct place *p, uint32_t action, uint32_t description)
{
	dr_word_set(p->image, TUNNEL, 0x7f000000, action << 28 | description << 24);
}

static void decap_put(struct place *p, const struct mlx5dv_dr_action *decap)
{
	if (decap->kind == DR_ACTION_DECAP_L3) {
		changes_put(p, &decap->modify.changes);
		tunnel_put(p, TUNNEL_DECAP_L3, decap->modify.has_vlan);
	} else {
		tunnel_put(p, TUNNEL_DECAP_L2, 0);
	}
	flag_set(p);
}

static void received_apply(struct place *p, const struct dr_result *result)
{
	counter_put(p, result);
	if (result->decap)
		decap_put(p, result->decap);
	for (unsigned int i = 0; i < result->pops; i++) {
		if (i || result->decap)
			entry_add(p);
		tunnel_put(p, TUNNEL_POP, 0);
	}
	if (result->modify) {
		if (p->is_modify)
			entry_add(p);
		changes_put(p, &result->modify->modify.changes);
	}
	if (result->has_tag) {
		if (p->is_modify)
			entry_add(p);
		dr_word_set(p->image, POINTER, ~0u, 0x80000000 | result->tag);
	}
}

/* Check the actions. An entry of received packets cannot add headers. An entry of sent packets
 * cannot remove VLAN tags. No entry of format 0 can name an ASO context (aso.c). */
static int check(const struct dr_result *result)
{
	if (result->hit || result->meter || result->ct)
		return -EOPNOTSUPP;
	if (result->half == DR_SEND)
		return result->pops ? -EINVAL : 0;
	return result->pushes || result->encap ? -EINVAL : 0;
}

int dr_apply_0(const struct dr_result *result, struct dr_images *images)
{
	struct place p = {
		.images = images,
		.half = result->half,
		.image = dr_images_last(images),
	};
	int r = check(result);

	if (r < 0)
		return r;
	if (result->half == DR_SEND)
		sent_apply(&p, result);
	else
		received_apply(&p, result);
	return p.full ? -EINVAL : 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An entry of the command queue. The first bytes of a command are in the entry, the others in a
 * chain of mailboxes. The same holds for its answer. */
#include "providers/kit/barrier.h"
#include "providers/kit/mmio.h"
#include "providers/mlx5/vfio/function.h"

enum {
	ENTRY_SIZE = 64,
	ENTRY_TYPE = 7, /* a command by PCI */
	INLINE = 16,	/* bytes in the entry */

	AT_INLEN = 4,
	AT_IN_BOX = 8,
	AT_IN = 16,
	AT_OUT = 32,
	AT_OUT_BOX = 48,
	AT_OUTLEN = 56,
	AT_STATUS = 63, /* delivery status in the high bits */
	OWNED_BY_DEVICE = 1,

	BOX_DATA = 512,
	BOX_NEXT = 0x230,
	BOX_NUMBER = 0x238,
	BOXES_FIRST = 4096 / BOX_DATA,
};

/* ---- mailboxes */

static char *box_at(const struct vfio_box *box, unsigned int index)
{
	return (char *)box->map.addr + (size_t)index * VFIO_PAGE;
}

static void box_link(struct vfio_box *box)
{
	for (unsigned int i = 0; i < box->count; i++) {
		uint64_t next = i + 1 < box->count ? box->map.iova + (i + 1ull) * VFIO_PAGE : 0;

		fw_set_64(box_at(box, i), BOX_NEXT, next);
		fw_set(box_at(box, i), BOX_NUMBER, i);
	}
}

/* Make enough mailboxes for @length bytes. */
static int box_reserve(struct vfio_context *v, struct vfio_box *box, size_t length)
{
	size_t count = length > INLINE ? (length - INLINE + BOX_DATA - 1) / BOX_DATA : 0;
	struct vfio_map map;
	int r;

	if (count <= box->count)
		return 0;
	r = vfio_buffer_make(v, count * VFIO_PAGE, VFIO_PAGE, &map);
	if (r < 0)
		return r;
	vfio_buffer_free(v, &box->map);
	*box = (struct vfio_box){ map, count };
	box_link(box);
	return 0;
}

static void box_write(struct vfio_box *box, const char *from, size_t length)
{
	for (unsigned int i = 0; length; i++) {
		size_t part = min_of(length, (size_t)BOX_DATA);

		memcpy(box_at(box, i), from, part);
		from += part;
		length -= part;
	}
}

static void box_clear(struct vfio_box *box, size_t length)
{
	for (unsigned int i = 0; length; i++) {
		size_t part = min_of(length, (size_t)BOX_DATA);

		memset(box_at(box, i), 0, part);
		length -= part;
	}
}

static void box_read(const struct vfio_box *box, char *to, size_t length)
{
	for (unsigned int i = 0; length; i++) {
		size_t part = min_of(length, (size_t)BOX_DATA);

		memcpy(to, box_at(box, i), part);
		to += part;
		length -= part;
	}
}

/* ---- entries */

static size_t behind_inline(size_t length)
{
	return length > INLINE ? length - INLINE : 0;
}

int vfio_slot_post(struct vfio_context *v, struct vfio_slot *slot, const void *in, size_t inlen,
		   size_t outlen)
{
	char *entry = slot->entry;
	int r = box_reserve(v, &slot->in, inlen);

	if (!r)
		r = box_reserve(v, &slot->out, outlen);
	if (r < 0)
		return r;
	memset(entry, 0, ENTRY_SIZE);
	fw_set(entry, 0, ENTRY_TYPE << 24);
	fw_set(entry, AT_INLEN, inlen);
	fw_set_64(entry, AT_IN_BOX, slot->in.map.iova);
	memcpy(entry + AT_IN, in, min_of(inlen, (size_t)INLINE));
	fw_set_64(entry, AT_OUT_BOX, slot->out.map.iova);
	fw_set(entry, AT_OUTLEN, outlen);
	box_write(&slot->in, (const char *)in + INLINE, behind_inline(inlen));
	box_clear(&slot->out, behind_inline(outlen));
	slot->outlen = outlen;
	barrier_to_device();
	*(volatile uint8_t *)(entry + AT_STATUS) = OWNED_BY_DEVICE;
	barrier_to_device();
	vfio_reg_write(v, VFIO_REG_DOORBELL, 1u << slot->number);
	return 0;
}

static uint8_t status_load(const struct vfio_slot *slot)
{
	return *(const volatile uint8_t *)(slot->entry + AT_STATUS);
}

bool vfio_slot_is_done(const struct vfio_slot *slot)
{
	if (status_load(slot) & OWNED_BY_DEVICE)
		return false;
	barrier_from_device();
	return true;
}

int vfio_slot_read(struct vfio_context *v, struct vfio_slot *slot, void *out)
{
	uint8_t delivery = status_load(slot) >> 1;
	uint32_t length = slot->outlen;

	if (delivery) {
		verbs_err(&v->vctx.context,
			  "the firmware could not read a command: delivery status 0x%x", delivery);
		return -EIO;
	}
	memcpy(out, slot->entry + AT_OUT, min_of(length, (uint32_t)INLINE));
	box_read(&slot->out, (char *)out + INLINE, behind_inline(length));
	return fw_get(out, 0) >> 24 ? -EREMOTEIO : 0;
}

int vfio_slot_open(struct vfio_context *v, struct vfio_slot *slot, unsigned int number)
{
	int r;

	slot->number = number;
	slot->entry = (char *)v->queue.addr + number * ENTRY_SIZE;
	r = box_reserve(v, &slot->in, BOXES_FIRST * BOX_DATA);
	return r < 0 ? r : box_reserve(v, &slot->out, BOXES_FIRST * BOX_DATA);
}

void vfio_slot_close(struct vfio_context *v, struct vfio_slot *slot)
{
	vfio_buffer_free(v, &slot->in.map);
	vfio_buffer_free(v, &slot->out.map);
}

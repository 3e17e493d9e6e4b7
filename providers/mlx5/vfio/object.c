/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Objects of the firmware. No kernel knows them, so the library keeps for each object the command
 * that destroys it. It fills in this command from the command that created the object and from the
 * answer.
 */
#include "providers/mlx5/vfio/function.h"

enum {
	UNDO_MAX = 0x40,	  /* bytes of the longest command that destroys */
	UID_MASK = 0xffff,	  /* of the first word */
	OUT_NUMBER = 1 << 0,	  /* the number of the object is in the answer, in 24 bits */
	OUT_NUMBER_LATE = 1 << 1, /* the same, but at 0x10 instead of 8 */
	NUMBER_IS_WIDE = 1 << 2,  /* it has 32 bits */
	KEEPS_TYPE = 1 << 3,	  /* the second word has a type */
};

/*
 * @create, @destroy: opcodes; @size: bytes of the second; @number: offset of the object's number in
 * it; @kept: fields that both commands have: bits of the word at an offset
 */
struct object_kind {
	uint16_t create, destroy;
	uint8_t size, number, flags;
	struct {
		uint32_t offset, bits;
	} kept[5];
};

#define WORD(offset)               \
	{                          \
		offset, 0xffffffff \
	}
#define LOW_24(offset)           \
	{                        \
		offset, 0xffffff \
	}
#define LOW_16(offset)         \
	{                      \
		offset, 0xffff \
	}
#define HIGH_8(offset)             \
	{                          \
		offset, 0xff000000 \
	}
#define PORT(offset)               \
	{                          \
		offset, 0x8000ffff \
	} /* of the switch; the high bit: not the own one */

#define PLAIN(create, destroy)                        \
	{                                             \
		create, destroy, 0x10, 8, OUT_NUMBER, \
		{                                     \
		}                                     \
	}
#define WIDE(create, destroy)                                          \
	{                                                              \
		create, destroy, 0x10, 8, OUT_NUMBER | NUMBER_IS_WIDE, \
		{                                                      \
		}                                                      \
	}

static const struct object_kind kinds[] = {
	{ MLX5_FW_CREATE_GENERAL_OBJECT,
	  0xa03,
	  0x10,
	  8,
	  OUT_NUMBER | NUMBER_IS_WIDE | KEEPS_TYPE,
	  {} },
	PLAIN(MLX5_FW_CREATE_MKEY, VFIO_OP_DESTROY_MKEY),
	PLAIN(0x400, 0x401), /* CQ */
	PLAIN(MLX5_FW_CREATE_QP, 0x501),
	{ MLX5_FW_CREATE_PSV, 0x601, 0x10, 8, OUT_NUMBER_LATE, {} },
	PLAIN(0x700, 0x701), /* SRQ */
	PLAIN(0x705, 0x706), /* XRC SRQ */
	PLAIN(0x710, 0x711), /* DC target */
	PLAIN(0x717, 0x718), /* XRQ */
	PLAIN(0x771, 0x772), /* counters of queues */
	/* an element of scheduling, in a hierarchy */
	{ 0x782, 0x783, 0x40, 0xc, OUT_NUMBER_LATE | NUMBER_IS_WIDE, { HIGH_8(0x8) } },
	PLAIN(VFIO_OP_ALLOC_PD, VFIO_OP_DEALLOC_PD),
	/* a queue pair in a multicast group: its number, and the four words of the GID */
	{ 0x806,
	  0x807,
	  0x20,
	  0,
	  0,
	  { LOW_24(0x8), WORD(0x10), WORD(0x14), WORD(0x18), WORD(0x1c) } },
	PLAIN(0x80e, 0x80f),				/* XRC domain */
	PLAIN(0x816, 0x817),				/* transport domain */
	{ 0x827, 0x828, 0x10, 0, 0, { LOW_16(0xc) } },	/* port of VXLAN */
	{ 0x829, 0x82b, 0x40, 0, 0, { LOW_24(0x14) } }, /* entry of the table of MAC addresses */
	PLAIN(MLX5_FW_CREATE_TIR, 0x902),
	PLAIN(0x904, 0x906), /* SQ */
	PLAIN(0x908, 0x90a), /* RQ */
	PLAIN(0x90c, 0x90e), /* RMP */
	PLAIN(0x912, 0x914), /* TIS */
	PLAIN(0x916, 0x918), /* RQT */
	/* steering: the port of the switch, the type of the table, the table */
	{ MLX5_FW_CREATE_FLOW_TABLE, 0x931, 0x40, 0x14, OUT_NUMBER, { PORT(0x8), HIGH_8(0x10) } },
	{ MLX5_FW_CREATE_FLOW_GROUP,
	  0x934,
	  0x40,
	  0x18,
	  OUT_NUMBER,
	  { PORT(0x8), HIGH_8(0x10), LOW_24(0x14) } },
	{ MLX5_FW_SET_FLOW_ENTRY,
	  0x938,
	  0x40,
	  0,
	  0,
	  { PORT(0x8), HIGH_8(0x10), LOW_24(0x14), WORD(0x20) } },
	WIDE(MLX5_FW_ALLOC_FLOW_COUNTER, 0x93a),
	WIDE(MLX5_FW_ALLOC_PACKET_REFORMAT, 0x93e),
	WIDE(0x940, 0x941), /* changes of headers */
};

/* Return whether the command creates exactly one new object. */
static bool creates_one(uint16_t opcode, const void *in)
{
	if (opcode == MLX5_FW_SET_FLOW_ENTRY)
		return !(fw_get(in, 4) & 0xffff);
	if (opcode == MLX5_FW_CREATE_PSV)
		return fw_get(in, 8) >> 28 == 1;
	return true;
}

/* Return how to destroy what the command creates. NULL: it creates nothing. */
static const struct object_kind *kind_find(const void *in, size_t inlen)
{
	uint16_t opcode = inlen >= FW_HEAD ? fw_get(in, 0) >> 16 : 0;

	for (unsigned int i = 0; i < ARRAY_SIZE(kinds); i++)
		if (kinds[i].create == opcode)
			return creates_one(opcode, in) ? &kinds[i] : NULL;
	return NULL;
}

static uint32_t word_get(const void *bytes, size_t length, unsigned int offset)
{
	return offset + 4 <= length ? fw_get(bytes, offset) : 0;
}

/* Return the number of the new object; 0: the command itself names the object. */
static uint32_t number_of(const struct object_kind *kind, const void *out, size_t outlen)
{
	uint32_t number = 0;

	if (kind->flags & OUT_NUMBER)
		number = word_get(out, outlen, 8);
	if (kind->flags & OUT_NUMBER_LATE)
		number = word_get(out, outlen, 0x10);
	return kind->flags & NUMBER_IS_WIDE ? number : number & 0xffffff;
}

static void undo_fill(uint32_t *undo, const struct object_kind *kind, const void *in, size_t inlen,
		      const void *out, size_t outlen)
{
	fw_set(undo, 0, (uint32_t)kind->destroy << 16 | (fw_get(in, 0) & UID_MASK));
	if (kind->flags & KEEPS_TYPE)
		fw_set(undo, 4, fw_get(in, 4) & 0xffff);
	fw_set(undo, kind->number, number_of(kind, out, outlen));
	for (unsigned int i = 0; i < ARRAY_SIZE(kind->kept) && kind->kept[i].bits; i++)
		fw_set(undo, kind->kept[i].offset,
		       word_get(in, inlen, kind->kept[i].offset) & kind->kept[i].bits);
}

int mlx5_vfio_create(struct mlx5dv_devx_obj *obj, const void *in, size_t inlen, void *out,
		     size_t outlen)
{
	const struct object_kind *kind = kind_find(in, inlen);
	int r = -EINVAL;

	if (kind) {
		obj->undo = calloc(1, UNDO_MAX);
		r = obj->undo ? mlx5_vfio_command(obj->context, in, inlen, out, outlen) : -ENOMEM;
	}
	if (r < 0)
		return r;
	obj->undo_size = kind->size;
	undo_fill(obj->undo, kind, in, inlen, out, outlen);
	return 0;
}

int mlx5_vfio_destroy(struct mlx5dv_devx_obj *obj)
{
	uint32_t out[FW_HEAD / 4] = {};
	int r = vfio_command(to_vfio(obj->context), obj->undo, obj->undo_size, out, sizeof(out));

	if (!r)
		free(obj->undo);
	return r;
}

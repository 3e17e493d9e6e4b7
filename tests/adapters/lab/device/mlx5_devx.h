/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Commands to the firmware of mlx5, and the kernel's data of the objects that they create. */
#ifndef DEVICES_MLX5_DEVX_H
#define DEVICES_MLX5_DEVX_H

#include <endian.h>
#include <errno.h>
#include <string.h>
#include "tests/adapters/lab/device/mlx5.h"

enum {
	FIRMWARE_HEAD = 16, /* of a command, and of its answer */
	FIRMWARE_BAD_OPCODE = 2,
	FIRMWARE_BAD_PARAMETER = 3,
	FIRMWARE_BAD_RESOURCE = 5,
	EVENT_SRQ_LAST_WQE = 0x13,
};

/* A command's bytes, and room for its answer, which is 0. */
struct firmware {
	const uint8_t *in;
	size_t in_len;
	uint8_t *out;
	size_t out_len;
};

/* An object that a command created, or memory that commands may use. Stored in object.device. */
struct devx {
	unsigned opcode; /* of the command that created it; 0: memory */
	uint32_t id;	 /* that the firmware gave it */
	uint8_t *body;	 /* its command; or memory of the process */
	size_t length;
	struct object *of; /* the queue pair or SRQ behind it; or NULL */
};

/* mlx5_firmware.c. Return: 0, an errno, or EREMOTEIO when the answer has a status. */
int firmware_general(struct firmware *f);
int firmware_create(struct object *object, struct firmware *f);
int firmware_destroy(struct object *object);
/* For any object, including those of verbs. */
int firmware_query(struct object *object, struct firmware *f);
int firmware_modify(struct object *object, struct firmware *f);

void firmware_event(const struct object *of, int event);
/* Return memory of the process; NULL: the memory does not exist, or is shorter. */
void *firmware_memory(uint32_t id, uint64_t offset, size_t length);

/* mlx5_devx.c. EPROTONOSUPPORT: the method belongs to no object of DEVX. */
int mlx5_devx_method(uint16_t object, uint16_t method, struct ib_uverbs_ioctl_hdr *call);
/* Report an event of the firmware for an object that a command created. */
void mlx5_devx_event(const struct object *object, uint16_t event);

static inline struct devx *devx_of(const struct object *object)
{
	return object->type == OBJECT_PRIVATE ? object->device : NULL;
}

static inline void firmware_put(struct firmware *f, size_t offset, uint32_t value)
{
	uint32_t word;

	if (offset + sizeof(word) > f->out_len)
		return;
	memcpy(&word, f->out + offset, sizeof(word));
	word |= htobe32(value);
	memcpy(f->out + offset, &word, sizeof(word));
}

static inline uint32_t firmware_get(const struct firmware *f, size_t offset)
{
	return offset + 4 > f->in_len ? 0 : get32(f->in + offset);
}

/* A refusal. */
static inline int firmware_status(struct firmware *f, uint8_t code)
{
	f->out[0] = code;
	f->out[7] = code;
	return EREMOTEIO;
}

/* Attach an object of the model to an object of the kernel. */
static inline void firmware_attach(struct object *object, struct object *of)
{
	devx_of(object)->of = of;
	of->by_device = true;
}

/* mlx5_flow.c: EPROTONOSUPPORT: the method is not one of steering */
int mlx5_flow_method(uint16_t object, uint16_t id, struct ib_uverbs_ioctl_hdr *call);

/* mlx5_mkey.c: a key for memory of another key, complete at its creation. */
bool mlx5_is_alias(const struct firmware *f);
int mlx5_create_mkey(struct object *object, struct firmware *f);

/* mlx5_umr.c: a key whose memory a request describes */
bool mlx5_is_list(const struct firmware *f);
int mlx5_create_list(struct object *object, struct firmware *f);
void mlx5_destroy_list(struct object *window);

#endif

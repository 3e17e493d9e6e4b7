/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Software steering: memory of the device that has steering entries, and packets that follow them.
 */
#ifndef DEVICES_MLX5_STEERING_H
#define DEVICES_MLX5_STEERING_H

#include "tests/adapters/lab/device/mlx5_devx.h"
#include "tests/adapters/lab/scenario/lab.h"

enum {
	STE_SIZE = 64,
	KEY_SIZE = 16,
};

/* mlx5_steering.c. Return the format of entries, or -1 if the device has no software steering:
 * DEVICES_HOST has the word steering-0, steering-1 and so on. */
int mlx5_steering_format(void);
/* Add the capabilities of a group to an answer. */
void mlx5_steering_caps(struct firmware *f, unsigned group);
/* Execute a general command. Return false if it is not one of steering. */
bool mlx5_steering_general(struct firmware *f);
/* Answer the creation of an object that needs no queue. Return false if the device answers as
 * without steering. */
bool mlx5_steering_create(struct firmware *f);

/* mlx5_icm.c: allocate memory of a type of MLX5_IB_UAPI_DM_TYPE_. */
int mlx5_icm_alloc(struct object *dm, unsigned type, struct ib_uverbs_ioctl_hdr *call);
void mlx5_icm_free(struct object *dm);
/* Return the bytes at an address of the device, or NULL. */
const uint8_t *mlx5_icm_find(uint64_t address, size_t length);

/* mlx5_key.c: the headers of a frame. */
struct mlx5_headers {
	uint64_t dmac, smac;
	uint16_t ethertype, vlan;
	uint8_t vlan_kind; /* 0: none, 1: service, 2: customer */
	uint8_t ip_version, ip_protocol, ttl, ihl, dscp, ecn;
	bool fragment;
	uint32_t src[4], dst[4]; /* the address of IPv4 is the last word */
	uint32_t flow_label;
	uint16_t sport, dport, tcp_flags;
	uint8_t l4; /* 0: none, 1: TCP, 2: UDP */
};
/* Return false if the frame is too short. */
bool mlx5_headers_read(const uint8_t *frame, size_t length, struct mlx5_headers *ret);
/* Write the key of a lookup type of format 1. Return false if the model does not know the type. */
bool mlx5_key_make(const struct mlx5_headers *h, unsigned lookup, uint8_t key[KEY_SIZE]);

/* mlx5_root.c: a matcher and a rule of the kernel. 0 or a positive errno. */
int mlx5_root_matcher(struct object *object, struct ib_uverbs_ioctl_hdr *call);
int mlx5_root_rule(struct object *object, struct ib_uverbs_ioctl_hdr *call);

/* mlx5_walk.c: follow entries from @address on until a packet leaves the memory. */
int mlx5_walk(const struct mlx5_headers *h, uint64_t address, struct lab_steered *ret);

#endif

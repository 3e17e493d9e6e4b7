/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Software steering: memory of the device that has steering entries, and packets that follow them.
 */
#ifndef DEVICES_MLX5_STEERING_H
#define DEVICES_MLX5_STEERING_H

#include <stdio.h>
#include "tests/adapters/lab/device/mlx5_devx.h"
#include "tests/adapters/lab/device/mlx5_packet.h"
#include "tests/adapters/lab/scenario/lab.h"

/* The addresses of the change of headers and of the pattern with index 0. */
#define MLX5_CHANGES_AT	 0x4000000000ull
#define MLX5_PATTERNS_AT 0x5000000000ull

/* The device's configuration of parsers. Protocols that do not occur in one packet share a parser.
 */
enum {
	PARSER_OF_ICMP = 0,	 /* and the first word of GTPU */
	PARSER_OF_ICMP_DATA = 1, /* and its second word */
	PARSER_OF_ICMPV6 = 2,
	PARSER_OF_ICMPV6_DATA = 3,
	PARSER_OF_GENEVE = 4,
	PARSER_OF_MPLS_GRE = 5,
	PARSER_OF_MPLS_UDP = 6,
	PARSER_OF_GTPU_EXTENSION = 7,
};

enum {
	STE_SIZE = 64,
	NO_LOOKUP = 0x0f,
	ARGUMENT_SIZE = 64,
	MLX5_FUNCTION = 7, /* number of the function that is the device */
};

/* The kernel's root tables. */
enum mlx5_tables {
	TABLES_RECEIVE,
	TABLES_SEND,
	TABLES_SWITCH,
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

/* Return the header that ALLOC_PACKET_REFORMAT_CONTEXT gave this number, or NULL. */
const uint8_t *mlx5_reformat_find(uint32_t id, size_t *ret_length);
/* Return the format of a definer, and its mask of 32 bytes; -1: there is none. */
int mlx5_definer_find(uint32_t id, const uint8_t **ret_mask);
/* Write the definers into a file of entries. */
void mlx5_definers_print(FILE *out);
/* Arguments of changes of headers: 64 bytes for each number. */
void mlx5_argument_write(uint32_t id, const uint8_t *bytes);
const uint8_t *mlx5_argument_find(uint32_t id);

/* Return the number of a new TIR. */
uint32_t mlx5_tir_next(void);
/* Count a packet by a counter of the firmware, and add the counts to the answer of a query. */
void mlx5_counter_hit(uint32_t id, size_t length);
void mlx5_counter_query(struct firmware *f);

/* mlx5_root.c: a matcher and a rule of the kernel. 0 or a positive errno. */
int mlx5_root_matcher(struct object *object, struct ib_uverbs_ioctl_hdr *call);
int mlx5_root_rule(struct object *object, struct ib_uverbs_ioctl_hdr *call);
/* Compare a packet with the rules of a root table, and execute one. ENOENT: no rule matches. */
int mlx5_root_pass(struct mlx5_packet *p, enum mlx5_tables tables, struct lab_steered *ret);

/* mlx5_rule.c: an action of the kernel, and its execution on a packet. */
int mlx5_rule_action(struct object *object, struct ib_uverbs_ioctl_hdr *call);
int mlx5_rule_act(const struct object *object, struct mlx5_packet *p);

/* mlx5_frame.c: receive a frame from the wire; send a frame of a queue. */
void mlx5_frame(const void *frame, size_t length);
void mlx5_send_frame(struct object *qp, const void *frame, size_t length);

/* mlx5_steering.c: read a frame. @from: NULL: the wire. Return false if it is too short. */
bool mlx5_packet_make(const void *frame, size_t length, const struct lab_origin *from,
		      struct mlx5_packet *ret);

/* mlx5_walk.c: follow entries from @address on until a packet leaves the memory. */
int mlx5_walk(struct mlx5_packet *p, uint64_t address, struct lab_steered *ret);

/* mlx5_object.c: return the address at which packets enter a table of the firmware, or 0. */
uint64_t mlx5_table_enter(uint32_t id, bool is_sent);
/* Handles a copy of a packet; NULL: copies are dropped. */
extern void (*mlx5_copy_end)(const struct lab_steered *end);
/* Add the members that only objects of steering have to the answer of a query. */
void mlx5_object_query(const struct devx *devx, struct firmware *f);
/* Let a packet pass an object of the firmware. Return the next address; 0: the packet ends. */
uint64_t mlx5_object_follow(const struct mlx5_packet *p, uint64_t address, struct lab_steered *ret);

/* mlx5_act.c: execute the actions of an entry that hits. Return 0 or an errno. */
int mlx5_act(struct mlx5_packet *p, const uint8_t *entry, int format, struct lab_steered *ret);

#endif

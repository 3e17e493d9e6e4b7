/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Actions. The adapter executes them on the packets that match a rule, in the order of the rule's
 * list.
 *
 * Only files of this folder include this header. The members of an action do not change after its
 * creation, except for those that a comment names.
 */
#ifndef MLX5_STEERING_ACTION_H
#define MLX5_STEERING_ACTION_H

#include "providers/mlx5/steering/steering.h"

enum dr_action_kind {
	DR_ACTION_DROP,
	DR_ACTION_MISS,
	DR_ACTION_TAG,
	DR_ACTION_QP,
	DR_ACTION_TIR,
	DR_ACTION_TABLE,
	DR_ACTION_COUNTER,
	DR_ACTION_DECAP_L2,
	DR_ACTION_DECAP_L3,
	DR_ACTION_ENCAP_L2,
	DR_ACTION_ENCAP_L3,
	DR_ACTION_MODIFY,
	DR_ACTION_POP,
	DR_ACTION_PUSH,
	DR_ACTION_VPORT,
	DR_ACTION_METER,
	DR_ACTION_SAMPLER,
	DR_ACTION_ARRAY,
	DR_ACTION_ROOT_TABLE,
	DR_ACTION_ASO_HIT,
	DR_ACTION_ASO_METER,
	DR_ACTION_ASO_CT,
	DR_ACTION_KERNEL, /* changes packets of a root table */
	DR_ACTION_KINDS,
};

enum {
	DR_CHANGE_SIZE = 8, /* bytes of a command that changes a header */
};

/* ---- modify.c, pattern.c: changes of headers */

/* Changes of headers, as commands in the format of the adapter. A single change can be in the
 * entry. Others are in memory of the adapter, as a list, or as a pattern (commands without data)
 * with arguments (the data). */
struct dr_changes {
	unsigned int count;
	bool is_inline;
	uint8_t first[DR_CHANGE_SIZE];
	struct dr_chunk chunk; /* memory of a list */
	bool has_chunk;
	uint32_t index; /* index of the list or of the pattern */
	struct dr_pattern *pattern;
	struct dr_argument *argument;
	uint32_t argument_id;
};

/* Translate @count changes of a program. @ret: has room for 2 * @count commands; *ret_count: number
 * of commands. */
int dr_changes_translate(const struct mlx5dv_dr_domain *domain, const __be64 *from, size_t count,
			 uint8_t ret[][DR_CHANGE_SIZE], unsigned int *ret_count);
/* Store changes in the memory of the adapter. @may_inline: one change may stay in the entry.
 * @is_header: the changes write a header for DR_ACTION_DECAP_L3 instead of changes of a program. */
int dr_changes_store(struct mlx5dv_dr_domain *domain, const uint8_t (*from)[DR_CHANGE_SIZE],
		     unsigned int count, bool is_header, struct dr_changes *ret);
void dr_changes_free(struct mlx5dv_dr_domain *domain, struct dr_changes *changes);

/* Return the patterns of a domain. NULL is no error: the domain then stores changes as lists. */
struct dr_patterns *dr_patterns_open(struct mlx5dv_dr_domain *domain);
void dr_patterns_close(struct dr_patterns *patterns);
int dr_pattern_use(struct mlx5dv_dr_domain *domain, const uint8_t (*from)[DR_CHANGE_SIZE],
		   unsigned int count, bool is_header, struct dr_changes *ret);
void dr_pattern_leave(struct mlx5dv_dr_domain *domain, struct dr_changes *changes);

/* ---- forward.c: a table of the firmware whose only rule takes every packet */

struct dr_forward {
	struct mlx5dv_devx_obj *table, *group, *entry;
	uint64_t icm[DR_HALVES];
};

/* A destination in the format of a firmware command. */
struct dr_forward_to {
	uint8_t type;
	uint32_t id;
	uint32_t reformat; /* 0: none */
};

enum {
	DR_TO_VPORT = 0,
	DR_TO_TABLE = 1,
	DR_TO_TIR = 2,
	DR_FORWARD_MAX = 64, /* most destinations, and most counters */
};

struct dr_forward_list {
	uint32_t type; /* type of the table */
	uint8_t level;
	bool is_last; /* a destination ends the path of the packet */
	bool has_reformat;
	uint32_t tag;
	unsigned int count, counters;
	struct dr_forward_to to[DR_FORWARD_MAX];
	uint32_t counter[DR_FORWARD_MAX];
};

/* array.c. Add an action that is a destination or a counter to a list. */
int dr_forward_add(const struct mlx5dv_dr_domain *domain, struct dr_forward_list *list,
		   const struct mlx5dv_dr_action *action);
int dr_forward_make(struct mlx5dv_dr_domain *domain, const struct dr_forward_list *list,
		    struct dr_forward *ret);
void dr_forward_free(struct dr_forward *forward);

/* ---- actions */

/* A header that the adapter adds in front of packets. */
struct dr_reformat {
	struct mlx5dv_devx_obj *object;
	uint32_t id;
	uint16_t size; /* bytes */
};

struct dr_array {
	struct dr_forward forward;
	unsigned int count;
	struct mlx5dv_dr_action **members;
};

struct dr_sampler {
	struct dr_forward forward;
	struct mlx5dv_devx_obj *object, *restored;
	struct mlx5dv_dr_table *next, *restore_table;
	struct mlx5dv_dr_matcher *restore_matcher;
	struct mlx5dv_dr_rule *restore_rule;
	struct mlx5dv_dr_action *restore_modify, *restore_next;
	unsigned int count;
	struct mlx5dv_dr_action **members;
	uint64_t icm[DR_HALVES];
};

struct dr_aso {
	struct mlx5dv_devx_obj *object;
	struct mlx5dv_dr_domain *domain; /* not referenced: the action was created with it */
	/* mlx5dv_dr_action_modify_aso() changes the following members. */
	uint32_t offset;
	uint32_t flags;
	uint8_t reg; /* number of the register in the adapter's format */
};

struct mlx5dv_dr_action {
	enum dr_action_kind kind;
	atomic_uint users;
	struct mlx5dv_dr_domain *domain; /* NULL: the action was created without one */
	union {
		uint32_t tag;
		uint32_t vlan;
		struct ibv_qp *qp;
		struct mlx5dv_devx_obj *tir;
		struct mlx5dv_dr_table *table;
		struct {
			struct mlx5dv_devx_obj *object;
			uint32_t offset;
		} counter;
		struct {
			struct dr_changes changes;
			bool has_vlan; /* the header of DR_ACTION_DECAP_L3 has a VLAN tag */
			bool may_inline;
		} modify;
		struct dr_reformat reformat;
		const struct dr_vport *vport;
		struct {
			struct mlx5dv_dr_table *next;
			struct mlx5dv_devx_obj *object;
			uint64_t icm[DR_HALVES];
		} meter;
		struct dr_sampler sampler;
		struct dr_array array;
		struct {
			struct mlx5dv_dr_table *table;
			struct mlx5dv_steering_anchor *anchor;
			struct dr_forward forward;
		} root;
		struct dr_aso aso;
		struct ibv_flow_action *kernel;
	};
};

/* aso.c. Set what mlx5dv_dr_action_modify_aso() changes, after a check. */
int dr_aso_set(struct dr_aso *aso, uint32_t offset, uint32_t flags, uint8_t return_reg_c);

/* action.c. Return a new action, or NULL with errno. */
struct mlx5dv_dr_action *dr_action_new(enum dr_action_kind kind, struct mlx5dv_dr_domain *domain);
/* Free an action, and release its reference to the domain. */
void dr_action_free(struct mlx5dv_dr_action *action);
/* Return @action if @r is 0. If @r is negative, free the action, log the error and return NULL with
 * errno. */
struct mlx5dv_dr_action *dr_action_done(struct mlx5dv_dr_action *action, const char *function,
					int r);

/* Destroy the content of an action. Return 0 or a negative errno. After an error nothing was
 * destroyed. */
int dr_reformat_end(struct mlx5dv_dr_action *action);
int dr_modify_end(struct mlx5dv_dr_action *action);
int dr_meter_end(struct mlx5dv_dr_action *action);
int dr_sampler_end(struct mlx5dv_dr_action *action);
int dr_array_end(struct mlx5dv_dr_action *action);
int dr_root_table_end(struct mlx5dv_dr_action *action);

/* ---- root.c: objects of root tables. Return 0 or a negative errno. */
enum mlx5dv_flow_table_type dr_root_type(const struct mlx5dv_dr_domain *domain);
int dr_root_matcher_create(struct mlx5dv_dr_matcher *matcher, uint16_t priority, uint8_t criteria,
			   struct mlx5dv_flow_match_parameters *mask);
int dr_root_matcher_destroy(struct mlx5dv_dr_matcher *matcher);
int dr_root_rule_create(struct mlx5dv_dr_rule *rule, struct mlx5dv_flow_match_parameters *value);
int dr_root_rule_destroy(struct mlx5dv_dr_rule *rule);

#endif

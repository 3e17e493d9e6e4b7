/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Steering by software, mlx5dv_dr_*(): a program builds tables of rules for packets.
 *
 * The kernel owns the tables of level 0, the root tables. A rule of a root table is a rule of the
 * kernel: root.c. This library owns the tables of other levels, if the adapter allows it. It
 * writes their entries into memory of the adapter (icm.c), by RDMA writes of an internal queue pair
 * that is connected to itself (ring.c). Formats of entries are in entry.c.
 *
 *     domain -> tables -> matchers, in order of priority -> hash tables of entries, one level of
 *     them for each builder of the matcher -> rules, each a path through one entry of each level
 *
 * An entry compares a key, which the adapter makes of the packet's fields by the lookup type of the
 * entry. On a hit the packet goes to the next level, or to the destination of the rule. On a miss
 * it goes to the next entry of the same slot, or to the anchor behind the matcher.
 *
 * Only files of this folder include this header. Programs use infiniband/mlx5/dr.h.
 *
 * Threads: all functions may run at the same time on the same domain. A program must not destroy
 * an object while another of its threads uses it.
 *
 * Locks: mlx5dv_dr_domain.lock protects everything that belongs to tables of levels above 0: the
 * ring, the memory of the adapter, hash tables, entries and lists. No other lock of the provider is
 * held when it is taken. Objects of root tables do not change after their creation. Counters of
 * users are atomic.
 *
 * References: an object counts its users, and the destroy function returns EBUSY while there are
 * users. A table uses its domain, a matcher its table, a rule its matcher and its actions. An
 * action uses the domain or the table that it was created with. A queue pair or an object of the
 * firmware is not counted: it belongs to the program.
 */
#ifndef MLX5_STEERING_H
#define MLX5_STEERING_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

#include "providers/mlx5/direct/direct.h"

enum {
	DR_MATCH_WORDS = 112,	/* of a mask or a value */
	DR_CRITERIA_END = 0x80, /* the first value that is no combination of match criteria */
	DR_ENTRY_SIZE = 64,	/* bytes in the adapter */
	DR_IMAGE_SIZE = 48,	/* bytes of an entry without its mask */
	DR_CONTROL_SIZE = 32,	/* bytes of an entry before mask and tag */
	DR_KEY_SIZE = 16,	/* bytes of a mask and of a tag */
	DR_BUILDERS_MAX = 20,	/* levels of a matcher */
};

/* ---- caps.c */

struct dr_caps {
	uint8_t format;	     /* of entries */
	uint16_t function;   /* number of the adapter's function; entries name it */
	uint8_t levels;	     /* of tables of the kernel */
	uint8_t log_icm;     /* bytes of the memory for entries, log2 */
	uint64_t drop, miss; /* addresses for packets of the domain */
};

/* Read what steering needs to know. Return 0, -EOPNOTSUPP if the domain can only have root tables,
 * or another negative errno. */
int dr_caps_read(struct ibv_context *ctx, enum mlx5dv_dr_domain_type type, struct dr_caps *ret);

/* ---- ring.c: an internal queue pair that writes memory of the adapter */

struct dr_ring;
int dr_ring_open(struct ibv_context *ctx, struct ibv_pd *pd, struct dr_ring **ret);
/* Accept NULL. */
void dr_ring_close(struct dr_ring *ring);
/* Post a write of @length bytes. Writes of a ring are executed in order. */
int dr_ring_write(struct dr_ring *ring, uint64_t address, uint32_t rkey, const void *from,
		  size_t length);
/* Wait until all earlier writes have been executed. */
int dr_ring_drain(struct dr_ring *ring);

/* ---- icm.c: memory of the adapter */

struct dr_area;
/* A piece of 2^order entries. */
struct dr_chunk {
	struct dr_area *area;
	uint32_t first; /* index of its first entry in the area */
	uint8_t order;
};

/* Memory of a domain. */
struct dr_icm {
	struct ibv_context *context;
	struct ibv_pd *pd;
	uint8_t order_max; /* of a chunk */
	LIST_HEAD(, dr_area) areas;
	struct dr_free *freed; /* chunks that the adapter may still read */
	size_t freed_bytes;
};

int dr_chunk_alloc(struct mlx5dv_dr_domain *domain, unsigned int order, struct dr_chunk *ret);
/* Return the chunk. The adapter may still read it: it is used again only after a synchronization.
 */
void dr_chunk_free(struct mlx5dv_dr_domain *domain, const struct dr_chunk *chunk);
/* Wait until the adapter reads no freed chunk, and make them available. Also release areas without
 * chunks if the program wants this. */
int dr_icm_reclaim(struct mlx5dv_dr_domain *domain);
void dr_icm_close(struct dr_icm *icm);
/* Return the adapter's address of an entry of the chunk. */
uint64_t dr_chunk_address(const struct dr_chunk *chunk, uint32_t index);
/* Write entries of the chunk, from @index on and from byte @offset of the first one on. */
int dr_chunk_write(struct mlx5dv_dr_domain *domain, const struct dr_chunk *chunk, uint32_t index,
		   const void *from, size_t length);

/* ---- domain.c */

struct mlx5dv_dr_domain {
	struct ibv_context *context;
	enum mlx5dv_dr_domain_type type;
	atomic_uint users;
	bool has_software; /* false: only root tables, and the rest is unused */
	struct dr_caps caps;
	pthread_mutex_t lock; /* protects the rest, and what belongs to tables above level 0 */
	struct ibv_pd *pd;
	struct dr_ring *ring;
	struct dr_icm icm;
	bool reclaims, refuses_duplicates;
};

/* Log why a function fails. Return @r, a negative errno. */
int dr_refuse(struct ibv_context *ctx, const char *function, const char *why, int r);
/* Tell the adapter to forget what it has read of entries. */
int dr_steering_sync(struct mlx5dv_dr_domain *domain);

static inline void dr_use(atomic_uint *users)
{
	atomic_fetch_add_explicit(users, 1, memory_order_relaxed);
}

/* Release pairs with the acquire of dr_is_used(): the destroyer sees the writes of the user. */
static inline void dr_leave(atomic_uint *users)
{
	atomic_fetch_sub_explicit(users, 1, memory_order_release);
}

static inline bool dr_is_used(atomic_uint *users)
{
	return atomic_load_explicit(users, memory_order_acquire);
}

/* ---- builder.c: fields of a packet in the layout of a lookup type */

struct dr_layout;
struct dr_builder {
	const struct dr_layout *layout;
	uint16_t lookup;
	uint16_t byte_mask; /* bytes of the key that the hash is computed of, the first in bit 15 */
	uint8_t mask[DR_KEY_SIZE];
};

/* Words of a mask or a value in the order of the processor. */
struct dr_match {
	uint32_t words[DR_MATCH_WORDS];
};

/* Read match parameters. Parts that @criteria does not name are 0. */
int dr_match_read(const struct mlx5dv_flow_match_parameters *from, uint8_t criteria,
		  struct dr_match *ret);
/* Choose the builders for a mask. -EINVAL: no builder is needed. -EOPNOTSUPP: a field has none. */
int dr_builders_make(const struct dr_match *mask, uint8_t criteria,
		     struct dr_builder builders[DR_BUILDERS_MAX], unsigned int *ret_count);
/* Check a value against the mask of its matcher. */
int dr_value_check(const struct dr_match *mask, const struct dr_match *value);
/* Move the fields of the layout from @value to @tag. -EINVAL: a value does not exist. */
int dr_builder_tag(const struct dr_builder *builder, struct dr_match *value,
		   uint8_t tag[DR_KEY_SIZE]);

/* ---- entry.c: formats 1 to 3 */

enum {
	DR_LOOKUP_NONE = 0x0f, /* lookup type of entries that compare nothing */
};

/* Entries name it, as the address of an entry. */
struct dr_target {
	uint64_t address;
	uint32_t entries; /* of the hash table there; 1: a destination, too */
	uint16_t lookup, byte_mask;
};

void dr_entry_init(uint8_t *image, uint16_t lookup, uint16_t function);
void dr_entry_set_hit(uint8_t *image, uint64_t address, uint32_t entries);
void dr_entry_set_hit_function(uint8_t *image, uint16_t function);
/* Set the next lookup, which the hit address belongs to. */
void dr_entry_set_next(uint8_t *image, uint16_t lookup, uint16_t byte_mask);
void dr_entry_set_miss(uint8_t *image, uint64_t address);
uint64_t dr_entry_miss(const uint8_t *image);
void dr_entry_set_tag(uint8_t *image, const uint8_t tag[DR_KEY_SIZE]);
const uint8_t *dr_entry_tag(const uint8_t *image);
void dr_entry_set_counter(uint8_t *image, uint32_t counter);
void dr_entry_set_flow_tag(uint8_t *image, uint32_t tag);
/* Let every packet miss, or hit. */
void dr_entry_always_miss(uint8_t *image, uint64_t address);
void dr_entry_always_hit(uint8_t *image, const struct dr_target *to);
/* Write the entry as the adapter reads it. @mask: NULL: 0 */
void dr_entry_wire(const uint8_t *image, const uint8_t *mask, uint8_t wire[DR_ENTRY_SIZE]);
/* Return the slot of a tag in a hash table of 2^order entries. */
uint32_t dr_entry_slot(const uint8_t *image, uint16_t byte_mask, unsigned int order);

/* ---- hash.c: hash tables of entries */

struct dr_hash;
struct dr_entry {
	uint8_t image[DR_IMAGE_SIZE]; /* control part and tag */
	uint8_t level;		      /* of its matcher, from 0 on */
	uint32_t users;		      /* rules whose path has it; 0: the slot is free */
	struct dr_hash *home;	      /* has its memory */
	struct dr_hash *table;	      /* has its slot: home, unless it collided */
	struct dr_hash *next;	      /* NULL: it is the last of its rule, or an anchor */
	struct dr_entry *follower;    /* the next entry of the slot */
	struct mlx5dv_dr_rule *rule;  /* whose last entry it is, or NULL */
};

struct dr_hash {
	struct dr_chunk chunk;
	uint16_t lookup, byte_mask;
	uint32_t used;		   /* slots in use */
	uint32_t rules;		   /* entries in it and behind it */
	uint32_t collisions;	   /* of these, entries that are not in a slot */
	struct dr_entry *pointing; /* leads to it; NULL: none */
	struct dr_hash *retired;   /* list of tables that end after the writes of a rule */
	struct dr_entry entries[];
};

int dr_hash_new(struct mlx5dv_dr_domain *domain, unsigned int order, uint16_t lookup,
		uint16_t byte_mask, struct dr_hash **ret);
/* Accept NULL. */
void dr_hash_free(struct mlx5dv_dr_domain *domain, struct dr_hash *hash);
struct dr_target dr_hash_target(const struct dr_hash *hash);
uint64_t dr_entry_address(const struct dr_entry *entry);
/* Write all entries; entries that are not in use miss. */
int dr_hash_write(struct mlx5dv_dr_matcher *matcher, struct dr_hash *hash);
/* Write one entry, or its control part. */
int dr_entry_write(struct mlx5dv_dr_matcher *matcher, const struct dr_entry *entry, bool whole);
/* Write a slot that is not in use: every packet misses it. */
int dr_slot_clear(struct mlx5dv_dr_matcher *matcher, const struct dr_entry *slot);
/* Write the only entry of a table, which every packet misses (@to NULL) or hits. */
int dr_anchor_write(struct mlx5dv_dr_domain *domain, struct dr_hash *hash, uint64_t miss,
		    const struct dr_target *to);

/* ---- table.c, matcher.c, rule.c, path.c */

struct mlx5dv_dr_table {
	struct mlx5dv_dr_domain *domain;
	uint32_t level;
	atomic_uint users;
	struct dr_hash *anchor;		/* entry of packets; NULL: a root table */
	struct mlx5dv_devx_obj *object; /* the firmware's; NULL: a root table */
	TAILQ_HEAD(dr_matchers, mlx5dv_dr_matcher) matchers; /* in order of priority */
};

struct mlx5dv_dr_matcher {
	struct mlx5dv_dr_table *table;
	atomic_uint users;
	struct mlx5dv_flow_matcher *kernel; /* of a root table; the rest is then unused */
	uint16_t priority;
	uint8_t criteria;
	struct dr_match mask;
	TAILQ_ENTRY(mlx5dv_dr_matcher) link;
	unsigned int levels;
	struct dr_builder builders[DR_BUILDERS_MAX];
	struct dr_hash *start; /* of the first level */
	struct dr_hash *end;   /* anchor of packets that match no rule */
};

/* Return the address of packets that match no rule of the matcher. */
uint64_t dr_matcher_miss(const struct mlx5dv_dr_matcher *matcher);

struct mlx5dv_dr_rule {
	struct mlx5dv_dr_matcher *matcher;
	struct ibv_flow *kernel; /* of a root table */
	struct dr_entry *last;	 /* of its path; NULL: a root table */
	size_t action_count;
	struct mlx5dv_dr_action *actions[];
};

/* Add the path of a rule. @images: an entry of each level. */
int dr_path_add(struct mlx5dv_dr_rule *rule, uint8_t images[][DR_IMAGE_SIZE]);
void dr_path_remove(struct mlx5dv_dr_rule *rule);

/* ---- action.c, apply.c */

enum dr_action_kind {
	DR_ACTION_DROP,
	DR_ACTION_MISS,
	DR_ACTION_TAG,
	DR_ACTION_QP,
	DR_ACTION_TIR,
	DR_ACTION_TABLE,
	DR_ACTION_COUNTER,
	DR_ACTION_REFORMAT,
	DR_ACTION_MODIFY,
	DR_ACTION_KINDS,
};

struct mlx5dv_dr_action {
	enum dr_action_kind kind;
	atomic_uint users;
	struct mlx5dv_dr_domain *domain; /* NULL: the action was created without one */
	union {
		uint32_t tag;
		struct ibv_qp *qp;
		struct mlx5dv_devx_obj *tir;
		struct mlx5dv_dr_table *table;
		struct {
			struct mlx5dv_devx_obj *object;
			uint32_t offset;
		} counter;
		struct ibv_flow_action *kernel; /* DR_ACTION_REFORMAT and DR_ACTION_MODIFY */
	};
};

/* Write the actions of a rule into its last entry. */
int dr_actions_apply(const struct mlx5dv_dr_rule *rule, uint8_t *image);

/* ---- root.c: objects of root tables. Return 0 or a negative errno. */
enum mlx5dv_flow_table_type dr_root_type(const struct mlx5dv_dr_domain *domain);
int dr_root_matcher_create(struct mlx5dv_dr_matcher *matcher, uint16_t priority, uint8_t criteria,
			   struct mlx5dv_flow_match_parameters *mask);
int dr_root_matcher_destroy(struct mlx5dv_dr_matcher *matcher);
int dr_root_rule_create(struct mlx5dv_dr_rule *rule, struct mlx5dv_flow_match_parameters *value);
int dr_root_rule_destroy(struct mlx5dv_dr_rule *rule);

#endif

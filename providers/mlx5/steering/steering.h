/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Steering by software, mlx5dv_dr_*(): a program builds tables of rules for packets.
 *
 * The kernel owns the tables of level 0, the root tables. A rule of a root table is a rule of the
 * kernel: root.c. This library owns the tables of other levels, if the adapter allows it. It writes
 * their entries into memory of the adapter (icm.c), by RDMA writes of an internal queue pair that
 * is connected to itself (ring.h). Formats of entries are in format.h, and actions in action.h.
 *
 *     domain -> tables -> matchers, in order of priority -> hash tables of entries, one level of
 *     them for each builder of the matcher -> rules, each a path through one entry of each level
 *
 * An entry compares the tag with a key. The adapter makes the key from fields of the packet, which
 * the lookup type of the entry selects. On a hit the packet goes to the next level, or to the
 * destination of the rule. On a miss the packet goes to the next entry of the same slot, or to the
 * anchor behind the matcher. An anchor is an entry that every packet hits or misses.
 *
 * A domain of the switch has two halves: packets from the wire are received, and packets of the
 * adapter's functions are sent. Each half has hash tables, anchors and entries of its own.
 *
 * Only files of this folder include this header. Programs use infiniband/mlx5/dr.h.
 *
 * Threads: all functions may run at the same time on the same domain. A program must not destroy an
 * object while another of its threads uses it.
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
#include "providers/mlx5/steering/layout.h"

enum {
	DR_CRITERIA_END = 0x80, /* the first value that is no combination of match criteria */
	DR_BUILDERS_MAX = 20,	/* levels of a matcher */
	DR_ACTION_ENTRIES = 8,	/* entries of a rule that have only actions */
	DR_IMAGES_MAX = DR_BUILDERS_MAX + DR_ACTION_ENTRIES,
};

/* ---- caps.c */

/* Bits of the protocols that the adapter parses. */
enum dr_parser {
	DR_PARSER_GENEVE = 3,
	DR_PARSER_MPLS_GRE = 4,
	DR_PARSER_MPLS_UDP = 5,
	DR_PARSER_VXLAN_GPE = 7,
	DR_PARSER_ICMP = 8,
	DR_PARSER_ICMPV6 = 9,
	DR_PARSER_GENEVE_OPTION = 10,
	DR_PARSER_GTPU = 11,
	DR_PARSER_GTPU_DW_2 = 16,
	DR_PARSER_GTPU_EXTENSION = 17,
	DR_PARSER_GTPU_DW_0 = 18,
	DR_PARSER_GTPU_TEID = 19,
};

/* Numbers of parsers. Each is valid if the protocol has its bit. */
struct dr_parsers {
	uint8_t icmp[2][2]; /* ICMP, ICMPv6: type and code, then data */
	uint8_t geneve_option, mpls_gre, mpls_udp;
	uint8_t gtpu_dw_0, gtpu_teid, gtpu_dw_2, gtpu_extension;
};

struct dr_caps {
	uint8_t format;	   /* format of entries */
	uint16_t function; /* number of the adapter's function, for entries */
	bool is_switch_manager;
	uint8_t levels;	     /* number of levels of the kernel's tables */
	uint16_t encap_most; /* bytes of a header that the adapter adds */
	/* Bytes of the adapter's memory for entries and for changes of headers, log2. */
	uint8_t log_icm, log_changes;
	uint64_t changes_at,
		patterns_at; /* addresses of the change and of the pattern with index 0 */
	uint64_t drop[DR_HALVES], miss[DR_HALVES]; /* addresses for packets of the domain */
	uint64_t uplink[DR_HALVES];		   /* addresses of the switch's uplink */
	uint64_t adapter_drop[DR_HALVES]; /* drop addresses of the adapter itself, also for the
					     switch */
	uint32_t protocols;		  /* bits of enum dr_parser */
	struct dr_parsers parsers;
	uint64_t definers; /* bits of the supported formats of definers */
	bool has_parser_change, has_option_exists, has_tunnel_header, has_checksum;
	bool has_priority_tag; /* the switch needs a VLAN tag in each packet */
	bool has_arguments;
	uint8_t log_argument_step, log_argument_most;
};

/* Read the capabilities that steering needs. Return 0, -EOPNOTSUPP if the domain can only have root
 * tables, or another negative errno. */
int dr_caps_read(struct ibv_context *ctx, enum mlx5dv_dr_domain_type type, struct dr_caps *ret);

/* ---- ring.c: an internal queue pair that writes memory of the adapter */

struct dr_ring;
int dr_ring_open(struct ibv_context *ctx, struct ibv_pd *pd, struct dr_ring **ret);
/* Accept NULL. */
void dr_ring_close(struct dr_ring *ring);
uint32_t dr_ring_number(const struct dr_ring *ring);
/* Post a write of @length bytes. Writes of a ring are executed in order. */
int dr_ring_write(struct dr_ring *ring, uint64_t address, uint32_t rkey, const void *from,
		  size_t length);
/* Post a write of argument objects of 64 bytes, from @object on. */
int dr_ring_write_argument(struct dr_ring *ring, uint32_t object, const void *from, size_t length);
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

enum dr_pool_kind {
	DR_POOL_ENTRIES,
	DR_POOL_CHANGES,  /* lists of changes of headers */
	DR_POOL_PATTERNS, /* kinds of changes of headers, without values */
	DR_POOLS,
};

/* Memory of a domain for one purpose. */
struct dr_pool {
	struct mlx5dv_dr_domain *domain;
	uint8_t type;	   /* MLX5DV_DM_TYPE_* */
	uint8_t order_max; /* largest order of a chunk */
	uint16_t size;	   /* bytes of an entry */
	bool aligned;	   /* areas are aligned to their size */
	LIST_HEAD(, dr_area) areas;
	struct dr_free *freed; /* chunks that the adapter may still read */
	size_t freed_bytes, freed_most;
};

void dr_pools_open(struct mlx5dv_dr_domain *domain);
void dr_pools_close(struct mlx5dv_dr_domain *domain);
int dr_chunk_alloc(struct dr_pool *pool, unsigned int order, struct dr_chunk *ret);
/*
 * Return the chunk. The adapter may still read it: it is used again only after a synchronization.
 */
void dr_chunk_free(const struct dr_chunk *chunk);
/* Wait until the adapter reads no freed chunk, and make them available. Also release areas without
 * chunks if the program wants this. */
int dr_pools_reclaim(struct mlx5dv_dr_domain *domain);
unsigned int dr_pool_areas(const struct dr_pool *pool);
/* Return the adapter's address of an entry of the chunk. */
uint64_t dr_chunk_address(const struct dr_chunk *chunk, uint32_t index);
/* Write @length bytes of the chunk, from entry @index on. */
int dr_chunk_write(const struct dr_chunk *chunk, uint32_t index, const void *from, size_t length);

/* ---- domain.c */

struct mlx5dv_dr_domain {
	struct ibv_context *context;
	enum mlx5dv_dr_domain_type type;
	atomic_uint users;
	bool has_software; /* false: only root tables, and the rest is unused */
	struct dr_caps caps;
	const struct dr_format *format;
	pthread_mutex_t lock; /* protects the rest, and what belongs to tables above level 0 */
	struct ibv_pd *pd;
	uint32_t pdn;
	struct dr_ring *ring;
	struct dr_pool pools[DR_POOLS];
	struct dr_patterns *patterns; /* NULL: changes of headers are lists */
	struct dr_vports *vports;     /* vports of the switch, and sources of packets */
	TAILQ_HEAD(, mlx5dv_dr_table) tables;
	LIST_HEAD(, dr_link) links; /* objects of other domains: crossing.c */
	bool reclaims, refuses_duplicates;
};

/* Return whether the domain has packets of this half. */
static inline bool dr_has_half(const struct mlx5dv_dr_domain *domain, enum dr_half half)
{
	return domain->type !=
	       (half == DR_RECEIVE ? MLX5DV_DR_DOMAIN_TYPE_NIC_TX : MLX5DV_DR_DOMAIN_TYPE_NIC_RX);
}

static inline bool dr_is_switch(const struct mlx5dv_dr_domain *domain)
{
	return domain->type == MLX5DV_DR_DOMAIN_TYPE_FDB;
}

static inline void dr_lock(struct mlx5dv_dr_domain *domain)
{
	pthread_mutex_lock(&domain->lock);
}

static inline void dr_unlock(struct mlx5dv_dr_domain *domain)
{
	pthread_mutex_unlock(&domain->lock);
}

/* Log why a function fails. Return @r, a negative errno. */
int dr_refuse(struct ibv_context *ctx, const char *function, const char *why, int r);
/* Make the adapter drop its cached entries. */
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

/* ---- vport.c: functions of the adapter, which the switch connects */

enum {
	DR_VPORT_WIRE = 0xffff,
};

struct dr_vport {
	uint16_t number;
	uint16_t function; /* function that sends its packets */
	uint16_t owner;	   /* function that owns its switch */
	uint64_t icm[DR_HALVES];
	uint32_t reg_value, reg_mask; /* value of register C0 in its packets */
	struct dr_vport *next;
};

/* Read the addresses of a vport of the switch. */
int dr_vport_query(struct ibv_context *ctx, uint16_t number, bool other, uint64_t ret[DR_HALVES]);
int dr_vports_open(struct mlx5dv_dr_domain *domain);
void dr_vports_close(struct mlx5dv_dr_domain *domain);
/* Find a vport. Query the firmware if the vport is not in the list yet. */
int dr_vport_find(struct mlx5dv_dr_domain *domain, uint16_t number, const struct dr_vport **ret);
int dr_vport_of_port(struct mlx5dv_dr_domain *domain, uint32_t port, const struct dr_vport **ret);
/* Return the vport of the uplink, or NULL. */
const struct dr_vport *dr_vport_wire(const struct mlx5dv_dr_domain *domain);
/* Return the vport after @vport. NULL: return the first one */
const struct dr_vport *dr_vport_next(const struct mlx5dv_dr_domain *domain,
				     const struct dr_vport *vport);

/* ---- builder.c, layout.c, definer.c: fields of a packet in the layout of a lookup type */

struct dr_side;

/* Read match parameters. Parts that @criteria does not name are 0. */
int dr_match_read(const struct mlx5dv_flow_match_parameters *from, uint8_t criteria,
		  struct dr_match *ret);
int dr_mask_check(const struct dr_match *mask);
/* Choose the builders for a mask. -EINVAL: no builder is needed. -EOPNOTSUPP: a field has none. */
int dr_builders_make(const struct mlx5dv_dr_domain *domain, enum dr_half half,
		     const struct dr_match *mask, uint8_t criteria,
		     struct dr_builder builders[DR_BUILDERS_MAX], unsigned int *ret_count);
/* Choose definers for the mask, if the adapter has definers for all fields of the mask. */
int dr_definers_make(struct dr_side *side, const struct dr_match *mask,
		     struct dr_builder builders[DR_BUILDERS_MAX], unsigned int *ret_count);
void dr_definers_free(struct dr_side *side);
/* Read a value, and check it against the mask of its matcher. Parts that @criteria does not name
 * are undefined. */
int dr_value_read(const struct dr_match *mask, uint8_t criteria,
		  const struct mlx5dv_flow_match_parameters *from, struct dr_match *ret);
/* Add the fields of a value to @tag. -EINVAL: a field has an impossible value. */
int dr_builder_tag(const struct dr_builder *builder, const struct dr_match *value, uint8_t *tag);

/* ---- hash.c: hash tables of entries */

struct dr_hash;
struct dr_entry {
	uint8_t image[DR_IMAGE_SIZE];
	uint8_t level;	       /* level in its matcher, from 0 on */
	uint32_t users;	       /* rules whose path contains the entry; 0: the slot is free */
	struct dr_hash *home;  /* table whose memory holds the entry */
	struct dr_hash *table; /* table of its slot; after a collision it is not @home */
	struct dr_hash *next;  /* table that a hit leads to; NULL: last of its rule, or anchor */
	struct dr_entry *follower; /* the next entry of the slot */
	struct dr_path *path;	   /* path whose last entry this is, or NULL */
};

struct dr_hash {
	struct dr_chunk chunk;
	uint16_t lookup, byte_mask;
	uint32_t used;		   /* slots in use */
	uint32_t rules;		   /* entries in it and behind it */
	uint32_t collisions;	   /* of these, entries that are not in a slot */
	struct dr_entry *pointing; /* leads to it; NULL: none */
	struct dr_hash *retired;   /* list of tables that end after the writes of a rule */
	bool kept;		   /* belongs to a link: it does not end with its last entry */
	struct dr_entry entries[];
};

int dr_hash_new(struct mlx5dv_dr_domain *domain, unsigned int order, uint16_t lookup,
		uint16_t byte_mask, struct dr_hash **ret);
/* Accept NULL. */
void dr_hash_free(struct dr_hash *hash);
struct dr_target dr_hash_target(const struct dr_hash *hash);
uint64_t dr_hash_address(const struct dr_hash *hash);
uint64_t dr_entry_address(const struct dr_entry *entry);
/* Write all entries; entries that are not in use miss. */
int dr_hash_write(struct dr_side *side, struct dr_hash *hash);
/* Write one entry, or its control part. */
int dr_entry_write(struct dr_side *side, const struct dr_entry *entry, bool whole);
/* Write a slot that is not in use: every packet misses it. */
int dr_slot_clear(struct dr_side *side, const struct dr_entry *slot);
/* Write the only entry of a table, which every packet misses (@to NULL) or hits. */
int dr_anchor_write(struct mlx5dv_dr_domain *domain, enum dr_half half, struct dr_hash *hash,
		    uint64_t miss, const struct dr_target *to);

/* ---- table.c, matcher.c, rule.c, path.c */

/* Return the firmware's number for the type of a domain's tables. */
static inline uint32_t dr_table_type(const struct mlx5dv_dr_domain *domain)
{
	return dr_is_switch(domain) ? 4 : (uint32_t)domain->type;
}

struct mlx5dv_dr_table {
	struct mlx5dv_dr_domain *domain;
	uint32_t level;
	atomic_uint users;
	struct dr_hash *anchors[DR_HALVES]; /* entry points of packets; NULL: a root table */
	struct mlx5dv_devx_obj *object;	    /* the table in the firmware; NULL: a root table */
	TAILQ_HEAD(dr_matchers, mlx5dv_dr_matcher) matchers; /* in order of priority */
	TAILQ_ENTRY(mlx5dv_dr_table) link;
};

/* The part of a matcher for one half of the domain. */
struct dr_side {
	struct mlx5dv_dr_matcher *matcher;
	struct mlx5dv_dr_domain *domain;
	enum dr_half half;
	unsigned int levels; /* 0: the domain has no such half */
	struct dr_builder *builders;
	struct mlx5dv_devx_obj *definers[2]; /* definers of wide entries */
	int16_t definer_formats[2];
	struct dr_hash *start; /* hash table of the first level */
	struct dr_hash *end;   /* anchor of packets that match no rule */
};

struct mlx5dv_dr_matcher {
	struct mlx5dv_dr_table *table;
	atomic_uint users;
	struct mlx5dv_flow_matcher *kernel; /* of a root table; the rest is then unused */
	uint16_t priority;
	uint8_t criteria;
	bool fixed_size;
	struct dr_match mask;
	TAILQ_ENTRY(mlx5dv_dr_matcher) link;
	TAILQ_HEAD(, mlx5dv_dr_rule) rules;
	struct dr_side sides[DR_HALVES];
};

/* The entries of a rule in one half. */
struct dr_path {
	struct dr_entry *last; /* NULL: the half has none */
};

struct mlx5dv_dr_rule {
	struct mlx5dv_dr_matcher *matcher;
	struct ibv_flow *kernel; /* of a root table */
	struct dr_path paths[DR_HALVES];
	TAILQ_ENTRY(mlx5dv_dr_rule) link;
	size_t action_count;
	struct mlx5dv_dr_action *actions[];
};

/* The two entries of a linked context: in memory of its owner, and in memory of the user. */
struct dr_crossing {
	struct dr_hash *action, *rule;
	uint16_t owner; /* function of the owner */
};

/* Entries of a rule before they have addresses: one entry of each level, and entries with only
 * actions. */
struct dr_images {
	const struct mlx5dv_dr_domain *domain;
	unsigned int levels, count;
	const struct dr_crossing *crossing; /* to the entry at @crossing_at; NULL: none */
	unsigned int crossing_at;
	uint8_t image[DR_IMAGES_MAX][DR_IMAGE_SIZE];
};

/* Add the path of a rule. */
int dr_path_add(struct dr_side *side, struct dr_path *path, struct dr_images *images);
/* Remove the path of a rule, which may have no entries. */
void dr_path_remove(struct dr_side *side, struct dr_path *path);
/* Return the entry before this one in its path, or NULL. */
struct dr_entry *dr_entry_above(const struct dr_entry *entry);
/* Replace the first table of a matcher by a table of 2^order entries. */
int dr_path_resize(struct dr_side *side, unsigned int order);

#endif

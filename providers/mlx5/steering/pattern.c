/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Changes of headers as patterns and arguments. A pattern is a list of commands without their data,
 * in memory of the adapter. Many actions share a pattern. The argument of an action is a piece of a
 * firmware object, with the action's data. The domain's lock protects all patterns and arguments.
 */
#include "providers/mlx5/steering/action.h"

enum {
	PATTERN_ORDER_MIN = 3, /* changes of 64 bytes, log2 */
	ARGUMENT_POOLS = 4,    /* of 64, 128, 256 and 512 bytes */
	ARGUMENT_SIZE = 64,
	LOG_UNITS = 12, /* least size of a firmware object, log2 of its units */
	ARGUMENT_IN = 0x24,
	CODE_COPY = 5,
	CODE_SET = 6,
	CODE_ADD = 7,
	CODE_INSERT = 0x0a,
};

struct dr_pattern {
	TAILQ_ENTRY(dr_pattern) link;
	unsigned int users, count;
	bool is_header;
	struct dr_chunk chunk;
	uint8_t changes[][DR_CHANGE_SIZE];
};

/* A piece of an object of the firmware. */
struct dr_argument {
	TAILQ_ENTRY(dr_argument) link;
	struct dr_argument_pool *pool;
	uint32_t id;
};

struct object {
	LIST_ENTRY(object) link;
	struct mlx5dv_devx_obj *devx;
	struct dr_argument *pieces;
};

struct dr_argument_pool {
	unsigned int log_units; /* units of a piece, log2 */
	LIST_HEAD(, object) objects;
	TAILQ_HEAD(, dr_argument) available;
};

struct dr_patterns {
	TAILQ_HEAD(, dr_pattern) patterns; /* most recently used first */
	struct dr_argument_pool pools[ARGUMENT_POOLS];
};

/* ---- arguments */

static unsigned int log_range(const struct mlx5dv_dr_domain *domain)
{
	unsigned int step = domain->caps.log_argument_step;

	return min_of((unsigned int)domain->caps.log_argument_most,
		      step > LOG_UNITS ? step : (unsigned int)LOG_UNITS);
}

static struct mlx5dv_devx_obj *object_create(struct mlx5dv_dr_domain *domain, unsigned int range)
{
	uint32_t in[ARGUMENT_IN / 4] = {}, out[FW_HEAD / 4] = {};

	fw_set(in, 0, MLX5_FW_CREATE_GENERAL_OBJECT << 16);
	fw_set(in, 4, MLX5_FW_OBJ_ARGUMENT);
	fw_set(in, 0xc, range << 24);
	fw_set(in, 0x20, domain->pdn);
	return mlx5_fw_create(domain->context, "CREATE_GENERAL_OBJECT", in, sizeof(in), out,
			      sizeof(out));
}

static int pool_fill(struct mlx5dv_dr_domain *domain, struct dr_argument_pool *pool)
{
	unsigned int range = log_range(domain);
	struct object *object;
	uint32_t count;

	if (pool->log_units > range)
		return -ENOMEM;
	count = 1u << (range - pool->log_units);
	object = calloc(1, sizeof(*object));
	if (!object)
		return -ENOMEM;
	object->pieces = calloc(count, sizeof(*object->pieces));
	object->devx = object->pieces ? object_create(domain, range) : NULL;
	if (!object->devx) {
		int r = object->pieces ? -errno : -ENOMEM;

		free(object->pieces);
		free(object);
		return r;
	}
	LIST_INSERT_HEAD(&pool->objects, object, link);
	for (uint32_t i = 0; i < count; i++) {
		object->pieces[i].pool = pool;
		object->pieces[i].id = object->devx->object_id + (i << pool->log_units);
		TAILQ_INSERT_TAIL(&pool->available, &object->pieces[i], link);
	}
	return 0;
}

static void pool_close(struct dr_argument_pool *pool)
{
	struct object *object;

	while ((object = LIST_FIRST(&pool->objects))) {
		LIST_REMOVE(object, link);
		mlx5_fw_destroy(object->devx);
		free(object->pieces);
		free(object);
	}
}

static int argument_take(struct mlx5dv_dr_domain *domain, unsigned int count,
			 struct dr_argument **ret)
{
	struct dr_argument_pool *pool = domain->patterns->pools;
	int r = 0;

	while (pool < domain->patterns->pools + ARGUMENT_POOLS &&
	       (size_t)count * DR_CHANGE_SIZE > (size_t)ARGUMENT_SIZE << pool->log_units)
		pool++;
	if (pool == domain->patterns->pools + ARGUMENT_POOLS)
		return -EINVAL;
	if (TAILQ_EMPTY(&pool->available))
		r = pool_fill(domain, pool);
	if (r < 0)
		return r;
	*ret = TAILQ_FIRST(&pool->available);
	TAILQ_REMOVE(&pool->available, *ret, link);
	return 0;
}

static void argument_return(struct dr_argument *argument)
{
	TAILQ_INSERT_HEAD(&argument->pool->available, argument, link);
}

/* ---- patterns */

/* Return whether the argument has data for this change. */
static bool has_data(const uint8_t change[DR_CHANGE_SIZE])
{
	return change[0] == CODE_SET || change[0] == CODE_ADD || change[0] == CODE_INSERT;
}

static void pattern_copy(uint8_t (*to)[DR_CHANGE_SIZE], const uint8_t (*from)[DR_CHANGE_SIZE],
			 unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		memcpy(to[i], from[i], DR_CHANGE_SIZE);
		if (has_data(from[i]))
			memset(to[i] + 4, 0, 4);
	}
}

static bool is_same(const struct dr_pattern *pattern, const uint8_t (*from)[DR_CHANGE_SIZE],
		    unsigned int count, bool is_header)
{
	if (pattern->count != count || pattern->is_header != is_header)
		return false;
	for (unsigned int i = 0; !is_header && i < count; i++) {
		size_t size = from[i][0] == CODE_COPY ? DR_CHANGE_SIZE : 4;

		if (memcmp(pattern->changes[i], from[i], size))
			return false;
	}
	return true;
}

static struct dr_pattern *pattern_find(struct dr_patterns *patterns,
				       const uint8_t (*from)[DR_CHANGE_SIZE], unsigned int count,
				       bool is_header)
{
	struct dr_pattern *pattern;

	TAILQ_FOREACH(pattern, &patterns->patterns, link) {
		if (is_same(pattern, from, count, is_header))
			break;
	}
	if (pattern) {
		TAILQ_REMOVE(&patterns->patterns, pattern, link);
		TAILQ_INSERT_HEAD(&patterns->patterns, pattern, link);
	}
	return pattern;
}

static int pattern_write(struct mlx5dv_dr_domain *domain, struct dr_pattern *pattern)
{
	unsigned int order = PATTERN_ORDER_MIN;
	int r;

	while (1u << order < pattern->count)
		order++;
	r = dr_chunk_alloc(&domain->pools[DR_POOL_PATTERNS], order, &pattern->chunk);
	if (r < 0)
		return r;
	r = dr_chunk_write(&pattern->chunk, 0, pattern->changes,
			   (size_t)pattern->count * DR_CHANGE_SIZE);
	if (r < 0)
		dr_chunk_free(&pattern->chunk);
	return r;
}

static int pattern_new(struct mlx5dv_dr_domain *domain, const uint8_t (*from)[DR_CHANGE_SIZE],
		       unsigned int count, bool is_header, struct dr_pattern **ret)
{
	struct dr_pattern *pattern = calloc(1, sizeof(*pattern) + (size_t)count * DR_CHANGE_SIZE);
	int r;

	if (!pattern)
		return -ENOMEM;
	pattern->count = count;
	pattern->is_header = is_header;
	pattern_copy(pattern->changes, from, count);
	r = pattern_write(domain, pattern);
	if (r < 0) {
		free(pattern);
		return r;
	}
	TAILQ_INSERT_HEAD(&domain->patterns->patterns, pattern, link);
	*ret = pattern;
	return 0;
}

static void pattern_leave(struct dr_patterns *patterns, struct dr_pattern *pattern)
{
	if (--pattern->users)
		return;
	TAILQ_REMOVE(&patterns->patterns, pattern, link);
	dr_chunk_free(&pattern->chunk);
	free(pattern);
}

int dr_pattern_use(struct mlx5dv_dr_domain *domain, const uint8_t (*from)[DR_CHANGE_SIZE],
		   unsigned int count, bool is_header, struct dr_changes *ret)
{
	struct dr_pattern *pattern;
	struct dr_argument *argument;
	int r = argument_take(domain, count, &argument);

	if (r < 0)
		return r;
	pattern = pattern_find(domain->patterns, from, count, is_header);
	if (!pattern)
		r = pattern_new(domain, from, count, is_header, &pattern);
	if (r < 0) {
		argument_return(argument);
		return r;
	}
	pattern->users++;
	r = dr_ring_write_argument(domain->ring, argument->id, from,
				   (size_t)count * DR_CHANGE_SIZE);
	if (r < 0) {
		pattern_leave(domain->patterns, pattern);
		argument_return(argument);
		return r;
	}
	ret->pattern = pattern;
	ret->argument = argument;
	ret->argument_id = argument->id;
	ret->index =
		(dr_chunk_address(&pattern->chunk, 0) - domain->caps.patterns_at) / DR_ENTRY_SIZE;
	return 0;
}

void dr_pattern_leave(struct mlx5dv_dr_domain *domain, struct dr_changes *changes)
{
	argument_return(changes->argument);
	pattern_leave(domain->patterns, changes->pattern);
}

/* ---- a domain */

struct dr_patterns *dr_patterns_open(struct mlx5dv_dr_domain *domain)
{
	struct dr_patterns *patterns;

	if (!domain->caps.format || !domain->caps.has_arguments)
		return NULL;
	patterns = calloc(1, sizeof(*patterns));
	if (!patterns)
		return NULL;
	TAILQ_INIT(&patterns->patterns);
	for (unsigned int i = 0; i < ARGUMENT_POOLS; i++) {
		patterns->pools[i].log_units = i;
		LIST_INIT(&patterns->pools[i].objects);
		TAILQ_INIT(&patterns->pools[i].available);
	}
	for (unsigned int i = 0; i < ARGUMENT_POOLS; i++) {
		if (pool_fill(domain, &patterns->pools[i]) < 0) {
			dr_patterns_close(patterns);
			return NULL;
		}
	}
	return patterns;
}

void dr_patterns_close(struct dr_patterns *patterns)
{
	if (!patterns)
		return;
	for (unsigned int i = 0; i < ARGUMENT_POOLS; i++)
		pool_close(&patterns->pools[i]);
	free(patterns);
}

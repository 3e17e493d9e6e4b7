/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connections of one domain that rules of another domain use. Only an entry in memory of the owner
 * can name a context of the connections. Therefore each context has two entries when its object is
 * linked to a domain: one with the action in memory of the owner, which leads to one in memory of
 * the user. A rule of the user leads to the owner's entry, and the user's entry holds the rest of
 * the rule.
 */
#include "providers/mlx5/steering/apply.h"

enum {
	LOG_RANGE_MAX = 20, /* log2 of the contexts that can be linked */
};

struct dr_link {
	LIST_ENTRY(dr_link) entry;
	struct mlx5dv_devx_obj *object;
	struct mlx5dv_dr_domain *owner;
	uint32_t count;
	struct dr_crossing crossings[];
};

/* The caller holds the lock of the domain. */
static struct dr_link *link_find(struct mlx5dv_dr_domain *domain,
				 const struct mlx5dv_devx_obj *object)
{
	struct dr_link *link;

	LIST_FOREACH(link, &domain->links, entry)
		if (link->object == object)
			return link;
	return NULL;
}

int dr_crossing_find(struct mlx5dv_dr_domain *domain, const struct dr_aso *aso,
		     const struct dr_crossing **ret)
{
	struct dr_link *link = link_find(domain, aso->object);

	if (!link || aso->offset >= link->count)
		return -EINVAL;
	if (link->crossings[aso->offset].rule->used)
		return -EBUSY;
	*ret = &link->crossings[aso->offset];
	return 0;
}

/* Free the tables of one of the two domains. */
static void halves_free(struct dr_link *link, struct mlx5dv_dr_domain *domain, bool of_owner)
{
	dr_lock(domain);
	for (uint32_t i = 0; i < link->count; i++)
		dr_hash_free(of_owner ? link->crossings[i].action : link->crossings[i].rule);
	dr_unlock(domain);
}

static void link_free(struct dr_link *link, struct mlx5dv_dr_domain *user)
{
	halves_free(link, link->owner, true);
	halves_free(link, user, false);
	free(link);
}

static int rules_make(struct dr_link *link, struct mlx5dv_dr_domain *user)
{
	int r = 0;

	dr_lock(user);
	for (uint32_t i = 0; !r && i < link->count; i++) {
		r = dr_hash_new(user, 0, DR_LOOKUP_NONE, 0, &link->crossings[i].rule);
		if (!r)
			link->crossings[i].rule->kept = true;
	}
	dr_unlock(user);
	return r;
}

static int action_make(struct dr_crossing *crossing, const struct dr_aso *aso,
		       struct mlx5dv_dr_domain *user)
{
	struct mlx5dv_dr_domain *owner = aso->domain;
	enum dr_half half = dr_has_half(owner, DR_RECEIVE) ? DR_RECEIVE : DR_SEND;
	uint8_t image[DR_IMAGE_SIZE], wire[DR_ENTRY_SIZE];
	int r = dr_hash_new(owner, 0, DR_LOOKUP_NONE, 0, &crossing->action);

	if (r < 0)
		return r;
	crossing->owner = owner->caps.function;
	dr_connection_make(owner, half, aso, image);
	owner->format->set_hit_function(image, user->caps.function);
	owner->format->set_hit(image, dr_hash_address(crossing->rule), 1);
	owner->format->wire(image, NULL, wire);
	return dr_chunk_write(&crossing->action->chunk, 0, wire, sizeof(wire));
}

/* Write the entries of the owner, and wait until the adapter has them. */
static int actions_make(struct dr_link *link, struct dr_aso *aso, struct mlx5dv_dr_domain *user)
{
	int r = 0;

	dr_lock(link->owner);
	for (aso->offset = 0; !r && aso->offset < link->count; aso->offset++)
		r = action_make(&link->crossings[aso->offset], aso, user);
	if (!r)
		r = dr_ring_drain(link->owner->ring);
	dr_unlock(link->owner);
	return r;
}

static int link_new(struct dr_aso *aso, struct mlx5dv_dr_domain *user, struct dr_link **ret)
{
	uint32_t count = 1u << aso->object->log_range;
	struct dr_link *link = calloc(1, sizeof(*link) + count * sizeof(link->crossings[0]));
	int r;

	if (!link)
		return -ENOMEM;
	link->object = aso->object;
	link->owner = aso->domain;
	link->count = count;
	r = rules_make(link, user);
	if (!r)
		r = actions_make(link, aso, user);
	if (r < 0)
		link_free(link, user);
	else
		*ret = link;
	return r;
}

/* Enter the link, unless the object has one. */
static int link_enter(struct dr_link *link, struct mlx5dv_dr_domain *user)
{
	int r = 0;

	dr_lock(user);
	if (link_find(user, link->object))
		r = -EEXIST;
	else
		LIST_INSERT_HEAD(&user->links, link, entry);
	dr_unlock(user);
	if (r < 0) {
		link_free(link, user);
		return r;
	}
	dr_use(&user->users);
	dr_use(&link->owner->users);
	dr_use(&link->object->links);
	return 0;
}

static bool has_connections(const struct mlx5dv_devx_obj *object,
			    const struct mlx5dv_dr_domain *domain)
{
	return object->type == MLX5_DEVX_GENERAL && object->general == MLX5_FW_OBJ_ASO_CT &&
	       domain->has_software && domain->caps.format;
}

static int link_make(struct dr_aso *aso, struct mlx5dv_dr_domain *user, uint32_t flags,
		     uint8_t return_reg_c)
{
	struct dr_link *link = NULL;
	int r;

	if (!has_connections(aso->object, user) || !has_connections(aso->object, aso->domain))
		return -EOPNOTSUPP;
	if (aso->domain == user || aso->object->context != aso->domain->context ||
	    aso->object->log_range > LOG_RANGE_MAX)
		return -EINVAL;
	r = dr_aso_set(aso, 0, flags, return_reg_c);
	if (r < 0)
		return r;
	r = link_new(aso, user, &link);
	return r < 0 ? r : link_enter(link, user);
}

MLX5DV_EXPORT int mlx5dv_dr_aso_other_domain_link(struct mlx5dv_devx_obj *devx_obj,
						  struct mlx5dv_dr_domain *peer_dmn,
						  struct mlx5dv_dr_domain *dmn, uint32_t flags,
						  uint8_t return_reg_c)
{
	struct dr_aso aso = { .object = devx_obj, .domain = peer_dmn };
	int r = link_make(&aso, dmn, flags, return_reg_c);

	if (r < 0)
		dr_refuse(dmn->context, __func__,
			  "the object has no connections, the domains are the same or do not "
			  "support them, or the flags or the register do not exist",
			  r);
	return mlx5dv_errno(r);
}

/* Take the link out of the list. */
static int link_leave(const struct mlx5dv_devx_obj *object, struct mlx5dv_dr_domain *user,
		      struct dr_link **ret)
{
	struct dr_link *link;
	int r = 0;

	dr_lock(user);
	link = link_find(user, object);
	if (!link)
		r = -EINVAL;
	for (uint32_t i = 0; !r && i < link->count; i++)
		if (link->crossings[i].rule->used)
			r = -EBUSY;
	if (!r)
		LIST_REMOVE(link, entry);
	dr_unlock(user);
	*ret = link;
	return r;
}

MLX5DV_EXPORT int mlx5dv_dr_aso_other_domain_unlink(struct mlx5dv_devx_obj *devx_obj,
						    struct mlx5dv_dr_domain *dmn)
{
	struct dr_link *link;
	int r = has_connections(devx_obj, dmn) ? link_leave(devx_obj, dmn, &link) : -EOPNOTSUPP;

	if (r < 0)
		return mlx5dv_errno(
			dr_refuse(dmn->context, __func__,
				  "the object is not linked to the domain, or a rule uses it", r));
	dr_leave(&dmn->users);
	dr_leave(&link->owner->users);
	dr_leave(&devx_obj->links);
	link_free(link, dmn);
	return 0;
}

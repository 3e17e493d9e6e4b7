/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Scheduling elements: a tree that divides the bandwidth of the port. Queue pairs are assigned to
 * its leaves. */
#include "providers/mlx5/direct/direct.h"

enum {
	IN_SIZE = 0x90,
	OUT_SIZE = 0x10,
	HIERARCHY_NIC = 3,
	ELEMENT_TSAR = 0,
	ELEMENT_QUEUES = 4,
	TSAR_DWRR = 0,
};

/* A node or a leaf. The firmware and this library handle both in the same way. */
struct element {
	struct mlx5dv_devx_obj *object;
	unsigned int type;
};
struct mlx5dv_sched_node {
	struct element element;
};
struct mlx5dv_sched_leaf {
	struct element element;
};

static int refuse(struct ibv_context *ibctx, const char *function, const char *why, int r)
{
	verbs_err(ibctx, "%s: %s", function, why);
	return r;
}

static int attr_check(struct ibv_context *ibctx, const char *function,
		      const struct mlx5dv_sched_attr *attr, bool leaf)
{
	const uint32_t known =
		MLX5DV_SCHED_ELEM_ATTR_FLAGS_BW_SHARE | MLX5DV_SCHED_ELEM_ATTR_FLAGS_MAX_AVG_BW;

	if (!attr)
		return refuse(ibctx, function, "there are no attributes", -EINVAL);
	if (attr->comp_mask || attr->flags & ~known)
		return refuse(ibctx, function, "comp_mask or flags are not known", -EINVAL);
	if (!attr->parent && (leaf || attr->flags))
		return refuse(ibctx, function,
			      leaf ? "a leaf needs a parent" : "the root has no share and no rate",
			      -EINVAL);
	return 0;
}

static int caps_check(struct ibv_context *ibctx, const char *function,
		      const struct mlx5dv_sched_attr *attr, bool leaf)
{
	struct mlx5_context *ctx = to_mctx(ibctx);
	uint32_t rates = mlx5_fw_cap(ctx, MLX5_FW_CAPS_QOS, 0x10),
		 types = mlx5_fw_cap(ctx, MLX5_FW_CAPS_QOS, 0x30);
	bool has_type = leaf ? types >> (16 + ELEMENT_QUEUES) & 1
			     : types >> (16 + ELEMENT_TSAR) & 1 && types >> TSAR_DWRR & 1;
	bool share = attr->flags & MLX5DV_SCHED_ELEM_ATTR_FLAGS_BW_SHARE,
	     rate = attr->flags & MLX5DV_SCHED_ELEM_ATTR_FLAGS_MAX_AVG_BW;

	if (mlx5_fw_cap(ctx, MLX5_FW_CAPS_GENERAL, 0x50) >> 4 & 1 && has_type &&
	    (!share || rates >> 22 & 1) && (!rate || rates >> 21 & 1))
		return 0;
	return refuse(ibctx, function, "the firmware has no such scheduling element", -EOPNOTSUPP);
}

static void element_fill(void *in, const struct mlx5dv_sched_attr *attr, unsigned int type)
{
	fw_set_64(in, 0x10, attr->flags);
	fw_set(in, 0x18, HIERARCHY_NIC << 24);
	fw_set(in, 0x30, type << 24);
	fw_set(in, 0x34, TSAR_DWRR << 16);
	if (attr->flags & MLX5DV_SCHED_ELEM_ATTR_FLAGS_BW_SHARE)
		fw_set(in, 0x44, attr->bw_share);
	if (attr->flags & MLX5DV_SCHED_ELEM_ATTR_FLAGS_MAX_AVG_BW)
		fw_set(in, 0x48, attr->max_avg_bw);
}

static struct element *element_create(struct ibv_context *ibctx, const char *function,
				      const struct mlx5dv_sched_attr *attr, bool leaf)
{
	uint32_t in[IN_SIZE / 4] = {}, out[OUT_SIZE / 4] = {};
	struct element *element;
	int r;

	if (!mlx5dv_context(ibctx, function))
		return NULL;
	r = attr_check(ibctx, function, attr, leaf);
	if (!r)
		r = caps_check(ibctx, function, attr, leaf);
	element = r < 0 ? NULL : calloc(1, sizeof(*element));
	if (!element)
		return mlx5dv_fail(r < 0 ? r : -ENOMEM);
	element->type = leaf ? ELEMENT_QUEUES : ELEMENT_TSAR;
	fw_set(in, 0, MLX5_FW_CREATE_GENERAL_OBJECT << 16);
	fw_set(in, 4, MLX5_FW_OBJ_SCHED);
	element_fill(in, attr, element->type);
	if (attr->parent)
		fw_set(in, 0x38, attr->parent->element.object->object_id);
	element->object = mlx5_fw_create(ibctx, function, in, sizeof(in), out, sizeof(out));
	if (!element->object) {
		free(element);
		return NULL;
	}
	return element;
}

static int element_modify(struct element *element, const char *function,
			  const struct mlx5dv_sched_attr *attr)
{
	uint32_t in[IN_SIZE / 4] = {}, out[OUT_SIZE / 4] = {};
	struct ibv_context *ibctx = element->object->context;
	bool leaf = element->type == ELEMENT_QUEUES;
	int r = attr_check(ibctx, function, attr, leaf);

	if (!r)
		r = caps_check(ibctx, function, attr, leaf);
	if (r < 0)
		return mlx5dv_errno(r);
	fw_set(in, 0, MLX5_FW_MODIFY_GENERAL_OBJECT << 16);
	fw_set(in, 4, MLX5_FW_OBJ_SCHED);
	fw_set(in, 8, element->object->object_id);
	element_fill(in, attr, element->type);
	return mlx5dv_errno(
		mlx5_fw_modify(element->object, function, in, sizeof(in), out, sizeof(out)));
}

static int element_destroy(struct element *element)
{
	int r = mlx5_fw_destroy(element->object);

	if (!r)
		free(element);
	return mlx5dv_errno(r);
}

uint32_t mlx5_sched_leaf_id(const struct mlx5dv_sched_leaf *leaf)
{
	return leaf ? leaf->element.object->object_id : 0;
}

MLX5DV_EXPORT struct mlx5dv_sched_node *
mlx5dv_sched_node_create(struct ibv_context *context, const struct mlx5dv_sched_attr *sched_attr)
{
	return (void *)element_create(context, __func__, sched_attr, false);
}

MLX5DV_EXPORT int mlx5dv_sched_node_modify(struct mlx5dv_sched_node *node,
					   const struct mlx5dv_sched_attr *sched_attr)
{
	return element_modify(&node->element, __func__, sched_attr);
}

MLX5DV_EXPORT int mlx5dv_sched_node_destroy(struct mlx5dv_sched_node *node)
{
	return element_destroy(&node->element);
}

MLX5DV_EXPORT struct mlx5dv_sched_leaf *
mlx5dv_sched_leaf_create(struct ibv_context *context, const struct mlx5dv_sched_attr *sched_attr)
{
	return (void *)element_create(context, __func__, sched_attr, true);
}

MLX5DV_EXPORT int mlx5dv_sched_leaf_modify(struct mlx5dv_sched_leaf *leaf,
					   const struct mlx5dv_sched_attr *sched_attr)
{
	return element_modify(&leaf->element, __func__, sched_attr);
}

MLX5DV_EXPORT int mlx5dv_sched_leaf_destroy(struct mlx5dv_sched_leaf *leaf)
{
	return element_destroy(&leaf->element);
}

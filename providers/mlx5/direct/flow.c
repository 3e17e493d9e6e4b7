/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Steering by tables of the firmware, through the kernel: matchers, rules, actions that rewrite
 * packets, anchors. Matched and rewritten fields have the formats of the firmware and are not
 * checked here.
 */
#include "providers/mlx5/direct/direct.h"
#include "providers/mlx5/flow.h"

enum {
	ACTIONS_MOST = 8,
	/* Bytes of an action in programs that were built before actions had an offset. */
	OLD_ACTION_SIZE = 16,
};

struct mlx5dv_flow_matcher {
	struct ibv_context *context;
	uint32_t handle;
};

struct anchor {
	struct mlx5dv_steering_anchor dv;
	struct ibv_context *context;
	uint32_t handle;
};

static int refuse(struct ibv_context *ibctx, const char *function, const char *why, int r)
{
	verbs_err(ibctx, "%s: %s", function, why);
	return r;
}

static int destroy(struct ibv_context *ibctx, const char *function, uint16_t object,
		   uint16_t method, uint16_t id, uint32_t handle)
{
	const struct uverbs_attr a[] = { uverbs_idr(id, handle) };
	int r = uverbs_ioctl(ibctx, object, method, a, ARRAY_SIZE(a), NULL);

	if (r < 0)
		verbs_err(ibctx, "%s: %s", function, strerror(-r));
	return r;
}

/* ---- matchers */

/* Return whether the table has the RDMA packets of one port of the adapter. */
static bool is_of_port(const struct mlx5dv_flow_matcher_attr *attr)
{
	return attr->comp_mask & MLX5DV_FLOW_MATCHER_MASK_FT_TYPE &&
	       (attr->ft_type == MLX5DV_FLOW_TABLE_TYPE_RDMA_TRANSPORT_RX ||
		attr->ft_type == MLX5DV_FLOW_TABLE_TYPE_RDMA_TRANSPORT_TX);
}

static int matcher_check(struct ibv_context *ibctx, const char *function,
			 const struct mlx5dv_flow_matcher_attr *attr)
{
	const uint64_t port = MLX5DV_FLOW_MATCHER_MASK_IB_PORT;

	if (!comp_mask_ok(attr->comp_mask, MLX5DV_FLOW_MATCHER_MASK_FT_TYPE | port))
		return refuse(ibctx, function, "comp_mask has an unknown bit", -EOPNOTSUPP);
	if (attr->type != IBV_FLOW_ATTR_NORMAL)
		return refuse(ibctx, function, "type is not IBV_FLOW_ATTR_NORMAL", -EOPNOTSUPP);
	if (is_of_port(attr) && !(attr->comp_mask & port))
		return refuse(ibctx, function, "a table of RDMA packets needs ib_port", -EINVAL);
	if (!is_of_port(attr) && attr->comp_mask & port)
		return refuse(ibctx, function, "only a table of RDMA packets has ib_port",
			      -EOPNOTSUPP);
	return 0;
}

static int matcher_create(struct mlx5dv_flow_matcher *matcher,
			  const struct mlx5dv_flow_matcher_attr *attr)
{
	const struct uverbs_attr a[] = {
		uverbs_new_idr(MLX5_IB_ATTR_FLOW_MATCHER_CREATE_HANDLE, &matcher->handle),
		uverbs_in(MLX5_IB_ATTR_FLOW_MATCHER_MATCH_MASK, attr->match_mask->match_buf,
			  attr->match_mask->match_sz),
		uverbs_in(MLX5_IB_ATTR_FLOW_MATCHER_MATCH_CRITERIA, &attr->match_criteria_enable,
			  sizeof(attr->match_criteria_enable)),
		uverbs_enum(MLX5_IB_ATTR_FLOW_MATCHER_FLOW_TYPE, MLX5_IB_FLOW_TYPE_NORMAL,
			    &attr->priority, sizeof(attr->priority)),
		uverbs_when(attr->comp_mask & MLX5DV_FLOW_MATCHER_MASK_FT_TYPE,
			    uverbs_const(MLX5_IB_ATTR_FLOW_MATCHER_FT_TYPE, attr->ft_type)),
		uverbs_when(attr->comp_mask & MLX5DV_FLOW_MATCHER_MASK_IB_PORT,
			    uverbs_u32(MLX5_IB_ATTR_FLOW_MATCHER_IB_PORT, attr->ib_port)),
		uverbs_when(attr->flags,
			    uverbs_u32(MLX5_IB_ATTR_FLOW_MATCHER_FLOW_FLAGS, attr->flags)),
	};

	return uverbs_ioctl(matcher->context, MLX5_IB_OBJECT_FLOW_MATCHER,
			    MLX5_IB_METHOD_FLOW_MATCHER_CREATE, a, ARRAY_SIZE(a), NULL);
}

MLX5DV_EXPORT struct mlx5dv_flow_matcher *
mlx5dv_create_flow_matcher(struct ibv_context *context,
			   struct mlx5dv_flow_matcher_attr *matcher_attr)
{
	struct mlx5dv_flow_matcher *matcher;
	int r;

	if (!mlx5dv_context(context, __func__))
		return NULL;
	r = matcher_check(context, __func__, matcher_attr);
	matcher = r < 0 ? NULL : calloc(1, sizeof(*matcher));
	if (!matcher)
		return mlx5dv_fail(r < 0 ? r : -ENOMEM);
	matcher->context = context;
	r = matcher_create(matcher, matcher_attr);
	if (r < 0) {
		refuse(context, __func__, strerror(-r), r);
		free(matcher);
		return mlx5dv_fail(r);
	}
	return matcher;
}

MLX5DV_EXPORT int mlx5dv_destroy_flow_matcher(struct mlx5dv_flow_matcher *matcher)
{
	int r = destroy(matcher->context, __func__, MLX5_IB_OBJECT_FLOW_MATCHER,
			MLX5_IB_METHOD_FLOW_MATCHER_DESTROY,
			MLX5_IB_ATTR_FLOW_MATCHER_DESTROY_HANDLE, matcher->handle);

	if (!r)
		free(matcher);
	return mlx5dv_errno(r);
}

/* ---- rules */

/* The result of all actions of a rule. */
struct rule {
	const struct ibv_qp *qp;
	const struct mlx5dv_devx_obj *to, *counters;
	unsigned int destinations, tags, counts, action_count;
	uint32_t flags, tag, counter, actions[ACTIONS_MOST], counter_offset;
	bool has_offset;
};

static int rule_add(struct rule *rule, const struct mlx5dv_flow_action_attr *action)
{
	switch (action->type) {
	case MLX5DV_FLOW_ACTION_DEST_IBV_QP:
		rule->qp = action->qp;
		return rule->destinations++ ? -EOPNOTSUPP : 0;
	case MLX5DV_FLOW_ACTION_DEST_DEVX:
		rule->to = action->obj;
		return rule->destinations++ ? -EOPNOTSUPP : 0;
	case MLX5DV_FLOW_ACTION_DEFAULT_MISS:
		rule->flags |= MLX5_IB_ATTR_CREATE_FLOW_FLAGS_DEFAULT_MISS;
		return rule->destinations++ ? -EOPNOTSUPP : 0;
	case MLX5DV_FLOW_ACTION_DROP:
		rule->flags |= MLX5_IB_ATTR_CREATE_FLOW_FLAGS_DROP;
		return rule->destinations++ ? -EOPNOTSUPP : 0;
	case MLX5DV_FLOW_ACTION_TAG:
		rule->tag = action->tag_value;
		return rule->tags++ ? -EINVAL : 0;
	case MLX5DV_FLOW_ACTION_COUNTERS_DEVX:
		rule->counters = action->obj;
		return rule->counts++ ? -EOPNOTSUPP : 0;
	case MLX5DV_FLOW_ACTION_COUNTERS_DEVX_WITH_OFFSET:
		rule->counters = action->bulk_obj.obj;
		rule->counter_offset = action->bulk_obj.offset;
		rule->has_offset = true;
		return rule->counts++ ? -EOPNOTSUPP : 0;
	case MLX5DV_FLOW_ACTION_IBV_FLOW_ACTION:
		if (rule->action_count == ACTIONS_MOST)
			return -EOPNOTSUPP;
		rule->actions[rule->action_count++] = to_vaction(action->action)->handle;
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

/* Read the actions. @size: bytes of an action; members beyond it are 0 */
static int rule_read(struct rule *rule, size_t count, const void *actions, size_t size)
{
	int r = 0;

	for (size_t i = 0; !r && i < count; i++) {
		struct mlx5dv_flow_action_attr action = {};

		memcpy(&action, (const char *)actions + i * size, min_of(size, sizeof(action)));
		r = rule_add(rule, &action);
	}
	return r;
}

static int rule_create(struct ibv_flow *flow, const struct mlx5dv_flow_matcher *matcher,
		       const struct mlx5dv_flow_match_parameters *value, const struct rule *rule)
{
	const uint32_t counters = rule->counters ? rule->counters->handle : 0;
	const struct uverbs_attr a[] = {
		uverbs_new_idr(MLX5_IB_ATTR_CREATE_FLOW_HANDLE, &flow->handle),
		uverbs_in(MLX5_IB_ATTR_CREATE_FLOW_MATCH_VALUE, value->match_buf, value->match_sz),
		uverbs_idr(MLX5_IB_ATTR_CREATE_FLOW_MATCHER, matcher->handle),
		uverbs_when(rule->qp, uverbs_idr(MLX5_IB_ATTR_CREATE_FLOW_DEST_QP,
						 rule->qp ? rule->qp->handle : 0)),
		uverbs_when(rule->to, uverbs_idr(MLX5_IB_ATTR_CREATE_FLOW_DEST_DEVX,
						 rule->to ? rule->to->handle : 0)),
		uverbs_when(rule->action_count,
			    uverbs_idrs(MLX5_IB_ATTR_CREATE_FLOW_ARR_FLOW_ACTIONS, rule->actions,
					rule->action_count)),
		uverbs_when(rule->tags, uverbs_u32(MLX5_IB_ATTR_CREATE_FLOW_TAG, rule->tag)),
		uverbs_when(rule->counters,
			    uverbs_idrs(MLX5_IB_ATTR_CREATE_FLOW_ARR_COUNTERS_DEVX, &counters, 1)),
		uverbs_when(rule->has_offset,
			    uverbs_in(MLX5_IB_ATTR_CREATE_FLOW_ARR_COUNTERS_DEVX_OFFSET,
				      &rule->counter_offset, sizeof(rule->counter_offset))),
		uverbs_when(rule->flags, uverbs_u32(MLX5_IB_ATTR_CREATE_FLOW_FLAGS, rule->flags)),
	};

	return uverbs_ioctl(matcher->context, UVERBS_OBJECT_FLOW, MLX5_IB_METHOD_CREATE_FLOW, a,
			    ARRAY_SIZE(a), NULL);
}

static struct ibv_flow *flow_create(struct mlx5dv_flow_matcher *matcher, const char *function,
				    const struct mlx5dv_flow_match_parameters *value, size_t count,
				    const void *actions, size_t size)
{
	struct rule rule = {};
	struct mlx5_flow *flow;
	int r = rule_read(&rule, count, actions, size);

	if (r < 0) {
		refuse(matcher->context, function,
		       "an action is not known, or one too many of its kind", r);
		return mlx5dv_fail(r);
	}
	flow = calloc(1, sizeof(*flow));
	if (!flow)
		return mlx5dv_fail(-ENOMEM);
	flow->flow.context = matcher->context;
	r = rule_create(&flow->flow, matcher, value, &rule);
	if (r < 0) {
		refuse(matcher->context, function, strerror(-r), r);
		free(flow);
		return mlx5dv_fail(r);
	}
	return &flow->flow;
}

MLX5DV_EXPORT struct ibv_flow *
__mlx5dv_create_flow(struct mlx5dv_flow_matcher *matcher,
		     struct mlx5dv_flow_match_parameters *match_value, size_t num_actions,
		     struct mlx5dv_flow_action_attr actions_attr[], size_t attr_len)
{
	return flow_create(matcher, "mlx5dv_create_flow", match_value, num_actions, actions_attr,
			   attr_len);
}

#undef mlx5dv_create_flow
MLX5DV_EXPORT struct ibv_flow *mlx5dv_create_flow(struct mlx5dv_flow_matcher *matcher,
						  struct mlx5dv_flow_match_parameters *match_value,
						  size_t num_actions,
						  struct mlx5dv_flow_action_attr actions_attr[])
{
	return flow_create(matcher, __func__, match_value, num_actions, actions_attr,
			   OLD_ACTION_SIZE);
}

/* ---- actions that rewrite packets */

static struct ibv_flow_action *action_new(struct ibv_context *ibctx, const char *function,
					  uint16_t method, const struct uverbs_attr *attrs,
					  unsigned int count, uint32_t *handle)
{
	struct verbs_flow_action *action = calloc(1, sizeof(*action));
	int r = action ? uverbs_ioctl(ibctx, UVERBS_OBJECT_FLOW_ACTION, method, attrs, count, NULL)
		       : -ENOMEM;

	if (r < 0) {
		refuse(ibctx, function, strerror(-r), r);
		free(action);
		return mlx5dv_fail(r);
	}
	action->action.context = ibctx;
	action->handle = *handle;
	return &action->action;
}

MLX5DV_EXPORT struct ibv_flow_action *
mlx5dv_create_flow_action_modify_header(struct ibv_context *ctx, size_t actions_sz,
					uint64_t actions[], enum mlx5dv_flow_table_type ft_type)
{
	uint32_t handle;
	const struct uverbs_attr a[] = {
		uverbs_new_idr(MLX5_IB_ATTR_CREATE_MODIFY_HEADER_HANDLE, &handle),
		uverbs_in(MLX5_IB_ATTR_CREATE_MODIFY_HEADER_ACTIONS_PRM, actions, actions_sz),
		uverbs_const(MLX5_IB_ATTR_CREATE_MODIFY_HEADER_FT_TYPE, ft_type),
	};

	if (!mlx5dv_context(ctx, __func__))
		return NULL;
	return action_new(ctx, __func__, MLX5_IB_METHOD_FLOW_ACTION_CREATE_MODIFY_HEADER, a,
			  ARRAY_SIZE(a), &handle);
}

MLX5DV_EXPORT struct ibv_flow_action *mlx5dv_create_flow_action_packet_reformat(
	struct ibv_context *ctx, size_t data_sz, void *data,
	enum mlx5dv_flow_action_packet_reformat_type reformat_type,
	enum mlx5dv_flow_table_type ft_type)
{
	uint32_t handle;
	const struct uverbs_attr a[] = {
		uverbs_new_idr(MLX5_IB_ATTR_CREATE_PACKET_REFORMAT_HANDLE, &handle),
		uverbs_const(MLX5_IB_ATTR_CREATE_PACKET_REFORMAT_TYPE, reformat_type),
		uverbs_const(MLX5_IB_ATTR_CREATE_PACKET_REFORMAT_FT_TYPE, ft_type),
		uverbs_when(data, uverbs_in(MLX5_IB_ATTR_CREATE_PACKET_REFORMAT_DATA_BUF, data,
					    data ? data_sz : 0)),
	};

	if (!mlx5dv_context(ctx, __func__))
		return NULL;
	if (!data != !data_sz)
		return mlx5dv_fail(
			refuse(ctx, __func__, "data without a size, or a size without", -EINVAL));
	return action_new(ctx, __func__, MLX5_IB_METHOD_FLOW_ACTION_CREATE_PACKET_REFORMAT, a,
			  ARRAY_SIZE(a), &handle);
}

MLX5DV_EXPORT struct ibv_flow_action *
mlx5dv_create_flow_action_esp(struct ibv_context *ctx, struct ibv_flow_action_esp_attr *esp,
			      struct mlx5dv_flow_action_esp *mlx5_attr)
{
	const struct verbs_flow_action_esp in = { .attr = esp, .dv = mlx5_attr };
	struct verbs_flow_action *action = NULL;
	int r = 0;

	if (!mlx5dv_context(ctx, __func__))
		return NULL;
	if (mlx5_attr &&
	    (!comp_mask_ok(mlx5_attr->comp_mask, MLX5DV_FLOW_ACTION_ESP_MASK_FLAGS) ||
	     (mlx5_attr->comp_mask &&
	      mlx5_attr->action_flags & ~MLX5_IB_UAPI_FLOW_ACTION_FLAGS_REQUIRE_METADATA)))
		r = refuse(ctx, __func__, "comp_mask or action_flags are not known", -EOPNOTSUPP);
	if (!r)
		r = verbs_flow_action_create(ctx, &in, &action);
	return r < 0 ? mlx5dv_fail(r) : &action->action;
}

/* ---- anchors */

MLX5DV_EXPORT struct mlx5dv_steering_anchor *
mlx5dv_create_steering_anchor(struct ibv_context *context, struct mlx5dv_steering_anchor_attr *attr)
{
	struct anchor *anchor;
	int r = 0;

	if (!mlx5dv_context(context, __func__))
		return NULL;
	if (attr->comp_mask)
		return mlx5dv_fail(refuse(context, __func__, "comp_mask is not 0", -EOPNOTSUPP));
	anchor = calloc(1, sizeof(*anchor));
	if (anchor) {
		const struct uverbs_attr a[] = {
			uverbs_new_idr(MLX5_IB_ATTR_STEERING_ANCHOR_CREATE_HANDLE, &anchor->handle),
			uverbs_const(MLX5_IB_ATTR_STEERING_ANCHOR_FT_TYPE, attr->ft_type),
			uverbs_in(MLX5_IB_ATTR_STEERING_ANCHOR_PRIORITY, &attr->priority,
				  sizeof(attr->priority)),
			uverbs_out(MLX5_IB_ATTR_STEERING_ANCHOR_FT_ID, &anchor->dv.id,
				   sizeof(anchor->dv.id)),
		};

		anchor->context = context;
		r = uverbs_ioctl(context, MLX5_IB_OBJECT_STEERING_ANCHOR,
				 MLX5_IB_METHOD_STEERING_ANCHOR_CREATE, a, ARRAY_SIZE(a), NULL);
	}
	if (!anchor || r < 0) {
		refuse(context, __func__, strerror(anchor ? -r : ENOMEM), r);
		free(anchor);
		return mlx5dv_fail(r < 0 ? r : -ENOMEM);
	}
	return &anchor->dv;
}

MLX5DV_EXPORT int mlx5dv_destroy_steering_anchor(struct mlx5dv_steering_anchor *sa)
{
	struct anchor *anchor = (struct anchor *)sa;
	int r = destroy(anchor->context, __func__, MLX5_IB_OBJECT_STEERING_ANCHOR,
			MLX5_IB_METHOD_STEERING_ANCHOR_DESTROY,
			MLX5_IB_ATTR_STEERING_ANCHOR_DESTROY_HANDLE, anchor->handle);

	if (!r)
		free(anchor);
	return mlx5dv_errno(r);
}

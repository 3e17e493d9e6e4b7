/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Flows and their counters. The kernel gets the list of counted values with the first flow. */
#include <stdlib.h>
#include <rdma/mlx5_user_ioctl_cmds.h>

#include "providers/mlx5/flow.h"
#include "libibverbs/uverbs/cmd.h"

/* Find the counters of a flow. NULL: the flow has none. -EINVAL: it has two. */
static int counters_find(const struct ibv_flow_attr *attr, struct mlx5_counters **ret_counters)
{
	const char *at = (const char *)(attr + 1);

	*ret_counters = NULL;
	for (unsigned int i = 0; i < attr->num_of_specs; i++) {
		const struct ibv_flow_spec_counter_action *spec = (const void *)at;

		if (spec->type == IBV_FLOW_SPEC_ACTION_COUNT) {
			if (*ret_counters)
				return -EINVAL;
			*ret_counters = (struct mlx5_counters *)spec->counters;
		}
		at += spec->size;
	}
	return 0;
}

static int flow_create(struct mlx5_flow *flow, const struct verbs_create_flow *in,
		       struct mlx5_counters *counters)
{
	struct {
		struct mlx5_ib_create_flow head;
		struct mlx5_ib_flow_counters_data data;
	} cmd = {};
	struct verbs_udata udata = { .in = &cmd, .in_len = sizeof(cmd.head) };
	struct verbs_create_flow request = *in;

	if (counters && !counters->flows) {
		cmd.head.ncounters_data = 1;
		cmd.data.counters_data = counters->descs;
		cmd.data.ncounters = counters->count;
		udata.in_len = sizeof(cmd);
	}
	request.udata = &udata;
	return uverbs_create_flow(&flow->flow, &request);
}

int mlx5_create_flow(struct ibv_flow *ibflow, const struct verbs_create_flow *in)
{
	struct mlx5_flow *flow = (struct mlx5_flow *)ibflow;
	struct mlx5_counters *counters;
	int r;

	if (in->dv)
		return -EOPNOTSUPP;
	r = counters_find(in->attr, &counters);
	if (r < 0 || (counters && !counters->count)) {
		verbs_err(ibflow->context, "ibv_create_flow: %s",
			  r < 0 ? "two actions count"
				: "an action counts, but nothing was attached");
		return -EINVAL;
	}
	if (!counters)
		return flow_create(flow, in, NULL);
	pthread_mutex_lock(&counters->lock);
	r = flow_create(flow, in, counters);
	if (!r) {
		counters->flows++;
		flow->counters = counters;
	}
	pthread_mutex_unlock(&counters->lock);
	return r;
}

int mlx5_destroy_flow(struct ibv_flow *ibflow)
{
	struct mlx5_counters *counters = ((struct mlx5_flow *)ibflow)->counters;
	int r = uverbs_destroy_flow(ibflow);

	if (r < 0 || !counters)
		return r;
	pthread_mutex_lock(&counters->lock);
	counters->flows--;
	pthread_mutex_unlock(&counters->lock);
	return 0;
}

/* ---- encryption of packets */

int mlx5_create_flow_action_esp(struct verbs_flow_action *action,
				const struct verbs_flow_action_esp *in)
{
	const struct mlx5dv_flow_action_esp *dv = in->dv;
	const struct uverbs_attr flags =
		uverbs_u64(MLX5_IB_ATTR_CREATE_FLOW_ACTION_FLAGS, dv ? dv->action_flags : 0);
	struct verbs_udata udata = { .attrs = &flags, .attr_count = 1 };
	struct verbs_flow_action_esp request = *in;

	if (dv && dv->comp_mask & MLX5DV_FLOW_ACTION_ESP_MASK_FLAGS && dv->action_flags)
		request.udata = &udata;
	return uverbs_create_flow_action_esp(action, &request);
}

/* ---- counters */

int mlx5_create_counters(struct verbs_counters *vcounters, const struct verbs_create_counters *in)
{
	int r = uverbs_create_counters(vcounters, in);

	if (!r)
		pthread_mutex_init(&((struct mlx5_counters *)vcounters)->lock, NULL);
	return r;
}

int mlx5_destroy_counters(struct verbs_counters *vcounters)
{
	struct mlx5_counters *counters = (struct mlx5_counters *)vcounters;
	int r = uverbs_destroy_counters(vcounters);

	if (r < 0)
		return r;
	pthread_mutex_destroy(&counters->lock);
	free(counters->descs);
	return 0;
}

static int counter_add(struct mlx5_counters *counters, const struct ibv_counter_attach_attr *attr)
{
	struct mlx5_ib_flow_counters_desc *descs;

	if (counters->flows) {
		verbs_err(counters->vcounters.counters.context,
			  "ibv_attach_counters_point_flow: a flow has these counters already");
		return -EBUSY;
	}
	descs = realloc(counters->descs, (counters->count + 1) * sizeof(*descs));
	if (!descs)
		return -ENOMEM;
	counters->descs = descs;
	descs[counters->count++] = (struct mlx5_ib_flow_counters_desc){
		.description = attr->counter_desc,
		.index = attr->index,
	};
	return 0;
}

int mlx5_attach_counters(struct verbs_counters *vcounters,
			 const struct ibv_counter_attach_attr *attr, struct ibv_flow *flow)
{
	struct mlx5_counters *counters = (struct mlx5_counters *)vcounters;
	int r;

	if (flow || attr->comp_mask || attr->counter_desc > IBV_COUNTER_BYTES) {
		verbs_err(
			vcounters->counters.context,
			"ibv_attach_counters_point_flow: packets and bytes are counted, of flows that "
			"are made later");
		return -EOPNOTSUPP;
	}
	pthread_mutex_lock(&counters->lock);
	r = counter_add(counters, attr);
	pthread_mutex_unlock(&counters->lock);
	return r;
}

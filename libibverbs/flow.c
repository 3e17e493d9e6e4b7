/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Flows, and actions of flows. */
#include <string.h>

#include "libibverbs/explain.h"
#include "libibverbs/library.h"

#define ESP_KNOWN	 ((uint32_t)IBV_FLOW_ACTION_ESP_MASK_ESN)
#define FLOW_FLAGS_KNOWN ((uint32_t)(IBV_FLOW_ATTR_FLAGS_DONT_TRAP | IBV_FLOW_ATTR_FLAGS_EGRESS))

/* Minimum size of a spec: the header up to its size field. */
#define SPEC_SIZE_MIN (offsetof(struct ibv_flow_spec, hdr.size) + sizeof(uint16_t))

/* Check a spec that names an action or counters. The kernel would take a handle of another context
 * for one of this context. */
static int spec_object_check(struct ibv_context *ctx, const char *verb, unsigned int number,
			     const uint8_t *at, uint16_t size)
{
	struct ibv_flow_spec_action_handle spec = {};
	struct ibv_context *owner = NULL;
	const char *noun;

	memcpy(&spec, at, min_of((size_t)size, sizeof(spec)));
	if (spec.type == IBV_FLOW_SPEC_ACTION_HANDLE)
		noun = "action";
	else if (spec.type == IBV_FLOW_SPEC_ACTION_COUNT)
		noun = "counters";
	else
		return 0;
	if (size >= sizeof(spec) && spec.action)
		owner = spec.action->context;
	if (owner && !verbs_is_foreign(ctx, owner))
		return 0;
	if (owner)
		verbs_err(ctx, "%s: spec %u: the %s belong%s to another context", verb, number,
			  noun, noun[0] == 'a' ? "s" : "");
	else
		verbs_err(ctx, "%s: spec %u: size %u: no %s", verb, number, size, noun);
	return -EINVAL;
}

_Static_assert(offsetof(struct ibv_flow_action, context) ==
			       offsetof(struct ibv_counters, context) &&
		       offsetof(struct ibv_flow_spec_action_handle, action) ==
			       offsetof(struct ibv_flow_spec_counter_action, counters),
	       "actions with an object have one form");

/*
 * Check the sizes of the specs. A size of 0 would never reach the next spec. The total size is
 * ignored, because programs do not set it and no device needs it.
 */
static int flow_check(struct ibv_context *ctx, const struct ibv_flow_attr *attr)
{
	static const char verb[] = "ibv_create_flow";
	const uint8_t *at = (const uint8_t *)(attr + 1);

	if (attr->comp_mask) {
		verbs_err(ctx, "%s: comp_mask 0x%x: no bit is defined yet", verb, attr->comp_mask);
		return -EINVAL;
	}
	for (unsigned int i = 0; i < attr->num_of_specs; i++) {
		uint16_t size;

		/* memcpy(), because a spec may be unaligned behind another of odd size. */
		memcpy(&size, at + offsetof(struct ibv_flow_spec, hdr.size), sizeof(size));
		if (size < SPEC_SIZE_MIN) {
			verbs_err(ctx, "%s: spec %u of %u: size %u: a spec has at least %zu bytes",
				  verb, i + 1, attr->num_of_specs, size, SPEC_SIZE_MIN);
			return -EINVAL;
		}
		if (spec_object_check(ctx, verb, i + 1, at, size) < 0)
			return -EINVAL;
		at += size;
	}
	return 0;
}

_cold_ static void flow_explain(const struct ibv_qp *qp, const struct ibv_flow_attr *attr, int r)
{
	const struct ibv_device_attr_ex *device;
	struct text why = {};

	if (attr->flags & ~FLOW_FLAGS_KNOWN)
		text_add(&why, "; of the flags 0x%x are known", FLOW_FLAGS_KNOWN);
	if (log_enabled(LOG_LEVEL_ERR) && verbs_device_attr(qp->context, &device) == 0 &&
	    (!attr->port || attr->port > device->phys_port_cnt_ex))
		text_add(&why, "; the device has ports 1 to %u", device->phys_port_cnt_ex);
	verbs_err(qp->context,
		  "qp 0x%x: ibv_create_flow: type %d, flags 0x%x, %u specs, port %u: %s%s%s",
		  qp->qp_num, attr->type, attr->flags, attr->num_of_specs, attr->port, strerror(-r),
		  r == -EPERM ? " (it needs CAP_NET_RAW)" : "", why.chars);
}

int verbs_flow_create(const struct verbs_create_flow *in, struct ibv_flow **ret_flow)
{
	struct ibv_context *ctx = in->qp->context;
	const struct verbs_ops *ops = ctx_ops(ctx);
	struct ibv_flow *flow;
	int r;

	if (!ops->create_flow)
		return verbs_unsupported(ctx, "ibv_create_flow");
	if (!in->attr)
		return explain_null("ibv_create_flow", "flow");
	r = flow_check(ctx, in->attr);
	if (r < 0)
		return r;
	flow = verbs_object_alloc(sizeof(*flow), ctx_priv(ctx)->provider->sizes.flow);
	if (!flow)
		return -ENOMEM;
	flow->context = ctx;
	r = ops->create_flow(flow, in);
	if (r < 0) {
		flow_explain(in->qp, in->attr, r);
		free(flow);
		return r;
	}
	*ret_flow = flow;
	return 0;
}

struct ibv_flow *verbs_slot_create_flow(struct ibv_qp *qp, struct ibv_flow_attr *attr)
{
	const struct verbs_create_flow in = { .qp = qp, .attr = attr };
	struct ibv_flow *flow = NULL;
	int r = verbs_flow_create(&in, &flow);

	return r < 0 ? ret_null(r) : flow;
}

int verbs_slot_destroy_flow(struct ibv_flow *flow)
{
	struct ibv_context *ctx = flow->context;
	int r = verbs_destroy_result(ctx, "ibv_destroy_flow: flow", flow->handle,
				     ctx_ops(ctx)->destroy_flow(flow));

	if (!r)
		free(flow);
	return ret_int(r);
}

static int esp_check(struct ibv_context *ctx, const char *verb,
		     const struct ibv_flow_action_esp_attr *attr)
{
	if (!attr)
		return explain_null(verb, "esp");
	if (!comp_mask_ok(attr->comp_mask, ESP_KNOWN)) {
		verbs_err(ctx, "%s: comp_mask 0x%x: 0x%x are known", verb, attr->comp_mask,
			  ESP_KNOWN);
		return -EOPNOTSUPP;
	}
	return 0;
}

int verbs_flow_action_create(struct ibv_context *ctx, const struct verbs_flow_action_esp *in,
			     struct verbs_flow_action **ret_action)
{
	static const char verb[] = "ibv_create_flow_action_esp";
	const struct verbs_ops *ops = ctx_ops(ctx);
	struct verbs_flow_action *action;
	int r;

	if (!ops->create_flow_action_esp)
		return verbs_unsupported(ctx, verb);
	r = esp_check(ctx, verb, in->attr);
	if (r < 0)
		return r;
	action = verbs_object_alloc(sizeof(*action), ctx_priv(ctx)->provider->sizes.flow_action);
	if (!action)
		return -ENOMEM;
	action->action.context = ctx;
	r = ops->create_flow_action_esp(action, in);
	if (r < 0) {
		verbs_err(ctx, "%s: %s", verb, strerror(-r));
		free(action);
		return r;
	}
	*ret_action = action;
	return 0;
}

struct ibv_flow_action *verbs_slot_create_flow_action_esp(struct ibv_context *ctx,
							  struct ibv_flow_action_esp_attr *attr)
{
	const struct verbs_flow_action_esp in = { .attr = attr };
	struct verbs_flow_action *action = NULL;
	int r = verbs_flow_action_create(ctx, &in, &action);

	return r < 0 ? ret_null(r) : &action->action;
}

int verbs_slot_modify_flow_action_esp(struct ibv_flow_action *action,
				      struct ibv_flow_action_esp_attr *attr)
{
	static const char verb[] = "ibv_modify_flow_action_esp";
	const struct verbs_flow_action_esp in = { .attr = attr };
	struct ibv_context *ctx = action->context;
	int r;

	if (!ctx_ops(ctx)->modify_flow_action_esp)
		return ret_int(verbs_unsupported(ctx, verb));
	r = esp_check(ctx, verb, attr);
	if (r < 0)
		return ret_int(r);
	r = ctx_ops(ctx)->modify_flow_action_esp(to_vaction(action), &in);
	if (r < 0)
		verbs_err(ctx, "flow action %u: %s: %s", to_vaction(action)->handle, verb,
			  strerror(-r));
	return ret_int(r);
}

int verbs_slot_destroy_flow_action(struct ibv_flow_action *action)
{
	struct ibv_context *ctx = action->context;
	int r = verbs_destroy_result(ctx, "ibv_destroy_flow_action: flow action",
				     to_vaction(action)->handle,
				     ctx_ops(ctx)->destroy_flow_action(to_vaction(action)));

	if (!r)
		free(to_vaction(action));
	return ret_int(r);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Steering by the firmware's own formats: write the requests to mlx5's driver into a trace. */
#include "tests/adapters/lab/device/mlx5_steering.h"

#include <stdio.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include "tests/adapters/lab/model/frame.h"
#include "tests/adapters/lab/shim/attribute.h"
#include "tests/adapters/lab/shim/shim.h"
#include "tests/adapters/lab/shim/trace.h"

enum {
	ROW = 16,
	ATTR_HANDLE = 0x1000, /* of the object that is created or destroyed */
	INLINE = 8,
};

static const struct method {
	uint16_t object, method;
	const char *name;
	enum object_type makes; /* 0: the method destroys */
	uint16_t handle;	/* attribute id of the handle */
	uint16_t number;	/* attribute id of the new object's number, or 0 */
} methods[] = {
	{ MLX5_IB_OBJECT_FLOW_MATCHER, MLX5_IB_METHOD_FLOW_MATCHER_CREATE, "CREATE_MATCHER",
	  OBJECT_PRIVATE, ATTR_HANDLE, 0 },
	{ MLX5_IB_OBJECT_FLOW_MATCHER, MLX5_IB_METHOD_FLOW_MATCHER_DESTROY, "DESTROY", 0,
	  ATTR_HANDLE, 0 },
	{ MLX5_IB_OBJECT_STEERING_ANCHOR, MLX5_IB_METHOD_STEERING_ANCHOR_CREATE, "CREATE_ANCHOR",
	  OBJECT_PRIVATE, ATTR_HANDLE, MLX5_IB_ATTR_STEERING_ANCHOR_FT_ID },
	{ MLX5_IB_OBJECT_STEERING_ANCHOR, MLX5_IB_METHOD_STEERING_ANCHOR_DESTROY, "DESTROY", 0,
	  ATTR_HANDLE, 0 },
	{ UVERBS_OBJECT_FLOW, MLX5_IB_METHOD_CREATE_FLOW, "CREATE_RULE", OBJECT_FLOW, ATTR_HANDLE,
	  0 },
	{ UVERBS_OBJECT_FLOW_ACTION, MLX5_IB_METHOD_FLOW_ACTION_CREATE_MODIFY_HEADER,
	  "CREATE_MODIFY_HEADER", OBJECT_PRIVATE, ATTR_HANDLE, 0 },
	{ UVERBS_OBJECT_FLOW_ACTION, MLX5_IB_METHOD_FLOW_ACTION_CREATE_PACKET_REFORMAT,
	  "CREATE_REFORMAT", OBJECT_PRIVATE, ATTR_HANDLE, 0 },
	{ UVERBS_OBJECT_FLOW_ACTION, UVERBS_METHOD_FLOW_ACTION_ESP_CREATE, "CREATE_ESP",
	  OBJECT_PRIVATE, UVERBS_ATTR_CREATE_FLOW_ACTION_ESP_HANDLE, 0 },
	{ UVERBS_OBJECT_FLOW_ACTION, UVERBS_METHOD_FLOW_ACTION_DESTROY, "DESTROY", 0,
	  UVERBS_ATTR_DESTROY_FLOW_ACTION_HANDLE, 0 },
};

static void trace_attribute(const struct ib_uverbs_attr *attr)
{
	const uint8_t *bytes =
		attr->len > INLINE ? bytes_pointer(attr->data) : (const void *)&attr->data;
	char text[4 * ROW];

	trace_line("    attribute 0x%x length=%u kind=%u", attr->attr_id, attr->len,
		   attr->attr_data.enum_data.elem_id);
	for (size_t at = 0; at < attr->len; at += ROW) {
		trace_hex(text, bytes + at, attr->len - at < ROW ? attr->len - at : ROW);
		trace_line("    bytes     %s", text);
	}
	if (!attr->len)
		trace_line("    value     0x%llx", (unsigned long long)attr->data);
}

/* Write attributes in ascending order of their ids, because plug-ins may write them in any
 * order. */
static void trace_attributes(const struct ib_uverbs_ioctl_hdr *call, const struct method *m)
{
	for (unsigned id = 0; trace_on() && id < 0x1100; id++) {
		for (int i = 0; i < call->num_attrs; i++) {
			if (call->attrs[i].attr_id == id && id != m->handle &&
			    (!m->number || id != m->number))
				trace_attribute(&call->attrs[i]);
		}
	}
}

/* In run mode the device compares frames with matchers and rules. */
static int keep(struct object *object, struct ib_uverbs_ioctl_hdr *call, const struct method *m)
{
	if (m->object == MLX5_IB_OBJECT_FLOW_MATCHER)
		return mlx5_root_matcher(object, call);
	if (m->object == UVERBS_OBJECT_FLOW_ACTION && model_has_frames() &&
	    m->method != UVERBS_METHOD_FLOW_ACTION_ESP_CREATE)
		return mlx5_rule_action(object, call);
	return m->makes == OBJECT_FLOW ? mlx5_root_rule(object, call) : EOPNOTSUPP;
}

static int make(struct ib_uverbs_ioctl_hdr *call, const struct method *m)
{
	struct object *object;
	int r = fault_of(m->name);

	if (r) {
		trace_line("%s fails on demand: %d", m->name, r);
		return r;
	}
	object = object_new(m->makes);
	if (!object)
		return ENOMEM;
	trace_line("%s -> %s", m->name, object_name(m->makes, object->handle));
	trace_attributes(call, m);
	if (model_on())
		r = keep(object, call, m);
	if (r) {
		object_free(object);
		return r;
	}
	output_handle(call, m->handle, object->handle);
	if (m->number)
		output(call, m->number, &object->number, sizeof(object->number));
	return 0;
}

static int take_away(struct ib_uverbs_ioctl_hdr *call, const struct method *m)
{
	uint32_t handle = number(call, m->handle);
	struct object *object = object_find(OBJECT_PRIVATE, handle);

	trace_line("DESTROY %s", object_name(OBJECT_PRIVATE, handle));
	if (!object)
		return EINVAL;
	object_free(object);
	return 0;
}

int mlx5_flow_method(uint16_t object, uint16_t id, struct ib_uverbs_ioctl_hdr *call)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		const struct method *m = &methods[i];

		if (m->object == object && m->method == id)
			return m->makes ? make(call, m) : take_away(call, m);
	}
	return EPROTONOSUPPORT;
}

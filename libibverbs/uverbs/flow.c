/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Flows and flow actions. The specs of a flow have other sizes in the kernel's command: filters of
 * the kernel may be longer than those of verbs, and objects become handles.
 */
#include <string.h>

#include "libibverbs/uverbs/cmd.h"
#include "libibverbs/uverbs/uverbs.h"

#define SPEC_HEADER	 sizeof(struct ib_uverbs_flow_spec_hdr)
#define SPEC_MAX	 128 /* bytes; more than the longest spec of the kernel */
#define FLOW_SPECS_BYTES 4096

struct flow_command {
	struct ib_uverbs_create_flow head;
	uint8_t specs[FLOW_SPECS_BYTES];
};

/*
 * A spec that matches: a header, a filter, and a mask of the same form.
 * @filter: offset of the filter in the struct of verbs, aligned by the compiler
 * @size: bytes of the filter of verbs. The size in the header (@grows) may announce a longer filter
 * of a newer program. Its mask must be 0 in bytes that this library does not know
 * @kernel_size: bytes of the kernel's filter
 */
struct match_form {
	uint16_t type;
	uint16_t kernel_type;
	uint8_t filter;
	uint8_t size;
	uint8_t kernel_size;
	bool grows;
};

/* The beginning of every spec. A spec may begin at any address, which depends on the sizes of those
 * before it. */
struct spec_header {
	uint32_t type;
	uint16_t size;
};

#define MATCH(name, kernel_name, ours, kernel, may_grow)                                  \
	{                                                                                 \
		.type = IBV_FLOW_SPEC_##name, .kernel_type = IBV_FLOW_SPEC_##kernel_name, \
		.filter = offsetof(struct ibv_flow_spec_##ours, val),                     \
		.size = sizeof(((struct ibv_flow_spec_##ours *)0)->val),                  \
		.kernel_size = sizeof(((struct kernel *)0)->val), .grows = may_grow,      \
	}

static const struct match_form match_forms[] = {
	MATCH(ETH, ETH, eth, ib_uverbs_flow_spec_eth, false),
	MATCH(IPV4, IPV4, ipv4, ibv_flow_spec_ipv4, false),
	MATCH(IPV4_EXT, IPV4, ipv4_ext, ib_uverbs_flow_spec_ipv4, true),
	{ /* the last byte of the struct is padding with undefined contents */
	  .type = IBV_FLOW_SPEC_IPV6,
	  .kernel_type = IBV_FLOW_SPEC_IPV6,
	  .filter = offsetof(struct ibv_flow_spec_ipv6, val),
	  .size = offsetof(struct ibv_flow_ipv6_filter, hop_limit) + 1,
	  .kernel_size = sizeof(struct ib_uverbs_flow_ipv6_filter),
	  .grows = true },
	MATCH(ESP, ESP, esp, ib_uverbs_flow_spec_esp, false),
	MATCH(TCP, TCP, tcp_udp, ib_uverbs_flow_spec_tcp_udp, false),
	MATCH(UDP, UDP, tcp_udp, ib_uverbs_flow_spec_tcp_udp, false),
	MATCH(VXLAN_TUNNEL, VXLAN_TUNNEL, tunnel, ib_uverbs_flow_spec_tunnel, true),
	MATCH(GRE, GRE, gre, ib_uverbs_flow_spec_gre, false),
	MATCH(MPLS, MPLS, mpls, ib_uverbs_flow_spec_mpls, false),
};

static const struct match_form *match_form_of(uint32_t type)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(match_forms); i++)
		if (match_forms[i].type == (type & ~(uint32_t)IBV_FLOW_SPEC_INNER))
			return &match_forms[i];
	return NULL;
}

static bool all_zero(const uint8_t *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (bytes[i])
			return false;
	return true;
}

static void spec_begin(uint8_t *to, uint32_t type, uint16_t size)
{
	const struct ib_uverbs_flow_spec_hdr hdr = { .type = type, .size = size };

	memset(to, 0, size);
	memcpy(to, &hdr, sizeof(hdr));
}

/* Return: bytes of the kernel's spec, or -errno. */
static int spec_put_match(uint8_t *to, const uint8_t *at, const struct spec_header *hdr,
			  const struct match_form *form)
{
	const uint8_t *filter = at + form->filter;
	size_t copied = min_of(form->size, form->kernel_size);
	uint32_t inner = hdr->type & IBV_FLOW_SPEC_INNER;
	uint16_t length = SPEC_HEADER + 2 * form->kernel_size;
	size_t size = form->size;

	if (hdr->size < form->filter + 2 * size)
		return -EINVAL;
	if (form->grows)
		size = (hdr->size - form->filter) / 2;
	if (!all_zero(filter + size + copied, size - copied))
		return -EOPNOTSUPP;
	spec_begin(to, form->kernel_type | inner, length);
	memcpy(to + SPEC_HEADER, filter, copied);
	memcpy(to + SPEC_HEADER + form->kernel_size, filter + size, copied);
	return length;
}

/* Write an action, which ends in one number: a tag, or the handle of an object. */
static int spec_put_number(uint8_t *to, uint32_t type, uint32_t number)
{
	struct ib_uverbs_flow_spec_action_tag spec = {
		.type = type,
		.size = sizeof(spec),
		.tag_id = number,
	};

	memcpy(to, &spec, sizeof(spec));
	return sizeof(spec);
}

_Static_assert(sizeof(struct ib_uverbs_flow_spec_action_handle) ==
			       sizeof(struct ib_uverbs_flow_spec_action_tag) &&
		       sizeof(struct ib_uverbs_flow_spec_action_count) ==
			       sizeof(struct ib_uverbs_flow_spec_action_tag),
	       "the kernel's actions have one form");

/* Return the object or the number behind the header. Its address may be odd. */
static const void *spec_object(const uint8_t *at)
{
	const void *object;

	memcpy(&object, at + offsetof(struct ibv_flow_spec_action_handle, action), sizeof(object));
	return object;
}

_Static_assert(offsetof(struct ibv_flow_spec_action_handle, action) ==
		       offsetof(struct ibv_flow_spec_counter_action, counters),
	       "actions with an object have one form");

static int spec_put_object(uint8_t *to, const uint8_t *at, const struct spec_header *hdr)
{
	const void *object;

	if (hdr->size < sizeof(struct ibv_flow_spec_action_handle))
		return -EINVAL;
	object = spec_object(at);
	if (!object)
		return -EINVAL;
	return spec_put_number(to, hdr->type,
			       hdr->type == IBV_FLOW_SPEC_ACTION_HANDLE
				       ? ((const struct verbs_flow_action *)object)->handle
				       : ((const struct verbs_counters *)object)->handle);
}

static int spec_put_tag(uint8_t *to, const uint8_t *at, const struct spec_header *hdr)
{
	uint32_t tag;

	if (hdr->size < sizeof(struct ibv_flow_spec_action_tag))
		return -EINVAL;
	memcpy(&tag, at + offsetof(struct ibv_flow_spec_action_tag, tag_id), sizeof(tag));
	return spec_put_number(to, hdr->type, tag);
}

static int spec_put(uint8_t *to, const uint8_t *at, const struct spec_header *hdr)
{
	const struct match_form *form = match_form_of(hdr->type);

	if (form)
		return spec_put_match(to, at, hdr, form);
	switch (hdr->type) {
	case IBV_FLOW_SPEC_ACTION_TAG:
		return spec_put_tag(to, at, hdr);
	case IBV_FLOW_SPEC_ACTION_DROP:
		spec_begin(to, hdr->type, sizeof(struct ib_uverbs_flow_spec_action_drop));
		return sizeof(struct ib_uverbs_flow_spec_action_drop);
	case IBV_FLOW_SPEC_ACTION_HANDLE:
	case IBV_FLOW_SPEC_ACTION_COUNT:
		return spec_put_object(to, at, hdr);
	default:
		return -EINVAL;
	}
}

/* Write all specs. Each has its own size, and the total size is not needed. Return: bytes or
 * -errno. */
static int flow_put_specs(uint8_t *to, size_t room, const struct ibv_flow_attr *attr)
{
	const uint8_t *at = (const uint8_t *)(attr + 1);
	size_t used = 0;

	for (unsigned int i = 0; i < attr->num_of_specs; i++) {
		struct spec_header hdr;
		int length;

		/* The buffer has room for more specs than the kernel accepts. */
		if (room - used < SPEC_MAX)
			return -EINVAL;
		memcpy(&hdr, at, sizeof(hdr));
		length = spec_put(to + used, at, &hdr);
		if (length < 0)
			return length;
		used += length;
		at += hdr.size;
	}
	return used;
}

int uverbs_create_flow(struct ibv_flow *flow, const struct verbs_create_flow *in)
{
	const struct ibv_flow_attr *attr = in->attr;
	struct ib_uverbs_create_flow_resp resp = {};
	struct flow_command cmd;
	int length, r;

	length = flow_put_specs(cmd.specs, sizeof(cmd.specs), attr);
	if (length < 0)
		return length;
	cmd.head = (struct ib_uverbs_create_flow){
		.qp_handle = in->qp->handle,
		.flow_attr = {
			.type = attr->type,
			.size = length,
			.priority = attr->priority,
			.num_of_specs = attr->num_of_specs,
			.port = attr->port,
			.flags = attr->flags,
		},
	};
	r = uverbs_write(flow->context,
			 IB_USER_VERBS_EX_CMD_CREATE_FLOW | IB_USER_VERBS_CMD_FLAG_EXTENDED, &cmd,
			 sizeof(cmd.head) + length, &resp, sizeof(resp), in->udata);
	if (r < 0)
		return r;
	flow->handle = resp.flow_handle;
	return 0;
}

int uverbs_destroy_flow(struct ibv_flow *flow)
{
	struct ib_uverbs_destroy_flow cmd = { .flow_handle = flow->handle };

	return uverbs_write(flow->context,
			    IB_USER_VERBS_EX_CMD_DESTROY_FLOW | IB_USER_VERBS_CMD_FLAG_EXTENDED,
			    &cmd, sizeof(cmd), NULL, 0, NULL);
}

/* Create or modify an action, with the same attributes. @handle: the new handle, or that of the
 * action */
static int action_esp_send(struct verbs_flow_action *action, uint16_t method,
			   struct uverbs_attr handle, const struct verbs_flow_action_esp *in)
{
	const struct ibv_flow_action_esp_attr *attr = in->attr;
	const struct uverbs_attr a[] = {
		handle,
		uverbs_when(attr->esp_attr,
			    uverbs_in(UVERBS_ATTR_FLOW_ACTION_ESP_ATTRS, attr->esp_attr,
				      sizeof(struct ib_uverbs_flow_action_esp))),
		uverbs_when(attr->comp_mask & IBV_FLOW_ACTION_ESP_MASK_ESN,
			    uverbs_u32(UVERBS_ATTR_FLOW_ACTION_ESP_ESN, attr->esn)),
		uverbs_when(attr->keymat_ptr,
			    uverbs_enum(UVERBS_ATTR_FLOW_ACTION_ESP_KEYMAT, attr->keymat_proto,
					attr->keymat_ptr, attr->keymat_ptr ? attr->keymat_len : 0)),
		uverbs_when(attr->replay_ptr,
			    uverbs_enum(UVERBS_ATTR_FLOW_ACTION_ESP_REPLAY, attr->replay_proto,
					attr->replay_ptr, attr->replay_ptr ? attr->replay_len : 0)),
		uverbs_when(attr->esp_encap,
			    uverbs_in(UVERBS_ATTR_FLOW_ACTION_ESP_ENCAP, attr->esp_encap,
				      sizeof(struct ib_uverbs_flow_action_esp_encap))),
	};

	return uverbs_ioctl(action->action.context, UVERBS_OBJECT_FLOW_ACTION, method, a,
			    ARRAY_SIZE(a), in->udata);
}

int uverbs_create_flow_action_esp(struct verbs_flow_action *action,
				  const struct verbs_flow_action_esp *in)
{
	return action_esp_send(
		action, UVERBS_METHOD_FLOW_ACTION_ESP_CREATE,
		uverbs_new_idr(UVERBS_ATTR_CREATE_FLOW_ACTION_ESP_HANDLE, &action->handle), in);
}

int uverbs_modify_flow_action_esp(struct verbs_flow_action *action,
				  const struct verbs_flow_action_esp *in)
{
	return action_esp_send(
		action, UVERBS_METHOD_FLOW_ACTION_ESP_MODIFY,
		uverbs_idr(UVERBS_ATTR_MODIFY_FLOW_ACTION_ESP_HANDLE, action->handle), in);
}

int uverbs_destroy_flow_action(struct verbs_flow_action *action)
{
	const struct uverbs_attr a[] = {
		uverbs_idr(UVERBS_ATTR_DESTROY_FLOW_ACTION_HANDLE, action->handle),
	};

	return uverbs_ioctl(action->action.context, UVERBS_OBJECT_FLOW_ACTION,
			    UVERBS_METHOD_FLOW_ACTION_DESTROY, a, ARRAY_SIZE(a), NULL);
}

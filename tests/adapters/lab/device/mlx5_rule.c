/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Actions of the kernel's rules that change a packet. They are lists of changes to fields, in the
 * format of the firmware's commands, or add or remove the header of a tunnel. */
#include "tests/adapters/lab/device/mlx5_steering.h"

#include <stdlib.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>
#include "tests/adapters/lab/shim/attribute.h"

enum {
	CHANGE = 8, /* bytes of a change */
	SET = 1,
	DATA_MOST = 512,
};

/* The kernel's data of an action. */
struct action {
	bool is_list;
	unsigned reformat; /* of MLX5_IB_UAPI_FLOW_ACTION_PACKET_REFORMAT_TYPE_ */
	size_t length;
	uint8_t data[DATA_MOST];
};

/* The fields that a change can name, with their offsets in a header. */
static const struct place {
	uint8_t field, offset, bytes;
	enum {
		AT_MAC,
		AT_IPV4,
		AT_TCP,
		AT_UDP
	} base;
} places[] = {
	{ 0x01, 6, 4, AT_MAC },	  { 0x02, 10, 2, AT_MAC },  { 0x04, 0, 4, AT_MAC },
	{ 0x05, 4, 2, AT_MAC },	  { 0x08, 0, 2, AT_TCP },   { 0x09, 2, 2, AT_TCP },
	{ 0x0a, 8, 1, AT_IPV4 },  { 0x0b, 0, 2, AT_UDP },   { 0x0c, 2, 2, AT_UDP },
	{ 0x15, 12, 4, AT_IPV4 }, { 0x16, 16, 4, AT_IPV4 },
};

static const struct place *place_find(uint32_t field)
{
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (places[i].field == field)
			return &places[i];
	}
	return NULL;
}

/* Return whether the model can execute the change, which must set a whole field. */
static bool is_known(const uint8_t *change)
{
	uint32_t word = get32(change), length = word & 0x1f ? word & 0x1f : 32;
	const struct place *place = place_find(word >> 16 & 0xfff);

	return word >> 28 == SET && place && !(word >> 8 & 0x1f) && length == place->bytes * 8u;
}

int mlx5_rule_action(struct object *object, struct ib_uverbs_ioctl_hdr *call)
{
	const struct ib_uverbs_attr *list = find(call,
						 MLX5_IB_ATTR_CREATE_MODIFY_HEADER_ACTIONS_PRM),
				    *header = find(call,
						   MLX5_IB_ATTR_CREATE_PACKET_REFORMAT_DATA_BUF);
	bool is_list = call->method_id == MLX5_IB_METHOD_FLOW_ACTION_CREATE_MODIFY_HEADER;
	const struct ib_uverbs_attr *data = is_list ? list : header;
	struct action *action = calloc(1, sizeof(*action));

	if (!action)
		abort();
	object->device = action;
	action->is_list = is_list;
	action->reformat = number(call, MLX5_IB_ATTR_CREATE_PACKET_REFORMAT_TYPE);
	action->length = data ? data->len : 0;
	if (action->length > DATA_MOST || action->length % (is_list ? CHANGE : 1))
		return EINVAL;
	if (data)
		memcpy(action->data, input(data), action->length);
	for (size_t at = 0; is_list && at < action->length; at += CHANGE) {
		if (!is_known(action->data + at))
			return EOPNOTSUPP;
	}
	return is_list || action->reformat <=
				       MLX5_IB_UAPI_FLOW_ACTION_PACKET_REFORMAT_TYPE_L2_TO_L2_TUNNEL
		       ? 0
		       : EOPNOTSUPP;
}

static int change(struct mlx5_packet *p, const uint8_t *change)
{
	const struct place *place = place_find(get32(change) >> 16 & 0xfff);
	const struct mlx5_headers *h = &p->headers[0];
	const size_t bases[] = {
		[AT_MAC] = h->mac_at,
		[AT_IPV4] = h->ip_version == 4 ? h->ip_at : SIZE_MAX,
		[AT_TCP] = h->l4 == 1 ? h->l4_at : SIZE_MAX,
		[AT_UDP] = h->l4 == 2 ? h->l4_at : SIZE_MAX,
	};

	if (bases[place->base] == SIZE_MAX)
		return 0;
	memcpy(p->bytes + bases[place->base] + place->offset, change + CHANGE - place->bytes,
	       place->bytes);
	return mlx5_packet_read(p) ? 0 : EINVAL;
}

int mlx5_rule_act(const struct object *object, struct mlx5_packet *p)
{
	const struct action *action = object->device;
	bool good;
	int r = 0;

	for (size_t at = 0; !r && action->is_list && at < action->length; at += CHANGE)
		r = change(p, action->data + at);
	if (action->is_list)
		return r;
	good = action->reformat == MLX5_IB_UAPI_FLOW_ACTION_PACKET_REFORMAT_TYPE_L2_TO_L2_TUNNEL
		       ? mlx5_packet_insert(p, 0, action->data, action->length)
		       : p->headers[1].exists && mlx5_packet_remove(p, 0, p->headers[1].mac_at);
	return good && mlx5_packet_read(p) ? 0 : EINVAL;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Actions that remove or add headers of tunnels, and actions that change headers. */
#include "providers/mlx5/steering/action.h"

enum {
	ETHERNET_SIZE = 14,
	ETHERNET_VLAN_SIZE = 18,
	ALLOC_HEAD = 0x24, /* bytes of the command, including the first two of the header */
	ALLOC_DATA = 0x22,
	ALLOC_SIZE_MOST = 0x3ff,
	REFORMAT_L2 = 2,
	REFORMAT_L3 = 4,
};

/* Commands that replace the headers before an inner IP header by an Ethernet header. */
enum {
	REMOVE_TO_INNER_IP = 0x09001900,
	REMOVE_TO_INNER_IP_SHIFTED = 0x09006400,
	REMOVE_DECAPSULATE = 1 << 3 | 1 << 2,
	SET_BITS = 0x02000000, /* command of format 0 */
	KIND_CUSTOMER = 2,     /* kind of a VLAN tag */
	INSERT_FOUR = 0x0a000000,
	REMOVE_TWO = 0x08000001,
	FORMAT_SHIFTED = 3,
	CHANGES_MOST = 1 << 12, /* most changes of one action */
	HEADER_CHANGES = 8,	/* most commands that write a header */
};

static int flags_check(const struct mlx5dv_dr_domain *domain, const char *function, uint32_t flags)
{
	if (flags & ~(uint32_t)MLX5DV_DR_ACTION_FLAGS_ROOT_LEVEL)
		return dr_refuse(domain->context, function, "flags has an unknown bit", -EINVAL);
	if (!(flags & MLX5DV_DR_ACTION_FLAGS_ROOT_LEVEL) && !domain->has_software)
		return dr_refuse(domain->context, function,
				 "the domain has only root tables, and the flag is not set",
				 -EOPNOTSUPP);
	return 0;
}

/* Return whether the domain has this type of action. A domain of received packets removes headers,
 * and a domain of sent packets adds headers. */
static bool has_type(const struct mlx5dv_dr_domain *domain,
		     enum mlx5dv_flow_action_packet_reformat_type type)
{
	bool removes = type == MLX5DV_FLOW_ACTION_PACKET_REFORMAT_TYPE_L2_TUNNEL_TO_L2 ||
		       type == MLX5DV_FLOW_ACTION_PACKET_REFORMAT_TYPE_L3_TUNNEL_TO_L2;

	if ((unsigned int)type > MLX5DV_FLOW_ACTION_PACKET_REFORMAT_TYPE_L2_TO_L3_TUNNEL)
		return false;
	return dr_is_switch(domain) || removes == (domain->type == MLX5DV_DR_DOMAIN_TYPE_NIC_RX);
}

static int reformat_check(const struct mlx5dv_dr_domain *domain, const char *function,
			  uint32_t flags, enum mlx5dv_flow_action_packet_reformat_type type,
			  size_t size, const void *data)
{
	int r = flags_check(domain, function, flags);

	if (r < 0)
		return r;
	if (!data != !size)
		return dr_refuse(domain->context, function,
				 "data without a size, or a size without", -EINVAL);
	if (!has_type(domain, type))
		return dr_refuse(domain->context, function, "the domain has no change of this type",
				 -EINVAL);
	return 0;
}

/* ---- headers that packets get */

static int header_alloc(struct mlx5dv_dr_action *action, uint32_t type, size_t size,
			const void *data)
{
	size_t length = ROUND_UP(ALLOC_HEAD + size - 2, sizeof(uint32_t));
	uint32_t out[FW_HEAD / 4] = {};
	_cleanup_free_ uint32_t *in = NULL;

	if (size < 2 || size > ALLOC_SIZE_MOST)
		return -EINVAL;
	in = calloc(1, length);
	if (!in)
		return -ENOMEM;
	fw_set(in, 0, MLX5_FW_ALLOC_PACKET_REFORMAT << 16);
	fw_set(in, 0x1c, type << 24 | (uint32_t)size);
	memcpy((char *)in + ALLOC_DATA, data, size);
	action->reformat.object =
		mlx5_fw_create(action->domain->context, "ALLOC_PACKET_REFORMAT_CONTEXT", in, length,
			       out, sizeof(out));
	if (!action->reformat.object)
		return -errno;
	action->reformat.id = action->reformat.object->object_id;
	action->reformat.size = size;
	return 0;
}

int dr_reformat_end(struct mlx5dv_dr_action *action)
{
	return mlx5_fw_destroy(action->reformat.object);
}

/* ---- an Ethernet header in place of a tunnel's headers */

static void command_put(uint8_t command[DR_CHANGE_SIZE], uint32_t first, const uint8_t *data)
{
	__be32 word = htobe32(first);

	memset(command, 0, DR_CHANGE_SIZE);
	memcpy(command, &word, sizeof(word));
	if (data)
		memcpy(command + sizeof(word), data, sizeof(word));
}

/* Make commands that insert the header, four bytes at a time, from the end to the start. Two bytes
 * of padding make its size a multiple of four. The last command removes them. */
static unsigned int header_translate(const struct mlx5dv_dr_domain *domain, size_t size,
				     const void *data, uint8_t ret[HEADER_CHANGES][DR_CHANGE_SIZE])
{
	uint8_t padded[ETHERNET_VLAN_SIZE + 2] = {};
	unsigned int count = 0;

	memcpy(padded + 2, data, size);
	command_put(ret[count++],
		    (domain->caps.format >= FORMAT_SHIFTED ? REMOVE_TO_INNER_IP_SHIFTED
							   : REMOVE_TO_INNER_IP) |
			    REMOVE_DECAPSULATE,
		    NULL);
	for (size_t at = size + 2; at; at -= 4)
		command_put(ret[count++], INSERT_FOUR, padded + at - 4);
	command_put(ret[count++], REMOVE_TWO, NULL);
	return count;
}

static uint32_t bytes_get(const uint8_t *bytes, unsigned int count)
{
	uint32_t value = 0;

	while (count--)
		value = value << 8 | *bytes++;
	return value;
}

/* Make a command that sets @length bits of a word, from bit @shift on. A @length of 0 means 32
 * bits. */
static void set_put(uint8_t command[DR_CHANGE_SIZE], uint32_t word, uint32_t shift, uint32_t length,
		    uint32_t value)
{
	__be32 data = htobe32(value);

	command_put(command, SET_BITS | word << 16 | shift << 8 | length, (const uint8_t *)&data);
}

/* Make commands that fill in the Ethernet header. Format 0 leaves such a header in place of the
 * tunnel's headers. */
static unsigned int header_set_fields(size_t size, const void *data,
				      uint8_t ret[HEADER_CHANGES][DR_CHANGE_SIZE])
{
	const uint8_t *bytes = data;
	bool has_vlan = size == ETHERNET_VLAN_SIZE;
	unsigned int count = 0;

	set_put(ret[count++], 0, 16, 0, bytes_get(bytes, 4));
	set_put(ret[count++], 1, 16, 0, bytes_get(bytes + 6, 4));
	set_put(ret[count++], 0, 0, 16, bytes_get(bytes + 4, 2));
	/* The kind of the tag follows the Ethernet type. */
	set_put(ret[count++], 2, 32, has_vlan ? 18 : 16,
		(has_vlan ? KIND_CUSTOMER << 16 : 0) | bytes_get(bytes + size - 2, 2));
	set_put(ret[count++], 1, 0, 16, bytes_get(bytes + 10, 2));
	if (has_vlan)
		set_put(ret[count++], 2, 0, 16, bytes_get(bytes + 14, 2));
	return count;
}

static int decap_make(struct mlx5dv_dr_action *action, size_t size, const void *data)
{
	struct mlx5dv_dr_domain *domain = action->domain;
	uint8_t changes[HEADER_CHANGES][DR_CHANGE_SIZE];
	unsigned int count;
	int r;

	if (size != ETHERNET_SIZE && size != ETHERNET_VLAN_SIZE)
		return -EINVAL;
	action->modify.has_vlan = size == ETHERNET_VLAN_SIZE;
	count = domain->caps.format ? header_translate(domain, size, data, changes)
				    : header_set_fields(size, data, changes);
	dr_lock(domain);
	r = dr_changes_store(domain, changes, count, true, &action->modify.changes);
	dr_unlock(domain);
	return r;
}

int dr_modify_end(struct mlx5dv_dr_action *action)
{
	dr_lock(action->domain);
	dr_changes_free(action->domain, &action->modify.changes);
	dr_unlock(action->domain);
	return 0;
}

/* ---- actions of the kernel, for root tables */

/* Return an action that owns @kernel, or NULL with errno if @kernel is NULL or there is no memory.
 */
static struct mlx5dv_dr_action *wrap(struct mlx5dv_dr_domain *domain,
				     struct ibv_flow_action *kernel)
{
	struct mlx5dv_dr_action *action = kernel ? dr_action_new(DR_ACTION_KERNEL, domain) : NULL;

	if (action) {
		action->kernel = kernel;
	} else if (kernel) {
		ibv_destroy_flow_action(kernel);
		errno = ENOMEM;
	}
	return action;
}

static int content_make(struct mlx5dv_dr_action *action, size_t size, const void *data)
{
	switch (action->kind) {
	case DR_ACTION_DECAP_L2:
		return size ? -EINVAL : 0;
	case DR_ACTION_DECAP_L3:
		return decap_make(action, size, data);
	case DR_ACTION_ENCAP_L2:
		return header_alloc(action, REFORMAT_L2, size, data);
	default:
		return header_alloc(action, REFORMAT_L3, size, data);
	}
}

MLX5DV_EXPORT struct mlx5dv_dr_action *
mlx5dv_dr_action_create_packet_reformat(struct mlx5dv_dr_domain *domain, uint32_t flags,
					enum mlx5dv_flow_action_packet_reformat_type reformat_type,
					size_t data_sz, void *data)
{
	static const enum dr_action_kind kinds[] = {
		[MLX5DV_FLOW_ACTION_PACKET_REFORMAT_TYPE_L2_TUNNEL_TO_L2] = DR_ACTION_DECAP_L2,
		[MLX5DV_FLOW_ACTION_PACKET_REFORMAT_TYPE_L2_TO_L2_TUNNEL] = DR_ACTION_ENCAP_L2,
		[MLX5DV_FLOW_ACTION_PACKET_REFORMAT_TYPE_L3_TUNNEL_TO_L2] = DR_ACTION_DECAP_L3,
		[MLX5DV_FLOW_ACTION_PACKET_REFORMAT_TYPE_L2_TO_L3_TUNNEL] = DR_ACTION_ENCAP_L3,
	};
	int r = reformat_check(domain, __func__, flags, reformat_type, data_sz, data);
	struct mlx5dv_dr_action *action;

	if (r < 0)
		return mlx5dv_fail(r);
	if (flags & MLX5DV_DR_ACTION_FLAGS_ROOT_LEVEL)
		return wrap(domain, mlx5dv_create_flow_action_packet_reformat(
					    domain->context, data_sz, data, reformat_type,
					    dr_root_type(domain)));
	action = dr_action_new(kinds[reformat_type], domain);
	return action ? dr_action_done(action, __func__, content_make(action, data_sz, data))
		      : NULL;
}

static int changes_make(struct mlx5dv_dr_action *action, size_t count, const __be64 *from)
{
	struct mlx5dv_dr_domain *domain = action->domain;
	/* A change may need an empty command before it. */
	_cleanup_free_ uint8_t *changes =
		count && count <= CHANGES_MOST ? calloc(2 * count, DR_CHANGE_SIZE) : NULL;
	uint8_t(*slots)[DR_CHANGE_SIZE] = (void *)changes;
	unsigned int made = 0;
	int r;

	if (!changes)
		return count && count <= CHANGES_MOST ? -ENOMEM : -EINVAL;
	r = dr_changes_translate(domain, from, count, slots, &made);
	if (r < 0)
		return r;
	dr_lock(domain);
	r = dr_changes_store(domain, slots, made, false, &action->modify.changes);
	dr_unlock(domain);
	return r;
}

MLX5DV_EXPORT struct mlx5dv_dr_action *
mlx5dv_dr_action_create_modify_header(struct mlx5dv_dr_domain *domain, uint32_t flags,
				      size_t actions_sz, __be64 actions[])
{
	struct mlx5dv_dr_action *action;
	int r = flags_check(domain, __func__, flags);

	if (!r && actions_sz % DR_CHANGE_SIZE)
		r = dr_refuse(domain->context, __func__, "the size is no multiple of 8", -EINVAL);
	if (r < 0)
		return mlx5dv_fail(r);
	if (flags & MLX5DV_DR_ACTION_FLAGS_ROOT_LEVEL)
		return wrap(domain, mlx5dv_create_flow_action_modify_header(
					    domain->context, actions_sz, (uint64_t *)actions,
					    dr_root_type(domain)));
	action = dr_action_new(DR_ACTION_MODIFY, domain);
	return action ? dr_action_done(action, __func__,
				       changes_make(action, actions_sz / DR_CHANGE_SIZE, actions))
		      : NULL;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Vports: the functions of the adapter as sources and destinations of packets. */
#include "providers/mlx5/steering/steering.h"

enum {
	QUERY_ESW_VPORT = 0x752,
	QUERY_ESW_VPORT_OUT = 0x110,
	QUERY_CAPS_OUT = 0x1010,
	RECEIVE_AT = 0x100,
	SEND_AT = 0x108,
	FUNCTION_AT = 0x14,
};

/* A list of vports. They live as long as the domain, because actions name them. */
struct dr_vports {
	struct dr_vport *first, *wire;
	uint32_t port_count; /* number of the device's ports */
};

int dr_vport_query(struct ibv_context *ctx, uint16_t number, bool other, uint64_t ret[DR_HALVES])
{
	uint32_t in[FW_HEAD / 4] = {}, out[QUERY_ESW_VPORT_OUT / 4] = {};
	int r;

	fw_set(in, 0, QUERY_ESW_VPORT << 16);
	fw_set(in, 8, (uint32_t)other << 31 | number);
	r = mlx5_fw_general(ctx, "QUERY_ESW_VPORT_CONTEXT", in, sizeof(in), out, sizeof(out));
	if (r < 0)
		return r;
	ret[DR_RECEIVE] = fw_get_64(out, RECEIVE_AT);
	ret[DR_SEND] = fw_get_64(out, SEND_AT);
	return 0;
}

/* Read the number of a vport's function. Entries contain this number. */
static int function_query(struct ibv_context *ctx, uint16_t number, uint16_t *ret)
{
	uint32_t in[FW_HEAD / 4] = {};
	_cleanup_free_ uint32_t *out = calloc(1, QUERY_CAPS_OUT);
	int r;

	if (!out)
		return -ENOMEM;
	fw_set(in, 0, MLX5_FW_QUERY_HCA_CAP << 16);
	fw_set(in, 4, 1);
	fw_set(in, 8, (uint32_t) !!number << 31 | number);
	r = mlx5_fw_general(ctx, "QUERY_HCA_CAP", in, sizeof(in), out, QUERY_CAPS_OUT);
	if (!r)
		*ret = fw_get(out, FUNCTION_AT) & 0xffff;
	return r;
}

static struct dr_vport *vport_add(struct mlx5dv_dr_domain *domain, const struct dr_vport *from)
{
	struct dr_vport *vport = malloc(sizeof(*vport));

	if (!vport)
		return NULL;
	*vport = *from;
	vport->next = domain->vports->first;
	domain->vports->first = vport;
	return vport;
}

static struct dr_vport *find(const struct mlx5dv_dr_domain *domain, uint16_t owner, uint16_t number)
{
	struct dr_vport *vport = domain->vports->first;

	while (vport && (vport->number != number || vport->owner != owner))
		vport = vport->next;
	return vport;
}

int dr_vport_find(struct mlx5dv_dr_domain *domain, uint16_t number, const struct dr_vport **ret)
{
	struct dr_vport made = { .number = number, .owner = domain->caps.function };
	int r;

	*ret = find(domain, domain->caps.function, number);
	if (*ret)
		return 0;
	r = dr_vport_query(domain->context, number, number != 0, made.icm);
	if (!r)
		r = function_query(domain->context, number, &made.function);
	if (r < 0)
		return r;
	*ret = vport_add(domain, &made);
	return *ret ? 0 : -ENOMEM;
}

/* ---- ports of the device */

/* Fill in a vport from the kernel's description of a port. */
static int port_read(struct mlx5dv_dr_domain *domain, const struct mlx5dv_port *port,
		     struct dr_vport *ret)
{
	const uint64_t of_wire =
		MLX5DV_QUERY_PORT_ESW_OWNER_VHCA_ID | MLX5DV_QUERY_PORT_VPORT_STEERING_ICM_TX;
	const uint64_t of_others =
		of_wire | MLX5DV_QUERY_PORT_VPORT_VHCA_ID | MLX5DV_QUERY_PORT_VPORT_STEERING_ICM_RX;
	uint64_t needed = port->vport == DR_VPORT_WIRE ? of_wire : of_others;

	if (!(port->flags & MLX5DV_QUERY_PORT_VPORT) || (port->flags & needed) != needed)
		return -EOPNOTSUPP;
	*ret = (struct dr_vport){
		.number = port->vport,
		.function = port->vport_vhca_id,
		.owner = port->esw_owner_vhca_id,
		.icm = { port->vport_steering_icm_rx, port->vport_steering_icm_tx },
	};
	if (port->flags & MLX5DV_QUERY_PORT_VPORT_REG_C0) {
		ret->reg_value = port->reg_c0.value;
		ret->reg_mask = port->reg_c0.mask;
	}
	return 0;
}

int dr_vport_of_port(struct mlx5dv_dr_domain *domain, uint32_t number, const struct dr_vport **ret)
{
	struct dr_vport made, *known;
	struct mlx5dv_port port = {};
	int r;

	if (!number || number > domain->vports->port_count)
		return -EINVAL;
	r = -_mlx5dv_query_port(domain->context, number, &port, sizeof(port));
	if (!r)
		r = port_read(domain, &port, &made);
	if (r < 0)
		return r;
	known = find(domain, made.owner, made.number);
	if (known) {
		made.next = known->next;
		*known = made;
	} else {
		known = vport_add(domain, &made);
	}
	*ret = known;
	return known ? 0 : -ENOMEM;
}

const struct dr_vport *dr_vport_wire(const struct mlx5dv_dr_domain *domain)
{
	return domain->vports->wire;
}

const struct dr_vport *dr_vport_next(const struct mlx5dv_dr_domain *domain,
				     const struct dr_vport *vport)
{
	return vport ? vport->next : domain->vports->first;
}

/* Read the ports of the device. Ignore errors, because not every kernel describes ports. */
static void ports_read(struct mlx5dv_dr_domain *domain)
{
	struct ibv_device_attr_ex device = {};
	const struct dr_vport *vport;

	if (ibv_query_device_ex(domain->context, NULL, &device))
		return;
	domain->vports->port_count = device.phys_port_cnt_ex;
	for (uint32_t i = 1; i <= domain->vports->port_count; i++)
		dr_vport_of_port(domain, i, &vport);
}

int dr_vports_open(struct mlx5dv_dr_domain *domain)
{
	const struct dr_vport wire = {
		.number = DR_VPORT_WIRE,
		.owner = domain->caps.function,
		.icm = { domain->caps.uplink[DR_RECEIVE], domain->caps.uplink[DR_SEND] },
	};

	domain->vports = calloc(1, sizeof(*domain->vports));
	if (!domain->vports)
		return -ENOMEM;
	domain->vports->wire = vport_add(domain, &wire);
	if (!domain->vports->wire)
		return -ENOMEM;
	if (dr_is_switch(domain))
		ports_read(domain);
	return 0;
}

void dr_vports_close(struct mlx5dv_dr_domain *domain)
{
	while (domain->vports && domain->vports->first) {
		struct dr_vport *vport = domain->vports->first;

		domain->vports->first = vport->next;
		free(vport);
	}
	free(domain->vports);
}

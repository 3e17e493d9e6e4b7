/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Path records. RoCE has no subnet manager: use the path parameters of the kernel.
 */
#include <arpa/inet.h>

#include "librdmacm/ibcm/device.h"
#include "librdmacm/ibcm/id.h"
#include "librdmacm/ibcm/path.h"
#include "librdmacm/id.h"

enum {
	PKEY_DEFAULT = 0xffff,
	PACKET_LIFE_TIME = 16, /* 0.27 s, the value that the kernel assumes for RoCE */
	HOP_LIMIT = 64,
	SELECTOR_EQUAL = 2,
};

static void port_query(const struct ibcm_id *iid, struct ibv_port_attr *ret)
{
	if (ibv_query_port(iid->dev->verbs, 1, ret))
		*ret = (struct ibv_port_attr){ .active_mtu = IBV_MTU_1024 };
}

uint8_t ibcm_path_mtu(const struct ibcm_id *iid)
{
	struct ibv_port_attr port;

	port_query(iid, &port);
	return port.active_mtu;
}

uint8_t ibcm_path_rate(const struct ibcm_id *iid)
{
	struct ibv_port_attr port;

	port_query(iid, &port);
	/* Like the kernel's RoCE: 10 Gbit/s, and one value for all faster speeds. */
	return port.active_speed > 4 ? IBV_RATE_40_GBPS : IBV_RATE_10_GBPS;
}

uint8_t ibcm_packet_life_time(const struct ibcm_id *iid)
{
	return iid->ack_timeout_set && iid->ack_timeout ? iid->ack_timeout - 1 : PACKET_LIFE_TIME;
}

int ibcm_query_route(struct cm_id *id)
{
	const struct ibcm_id *iid = id->ibcm;
	struct ibv_sa_path_rec path = {
		.dgid = iid->remote_gid,
		.sgid = iid->local.gid,
		.hop_limit = HOP_LIMIT,
		.traffic_class = iid->tos,
		.reversible = 1,
		.numb_path = 1,
		.pkey = htons(PKEY_DEFAULT),
		.mtu_selector = SELECTOR_EQUAL,
		.mtu = iid->conn.qp.mtu ? iid->conn.qp.mtu : ibcm_path_mtu(iid),
		.rate_selector = SELECTOR_EQUAL,
		.rate = ibcm_path_rate(iid),
		.packet_life_time_selector = SELECTOR_EQUAL,
		.packet_life_time = ibcm_packet_life_time(iid),
	};

	return cm_id_set_paths(id, &path, 1);
}

struct ibv_ah_attr ibcm_ah_attr(const struct ibcm_id *iid)
{
	return (struct ibv_ah_attr){
		.is_global = 1,
		.port_num = 1,
		.grh = { .dgid = iid->remote_gid,
			 .sgid_index = iid->local.index,
			 .hop_limit = HOP_LIMIT,
			 .traffic_class = iid->tos },
	};
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Queries of an identifier in the kernel: addresses, device, paths. The old command QUERY_ROUTE
 * returns addresses, GIDs and paths, and is used where it saves a call of the two newer commands.
 * AF_IB needs the newer commands.
 */
#include <stdlib.h>
#include <string.h>

#include <infiniband/ib.h>

#include "libibverbs/convert.h"
#include "librdmacm/device.h"
#include "librdmacm/id.h"
#include "librdmacm/sockaddr.h"
#include "librdmacm/ucma/command.h"
#include "util/util.h"

#define INDEX_UNKNOWN (-1) /* device index; kernels before 5.7 do not write it */

static int set_device(struct cm_id *id, __be64 guid, uint32_t index, uint8_t port_num)
{
	struct cm_device *dev;
	int r;

	if (!port_num) /* no device yet */
		return 0;
	id->id.port_num = port_num;
	if (id->dev)
		return 0;
	r = cm_device_find(guid, (int)index, &dev);
	return r < 0 ? r : cm_id_set_device(id, dev);
}

static void set_addr(struct sockaddr_storage *to, const void *from)
{
	const struct sockaddr *addr = from;
	socklen_t size = cm_addr_size(addr);

	if (size)
		memcpy(to, from, size);
}

/* Return the path records of an answer, or NULL: none, or no memory. */
static struct ibv_sa_path_rec *paths_of(struct ucma_abi_query_route_resp *answer, int *ret_count)
{
	int count = min_of(answer->num_paths, (uint32_t)ARRAY_SIZE(answer->ib_route));
	struct ibv_sa_path_rec *paths = count ? calloc(count, sizeof(*paths)) : NULL;

	if (!paths)
		return NULL;
	for (int i = 0; i < count; i++)
		ibv_copy_path_rec_from_kern(&paths[i], &answer->ib_route[i]);
	*ret_count = count;
	return paths;
}

static void set_paths(struct cm_id *id, struct ibv_sa_path_rec *paths, int count)
{
	free(id->id.route.path_rec);
	id->id.route.path_rec = paths;
	id->id.route.num_paths = count;
}

static int query_addr(struct cm_id *id, uint32_t option, struct ucma_abi_query_addr_resp *answer)
{
	struct ucma_abi_query cmd = {
		.response = ucma_answer_at(answer),
		.option = option,
	};

	*answer = (struct ucma_abi_query_addr_resp){ .ibdev_index = INDEX_UNKNOWN };
	return ucma_id_command(id, UCMA_CMD_QUERY, &cmd, sizeof(*answer));
}

static int query_addr_ib(struct cm_id *id)
{
	struct rdma_addr *addr = &id->id.route.addr;
	struct ucma_abi_query_addr_resp answer;
	int r = query_addr(id, UCMA_QUERY_ADDR, &answer);

	if (r < 0)
		return r;
	set_addr(&addr->src_storage, &answer.src_addr);
	set_addr(&addr->dst_storage, &answer.dst_addr);
	r = set_device(id, answer.node_guid, answer.ibdev_index, answer.port_num);
	if (r < 0 || !answer.port_num)
		return r;
	r = query_addr(id, UCMA_QUERY_GID, &answer);
	if (r < 0)
		return r;
	addr->addr.ibaddr.pkey = answer.pkey;
	memcpy(&addr->addr.ibaddr.sgid, &((struct sockaddr_ib *)&answer.src_addr)->sib_addr, 16);
	memcpy(&addr->addr.ibaddr.dgid, &((struct sockaddr_ib *)&answer.dst_addr)->sib_addr, 16);
	return 0;
}

/* Make the old command, which has no option. The kernel accepts the longer struct. */
static struct ucma_abi_query query_route_command(struct ucma_abi_query_route_resp *answer)
{
	*answer = (struct ucma_abi_query_route_resp){ .ibdev_index = INDEX_UNKNOWN };
	return (struct ucma_abi_query){ .response = ucma_answer_at(answer) };
}

/* Query addresses, GIDs, the device and, once resolved, paths. For IP addresses. */
static int query_route(struct cm_id *id)
{
	struct rdma_addr *addr = &id->id.route.addr;
	struct ucma_abi_query_route_resp answer;
	struct ucma_abi_query cmd = query_route_command(&answer);
	struct ibv_sa_path_rec *paths;
	int count, r = ucma_id_command(id, UCMA_CMD_QUERY_ROUTE, &cmd, sizeof(answer));

	if (r < 0)
		return r;
	if (answer.src_addr.sin6_family == AF_IB) /* AF_IB addresses do not fit this answer */
		return query_addr_ib(id);
	set_addr(&addr->src_storage, &answer.src_addr);
	set_addr(&addr->dst_storage, &answer.dst_addr);
	memcpy(&addr->addr.ibaddr.sgid, answer.ib_route[0].sgid, 16);
	memcpy(&addr->addr.ibaddr.dgid, answer.ib_route[0].dgid, 16);
	addr->addr.ibaddr.pkey = answer.ib_route[0].pkey;
	r = set_device(id, answer.node_guid, answer.ibdev_index, answer.port_num);
	if (r < 0 || !answer.num_paths)
		return r;
	paths = paths_of(&answer, &count);
	if (!paths)
		return -ENOMEM;
	set_paths(id, paths, count);
	return 0;
}

/* Convert a path record from the format of the wire. */
static struct ibv_sa_path_rec path_unpack(const struct ibv_path_record *p)
{
	uint32_t flow = be32toh(p->flowlabel_hoplimit);

	return (struct ibv_sa_path_rec){
		.dgid = p->dgid,
		.sgid = p->sgid,
		.dlid = p->dlid,
		.slid = p->slid,
		.flow_label = htobe32(flow >> 8 & 0xfffff),
		.hop_limit = flow & 0xff,
		.traffic_class = p->tclass,
		.reversible = p->reversible_numpath >> 7,
		.numb_path = p->reversible_numpath & 0x7f,
		.pkey = p->pkey,
		.sl = be16toh(p->qosclass_sl) & 0xf,
		.mtu_selector = p->mtu >> 6,
		.mtu = p->mtu & 0x3f,
		.rate_selector = p->rate >> 6,
		.rate = p->rate & 0x3f,
		.packet_life_time_selector = p->packetlifetime >> 6,
		.packet_life_time = p->packetlifetime & 0x3f,
		.preference = p->preference,
	};
}

enum {
	PATHS_MAX = 6
};

struct path_answer {
	struct ucma_abi_query_path_resp head;
	struct ibv_path_data data[PATHS_MAX];
};

static int query_paths_ib(struct cm_id *id)
{
	struct ibv_sa_path_rec paths[PATHS_MAX];
	struct path_answer answer = {};
	struct ucma_abi_query cmd = {
		.response = ucma_answer_at(&answer),
		.option = UCMA_QUERY_PATH,
	};
	int r = ucma_id_command(id, UCMA_CMD_QUERY, &cmd, sizeof(answer));
	uint32_t count = min_of(answer.head.num_paths, (uint32_t)PATHS_MAX);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < count; i++)
		paths[i] = path_unpack(&answer.data[i].path);
	return cm_id_set_paths(id, paths, count);
}

static bool is_ib(const struct cm_id *id)
{
	return id->id.route.addr.src_addr.sa_family == AF_IB ||
	       id->id.route.addr.dst_addr.sa_family == AF_IB || id->id.ps == RDMA_PS_IB;
}

static bool has_ip(const struct sockaddr *addr)
{
	return addr->sa_family == AF_INET || addr->sa_family == AF_INET6;
}

/* Set the GID of an IP address. In RoCE it is the address itself. */
static void set_gid(union ibv_gid *gid, const struct rdma_addr *addr)
{
	if (addr->dst_addr.sa_family == AF_INET6) {
		memcpy(gid->raw, &addr->dst_sin6.sin6_addr, sizeof(gid->raw));
		return;
	}
	*gid = (union ibv_gid){ .raw = { [10] = 0xff, [11] = 0xff } };
	memcpy(gid->raw + 12, &addr->dst_sin.sin_addr, 4);
}

static bool is_ethernet(const struct cm_id *id)
{
	return cm_device_link_layer(id->dev, id->id.port_num) == IBV_LINK_LAYER_ETHERNET;
}

/*
 * Return whether all addresses are known: once the local address is bound to an Ethernet port, the
 * kernel adds nothing when another address is resolved.
 */
static bool addr_known(const struct cm_id *id)
{
	const struct rdma_addr *addr = &id->id.route.addr;

	return id->dev && id->dev->device->transport_type == IBV_TRANSPORT_IB &&
	       id->id.ps != RDMA_PS_IB && has_ip(&addr->src_addr) && has_ip(&addr->dst_addr) &&
	       !cm_addr_is_any(&addr->src_addr) && cm_addr_port(&addr->src_addr) && is_ethernet(id);
}

int ucma_query_addr(struct cm_id *id)
{
	if (addr_known(id)) {
		set_gid(&id->id.route.addr.addr.ibaddr.dgid, &id->id.route.addr);
		return 0;
	}
	return is_ib(id) ? query_addr_ib(id) : query_route(id);
}

/*
 * Exchange the paths that resolve_route queried. Another thread may read the event before
 * resolve_route returns.
 */
static struct ibv_sa_path_rec *early_exchange(struct cm_id *id, struct ibv_sa_path_rec *paths,
					      int count, int *ret_count)
{
	struct ibv_sa_path_rec *before;

	pthread_mutex_lock(&id->lock);
	before = id->early_paths;
	*ret_count = id->num_early_paths;
	id->early_paths = paths;
	id->num_early_paths = count;
	pthread_mutex_unlock(&id->lock);
	return before;
}

int ucma_query_route(struct cm_id *id)
{
	struct ibv_sa_path_rec *paths;
	int count;

	if (is_ib(id))
		return query_paths_ib(id);
	/* for a connection request the first query returned the paths */
	if (id->id.route.num_paths)
		return 0;
	paths = early_exchange(id, NULL, 0, &count);
	if (!paths)
		return query_route(id);
	set_paths(id, paths, count);
	return 0;
}

/*
 * Resolve the route and query it in one system call. On Ethernet the kernel computes the route in
 * this call, so it is available before the event.
 */
static int resolve_route_early(struct cm_id *id, const struct ucma_request *resolve)
{
	struct ucma_abi_query_route_resp answer;
	struct ucma_abi_query query = query_route_command(&answer);
	const struct ucma_request both[] = {
		*resolve,
		UCMA_REQUEST(UCMA_CMD_QUERY_ROUTE, &query, sizeof(answer)),
	};
	int ignored, count = 0, r = ucma_requests(id, both, ARRAY_SIZE(both));
	struct ibv_sa_path_rec *paths;

	if (r < 0)
		return r;
	paths = r == ARRAY_SIZE(both) ? paths_of(&answer, &count) : NULL;
	if (paths)
		free(early_exchange(id, paths, count, &ignored));
	return 0;
}

int ucma_resolve_route(struct cm_id *id, int timeout_ms)
{
	struct ucma_abi_resolve_route cmd = { .timeout_ms = timeout_ms };
	struct ucma_request request = UCMA_REQUEST(UCMA_CMD_RESOLVE_ROUTE, &cmd, NO_ANSWER);
	int ignored;

	free(early_exchange(id, NULL, 0, &ignored));
	if (id->dev && !is_ib(id) && is_ethernet(id))
		return resolve_route_early(id, &request);
	return ucma_request_one(id, request);
}

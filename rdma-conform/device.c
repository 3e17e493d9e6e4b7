/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Choose the device and the address, and query the features of the device. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "rdma-conform/agent.h"
#include "util/util.h"

static struct ibv_context *device_open(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;

	for (unsigned int i = 0; list && list[i] && !context; i++)
		if (!name || !strcmp(ibv_get_device_name(list[i]), name))
			context = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	return context;
}

bool gid_is_ipv4(const union ibv_gid *gid)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid->raw, mapped, sizeof(mapped));
}

/* Prefer RoCEv2, then an IPv4 address. */
static int gid_choose(struct agent *agent, int wanted)
{
	struct ibv_gid_entry entry;
	int best = -1, rank;

	for (int i = 0; i < 256; i++) {
		if ((wanted >= 0 && i != wanted) ||
		    ibv_query_gid_ex(agent->context, agent->port, i, &entry, 0) ||
		    (!entry.gid.global.subnet_prefix && !entry.gid.global.interface_id))
			continue;
		rank = (entry.gid_type == IBV_GID_TYPE_ROCE_V2) * 2 + gid_is_ipv4(&entry.gid);
		if (rank <= best)
			continue;
		best = rank;
		agent->gid_index = i;
		agent->gid = entry.gid;
	}
	return best < 0 ? -ENODEV : 0;
}

/* Return false with errno if the device refuses such a queue pair. @inline_bytes: before the call
 * the requested inline data, afterwards the granted inline data; or NULL. */
static bool qp_works(struct agent *agent, enum ibv_qp_type type, uint64_t send_ops,
		     uint32_t *inline_bytes)
{
	struct ibv_cq *cq = ibv_create_cq(agent->context, 4, NULL, NULL, 0);
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 1,
			 .max_recv_wr = 1,
			 .max_send_sge = 1,
			 .max_recv_sge = agent->offer.recv_sge,
			 .max_inline_data = inline_bytes ? *inline_bytes : 0 },
		.qp_type = type,
		.comp_mask = IBV_QP_INIT_ATTR_PD | (send_ops ? IBV_QP_INIT_ATTR_SEND_OPS_FLAGS : 0),
		.pd = agent->pd,
		.send_ops_flags = send_ops,
	};
	struct ibv_qp *qp = cq ? ibv_create_qp_ex(agent->context, &attr) : NULL;
	bool works = qp && (!send_ops || ibv_qp_to_qp_ex(qp));
	int error = errno;

	if (inline_bytes)
		*inline_bytes = qp ? attr.cap.max_inline_data : 0;
	if (qp)
		ibv_destroy_qp(qp);
	if (cq)
		ibv_destroy_cq(cq);
	errno = error;
	return works;
}

static bool extended_cq_works(struct agent *agent)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 4, .wc_flags = IBV_WC_STANDARD_FLAGS };
	struct ibv_cq_ex *cq = ibv_create_cq_ex(agent->context, &attr);

	if (cq)
		ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
	return cq;
}

static bool on_demand_works(struct agent *agent)
{
	const uint32_t needed = IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ;
	struct ibv_device_attr_ex attr = {};

	return !ibv_query_device_ex(agent->context, NULL, &attr) &&
	       attr.odp_caps.general_caps & IBV_ODP_SUPPORT &&
	       (attr.odp_caps.per_transport_caps.rc_odp_caps & needed) == needed;
}

static int offer_learn(struct agent *agent, const struct ibv_port_attr *port)
{
	struct ibv_device_attr attr;
	struct offer *o = &agent->offer;

	if (ibv_query_device(agent->context, &attr))
		return -errno;
	snprintf(o->device, sizeof(o->device), "%s", ibv_get_device_name(agent->context->device));
	o->max_qp_wr = attr.max_qp_wr;
	o->max_sge = min_of(attr.max_sge, SGES);
	o->max_cqe = attr.max_cqe;
	o->max_srq_wr = attr.max_srq_wr;
	o->mtu = 128u << port->active_mtu;
	o->atomics = attr.atomic_cap != IBV_ATOMIC_NONE;
	o->windows = attr.max_mw && attr.device_cap_flags & (IBV_DEVICE_MEM_WINDOW_TYPE_2A |
							     IBV_DEVICE_MEM_WINDOW_TYPE_2B);
	o->srq = attr.max_srq > 0;
	o->recv_sge = o->max_sge;
	if (!qp_works(agent, IBV_QPT_RC, 0, NULL) && !qp_works(agent, IBV_QPT_UD, 0, NULL))
		o->recv_sge = 1;
	/* A queue pair that is refused for another reason is not a feature that is missing. */
	o->rc = qp_works(agent, IBV_QPT_RC, 0, NULL) || (errno != EOPNOTSUPP && errno != ENOSYS);
	o->uc = qp_works(agent, IBV_QPT_UC, 0, NULL);
	o->ud = qp_works(agent, IBV_QPT_UD, 0, NULL);
	o->inline_bytes = INLINE_BYTES;
	o->inline_asked = qp_works(agent, o->rc ? IBV_QPT_RC : IBV_QPT_UD, 0, &o->inline_bytes);
	o->extended_cq = extended_cq_works(agent);
	o->wr_api =
		qp_works(agent, IBV_QPT_RC, IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE, NULL);
	o->multicast = attr.max_mcast_grp > 0;
	o->on_demand = on_demand_works(agent);
	o->iwarp = agent->by_cm;
	o->read_sge = agent->by_cm ? 1 : o->max_sge;
	o->ethernet = port->link_layer == IBV_LINK_LAYER_ETHERNET;
	return 0;
}

static int device_failed(const char *what)
{
	int r = errno ? -errno : -EINVAL;

	fprintf(stderr, "rdma-conform: %s: %s\n", what, strerror(-r));
	return r;
}

int agent_open(struct agent *agent, uint8_t side, const struct agent_options *options)
{
	struct ibv_port_attr port;

	*agent = (struct agent){ .side = side,
				 .port = options->port,
				 .patience = options->patience };
	for (unsigned int kind = 0; kind < ARRAY_SIZE(agent->objects); kind++)
		for (unsigned int i = 0; i < OBJECTS; i++)
			pthread_rwlock_init(&agent->objects[kind][i].lock, NULL);
	errno = ENODEV;
	agent->context = device_open(options->device);
	if (!agent->context)
		return device_failed("no device could be opened");
	/* Two threads may wait for events. Both may see an event, but only one of them reads it. */
	if (fcntl(agent->context->async_fd, F_SETFL, O_NONBLOCK))
		return device_failed("the descriptor of events cannot be non-blocking");
	agent->pd = ibv_alloc_pd(agent->context);
	if (!agent->pd)
		return device_failed("no protection domain");
	if (ibv_query_port(agent->context, agent->port, &port))
		return device_failed("the port could not be queried");
	agent->lid = port.lid;
	agent->global = options->gid_index >= 0 || port.link_layer != IBV_LINK_LAYER_INFINIBAND;
	if (agent->global && gid_choose(agent, options->gid_index) < 0)
		return device_failed("the port has no such GID");
	/* A GID of iWARP holds a MAC address. A played adapter has one of IPv4, and its model
	 * connects as RoCE does. */
	agent->by_cm = agent->context->device->transport_type == IBV_TRANSPORT_IWARP &&
		       !gid_is_ipv4(&agent->gid) && cm_address(agent);
	return offer_learn(agent, &port);
}

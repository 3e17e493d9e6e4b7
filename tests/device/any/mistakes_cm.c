/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Mistakes with the calls of librdmacm that create objects: identifiers, endpoints, and the
 * queue pairs and shared receive queues that they create for an identifier. */
#include <rdma/rdma_verbs.h>

#include "tests/lib/rt_cm.h"
#include "tests/lib/rt_mistake.h"

#define CM_ERRNO_OF(call) ((call) ? errno : 0)

static const struct ibv_qp_init_attr small = { .cap = { 4, 4, 1, 1, 0 }, .qp_type = IBV_QPT_RC };

/* An identifier on the device, and its channel. */
struct bound {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
};

static struct bound bound_open(void)
{
	struct bound b = { .channel = rt_cm_channel() };

	b.id = rt_cm_listen(b.channel, RDMA_PS_TCP, false);
	return b;
}

static void bound_close(struct bound *b)
{
	rdma_destroy_qp(b->id);
	rdma_destroy_srq(b->id);
	CHECK_OK(rdma_destroy_id(b->id));
	rdma_destroy_event_channel(b->channel);
}
#define _cleanup_bound_ __attribute__((cleanup(bound_close)))

/* ---- identifiers ---- */

static int id_null(struct rt_dev *dev)
{
	struct rdma_event_channel *channel = rt_cm_channel();
	int r = CM_ERRNO_OF(rdma_create_id(channel, NULL, NULL, RDMA_PS_TCP));

	rdma_destroy_event_channel(channel);
	return r;
}

static int id_port_space(struct rt_dev *dev)
{
	struct rdma_event_channel *channel = rt_cm_channel();
	struct rdma_cm_id *id;
	int r = CM_ERRNO_OF(rdma_create_id(channel, &id, NULL, 0x77));

	rdma_destroy_event_channel(channel);
	return r;
}

/* ---- queue pairs ---- */

static int qp(struct ibv_pd *pd, struct ibv_qp_init_attr attr)
{
	_cleanup_bound_ struct bound b = bound_open();

	return CM_ERRNO_OF(rdma_create_qp(b.id, pd, &attr));
}

static int qp_no_device(struct rt_dev *dev)
{
	struct rdma_event_channel *channel = rt_cm_channel();
	struct rdma_cm_id *id = rt_cm_id(channel, RDMA_PS_TCP);
	struct ibv_qp_init_attr attr = small;
	int r = CM_ERRNO_OF(rdma_create_qp(id, NULL, &attr));

	CHECK_OK(rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
	return r;
}

static int qp_null(struct rt_dev *dev)
{
	_cleanup_bound_ struct bound b = bound_open();

	return CM_ERRNO_OF(rdma_create_qp(b.id, NULL, NULL));
}

static int qp_twice(struct rt_dev *dev)
{
	_cleanup_bound_ struct bound b = bound_open();
	struct ibv_qp_init_attr attr = small;

	rt_cm_qp(b.id);
	return CM_ERRNO_OF(rdma_create_qp(b.id, NULL, &attr));
}

/* The program's own context differs from the library's context on any device. */
static int qp_other_pd(struct rt_dev *dev)
{
	return qp(dev->pd, small);
}

static int qp_other_cq(struct rt_dev *dev)
{
	_cleanup_cq_ struct ibv_cq *cq = rt_cq_open(dev);
	struct ibv_qp_init_attr attr = small;

	attr.send_cq = attr.recv_cq = cq;
	return qp(NULL, attr);
}

static int qp_large(struct rt_dev *dev)
{
	struct ibv_qp_init_attr attr = small;

	attr.cap.max_send_sge = dev->attr.orig_attr.max_sge + 1;
	return qp(NULL, attr);
}

static int qp_ex_comp_mask(struct rt_dev *dev)
{
	_cleanup_bound_ struct bound b = bound_open();
	struct ibv_qp_init_attr_ex attr = { .cap = small.cap,
					    .qp_type = IBV_QPT_RC,
					    .comp_mask = RT_UNKNOWN_BIT };

	return CM_ERRNO_OF(rdma_create_qp_ex(b.id, &attr));
}

static int qp_ex_null(struct rt_dev *dev)
{
	_cleanup_bound_ struct bound b = bound_open();

	return CM_ERRNO_OF(rdma_create_qp_ex(b.id, NULL));
}

/* ---- shared receive queues ---- */

static int srq(struct ibv_pd *pd, uint32_t max_wr)
{
	_cleanup_bound_ struct bound b = bound_open();
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = max_wr, .max_sge = 1 } };

	return CM_ERRNO_OF(rdma_create_srq(b.id, pd, &attr));
}

static int srq_no_device(struct rt_dev *dev)
{
	struct rdma_event_channel *channel = rt_cm_channel();
	struct rdma_cm_id *id = rt_cm_id(channel, RDMA_PS_TCP);
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 4, .max_sge = 1 } };
	int r = CM_ERRNO_OF(rdma_create_srq(id, NULL, &attr));

	CHECK_OK(rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
	return r;
}

static int srq_null(struct rt_dev *dev)
{
	_cleanup_bound_ struct bound b = bound_open();

	return CM_ERRNO_OF(rdma_create_srq(b.id, NULL, NULL));
}

static int srq_twice(struct rt_dev *dev)
{
	_cleanup_bound_ struct bound b = bound_open();
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 4, .max_sge = 1 } };

	CHECK_OK(rdma_create_srq(b.id, NULL, &attr));
	return CM_ERRNO_OF(rdma_create_srq(b.id, NULL, &attr));
}

static int srq_other_pd(struct rt_dev *dev)
{
	return srq(dev->pd, 4);
}

static int srq_large(struct rt_dev *dev)
{
	return srq(NULL, dev->attr.orig_attr.max_srq_wr + 1);
}

static int srq_ex_comp_mask(struct rt_dev *dev)
{
	_cleanup_bound_ struct bound b = bound_open();
	struct ibv_srq_init_attr_ex attr = { .attr = { .max_wr = 4, .max_sge = 1 },
					     .comp_mask = RT_UNKNOWN_BIT };

	return CM_ERRNO_OF(rdma_create_srq_ex(b.id, &attr));
}

/* ---- endpoints ---- */

/* Create an active endpoint to a listener, with one mistake. */
static int endpoint(enum rdma_port_space ps, struct ibv_pd *pd, size_t connect_len)
{
	static char data[512];
	_cleanup_bound_ struct bound b = bound_open();
	struct sockaddr_storage address = rt_cm_address(rt_cm_port(b.id));
	struct rdma_addrinfo info = {
		.ai_family = address.ss_family,
		.ai_qp_type = IBV_QPT_RC,
		.ai_port_space = ps,
		.ai_dst_len = sizeof(address),
		.ai_dst_addr = (struct sockaddr *)&address,
		.ai_connect_len = connect_len,
		.ai_connect = data,
	};
	struct ibv_qp_init_attr attr = small;
	struct rdma_cm_id *id;

	return CM_ERRNO_OF(rdma_create_ep(&id, &info, pd, &attr));
}

static int ep_null(struct rt_dev *dev)
{
	struct rdma_cm_id *id;

	return CM_ERRNO_OF(rdma_create_ep(&id, NULL, NULL, NULL));
}

static int ep_other_pd(struct rt_dev *dev)
{
	return endpoint(RDMA_PS_TCP, dev->pd, 0);
}

static int ep_port_space(struct rt_dev *dev)
{
	return endpoint(0x77, NULL, 0);
}

static int ep_data_large(struct rt_dev *dev)
{
	return endpoint(RDMA_PS_TCP, NULL, 256);
}

static const struct rt_mistake mistakes[] = {
	{ "id_null", id_null, EINVAL, "rdma_create_id: id is NULL" },
	{ "id_port_space", id_port_space, EINVAL, "port space 0x77" },

	{ "qp_no_device", qp_no_device, EINVAL, "before an address was bound or resolved" },
	{ "qp_null", qp_null, EINVAL, "rdma_create_qp: the attributes are NULL" },
	{ "qp_twice", qp_twice, EINVAL, "has a QP already" },
	{ "qp_other_pd", qp_other_pd, EINVAL, "rdma_create_qp: the PD belongs to another context" },
	{ "qp_other_cq", qp_other_cq, EINVAL, "must all be of one context" },
	{ "qp_large", qp_large, EINVAL, "is above the device's max_sge" },
	{ "qp_ex_comp_mask", qp_ex_comp_mask, EOPNOTSUPP, "comp_mask has unknown bits" },
	{ "qp_ex_null", qp_ex_null, EINVAL, "rdma_create_qp_ex: the attributes are NULL" },

	{ "srq_no_device", srq_no_device, EINVAL, "before an address was bound or resolved" },
	{ "srq_null", srq_null, EINVAL, "rdma_create_srq: the attributes are NULL" },
	{ "srq_twice", srq_twice, EINVAL, "has an SRQ already", RT_LACKS("ibv_create_srq_ex") },
	{ "srq_other_pd", srq_other_pd, EINVAL,
	  "rdma_create_srq: the PD belongs to another context" },
	{ "srq_large", srq_large, EINVAL, "is above the device's max_srq_wr",
	  RT_LACKS("ibv_create_srq_ex") },
	{ "srq_ex_comp_mask", srq_ex_comp_mask, EOPNOTSUPP, "comp_mask 0x",
	  RT_LACKS("ibv_create_srq_ex") },

	{ "ep_null", ep_null, EINVAL, "rdma_create_ep: res is NULL" },
	{ "ep_other_pd", ep_other_pd, EINVAL, "rdma_create_qp: the PD belongs to another context" },
	{ "ep_port_space", ep_port_space, EINVAL, "port space 0x77" },
	{ "ep_data_large", ep_data_large, EINVAL, "a request carries up to 255 bytes" },
};
RT_MISTAKES(mistakes)

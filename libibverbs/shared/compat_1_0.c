/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The functions as libibverbs 1.0 had them, for programs linked before 2007.
 *
 * Their objects were smaller, and the slots of their context differed. Such a program gets a
 * wrapper for each object: a small struct of the old layout with a pointer to the real object. A
 * function here gets the real object, calls the current function and wraps the result. The context
 * pointers of real CQs, QPs and SRQs point to the wrapper, so that events lead back to it.
 *
 * Completion channels are unchanged except for their context, and ibv_create_comp_channel() never
 * got a second version. Therefore a 1.0 program that waits for events cannot work with any later
 * release.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <infiniband/verbs.h>

#include "util/log.h"
#include "util/symver.h"
#include "util/util.h"

#define COMPAT_1_0(type, name, ...) COMPAT_SYMBOL("IBVERBS_1.0", type, name, __VA_ARGS__)

/* ---- the old layouts: ABI up to the real_ member, which old programs do not know */

struct ibv_device_1_0 {
	void *obsolete_sysfs_dev;
	void *obsolete_sysfs_ibdev;
	struct ibv_device *real_device;
	struct _ibv_device_ops _ops;
};

struct ibv_pd_1_0 {
	struct ibv_context_1_0 *context;
	uint32_t handle;
	struct ibv_pd *real_pd;
};

struct ibv_mr_1_0 {
	struct ibv_context_1_0 *context;
	struct ibv_pd_1_0 *pd;
	uint32_t handle;
	uint32_t lkey;
	uint32_t rkey;
	struct ibv_mr *real_mr;
};

struct ibv_cq_1_0 {
	struct ibv_context_1_0 *context;
	void *cq_context;
	uint32_t handle;
	int cqe;
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	uint32_t comp_events_completed;
	uint32_t async_events_completed;
	struct ibv_cq *real_cq;
};

struct ibv_srq_1_0 {
	struct ibv_context_1_0 *context;
	void *srq_context;
	struct ibv_pd_1_0 *pd;
	uint32_t handle;
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	uint32_t events_completed;
	struct ibv_srq *real_srq;
};

struct ibv_ah_1_0 {
	struct ibv_context_1_0 *context;
	struct ibv_pd_1_0 *pd;
	uint32_t handle;
	struct ibv_ah *real_ah;
};

struct ibv_qp_1_0 {
	struct ibv_context_1_0 *context;
	void *qp_context;
	struct ibv_pd_1_0 *pd;
	struct ibv_cq_1_0 *send_cq;
	struct ibv_cq_1_0 *recv_cq;
	struct ibv_srq_1_0 *srq;
	uint32_t handle;
	uint32_t qp_num;
	enum ibv_qp_state state;
	enum ibv_qp_type qp_type;
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	uint32_t events_completed;
	struct ibv_qp *real_qp;
};

struct ibv_qp_init_attr_1_0 {
	void *qp_context;
	struct ibv_cq_1_0 *send_cq;
	struct ibv_cq_1_0 *recv_cq;
	struct ibv_srq_1_0 *srq;
	struct ibv_qp_cap cap;
	enum ibv_qp_type qp_type;
	int sq_sig_all;
};

struct ibv_send_wr_1_0 {
	struct ibv_send_wr_1_0 *next;
	uint64_t wr_id;
	struct ibv_sge *sg_list;
	int num_sge;
	enum ibv_wr_opcode opcode;
	int send_flags;
	__be32 imm_data;
	union {
		struct {
			uint64_t remote_addr;
			uint32_t rkey;
		} rdma;
		struct {
			uint64_t remote_addr;
			uint64_t compare_add;
			uint64_t swap;
			uint32_t rkey;
		} atomic;
		struct {
			struct ibv_ah_1_0 *ah;
			uint32_t remote_qpn;
			uint32_t remote_qkey;
		} ud;
	} wr;
};

struct ibv_recv_wr_1_0 {
	struct ibv_recv_wr_1_0 *next;
	uint64_t wr_id;
	struct ibv_sge *sg_list;
	int num_sge;
};

/* Inline functions of old programs use the five typed slots. The others are placeholders. */
struct ibv_context_ops_1_0 {
	void (*query_device)(void);
	void (*query_port)(void);
	void (*alloc_pd)(void);
	void (*dealloc_pd)(void);
	void (*reg_mr)(void);
	void (*dereg_mr)(void);
	void (*create_cq)(void);
	int (*poll_cq)(struct ibv_cq_1_0 *cq, int num_entries, struct ibv_wc *wc);
	int (*req_notify_cq)(struct ibv_cq_1_0 *cq, int solicited_only);
	void (*cq_event)(void);
	void (*resize_cq)(void);
	void (*destroy_cq)(void);
	void (*create_srq)(void);
	void (*modify_srq)(void);
	void (*query_srq)(void);
	void (*destroy_srq)(void);
	int (*post_srq_recv)(struct ibv_srq_1_0 *srq, struct ibv_recv_wr_1_0 *wr,
			     struct ibv_recv_wr_1_0 **bad_wr);
	void (*create_qp)(void);
	void (*query_qp)(void);
	void (*modify_qp)(void);
	void (*destroy_qp)(void);
	int (*post_send)(struct ibv_qp_1_0 *qp, struct ibv_send_wr_1_0 *wr,
			 struct ibv_send_wr_1_0 **bad_wr);
	int (*post_recv)(struct ibv_qp_1_0 *qp, struct ibv_recv_wr_1_0 *wr,
			 struct ibv_recv_wr_1_0 **bad_wr);
	void (*create_ah)(void);
	void (*destroy_ah)(void);
	void (*attach_mcast)(void);
	void (*detach_mcast)(void);
};

struct ibv_context_1_0 {
	struct ibv_device_1_0 *device; /* own_device: outlives its list */
	struct ibv_context_ops_1_0 ops;
	int cmd_fd;
	int async_fd;
	int num_comp_vectors;
	struct ibv_context *real_context;
	struct ibv_device_1_0 own_device;
};

/* The old program gets entry[]. */
struct device_list_1_0 {
	struct ibv_device **real_list;
	struct ibv_device_1_0 *devices;
	struct ibv_device_1_0 *entry[];
};

/* Free a wrapper whose real object could not be created, and keep errno. */
static void *wrapper_drop(void *wrapper)
{
	int saved = errno;

	free(wrapper);
	errno = saved;
	return NULL;
}

/* ---- devices and contexts */

COMPAT_1_0(struct ibv_device_1_0 **, ibv_get_device_list, int *num)
{
	struct device_list_1_0 *list;
	int n;
	struct ibv_device **real_list = ibv_get_device_list(&n);

	if (!real_list)
		return NULL;
	list = calloc(1, sizeof(*list) + (n + 1) * sizeof(list->entry[0]));
	if (list)
		list->devices = calloc(n + 1, sizeof(list->devices[0]));
	if (!list || !list->devices) {
		ibv_free_device_list(real_list);
		free(list);
		errno = ENOMEM;
		return NULL;
	}
	list->real_list = real_list;
	for (int i = 0; i < n; i++) {
		list->devices[i].real_device = real_list[i];
		list->entry[i] = &list->devices[i];
	}
	if (num)
		*num = n;
	return list->entry;
}

COMPAT_1_0(void, ibv_free_device_list, struct ibv_device_1_0 **entry)
{
	struct device_list_1_0 *list =
		(struct device_list_1_0 *)((char *)entry - offsetof(struct device_list_1_0, entry));

	ibv_free_device_list(list->real_list);
	free(list->devices);
	free(list);
}

COMPAT_1_0(const char *, ibv_get_device_name, struct ibv_device_1_0 *device)
{
	return ibv_get_device_name(device->real_device);
}

COMPAT_1_0(__be64, ibv_get_device_guid, struct ibv_device_1_0 *device)
{
	return ibv_get_device_guid(device->real_device);
}

static int poll_cq_1_0(struct ibv_cq_1_0 *cq, int num_entries, struct ibv_wc *wc)
{
	return ibv_poll_cq(cq->real_cq, num_entries, wc);
}

static int req_notify_cq_1_0(struct ibv_cq_1_0 *cq, int solicited_only)
{
	return ibv_req_notify_cq(cq->real_cq, solicited_only);
}

static struct ibv_recv_wr recv_wr_from_1_0(const struct ibv_recv_wr_1_0 *wr)
{
	return (struct ibv_recv_wr){
		.wr_id = wr->wr_id,
		.sg_list = wr->sg_list,
		.num_sge = wr->num_sge,
	};
}

static struct ibv_send_wr send_wr_from_1_0(const struct ibv_send_wr_1_0 *wr, enum ibv_qp_type type)
{
	struct ibv_send_wr real = {
		.wr_id = wr->wr_id,
		.sg_list = wr->sg_list,
		.num_sge = wr->num_sge,
		.opcode = wr->opcode,
		.send_flags = wr->send_flags,
		.imm_data = wr->imm_data,
	};

	if (type == IBV_QPT_UD) {
		real.wr.ud.ah = wr->wr.ud.ah->real_ah;
		real.wr.ud.remote_qpn = wr->wr.ud.remote_qpn;
		real.wr.ud.remote_qkey = wr->wr.ud.remote_qkey;
	} else if (wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
		   wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		real.wr.atomic.remote_addr = wr->wr.atomic.remote_addr;
		real.wr.atomic.compare_add = wr->wr.atomic.compare_add;
		real.wr.atomic.swap = wr->wr.atomic.swap;
		real.wr.atomic.rkey = wr->wr.atomic.rkey;
	} else {
		real.wr.rdma.remote_addr = wr->wr.rdma.remote_addr;
		real.wr.rdma.rkey = wr->wr.rdma.rkey;
	}
	return real;
}

/* Post requests one by one, because a converted list would need memory. */
static int post_send_1_0(struct ibv_qp_1_0 *qp, struct ibv_send_wr_1_0 *wr,
			 struct ibv_send_wr_1_0 **bad_wr)
{
	for (; wr; wr = wr->next) {
		struct ibv_send_wr real = send_wr_from_1_0(wr, qp->qp_type), *bad;
		int r = ibv_post_send(qp->real_qp, &real, &bad);

		if (r) {
			*bad_wr = wr;
			return r;
		}
	}
	return 0;
}

static int post_recv_1_0(struct ibv_qp_1_0 *qp, struct ibv_recv_wr_1_0 *wr,
			 struct ibv_recv_wr_1_0 **bad_wr)
{
	for (; wr; wr = wr->next) {
		struct ibv_recv_wr real = recv_wr_from_1_0(wr), *bad;
		int r = ibv_post_recv(qp->real_qp, &real, &bad);

		if (r) {
			*bad_wr = wr;
			return r;
		}
	}
	return 0;
}

static int post_srq_recv_1_0(struct ibv_srq_1_0 *srq, struct ibv_recv_wr_1_0 *wr,
			     struct ibv_recv_wr_1_0 **bad_wr)
{
	for (; wr; wr = wr->next) {
		struct ibv_recv_wr real = recv_wr_from_1_0(wr), *bad;
		int r = ibv_post_srq_recv(srq->real_srq, &real, &bad);

		if (r) {
			*bad_wr = wr;
			return r;
		}
	}
	return 0;
}

COMPAT_1_0(struct ibv_context_1_0 *, ibv_open_device, struct ibv_device_1_0 *device)
{
	struct ibv_context_1_0 *context = malloc(sizeof(*context));
	struct ibv_context *real;

	if (!context)
		return NULL;
	real = ibv_open_device(device->real_device);
	if (!real)
		return wrapper_drop(context);
	*context = (struct ibv_context_1_0){
		.device = &context->own_device,
		.ops = {
			.poll_cq = poll_cq_1_0,
			.req_notify_cq = req_notify_cq_1_0,
			.post_srq_recv = post_srq_recv_1_0,
			.post_send = post_send_1_0,
			.post_recv = post_recv_1_0,
		},
		.cmd_fd = real->cmd_fd,
		.async_fd = real->async_fd,
		.num_comp_vectors = real->num_comp_vectors,
		.real_context = real,
		.own_device.real_device = real->device,
	};
	return context;
}

COMPAT_1_0(int, ibv_close_device, struct ibv_context_1_0 *context)
{
	int r = ibv_close_device(context->real_context);

	if (!r)
		free(context);
	return r;
}

COMPAT_1_0(int, ibv_query_device, struct ibv_context_1_0 *context, struct ibv_device_attr *attr)
{
	return ibv_query_device(context->real_context, attr);
}

/* Call the function, not the macro, because the old program has only the old part of the struct. */
COMPAT_1_0(int, ibv_query_port, struct ibv_context_1_0 *context, uint8_t port_num,
	   struct _compat_ibv_port_attr *attr)
{
	return (ibv_query_port)(context->real_context, port_num, attr);
}

COMPAT_1_0(int, ibv_query_gid, struct ibv_context_1_0 *context, uint8_t port_num, int index,
	   union ibv_gid *gid)
{
	return ibv_query_gid(context->real_context, port_num, index, gid);
}

COMPAT_1_0(int, ibv_query_pkey, struct ibv_context_1_0 *context, uint8_t port_num, int index,
	   __be16 *pkey)
{
	return ibv_query_pkey(context->real_context, port_num, index, pkey);
}

/* ---- asynchronous events: the element of the real event, exchanged for its wrapper and back */

enum event_element {
	ELEMENT_PORT,
	ELEMENT_CQ,
	ELEMENT_QP,
	ELEMENT_SRQ
};

static enum event_element event_element(enum ibv_event_type type)
{
	switch (type) {
	case IBV_EVENT_CQ_ERR:
		return ELEMENT_CQ;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		return ELEMENT_QP;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		return ELEMENT_SRQ;
	default:
		return ELEMENT_PORT;
	}
}

COMPAT_1_0(int, ibv_get_async_event, struct ibv_context_1_0 *context, struct ibv_async_event *event)
{
	int r = ibv_get_async_event(context->real_context, event);

	if (r)
		return r;
	switch (event_element(event->event_type)) {
	case ELEMENT_CQ:
		event->element.cq = event->element.cq->cq_context;
		break;
	case ELEMENT_QP:
		event->element.qp = event->element.qp->qp_context;
		break;
	case ELEMENT_SRQ:
		event->element.srq = event->element.srq->srq_context;
		break;
	case ELEMENT_PORT:
		break;
	}
	return 0;
}

COMPAT_1_0(void, ibv_ack_async_event, struct ibv_async_event *event)
{
	struct ibv_async_event real = *event;

	switch (event_element(event->event_type)) {
	case ELEMENT_CQ:
		real.element.cq = ((struct ibv_cq_1_0 *)event->element.cq)->real_cq;
		break;
	case ELEMENT_QP:
		real.element.qp = ((struct ibv_qp_1_0 *)event->element.qp)->real_qp;
		break;
	case ELEMENT_SRQ:
		real.element.srq = ((struct ibv_srq_1_0 *)event->element.srq)->real_srq;
		break;
	case ELEMENT_PORT:
		break;
	}
	ibv_ack_async_event(&real);
}

/* ---- protection domains and memory regions */

COMPAT_1_0(struct ibv_pd_1_0 *, ibv_alloc_pd, struct ibv_context_1_0 *context)
{
	struct ibv_pd_1_0 *pd = malloc(sizeof(*pd));
	struct ibv_pd *real;

	if (!pd)
		return NULL;
	real = ibv_alloc_pd(context->real_context);
	if (!real)
		return wrapper_drop(pd);
	*pd = (struct ibv_pd_1_0){ .context = context, .handle = real->handle, .real_pd = real };
	return pd;
}

COMPAT_1_0(int, ibv_dealloc_pd, struct ibv_pd_1_0 *pd)
{
	int r = ibv_dealloc_pd(pd->real_pd);

	if (!r)
		free(pd);
	return r;
}

COMPAT_1_0(struct ibv_mr_1_0 *, ibv_reg_mr, struct ibv_pd_1_0 *pd, void *addr, size_t length,
	   int access)
{
	struct ibv_mr_1_0 *mr = malloc(sizeof(*mr));
	struct ibv_mr *real;

	if (!mr)
		return NULL;
	real = (ibv_reg_mr)(pd->real_pd, addr, length, access);
	if (!real)
		return wrapper_drop(mr);
	*mr = (struct ibv_mr_1_0){
		.context = pd->context,
		.pd = pd,
		.handle = real->handle,
		.lkey = real->lkey,
		.rkey = real->rkey,
		.real_mr = real,
	};
	return mr;
}

COMPAT_1_0(int, ibv_dereg_mr, struct ibv_mr_1_0 *mr)
{
	int r = ibv_dereg_mr(mr->real_mr);

	if (!r)
		free(mr);
	return r;
}

/* ---- completion queues */

COMPAT_1_0(struct ibv_cq_1_0 *, ibv_create_cq, struct ibv_context_1_0 *context, int cqe,
	   void *cq_context, struct ibv_comp_channel *channel, int comp_vector)
{
	struct ibv_cq_1_0 *cq = malloc(sizeof(*cq));
	struct ibv_cq *real;

	if (!cq)
		return NULL;
	real = ibv_create_cq(context->real_context, cqe, cq, channel, comp_vector);
	if (!real)
		return wrapper_drop(cq);
	*cq = (struct ibv_cq_1_0){
		.context = context,
		.cq_context = cq_context,
		.handle = real->handle,
		.cqe = real->cqe,
		.real_cq = real,
	};
	return cq;
}

COMPAT_1_0(int, ibv_resize_cq, struct ibv_cq_1_0 *cq, int cqe)
{
	int r = ibv_resize_cq(cq->real_cq, cqe);

	cq->cqe = cq->real_cq->cqe;
	return r;
}

COMPAT_1_0(int, ibv_destroy_cq, struct ibv_cq_1_0 *cq)
{
	int r = ibv_destroy_cq(cq->real_cq);

	if (!r)
		free(cq);
	return r;
}

COMPAT_1_0(int, ibv_get_cq_event, struct ibv_comp_channel *channel, struct ibv_cq_1_0 **ret_cq,
	   void **ret_cq_context)
{
	struct ibv_cq *real;
	void *wrapper;
	int r = ibv_get_cq_event(channel, &real, &wrapper);

	if (r)
		return r;
	*ret_cq = wrapper;
	*ret_cq_context = (*ret_cq)->cq_context;
	return 0;
}

COMPAT_1_0(void, ibv_ack_cq_events, struct ibv_cq_1_0 *cq, unsigned int nevents)
{
	ibv_ack_cq_events(cq->real_cq, nevents);
}

/* ---- shared receive queues */

COMPAT_1_0(struct ibv_srq_1_0 *, ibv_create_srq, struct ibv_pd_1_0 *pd,
	   struct ibv_srq_init_attr *init_attr)
{
	struct ibv_srq_1_0 *srq = malloc(sizeof(*srq));
	struct ibv_srq_init_attr real_attr = { .srq_context = srq, .attr = init_attr->attr };
	struct ibv_srq *real;

	if (!srq)
		return NULL;
	real = ibv_create_srq(pd->real_pd, &real_attr);
	if (!real)
		return wrapper_drop(srq);
	init_attr->attr = real_attr.attr;
	*srq = (struct ibv_srq_1_0){
		.context = pd->context,
		.srq_context = init_attr->srq_context,
		.pd = pd,
		.handle = real->handle,
		.real_srq = real,
	};
	return srq;
}

COMPAT_1_0(int, ibv_modify_srq, struct ibv_srq_1_0 *srq, struct ibv_srq_attr *attr, int attr_mask)
{
	return ibv_modify_srq(srq->real_srq, attr, attr_mask);
}

COMPAT_1_0(int, ibv_query_srq, struct ibv_srq_1_0 *srq, struct ibv_srq_attr *attr)
{
	return ibv_query_srq(srq->real_srq, attr);
}

COMPAT_1_0(int, ibv_destroy_srq, struct ibv_srq_1_0 *srq)
{
	int r = ibv_destroy_srq(srq->real_srq);

	if (!r)
		free(srq);
	return r;
}

/* ---- queue pairs */

COMPAT_1_0(struct ibv_qp_1_0 *, ibv_create_qp, struct ibv_pd_1_0 *pd,
	   struct ibv_qp_init_attr_1_0 *init_attr)
{
	struct ibv_qp_1_0 *qp = malloc(sizeof(*qp));
	struct ibv_qp_init_attr real_attr = {
		.qp_context = qp,
		.send_cq = init_attr->send_cq ? init_attr->send_cq->real_cq : NULL,
		.recv_cq = init_attr->recv_cq ? init_attr->recv_cq->real_cq : NULL,
		.srq = init_attr->srq ? init_attr->srq->real_srq : NULL,
		.cap = init_attr->cap,
		.qp_type = init_attr->qp_type,
		.sq_sig_all = init_attr->sq_sig_all,
	};
	struct ibv_qp *real;

	if (!qp)
		return NULL;
	real = ibv_create_qp(pd->real_pd, &real_attr);
	if (!real)
		return wrapper_drop(qp);
	init_attr->cap = real_attr.cap;
	*qp = (struct ibv_qp_1_0){
		.context = pd->context,
		.qp_context = init_attr->qp_context,
		.pd = pd,
		.send_cq = init_attr->send_cq,
		.recv_cq = init_attr->recv_cq,
		.srq = init_attr->srq,
		.handle = real->handle,
		.qp_num = real->qp_num,
		.state = real->state,
		.qp_type = real->qp_type,
		.real_qp = real,
	};
	return qp;
}

/* The caller's struct ibv_qp_attr ends before rate_limit. */
COMPAT_1_0(int, ibv_query_qp, struct ibv_qp_1_0 *qp, struct ibv_qp_attr *attr, int attr_mask,
	   struct ibv_qp_init_attr_1_0 *init_attr)
{
	struct ibv_qp_init_attr real_init = {};
	struct ibv_qp_attr real_attr = {};
	int r = ibv_query_qp(qp->real_qp, &real_attr, attr_mask, &real_init);

	if (r)
		return r;
	memcpy(attr, &real_attr, offsetof(struct ibv_qp_attr, rate_limit));
	*init_attr = (struct ibv_qp_init_attr_1_0){
		.qp_context = qp->qp_context,
		.send_cq = qp->send_cq,
		.recv_cq = qp->recv_cq,
		.srq = qp->srq,
		.cap = real_init.cap,
		.qp_type = qp->qp_type,
		.sq_sig_all = real_init.sq_sig_all,
	};
	qp->state = qp->real_qp->state;
	return 0;
}

COMPAT_1_0(int, ibv_modify_qp, struct ibv_qp_1_0 *qp, struct ibv_qp_attr *attr, int attr_mask)
{
	int r = ibv_modify_qp(qp->real_qp, attr, attr_mask);

	qp->state = qp->real_qp->state;
	return r;
}

COMPAT_1_0(int, ibv_destroy_qp, struct ibv_qp_1_0 *qp)
{
	int r = ibv_destroy_qp(qp->real_qp);

	if (!r)
		free(qp);
	return r;
}

COMPAT_1_0(int, ibv_attach_mcast, struct ibv_qp_1_0 *qp, union ibv_gid *gid, uint16_t lid)
{
	return ibv_attach_mcast(qp->real_qp, gid, lid);
}

COMPAT_1_0(int, ibv_detach_mcast, struct ibv_qp_1_0 *qp, union ibv_gid *gid, uint16_t lid)
{
	return ibv_detach_mcast(qp->real_qp, gid, lid);
}

/* ---- address handles */

COMPAT_1_0(struct ibv_ah_1_0 *, ibv_create_ah, struct ibv_pd_1_0 *pd, struct ibv_ah_attr *attr)
{
	struct ibv_ah_1_0 *ah = malloc(sizeof(*ah));
	struct ibv_ah *real;

	if (!ah)
		return NULL;
	real = ibv_create_ah(pd->real_pd, attr);
	if (!real)
		return wrapper_drop(ah);
	*ah = (struct ibv_ah_1_0){
		.context = pd->context,
		.pd = pd,
		.handle = real->handle,
		.real_ah = real,
	};
	return ah;
}

COMPAT_1_0(int, ibv_destroy_ah, struct ibv_ah_1_0 *ah)
{
	int r = ibv_destroy_ah(ah->real_ah);

	if (!r)
		free(ah);
	return r;
}

/*
 * Drivers of libibverbs 1.1 registered themselves when they were loaded. The name exists so that
 * programs linked with such a driver still start. The driver gets no device.
 */
COMPAT_SYMBOL("IBVERBS_1.1", void, ibv_register_driver, const char *name, void *init)
{
	log_warn(
		"the driver %s was built for libibverbs 1.1 and cannot be used: install its provider",
		name);
}

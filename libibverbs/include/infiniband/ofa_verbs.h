/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The XRC calls that OFED had before libibverbs got ibv_open_xrcd() and related calls. Programs
 * that were written for OFED call these inline functions, which use the calls of today. New
 * programs need only verbs.h. See verbs(7).
 *
 * These calls identify a receive queue pair by its number. The domain keeps the handle of each
 * receive queue pair that this process created or registered for.
 */
#ifndef INFINIBAND_OFA_VERBS_H
#define INFINIBAND_OFA_VERBS_H

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The sending half of an XRC queue pair. ibv_create_xrc_rcv_qp() creates the receiving half. */
#define IBV_QPT_XRC IBV_QPT_XRC_SEND

/* Member of struct ibv_send_wr: the shared receive queue of the peer. */
#define xrc_remote_srq_num qp_type.xrc.remote_srqn

struct ibv_ofa_rcv_qp {
	struct ibv_ofa_rcv_qp *next;
	struct ibv_qp *qp;
};

/* The program may read @context. Only the functions below use the other members. */
struct ibv_xrc_domain {
	struct ibv_context *context;
	struct ibv_xrcd *xrcd;
	pthread_mutex_t lock; /* the list */
	struct ibv_ofa_rcv_qp *qps;
};

/* struct ibv_qp_init_attr with the member that OFED had behind the others. */
struct ibv_ofa_qp_init_attr {
	void *qp_context;
	struct ibv_cq *send_cq;
	struct ibv_cq *recv_cq;
	struct ibv_srq *srq;
	struct ibv_qp_cap cap;
	enum ibv_qp_type qp_type;
	int sq_sig_all;
	struct ibv_xrc_domain *xrc_domain;
};

/**
 * ibv_open_xrc_domain() - open the domain of a file, or a new domain if @fd is -1
 * @oflag: O_CREAT, O_EXCL as ibv_open_xrcd() has them
 *
 * Return: NULL and errno on failure.
 */
static inline struct ibv_xrc_domain *ibv_open_xrc_domain(struct ibv_context *context, int fd,
							 int oflag)
{
	struct ibv_xrc_domain *domain = (struct ibv_xrc_domain *)calloc(1, sizeof(*domain));
	struct ibv_xrcd_init_attr attr;

	if (!domain)
		return NULL;
	attr.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
	attr.fd = fd;
	attr.oflags = oflag;
	domain->context = context;
	domain->xrcd = ibv_open_xrcd(context, &attr);
	if (!domain->xrcd) {
		free(domain);
		return NULL;
	}
	pthread_mutex_init(&domain->lock, NULL);
	return domain;
}

/**
 * ibv_close_xrc_domain() - close a domain
 *
 * Return: 0 or an errno value. EBUSY: the domain has queues or registered receive queue pairs.
 */
static inline int ibv_close_xrc_domain(struct ibv_xrc_domain *domain)
{
	int r = ibv_close_xrcd(domain->xrcd);

	if (r)
		return r;
	pthread_mutex_destroy(&domain->lock);
	free(domain);
	return 0;
}

/**
 * ibv_create_xrc_srq() - a shared receive queue of the domain, which completes on @xrc_cq
 *
 * ibv_xrc_srq_num() returns its number, which was srq->xrc_srq_num in OFED.
 */
static inline struct ibv_srq *ibv_create_xrc_srq(struct ibv_pd *pd,
						 struct ibv_xrc_domain *xrc_domain,
						 struct ibv_cq *xrc_cq,
						 struct ibv_srq_init_attr *srq_init_attr)
{
	struct ibv_srq_init_attr_ex attr;
	struct ibv_srq *srq;

	memset(&attr, 0, sizeof(attr));
	attr.srq_context = srq_init_attr->srq_context;
	attr.attr = srq_init_attr->attr;
	attr.comp_mask = IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_XRCD |
			 IBV_SRQ_INIT_ATTR_CQ;
	attr.srq_type = IBV_SRQT_XRC;
	attr.pd = pd;
	attr.xrcd = xrc_domain->xrcd;
	attr.cq = xrc_cq;
	srq = ibv_create_srq_ex(pd->context, &attr);
	if (srq)
		srq_init_attr->attr = attr.attr;
	return srq;
}

/* Return the number of the queue for senders; 0 if it is not an XRC queue. */
static inline uint32_t ibv_xrc_srq_num(struct ibv_srq *srq)
{
	uint32_t number = 0;

	return ibv_get_srq_num(srq, &number) ? 0 : number;
}

/* Find the place of the queue pair in the list, or the end of the list. Under the lock. */
static inline struct ibv_ofa_rcv_qp **ibv_ofa_find(struct ibv_xrc_domain *domain, uint32_t number)
{
	struct ibv_ofa_rcv_qp **at = &domain->qps;

	while (*at && (*at)->qp->qp_num != number)
		at = &(*at)->next;
	return at;
}

static inline struct ibv_qp *ibv_ofa_open(struct ibv_xrc_domain *domain, uint32_t number)
{
	struct ibv_qp_open_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
	attr.qp_num = number;
	attr.xrcd = domain->xrcd;
	attr.qp_type = IBV_QPT_XRC_RECV;
	return ibv_open_qp(domain->context, &attr);
}

/* Add the handle to the list, or destroy it on failure. Under the lock. */
static inline int ibv_ofa_keep(struct ibv_xrc_domain *domain, struct ibv_qp *qp)
{
	struct ibv_ofa_rcv_qp *entry = (struct ibv_ofa_rcv_qp *)malloc(sizeof(*entry));

	if (!entry) {
		ibv_destroy_qp(qp);
		return ENOMEM;
	}
	entry->qp = qp;
	entry->next = domain->qps;
	domain->qps = entry;
	return 0;
}

/**
 * ibv_create_xrc_rcv_qp() - create a receive queue pair in init_attr->xrc_domain
 *
 * The other members of @init_attr are ignored. The call also registers the process for the queue
 * pair, which therefore exists at least until ibv_unreg_xrc_rcv_qp().
 * Return: 0 or an errno value.
 */
static inline int ibv_create_xrc_rcv_qp(struct ibv_ofa_qp_init_attr *init_attr,
					uint32_t *xrc_rcv_qpn)
{
	struct ibv_xrc_domain *domain = init_attr ? init_attr->xrc_domain : NULL;
	struct ibv_qp_init_attr_ex attr;
	struct ibv_qp *qp;
	int r;

	if (!domain || !xrc_rcv_qpn)
		return EINVAL;
	memset(&attr, 0, sizeof(attr));
	attr.qp_type = IBV_QPT_XRC_RECV;
	attr.comp_mask = IBV_QP_INIT_ATTR_XRCD;
	attr.xrcd = domain->xrcd;
	qp = ibv_create_qp_ex(domain->context, &attr);
	if (!qp)
		return errno;
	pthread_mutex_lock(&domain->lock);
	r = ibv_ofa_keep(domain, qp);
	if (!r)
		*xrc_rcv_qpn = qp->qp_num;
	pthread_mutex_unlock(&domain->lock);
	return r;
}

/**
 * ibv_modify_xrc_rcv_qp(), ibv_query_xrc_rcv_qp() - as ibv_modify_qp(), ibv_query_qp()
 *
 * Return: EINVAL: the domain has no receive queue pair of that number.
 */
static inline int ibv_modify_xrc_rcv_qp(struct ibv_xrc_domain *xrc_domain, uint32_t xrc_qp_num,
					struct ibv_qp_attr *attr, int attr_mask)
{
	struct ibv_ofa_rcv_qp *kept;
	struct ibv_qp *qp;
	int r;

	pthread_mutex_lock(&xrc_domain->lock);
	kept = *ibv_ofa_find(xrc_domain, xrc_qp_num);
	qp = kept ? kept->qp : ibv_ofa_open(xrc_domain, xrc_qp_num);
	r = qp ? ibv_modify_qp(qp, attr, attr_mask) : errno;
	if (qp && !kept)
		ibv_destroy_qp(qp);
	pthread_mutex_unlock(&xrc_domain->lock);
	return r;
}

static inline int ibv_query_xrc_rcv_qp(struct ibv_xrc_domain *xrc_domain, uint32_t xrc_qp_num,
				       struct ibv_qp_attr *attr, int attr_mask,
				       struct ibv_ofa_qp_init_attr *init_attr)
{
	struct ibv_ofa_rcv_qp *kept;
	struct ibv_qp *qp;
	int r;

	pthread_mutex_lock(&xrc_domain->lock);
	kept = *ibv_ofa_find(xrc_domain, xrc_qp_num);
	qp = kept ? kept->qp : ibv_ofa_open(xrc_domain, xrc_qp_num);
	/* Both structs begin with the same members. */
	r = qp ? ibv_query_qp(qp, attr, attr_mask, (struct ibv_qp_init_attr *)(void *)init_attr)
	       : errno;
	if (!r)
		init_attr->xrc_domain = xrc_domain;
	if (qp && !kept)
		ibv_destroy_qp(qp);
	pthread_mutex_unlock(&xrc_domain->lock);
	return r;
}

/**
 * ibv_reg_xrc_rcv_qp(), ibv_unreg_xrc_rcv_qp() - keep a receive queue pair, or stop keeping it
 *
 * The queue pair is destroyed when no process is registered. A second registration has no effect.
 * Return: 0 or an errno. EINVAL: no such queue pair in the domain, or this process is not
 * registered.
 */
static inline int ibv_reg_xrc_rcv_qp(struct ibv_xrc_domain *xrc_domain, uint32_t xrc_qp_num)
{
	struct ibv_qp *qp;
	int r = 0;

	pthread_mutex_lock(&xrc_domain->lock);
	if (!*ibv_ofa_find(xrc_domain, xrc_qp_num)) {
		qp = ibv_ofa_open(xrc_domain, xrc_qp_num);
		r = qp ? ibv_ofa_keep(xrc_domain, qp) : errno;
	}
	pthread_mutex_unlock(&xrc_domain->lock);
	return r;
}

static inline int ibv_unreg_xrc_rcv_qp(struct ibv_xrc_domain *xrc_domain, uint32_t xrc_qp_num)
{
	struct ibv_ofa_rcv_qp **at, *entry;
	int r = EINVAL;

	pthread_mutex_lock(&xrc_domain->lock);
	at = ibv_ofa_find(xrc_domain, xrc_qp_num);
	entry = *at;
	if (entry)
		r = ibv_destroy_qp(entry->qp);
	if (!r) {
		*at = entry->next;
		free(entry);
	}
	pthread_mutex_unlock(&xrc_domain->lock);
	return r;
}

/* The larger struct begins with the members of the struct of verbs.h. */
static inline struct ibv_qp *ibv_ofa_create_qp(struct ibv_pd *pd,
					       struct ibv_ofa_qp_init_attr *init_attr)
{
	return ibv_create_qp(pd, (struct ibv_qp_init_attr *)(void *)init_attr);
}

static inline int ibv_ofa_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask,
				   struct ibv_ofa_qp_init_attr *init_attr)
{
	return ibv_query_qp(qp, attr, attr_mask, (struct ibv_qp_init_attr *)(void *)init_attr);
}

#define ibv_qp_init_attr ibv_ofa_qp_init_attr
#define ibv_create_qp	 ibv_ofa_create_qp
#define ibv_query_qp	 ibv_ofa_query_qp

#ifdef __cplusplus
}
#endif

#endif

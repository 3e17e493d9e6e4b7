/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A device without a network. The provider's own operations create the queues. Sent packets are
 * only counted, and no packet arrives. */
#ifndef UROCE_FIXTURE_H
#define UROCE_FIXTURE_H

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <rdma/ib_user_verbs.h>

#include "providers/uroce/verbs/verbs.h"

enum {
	FIXTURE_MTU = 1024
};

struct fixture {
	struct uroce_host host;
	struct uroce_shm shm; /* shared memory without peers */
	struct uroce_dev dev;
	struct uroce_context ctx;
	struct ibv_device device;
	struct uroce_pd pd;
	struct uroce_path path;
	struct uroce_ah ah;
	uint8_t buf[8192];
	struct uroce_mr mr;
	unsigned int sent; /* packets */
	int send_result;
	struct uroce_hdr hdr; /* of the last one */
	uint8_t payload[FIXTURE_MTU];
	uint32_t length;
	long thread[2048]; /* zeros for the progress thread: asleep */
};

static struct fixture fx;

static int fixture_send(struct uroce_path *path, const struct uroce_av *av,
			const struct uroce_tx *tx)
{
	if (fx.send_result < 0)
		return fx.send_result;
	fx.sent++;
	fx.hdr = *tx->hdr;
	fx.length = 0;
	for (int i = 0; i < tx->iovcnt; i++) {
		assert_true(fx.length + tx->iov[i].iov_len <= FIXTURE_MTU);
		if (uroce_copy(fx.payload + fx.length, tx->iov[i].iov_base, tx->iov[i].iov_len) < 0)
			return -EFAULT;
		fx.length += tx->iov[i].iov_len;
	}
	return 0;
}

static int fixture_setup(void **state)
{
	static const struct uroce_path_ops ops = { .send = fixture_send };
	struct verbs_reg_mr in = {
		.pd = &fx.pd.pd,
		.addr = fx.buf,
		.length = sizeof(fx.buf),
		.iova = (uintptr_t)fx.buf,
		.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND,
	};

	uroce_host_init(&fx.host, 0);
	fx.host.pid = getpid();
	fx.host.paths.slot = 1;
	path_host_take(&fx.host.paths, 1);
	fx.host.shm = &fx.shm;
	fx.shm.host = &fx.host.paths;
	fx.shm.board = calloc(1, sizeof(*fx.shm.board));
	fx.host.qps = calloc(1 << UROCE_QP_INDEX_BITS, sizeof(*fx.host.qps));
	fx.host.resting = calloc(1 << UROCE_QP_INDEX_BITS, sizeof(*fx.host.resting));
	pthread_mutex_init(&fx.host.lock, NULL);
	fx.host.thread = (struct uroce_thread *)fx.thread;
	fx.dev.host = &fx.host;
	fx.ctx.dev = &fx.dev;
	snprintf(fx.device.name, sizeof(fx.device.name), "test");
	fx.ctx.vctx.context.device = &fx.device;
	fx.path = (struct uroce_path){ .ops = &ops, .host = &fx.host.paths, .lossless = true };
	fx.ah = (struct uroce_ah){ .av = { .path = &fx.path, .mtu = FIXTURE_MTU } };
	fx.pd.pd.context = &fx.ctx.vctx.context;
	fx.mr.vmr.ibv_mr.context = &fx.ctx.vctx.context;
	fx.mr.vmr.ibv_mr.pd = &fx.pd.pd;
	if (!fx.shm.board || uroce_keys_new(&fx.host.engine.keys) || uroce_event_open(&fx.ctx) ||
	    uroce_alloc_pd(&fx.pd.pd, NULL) || uroce_reg_mr(&fx.mr.vmr, &in))
		return -1;
	/* A thread that polls an empty queue finds progress_lock taken. */
	uroce_lock(&fx.host.paths.progress_lock);
	return 0;
}

/* Check that all objects were destroyed. */
static int fixture_teardown(void **state)
{
	int r = uroce_dereg_mr(&fx.mr.vmr);

	if (!r)
		r = uroce_dealloc_pd(&fx.pd.pd);
	uroce_unlock(&fx.host.paths.progress_lock);
	uroce_keys_free(fx.host.engine.keys);
	uroce_event_close(&fx.ctx);
	close(fx.ctx.vctx.context.async_fd);
	free(fx.shm.board);
	free(fx.host.resting);
	free(fx.host.qps);
	return r;
}

static inline struct ibv_sge sge_at(uint32_t offset, uint32_t length)
{
	return (struct ibv_sge){ (uintptr_t)fx.buf + offset, length, fx.mr.vmr.ibv_mr.lkey };
}

static inline struct uroce_cq *fixture_cq(uint32_t cqe, struct ibv_comp_channel *channel,
					  uint64_t wc_flags)
{
	const struct ibv_cq_init_attr_ex attr = { .cqe = cqe,
						  .channel = channel,
						  .wc_flags = wc_flags };
	const struct verbs_create_cq in = { .attr = &attr, .extended = wc_flags };
	struct uroce_cq *cq = calloc(1, sizeof(*cq));

	cq->vcq.cq.context = &fx.ctx.vctx.context;
	cq->vcq.cq.channel = channel;
	pthread_mutex_init(&cq->vcq.cq.mutex, NULL);
	pthread_cond_init(&cq->vcq.cq.cond, NULL);
	assert_int_equal(uroce_create_cq(&cq->vcq, &in), 0);
	return cq;
}

static inline void fixture_cq_free(struct uroce_cq *cq)
{
	assert_int_equal(uroce_destroy_cq(&cq->vcq), 0);
	free(cq);
}

static inline struct uroce_srq *fixture_srq(uint32_t max_wr, uint32_t max_sge)
{
	struct ibv_srq_init_attr_ex attr = { .attr = { .max_wr = max_wr, .max_sge = max_sge } };
	const struct verbs_create_srq in = { .attr = &attr };
	struct uroce_srq *srq = calloc(1, sizeof(*srq));

	srq->vsrq.srq.context = &fx.ctx.vctx.context;
	srq->vsrq.srq.pd = &fx.pd.pd;
	pthread_mutex_init(&srq->vsrq.srq.mutex, NULL);
	pthread_cond_init(&srq->vsrq.srq.cond, NULL);
	assert_int_equal(uroce_create_srq(&srq->vsrq, &in), 0);
	assert_true(attr.attr.max_wr >= max_wr && attr.attr.max_sge >= max_sge);
	return srq;
}

static inline void fixture_srq_free(struct uroce_srq *srq)
{
	assert_int_equal(uroce_destroy_srq(&srq->vsrq), 0);
	free(srq);
}

/* A QP in RTS whose peer never answers. */
static inline struct uroce_qp *fixture_qp(enum ibv_qp_type type, struct uroce_cq *cq,
					  struct uroce_srq *srq, uint64_t send_ops)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = &cq->vcq.cq,
		.recv_cq = &cq->vcq.cq,
		.srq = srq ? &srq->vsrq.srq : NULL,
		.cap = { .max_send_wr = 8,
			 .max_recv_wr = 4,
			 .max_send_sge = 2,
			 .max_recv_sge = 2,
			 .max_inline_data = 64 },
		.qp_type = type,
		.comp_mask = send_ops ? IBV_QP_INIT_ATTR_SEND_OPS_FLAGS : 0,
		.send_ops_flags = send_ops,
	};
	const struct verbs_create_qp in = { .attr = &attr, .extended = send_ops };
	struct uroce_qp *qp = calloc(1, sizeof(*qp));

	qp->vqp.qp.context = &fx.ctx.vctx.context;
	qp->vqp.qp.pd = &fx.pd.pd;
	qp->vqp.qp.qp_type = type;
	pthread_mutex_init(&qp->vqp.qp.mutex, NULL);
	pthread_cond_init(&qp->vqp.qp.cond, NULL);
	assert_int_equal(uroce_create_qp(&qp->vqp, &in), 0);
	qp->state = IBV_QPS_RTS;
	qp->av = fx.ah.av;
	qp->mtu = FIXTURE_MTU;
	qp->req.window = qp->req.window_max = 1000;
	qp->req.max_rd_atomic = 4;
	return qp;
}

static inline void fixture_qp_free(struct uroce_qp *qp)
{
	uroce_unlock(&fx.host.paths.progress_lock);
	assert_int_equal(uroce_destroy_qp(&qp->vqp), 0);
	uroce_lock(&fx.host.paths.progress_lock);
	free(qp);
}

static inline int fixture_poll(struct uroce_cq *cq, struct ibv_wc *wc)
{
	return uroce_poll_cq(&cq->vcq.cq, 1, wc);
}

/* Read the next asynchronous event. Return its type, or -1 if there is none. The caller
 * acknowledges. */
static inline int fixture_event(void)
{
	struct ib_uverbs_async_event_desc desc;
	int fd = fx.ctx.vctx.context.async_fd;

	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	return read(fd, &desc, sizeof(desc)) == sizeof(desc) ? (int)desc.event_type : -1;
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * usage: mlx5_numbers qp
 * srq
 * wq
 * target
 *
 * A thread destroys an object and is stopped after it has given the object's number back. Then
 * another thread makes a queue pair on the same completion queue. The queue pair gets that number,
 * and the adapter completes one of its receives. The first thread continues. The completion must
 * still be there.
 */
#include "tests/adapters/lab/scenario/script.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <infiniband/mlx5dv.h>

static sem_t stopped, go_on;
static atomic_bool was_stopped;
static _Thread_local bool destroys;

/* Replaces the C library's function. The number is given back with a lock of the provider held. */
__attribute__((visibility("default"))) int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	static int (*real)(pthread_mutex_t *);
	Dl_info info = {};
	int r;

	if (!real)
		real = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_unlock");
	r = real(mutex);
	if (!destroys || !dladdr(__builtin_return_address(0), &info) ||
	    !strstr(info.dli_fname, "libmlx5") || atomic_exchange(&was_stopped, true))
		return r;
	sem_post(&stopped);
	sem_wait(&go_on);
	return r;
}

static struct script s;
static const char *kind;
static void *object;

static void *make(void)
{
	const struct ibv_qp_cap cap = { 4, 4, 1, 1, 0 };
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_wq_init_attr wq_attr = {
		.wq_type = IBV_WQT_RQ, .max_wr = 4, .max_sge = 1, .pd = s.pd, .cq = s.recv_cq
	};
	struct ibv_xrcd_init_attr xrcd_attr = { .comp_mask = IBV_XRCD_INIT_ATTR_FD |
							     IBV_XRCD_INIT_ATTR_OFLAGS,
						.fd = -1,
						.oflags = O_CREAT };
	struct ibv_srq_init_attr_ex xrc_attr = {
		.attr = srq_attr.attr,
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = s.pd,
		.cq = s.recv_cq,
	};
	struct ibv_qp_init_attr_ex dct_attr = {
		.qp_type = IBV_QPT_DRIVER,
		.send_cq = s.recv_cq,
		.recv_cq = s.recv_cq,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = s.pd,
	};
	struct mlx5dv_qp_init_attr dct_more = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC,
		.dc_init_attr = { .dc_type = MLX5DV_DCTYPE_DCT, .dct_access_key = 1 },
	};

	switch (*kind) {
	case 's':
		xrc_attr.xrcd = ibv_open_xrcd(s.context, &xrcd_attr);
		must(xrc_attr.xrcd, "xrcd");
		return ibv_create_srq_ex(s.context, &xrc_attr);
	case 'w':
		return ibv_create_wq(s.context, &wq_attr);
	case 't':
		dct_attr.srq = ibv_create_srq(s.pd, &srq_attr);
		must(dct_attr.srq, "srq");
		return mlx5dv_create_qp(s.context, &dct_attr, &dct_more);
	default:
		script_qp(&s, IBV_QPT_RC, &cap);
		return s.qp;
	}
}

static void *destroy(void *unused)
{
	int r;

	destroys = true;
	r = *kind == 's'   ? ibv_destroy_srq(object)
	    : *kind == 'w' ? ibv_destroy_wq(object)
			   : ibv_destroy_qp(object);
	destroys = false;
	must(!r, "destroy");
	if (!atomic_exchange(&was_stopped, true))
		sem_post(&stopped);
	return NULL;
}

int main(int argc, char **argv)
{
	const struct ibv_qp_cap cap = { 4, 4, 1, 1, 0 };
	struct lab_completion done = { .receive = true, .wc = { .opcode = IBV_WC_RECV } };
	struct ibv_wc wc;
	pthread_t thread;

	kind = argc > 1 ? argv[1] : "qp";
	sem_init(&stopped, 0, 0);
	sem_init(&go_on, 0, 0);
	script_open(&s);
	object = make();
	must(object, "object");
	must(!pthread_create(&thread, NULL, destroy, NULL), "thread");
	sem_wait(&stopped);
	script_qp(&s, IBV_QPT_RC, &cap);
	script_modify(&s, IBV_QPS_INIT);
	must(!script_recv(&s, 1, 64), "receive");
	done.cq = s.recv_cq->handle;
	done.qp = s.qp->handle;
	must(!lab_complete(&done), "complete");
	sem_post(&go_on);
	must(!pthread_join(thread, NULL), "join");
	must(ibv_poll_cq(s.recv_cq, 1, &wc) == 1 && wc.wr_id == 0x1000,
	     "the new queue pair's completion");
	return 0;
}

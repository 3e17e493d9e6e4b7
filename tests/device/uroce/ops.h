/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Every operation of the device as a function without arguments, on one object of each kind. */
#ifndef TESTS_UROCE_OPS_H
#define TESTS_UROCE_OPS_H

#include <fcntl.h>

#include <infiniband/uroce.h>

#include "tests/lib/rt.h"

enum {
	SIZE = 4096,
};

/* One object of each kind. */
static struct world {
	struct rt_dev *dev;
	struct ibv_context *ctx;
	struct rt_pair pair;
	struct rt_side ud;
	struct ibv_cq_ex *cq_ex;
	struct ibv_comp_channel *channel;
	struct ibv_srq *srq;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	struct ibv_dm *dm;
	struct ibv_xrcd *xrcd;
	struct ibv_ah *ah;
	struct ibv_ah_attr ah_attr;
	union ibv_gid group;
	char memory[SIZE];
} w;

static void world_make(void)
{
	struct rt_options options = { .send_ops = IBV_QP_EX_WITH_SEND, .channel = true };
	struct ibv_cq_init_attr_ex cq_attr = { .cqe = 16 };
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct ibv_alloc_dm_attr dm_attr = { .length = SIZE };
	struct ibv_xrcd_init_attr xrcd_attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};
	struct rt_address self;

	w.dev = rt_open();
	w.ctx = w.dev->ctx;
	w.pair = rt_pair_open(w.dev, &options);
	options = (struct rt_options){ .type = IBV_QPT_UD };
	w.ud = rt_side_open(w.dev, &options, NULL);
	self = rt_side_address(&w.ud);
	w.ah_attr = rt_ah_attr(w.dev, &self);
	CHECK(w.cq_ex = ibv_create_cq_ex(w.ctx, &cq_attr));
	CHECK(w.channel = ibv_create_comp_channel(w.ctx));
	CHECK(w.srq = ibv_create_srq(w.dev->pd, &srq_attr));
	CHECK(w.pd = ibv_alloc_pd(w.ctx));
	CHECK(w.mr = ibv_reg_mr(w.dev->pd, w.memory, SIZE, RT_ACCESS | IBV_ACCESS_MW_BIND));
	CHECK(w.mw = ibv_alloc_mw(w.dev->pd, IBV_MW_TYPE_1));
	CHECK(w.dm = ibv_alloc_dm(w.ctx, &dm_attr));
	CHECK(w.xrcd = ibv_open_xrcd(w.ctx, &xrcd_attr));
	CHECK(w.ah = ibv_create_ah(w.dev->pd, &w.ah_attr));
	w.group = (union ibv_gid){ .raw = { 0xff, 0x0e, [10] = 0xff, 0xff, 239, 1, 2, 3 } };
}

/* --- the operations: each returns an errno, 0 for success --- */

/* Nothing destroys what these create: keep it reachable, which is no leak. */
static void *created[64];
static int created_count;

static int of_pointer(void *p)
{
	if (!p)
		return errno;
	CHECK(created_count < RT_COUNT(created));
	created[created_count++] = p;
	return 0;
}

/* Return the errno of a verb that returns -1 or a negative errno. */
static int of_number(long r)
{
	return r == -1 ? errno : r < 0 ? -r : r;
}

static int query_device(void)
{
	struct ibv_device_attr attr;

	return ibv_query_device(w.ctx, &attr);
}

static int query_port(void)
{
	struct ibv_port_attr attr;

	return ibv_query_port(w.ctx, 1, &attr);
}

static int query_gid(void)
{
	union ibv_gid gid;

	return of_number(ibv_query_gid(w.ctx, 1, 0, &gid));
}

static int query_gid_table(void)
{
	static struct ibv_gid_entry entries[4096];

	return of_number(ibv_query_gid_table(w.ctx, entries, 4096, 0));
}

static int query_pkey(void)
{
	__be16 pkey;

	return of_number(ibv_query_pkey(w.ctx, 1, 0, &pkey));
}

static int query_port_speed(void)
{
	uint64_t speed;

	return of_number(ibv_query_port_speed(w.ctx, 1, &speed));
}

static int query_rt_values(void)
{
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };

	return ibv_query_rt_values_ex(w.ctx, &values);
}

static int create_comp_channel(void)
{
	return of_pointer(ibv_create_comp_channel(w.ctx));
}

static int alloc_pd(void)
{
	return of_pointer(ibv_alloc_pd(w.ctx));
}

static int dealloc_pd(void)
{
	return ibv_dealloc_pd(w.pd);
}

static int alloc_td(void)
{
	struct ibv_td_init_attr attr = {};

	return of_pointer(ibv_alloc_td(w.ctx, &attr));
}

static int alloc_parent_domain(void)
{
	struct ibv_parent_domain_init_attr attr = { .pd = w.pd };

	return of_pointer(ibv_alloc_parent_domain(w.ctx, &attr));
}

static int reg_mr(void)
{
	return of_pointer(ibv_reg_mr(w.dev->pd, w.memory, SIZE, IBV_ACCESS_LOCAL_WRITE));
}

static int rereg_mr(void)
{
	return ibv_rereg_mr(w.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0) ? errno : 0;
}

static int dereg_mr(void)
{
	return ibv_dereg_mr(w.mr);
}

static int advise_mr(void)
{
	struct ibv_sge sge = { (uintptr_t)w.memory, SIZE, w.mr->lkey };

	return ibv_advise_mr(w.dev->pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1);
}

static int alloc_null_mr(void)
{
	return of_pointer(ibv_alloc_null_mr(w.dev->pd));
}

static int alloc_dm(void)
{
	struct ibv_alloc_dm_attr attr = { .length = SIZE };

	return of_pointer(ibv_alloc_dm(w.ctx, &attr));
}

static int free_dm(void)
{
	return ibv_free_dm(w.dm);
}

static int copy_to_dm(void)
{
	return ibv_memcpy_to_dm(w.dm, 0, w.memory, 8);
}

static int copy_from_dm(void)
{
	return ibv_memcpy_from_dm(w.memory, w.dm, 0, 8);
}

static int reg_dm_mr(void)
{
	return of_pointer(ibv_reg_dm_mr(w.dev->pd, w.dm, 0, SIZE, IBV_ACCESS_ZERO_BASED));
}

static int alloc_buf(void)
{
	static struct ibv_buf *buf;

	return of_pointer(ibv_alloc_buf(w.dev->pd, SIZE, &buf));
}

static int alloc_mw(void)
{
	return of_pointer(ibv_alloc_mw(w.dev->pd, IBV_MW_TYPE_1));
}

static int dealloc_mw(void)
{
	return ibv_dealloc_mw(w.mw);
}

static int bind_mw(void)
{
	struct ibv_mw_bind bind = { .bind_info = { w.mr, (uintptr_t)w.memory, SIZE, 0 } };

	return ibv_bind_mw(w.pair.a.qp, w.mw, &bind);
}

static int create_cq(void)
{
	return of_pointer(ibv_create_cq(w.ctx, 16, NULL, NULL, 0));
}

static int resize_cq(void)
{
	return ibv_resize_cq(w.pair.a.cq, 128);
}

static int modify_cq(void)
{
	struct ibv_modify_cq_attr attr = { .attr_mask = IBV_CQ_ATTR_MODERATE,
					   .moderate = { 1, 1 } };

	return ibv_modify_cq(w.pair.a.cq, &attr);
}

static int destroy_cq(void)
{
	return ibv_destroy_cq(ibv_cq_ex_to_cq(w.cq_ex));
}

static int poll_cq(void)
{
	struct ibv_wc wc;

	return of_number(ibv_poll_cq(w.pair.a.cq, 1, &wc));
}

static int start_poll(void)
{
	struct ibv_poll_cq_attr attr = {};

	return ibv_start_poll(w.cq_ex, &attr);
}

static int req_notify_cq(void)
{
	return ibv_req_notify_cq(w.pair.a.cq, 0);
}

static int create_srq(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 1, .max_sge = 1 } };

	return of_pointer(ibv_create_srq(w.dev->pd, &attr));
}

static int modify_srq(void)
{
	struct ibv_srq_attr attr = { .srq_limit = 1 };

	return ibv_modify_srq(w.srq, &attr, IBV_SRQ_LIMIT);
}

static int query_srq(void)
{
	struct ibv_srq_attr attr;

	return ibv_query_srq(w.srq, &attr);
}

static int destroy_srq(void)
{
	return ibv_destroy_srq(w.srq);
}

static int create_qp(void)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC,
					 .send_cq = w.pair.a.cq,
					 .recv_cq = w.pair.a.cq,
					 .cap = { 1, 1, 1, 1, 0 } };

	return of_pointer(ibv_create_qp(w.dev->pd, &attr));
}

static int modify_qp(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	return ibv_modify_qp(w.pair.b.qp, &attr, IBV_QP_STATE); /* side a is destroyed first */
}

static int query_qp(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return ibv_query_qp(w.pair.a.qp, &attr, IBV_QP_STATE, &init);
}

static int destroy_qp(void)
{
	return ibv_destroy_qp(w.pair.a.qp);
}

static int open_xrcd(void)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};

	return of_pointer(ibv_open_xrcd(w.ctx, &attr));
}

static int close_xrcd(void)
{
	return of_number(ibv_close_xrcd(w.xrcd));
}

static int open_qp(void)
{
	struct ibv_qp_open_attr attr = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE,
		.qp_num = w.pair.a.qp->qp_num,
		.xrcd = w.xrcd,
		.qp_type = IBV_QPT_XRC_RECV,
	};

	return of_pointer(ibv_open_qp(w.ctx, &attr));
}

static int create_ah(void)
{
	return of_pointer(ibv_create_ah(w.dev->pd, &w.ah_attr));
}

static int destroy_ah(void)
{
	return ibv_destroy_ah(w.ah);
}

static int attach_mcast(void)
{
	return ibv_attach_mcast(w.ud.qp, &w.group, 0);
}

static int detach_mcast(void)
{
	return ibv_detach_mcast(w.ud.qp, &w.group, 0);
}

static int post_send(void)
{
	struct ibv_sge sge = rt_sge(&w.pair.a, 0, 64);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 9, &sge), *bad = NULL;
	int r = ibv_post_send(w.pair.a.qp, &wr, &bad);

	return bad == &wr ? r : 0;
}

static int wr_complete(void)
{
	struct ibv_qp_ex *qp = w.pair.a.qpx;

	ibv_wr_start(qp);
	ibv_wr_send(qp);
	ibv_wr_set_sge(qp, w.mr->lkey, (uintptr_t)w.memory, 64);
	return ibv_wr_complete(qp);
}

static int wr_abort(void)
{
	ibv_wr_start(w.pair.a.qpx);
	ibv_wr_send(w.pair.a.qpx);
	ibv_wr_abort(w.pair.a.qpx);
	return EIO; /* it returned */
}

static int post_recv(void)
{
	struct ibv_sge sge = rt_sge(&w.pair.a, 0, 64);
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad = NULL;
	int r = ibv_post_recv(w.pair.a.qp, &wr, &bad);

	return bad == &wr ? r : 0;
}

static int post_srq_recv(void)
{
	struct ibv_sge sge = rt_sge(&w.pair.a, 0, 64);
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad = NULL;
	int r = ibv_post_srq_recv(w.srq, &wr, &bad);

	return bad == &wr ? r : 0;
}

static int counters(void)
{
	struct uroce_counter counter;

	return of_number(uroce_query_counters(w.ctx, NULL, &counter, 1));
}

static int first_error(void)
{
	struct uroce_qp_error error;

	return of_number(uroce_query_first_error(w.pair.a.qp, &error));
}

/* clang-format off */
#define OP(name)   { #name, name, true, false }
#define END(name)  { #name, name, true, true }
#define MORE(name) { #name, name, false, false }
/* clang-format on */
static const struct op {
	const char *name;
	int (*call)(void);
	bool in_table; /* one of the provider's operations */
	bool ends;     /* ends an object or its use */
} ops[] = {
	OP(query_device),   OP(query_port),	  OP(query_gid),       OP(query_gid_table),
	OP(query_pkey),	    OP(query_port_speed), OP(query_rt_values), OP(create_comp_channel),
	OP(alloc_pd),	    END(dealloc_pd),	  OP(alloc_td),	       OP(alloc_parent_domain),
	OP(reg_mr),	    OP(rereg_mr),	  END(dereg_mr),       OP(advise_mr),
	OP(alloc_null_mr),  OP(alloc_dm),	  END(free_dm),	       MORE(copy_to_dm),
	MORE(copy_from_dm), OP(reg_dm_mr),	  OP(alloc_buf),       OP(alloc_mw),
	END(dealloc_mw),    OP(bind_mw),	  OP(create_cq),       OP(resize_cq),
	OP(modify_cq),	    END(destroy_cq),	  OP(poll_cq),	       MORE(start_poll),
	OP(req_notify_cq),  OP(create_srq),	  OP(modify_srq),      OP(query_srq),
	END(destroy_srq),   OP(create_qp),	  END(destroy_qp),     OP(query_qp),
	END(modify_qp),	    OP(open_xrcd),	  END(close_xrcd),     OP(open_qp),
	OP(create_ah),	    END(destroy_ah),	  OP(attach_mcast),    OP(detach_mcast),
	OP(post_send),	    MORE(wr_complete),	  MORE(wr_abort),      OP(post_recv),
	OP(post_srq_recv),  MORE(counters),	  MORE(first_error),
};

#endif

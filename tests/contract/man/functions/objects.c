/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Run the functions that the pages show as examples: creation and queries of objects. The build
 * writes a header with the function for each page. */
#include <fcntl.h>
#include <pthread.h>

#include "tests/lib/rt.h"

#include "ibv_advise_mr.h"
#include "ibv_alloc_buf.h"
#include "ibv_alloc_dm.h"
#include "ibv_alloc_mw.h"
#include "ibv_alloc_parent_domain.h"
#include "ibv_alloc_td.h"
#include "ibv_attach_mcast.h"
#include "ibv_create_comp_channel.h"
#include "ibv_create_cq.h"
#include "ibv_create_qp.h"
#include "ibv_create_srq.h"
#include "ibv_import_device.h"
#include "ibv_open_qp.h"
#include "ibv_open_xrcd.h"
#include "ibv_query_ah.h"
#include "ibv_query_ece.h"
#include "ibv_query_mr.h"
#include "ibv_query_pkey.h"
#include "ibv_query_port_speed.h"
#include "ibv_query_qp.h"
#include "ibv_query_qp_data_in_order.h"
#include "ibv_query_rt_values_ex.h"
#include "ibv_rereg_mr.h"
#include "ibv_resolve_eth_l2_from_gid.h"

#define GROUP "ff0e::ffff:ef01:203"

enum {
	SIZE = 8192,
	RECEIVES = 40,
};

static void memory(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_buf buf = rt_buf_alloc(dev, SIZE, IBV_ACCESS_LOCAL_WRITE), larger;
	struct ibv_buf *allocated;
	struct ibv_mr *mr;
	struct ibv_dm *dm;

	CHECK_OK(region_prefetch(buf.mr));
	CHECK(!peer_may_write(buf.mr));
	larger = rt_buf_alloc(dev, 2 * SIZE, RT_ACCESS);
	CHECK(peer_may_write(larger.mr));
	mr = buffer(dev->pd, SIZE, &allocated);
	CHECK(mr);
	CHECK_INT(mr->length, SIZE);
	CHECK_OK(ibv_dereg_mr(mr));
	ibv_free_buf(allocated);
	mr = counter_in_device(dev->pd, &dm);
	CHECK(mr);
	CHECK_INT(mr->length, 8);
	CHECK_OK(ibv_dereg_mr(mr));
	CHECK_OK(ibv_free_dm(dm));
	mr = region_grow(buf.mr, larger.p, 2 * SIZE);
	CHECK(mr == buf.mr && mr->addr == larger.p);
	CHECK_INT(mr->length, 2 * SIZE);
	rt_buf_free(&buf);
	rt_buf_free(&larger);
	rt_close(dev);
}

static void domains(void)
{
	struct rt_dev *dev = rt_open();
	struct ibv_mw *mw = window_alloc(dev->pd);
	struct ibv_pd *parent = with_own_memory(dev->pd);
	struct ibv_td *td = td_for_this_thread(dev->ctx);

	CHECK(mw && parent && td);
	CHECK_INT(mw->type, IBV_MW_TYPE_2);
	CHECK_OK(ibv_dealloc_mw(mw));
	CHECK_OK(ibv_dealloc_pd(parent));
	CHECK_OK(ibv_dealloc_td(td));
	rt_close(dev);
}

/* The context, the domain and the region belong to this process, which is also the other one. */
static void imports(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_buf buf = rt_buf_alloc(dev, SIZE, RT_ACCESS);
	int fd = fcntl(dev->ctx->cmd_fd, F_DUPFD_CLOEXEC, 0);
	struct ibv_mr *mr = region_of_other(fd, dev->pd->handle, buf.mr->handle);
	struct ibv_context *ctx;
	struct ibv_pd *pd;

	CHECK(mr);
	ctx = mr->context;
	pd = mr->pd;
	CHECK(ctx != dev->ctx);
	CHECK_INT(mr->rkey, buf.mr->rkey);
	ibv_unimport_mr(mr);
	ibv_unimport_pd(pd);
	CHECK_OK(ibv_close_device(ctx));
	rt_buf_free(&buf);
	rt_close(dev);
}

static void queues(void)
{
	const struct ibv_qp_cap cap = { .max_send_wr = 64, .max_recv_wr = 64 };
	struct rt_dev *dev = rt_open();
	struct ibv_comp_channel *channel = channel_nonblocking(dev->ctx);
	struct ibv_cq *cq = cq_for_qp(dev->ctx, &cap);
	struct ibv_srq *srq = srq_create(dev->pd, RECEIVES);
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT, .port_num = dev->port_num };
	struct ibv_srq_attr attr;
	struct ibv_qp *qp;
	struct ibv_ece ece;

	CHECK(channel && cq && srq);
	CHECK(fcntl(channel->fd, F_GETFL) & O_NONBLOCK);
	CHECK(cq->cqe >= 128 && cq->channel);
	CHECK_OK(ibv_query_srq(srq, &attr));
	CHECK_INT(attr.srq_limit, RECEIVES / 4);
	qp = qp_create(dev->pd, cq);
	CHECK(qp);
	CHECK(!qp_is_broken(qp));
	CHECK_INT(may_poll_memory(qp), !!ibv_query_qp_data_in_order(qp, IBV_WR_RDMA_WRITE, 0));
	CHECK_OK(ece_offer(qp, &ece));
	CHECK_INT(ece.vendor_id, 0);
	CHECK_OK(ibv_modify_qp(
		qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	rt_qp_state(qp, IBV_QPS_ERR);
	CHECK(qp_is_broken(qp));
	CHECK_OK(ibv_destroy_qp(qp));
	CHECK_OK(ibv_destroy_srq(srq));
	CHECK_OK(ibv_destroy_comp_channel(channel));
	channel = cq->channel;
	CHECK_OK(ibv_destroy_cq(cq));
	CHECK_OK(ibv_destroy_comp_channel(channel));
	rt_close(dev);
}

/* The domain of the first function is anonymous. The second function opens a queue pair of another
 * domain. */
static void extended(void)
{
	struct rt_dev *dev = rt_open();
	struct ibv_cq *cq = ibv_create_cq(dev->ctx, 10, NULL, NULL, 0);
	struct ibv_xrcd_init_attr domain = { .comp_mask = IBV_XRCD_INIT_ATTR_FD |
							  IBV_XRCD_INIT_ATTR_OFLAGS,
					     .fd = -1,
					     .oflags = O_CREAT };
	struct ibv_xrcd *xrcd = ibv_open_xrcd(dev->ctx, &domain);
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_XRC_RECV,
					    .comp_mask = IBV_QP_INIT_ATTR_XRCD,
					    .xrcd = xrcd };
	struct ibv_qp *qp = ibv_create_qp_ex(dev->ctx, &attr), *kept;
	struct ibv_srq *srq;
	uint32_t number;

	CHECK(cq && xrcd && qp);
	srq = xrc_srq(dev->pd, cq, &number);
	CHECK(srq);
	CHECK_OK(ibv_destroy_srq(srq));
	kept = qp_keep(xrcd, qp->qp_num);
	CHECK(kept);
	CHECK_INT(kept->qp_num, qp->qp_num);
	CHECK_OK(ibv_destroy_qp(qp));
	CHECK_OK(ibv_destroy_qp(kept));
	CHECK_OK(ibv_close_xrcd(xrcd));
	CHECK_OK(ibv_destroy_cq(cq));
}

static void addresses(void)
{
	static const struct rt_options ud = { .type = IBV_QPT_UD };
	struct rt_dev *dev = rt_open();
	struct rt_side side = rt_side_open(dev, &ud, NULL);
	struct rt_address address = { .gid = dev->gid };
	struct ibv_ah_attr attr = rt_ah_attr(dev, &address);
	struct ibv_ah *ah = ibv_create_ah(dev->pd, &attr);
	union ibv_gid group;

	CHECK(ah);
	CHECK_INT(source_index(ah), dev->gid_index);
	CHECK_OK(ibv_destroy_ah(ah));
	CHECK_OK(mac_print(dev->ctx, dev->gid, dev->gid_index));
	rt_side_init(&side);
	CHECK_OK(group_listen(side.qp, GROUP));
	CHECK_INT(inet_pton(AF_INET6, GROUP, group.raw), 1);
	CHECK_OK(ibv_detach_mcast(side.qp, &group, 0));
	CHECK_INT(group_listen(side.qp, "no address"), -1);
	rt_side_close(&side);
	rt_close(dev);
}

static void facts(void)
{
	struct rt_dev *dev = rt_open();
	long long before = device_time(dev->ctx), after = device_time(dev->ctx);

	CHECK(before > 0 && after >= before);
	CHECK_INT(partition_index(dev->ctx, 0x7fff), 0);
	CHECK_INT(partition_index(dev->ctx, 0x1234), -1);
	print_speed(dev->ctx);
	rt_close(dev);
}

static const struct rt_case cases[] = {
	{ "memory", memory }, { "domains", domains },	{ "imports", imports },
	{ "queues", queues }, { "extended", extended }, { "addresses", addresses },
	{ "facts", facts },
};
RT_MAIN(cases)

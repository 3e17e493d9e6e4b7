/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Structs of the API that have grown, in their former lengths. Each ends at an inaccessible
 * page, so that an access to a member that the program does not have, or to its neighbour,
 * faults. (abi_port_attr.c: struct ibv_port_attr.) */
#include <sys/mman.h>
#include <unistd.h>

#include "old.h"

#undef ibv_query_port

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static long page;
static char *end; /* end of the memory */

/* Put a struct of @length bytes at the very end; its first @known bytes come from @from. */
static void *at_end(size_t length, const void *from, size_t known)
{
	canary_set(end - page, page);
	memcpy(end - length, from, known < length ? known : length);
	return end - length;
}

static struct ibv_qp *qp_create(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { 8, 8, 1, 1, 0 },
		.qp_type = type,
	};

	return ibv_create_qp(pd, &init);
}

/* 136 bytes until rate_limit was added in 2016: the function has been the same since 2006. */
static void qp_attr(void)
{
	const size_t old = offsetof(struct ibv_qp_attr, rate_limit);
	struct ibv_qp_attr init = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
	struct ibv_qp_attr now, *attr;
	struct ibv_qp *qp = qp_create(IBV_QPT_RC);
	struct ibv_qp_init_attr init_attr;

	EXPECT(old == 136 && qp);
	attr = at_end(old, &init, sizeof(init));
	EXPECT(ibv_modify_qp(qp, attr,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				     IBV_QP_ACCESS_FLAGS) == 0);
	attr = at_end(old, &init, 0);
	EXPECT(ibv_query_qp(qp, attr, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
			    &init_attr) == 0);
	EXPECT(attr->qp_state == IBV_QPS_INIT && attr->port_num == 1);
	EXPECT(canary_lives(end - page, 0, page - old));
	canary_set(&now, sizeof(now));
	EXPECT(ibv_query_qp(qp, &now, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
			    &init_attr) == 0);
	EXPECT(!memcmp(&now, attr, old));
	EXPECT(canary_lives(&now, old, sizeof(now)));
	EXPECT(ibv_query_qp(qp, &now, IBV_QP_RATE_LIMIT, &init_attr) != 0);
	EXPECT(ibv_destroy_qp(qp) == 0);
}

/* The length shows which members there are. The first length has only ibv_device_attr in front. */
static void device_attr_ex(void)
{
	struct verbs_context *vctx = verbs_get_ctx_op(context, query_device_ex);
	struct ibv_device_attr_ex now, *attr;

	EXPECT(vctx);
	EXPECT(vctx->query_device_ex(context, NULL, &now, sizeof(now)) == 0);
	for (size_t length = sizeof(struct ibv_device_attr); length <= sizeof(now) + 64;
	     length += 4) {
		attr = at_end(length, &now, 0);
		EXPECT(vctx->query_device_ex(context, NULL, attr, length) == 0);
		EXPECT(!memcmp(attr, &now, length < sizeof(now) ? length : sizeof(now)));
		EXPECT(canary_lives(end - page, 0, page - length));
	}
}

/* comp_mask tells the library which members a program has. The headers' inline functions call
 * the library for members that ibv_create_qp() and ibv_create_srq() do not have; here it is
 * always called. */
static void qp_init_attr_ex(void)
{
	static const struct {
		uint32_t comp_mask;
		size_t length;
	} old[] = {
		{ IBV_QP_INIT_ATTR_PD, offsetof(struct ibv_qp_init_attr_ex, xrcd) },
		{ IBV_QP_INIT_ATTR_PD, offsetof(struct ibv_qp_init_attr_ex, create_flags) },
		{ IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
		  offsetof(struct ibv_qp_init_attr_ex, max_tso_header) },
		{ IBV_QP_INIT_ATTR_PD, offsetof(struct ibv_qp_init_attr_ex, rwq_ind_tbl) },
		{ IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
		  offsetof(struct ibv_qp_init_attr_ex, source_qpn) },
		{ IBV_QP_INIT_ATTR_PD, offsetof(struct ibv_qp_init_attr_ex, send_ops_flags) },
		{ IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		  sizeof(struct ibv_qp_init_attr_ex) },
	};
	struct verbs_context *vctx = verbs_get_ctx_op(context, create_qp_ex);
	struct ibv_qp_init_attr_ex init = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { 8, 8, 1, 1, 0 },
		.qp_type = IBV_QPT_RC,
		.pd = pd,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
	};

	EXPECT(vctx);
	for (unsigned int i = 0; i < sizeof(old) / sizeof(old[0]); i++) {
		struct ibv_qp_init_attr_ex *attr;
		struct ibv_qp *qp;

		init.comp_mask = old[i].comp_mask;
		attr = at_end(old[i].length, &init, sizeof(init));
		qp = vctx->create_qp_ex(context, attr);
		EXPECT(qp && attr->cap.max_send_wr >= 8);
		EXPECT(canary_lives(end - page, 0, page - old[i].length));
		EXPECT(ibv_destroy_qp(qp) == 0);
	}
}

static void cq_init_attr_ex(void)
{
	static const size_t lengths[] = {
		offsetof(struct ibv_cq_init_attr_ex, flags),
		offsetof(struct ibv_cq_init_attr_ex, parent_domain),
	};
	const struct ibv_cq_init_attr_ex init = { .cqe = 10 };

	for (unsigned int i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct ibv_cq_ex *cq_ex =
			ibv_create_cq_ex(context, at_end(lengths[i], &init, sizeof(init)));

		EXPECT(cq_ex && ibv_destroy_cq(ibv_cq_ex_to_cq(cq_ex)) == 0);
	}
}

/* The length before a program's own allocators. */
static void parent_domain_init_attr(void)
{
	const size_t old = offsetof(struct ibv_parent_domain_init_attr, alloc);
	const struct ibv_parent_domain_init_attr init = { .pd = pd };
	struct ibv_pd *parent = ibv_alloc_parent_domain(context, at_end(old, &init, sizeof(init)));

	EXPECT(parent && ibv_dealloc_pd(parent) == 0);
}

static void srq_init_attr_ex(void)
{
	static const struct {
		uint32_t comp_mask;
		size_t length;
	} old[] = {
		{ IBV_SRQ_INIT_ATTR_PD, offsetof(struct ibv_srq_init_attr_ex, xrcd) },
		{ IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE,
		  offsetof(struct ibv_srq_init_attr_ex, xrcd) },
		{ IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ,
		  offsetof(struct ibv_srq_init_attr_ex, tm_cap) },
	};
	struct verbs_context *vctx = verbs_get_ctx_op(context, create_srq_ex);
	struct ibv_srq_init_attr_ex init = {
		.attr = { .max_wr = 10, .max_sge = 1 },
		.srq_type = IBV_SRQT_BASIC,
		.pd = pd,
		.cq = cq,
	};

	EXPECT(vctx);
	for (unsigned int i = 0; i < sizeof(old) / sizeof(old[0]); i++) {
		struct ibv_srq_init_attr_ex *attr;
		struct ibv_srq *srq;

		init.comp_mask = old[i].comp_mask;
		attr = at_end(old[i].length, &init, sizeof(init));
		srq = vctx->create_srq_ex(context, attr);
		EXPECT(srq && attr->attr.max_wr >= 10);
		EXPECT(canary_lives(end - page, 0, page - old[i].length));
		EXPECT(ibv_destroy_srq(srq) == 0);
	}
}

static void connect_to_itself(struct ibv_qp *qp)
{
	struct ibv_port_attr port;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags =
			IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
		.path_mtu = IBV_MTU_256,
		.dest_qp_num = qp->qp_num,
		.max_rd_atomic = 1,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh.hop_limit = 64 },
	};

	EXPECT(___ibv_query_port(context, 1, &port) == 0);
	attr.ah_attr.dlid = port.lid;
	EXPECT(ibv_query_gid(context, 1, 0, &attr.ah_attr.grh.dgid) == 0);
	EXPECT(ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				     IBV_QP_ACCESS_FLAGS) == 0);
	attr.qp_state = IBV_QPS_RTR;
	EXPECT(ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				     IBV_QP_MIN_RNR_TIMER) == 0);
	attr.qp_state = IBV_QPS_RTS;
	EXPECT(ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0);
}

/* The struct ended with the union of rdma, atomic and ud before XRC, windows and TSO were added
 * in 2013 and 2015. */
static void send_wr(void)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_SEND,	  IBV_WR_SEND_WITH_IMM,	     IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD,
	};
	const size_t old = offsetof(struct ibv_send_wr, qp_type);
	static uint64_t buffer[64] __attribute__((aligned(64)));
	struct ibv_mr *mr = (ibv_reg_mr)(pd, buffer, sizeof(buffer),
					 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
						 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	struct ibv_qp *qp = qp_create(IBV_QPT_RC);

	EXPECT(mr && qp && old <= 72);
	connect_to_itself(qp);
	for (unsigned int i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++) {
		struct ibv_sge sge = { (uintptr_t)buffer, 8, mr->lkey };
		struct ibv_recv_wr recv = { .wr_id = 7, .sg_list = &sge, .num_sge = 1 }, *bad_recv;
		struct ibv_send_wr wr = {
			.wr_id = i,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = opcodes[i],
			.send_flags = IBV_SEND_SIGNALED,
		}, *bad;
		struct ibv_wc wc;

		if (opcodes[i] == IBV_WR_ATOMIC_CMP_AND_SWP ||
		    opcodes[i] == IBV_WR_ATOMIC_FETCH_AND_ADD) {
			wr.wr.atomic.remote_addr = (uintptr_t)&buffer[32];
			wr.wr.atomic.rkey = mr->rkey;
		} else {
			wr.wr.rdma.remote_addr = (uintptr_t)&buffer[32];
			wr.wr.rdma.rkey = mr->rkey;
		}
		EXPECT(ibv_post_recv(qp, &recv, &bad_recv) == 0);
		EXPECT(ibv_post_send(qp, at_end(old, &wr, sizeof(wr)), &bad) == 0);
		do
			while (ibv_poll_cq(cq, 1, &wc) == 0)
				;
		while (wc.wr_id == 7);
		EXPECT(wc.wr_id == i && wc.status == IBV_WC_SUCCESS);
	}
	EXPECT(ibv_destroy_qp(qp) == 0);
	EXPECT(ibv_dereg_mr(mr) == 0);
}

int main(void)
{
	context = old_device_open();
	page = sysconf(_SC_PAGESIZE);
	end = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	EXPECT(end != MAP_FAILED);
	end += page;
	EXPECT(mprotect(end, page, PROT_NONE) == 0);
	pd = ibv_alloc_pd(context);
	cq = ibv_create_cq(context, 64, NULL, NULL, 0);
	EXPECT(pd && cq);
	qp_attr();
	device_attr_ex();
	qp_init_attr_ex();
	cq_init_attr_ex();
	parent_domain_init_attr();
	srq_init_attr_ex();
	send_wr();
	EXPECT(ibv_destroy_cq(cq) == 0);
	EXPECT(ibv_dealloc_pd(pd) == 0);
	EXPECT(ibv_close_device(context) == 0);
	return 0;
}

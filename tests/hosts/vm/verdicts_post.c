/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Work requests. The criterion is whether the data arrived. The lines distinguish a request that
 * is refused at once from a request that ends in an error, and compare-verdicts counts both as
 * refused. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "verdicts.h"

#define SEND_ID 1
#define RECV_ID 2

static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };

static struct ibv_ah *own_ah(void)
{
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = 1,
		.grh = { .sgid_index = b.gid_index, .hop_limit = 64, .dgid = b.gid },
	};
	struct ibv_ah *ah = ibv_create_ah(b.pd, &attr);

	must(ah, "ibv_create_ah");
	return ah;
}

static void drain(void)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(b.cq, 1, &wc) > 0)
		;
}

/* Return the status of the send request, or -1 if it has not completed in the time that all
 * others take. */
static int send_status(void)
{
	struct ibv_wc wc;

	for (int i = 0; i < 500; i++, usleep(1000))
		while (ibv_poll_cq(b.cq, 1, &wc) > 0)
			if (wc.wr_id == SEND_ID)
				return wc.status;
	return -1;
}

/* A queue pair connected to itself, with a receive posted. */
static struct ibv_qp *qp_loop(enum ibv_qp_type type, struct ibv_qp_cap *ret_cap)
{
	struct ibv_qp_init_attr init = {
		.send_cq = b.cq,
		.recv_cq = b.cq,
		.cap = { 4, 4, 2, 2, 64 },
		.qp_type = type,
	};
	struct ibv_sge sge = { (uintptr_t)b.buf, 8192, b.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = RECV_ID, .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_qp *qp = ibv_create_qp(b.pd, &init);

	must(qp, "ibv_create_qp");
	qp_connect(qp, qp->qp_num);
	must(!ibv_post_recv(qp, &wr, &bad), "ibv_post_recv");
	*ret_cap = init.cap;
	return qp;
}

/* Return a request without a fault. */
static struct ibv_send_wr wr_good(struct ibv_qp *qp, enum ibv_wr_opcode opcode, struct ibv_ah *ah,
				  struct ibv_sge *sge)
{
	struct ibv_send_wr wr = {
		.wr_id = SEND_ID,
		.sg_list = sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
	};

	if (qp->qp_type == IBV_QPT_UD) {
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = qp->qp_num;
		return wr;
	}
	if (opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)b.buf + 16384;
		wr.wr.atomic.rkey = b.mr->rkey;
		return wr;
	}
	wr.wr.rdma.remote_addr = (uintptr_t)b.buf + 16384;
	wr.wr.rdma.rkey = b.mr->rkey;
	return wr;
}

/* The difference from a good request, or from a good entry of it. */
struct fault {
	const char *name;
	long value;
	void (*make)(long value, struct ibv_send_wr *wr, struct ibv_sge *sge,
		     const struct ibv_qp_cap *cap);
};

static void send_try(enum ibv_qp_type type, enum ibv_wr_opcode opcode, const struct fault *fault)
{
	struct ibv_sge sge[8];
	struct ibv_ah *ah = own_ah();
	struct ibv_qp_cap cap;
	struct ibv_qp *qp = qp_loop(type, &cap);
	struct ibv_send_wr wr = wr_good(qp, opcode, ah, sge), *bad = NULL;
	int r;

	for (int i = 0; i < COUNT(sge); i++)
		sge[i] = (struct ibv_sge){ (uintptr_t)b.buf + 32768, 8, b.mr->lkey };
	if (fault)
		fault->make(fault->value, &wr, sge, &cap);
	r = ibv_post_send(qp, &wr, &bad);
	if (bad && bad != &wr)
		printf("bad_wr points elsewhere\n");
	say(r, "post_send type %d opcode %d %s %ld, ended %d", type, opcode,
	    fault ? fault->name : "good", fault ? fault->value : 0, r ? -2 : send_status());
	ibv_destroy_qp(qp);
	ibv_destroy_ah(ah);
	drain();
}

static void make_num_sge(long value, struct ibv_send_wr *wr, struct ibv_sge *sge,
			 const struct ibv_qp_cap *cap)
{
	wr->num_sge = value < 0 ? value : value == 0 ? 0 : (int)(cap->max_send_sge + value - 3);
}

static void make_inline(long value, struct ibv_send_wr *wr, struct ibv_sge *sge,
			const struct ibv_qp_cap *cap)
{
	wr->send_flags |= IBV_SEND_INLINE;
	sge->length = cap->max_inline_data + value;
	sge->lkey = 0;
}

static void make_length(long value, struct ibv_send_wr *wr, struct ibv_sge *sge,
			const struct ibv_qp_cap *cap)
{
	sge->length = value;
}

static void make_lkey(long value, struct ibv_send_wr *wr, struct ibv_sge *sge,
		      const struct ibv_qp_cap *cap)
{
	sge->lkey += value;
}

static void make_flags(long value, struct ibv_send_wr *wr, struct ibv_sge *sge,
		       const struct ibv_qp_cap *cap)
{
	wr->send_flags |= value;
}

static void make_remote(long value, struct ibv_send_wr *wr, struct ibv_sge *sge,
			const struct ibv_qp_cap *cap)
{
	wr->wr.rdma.remote_addr += value; /* an atomic has its address in the same place */
}

static const struct fault faults[] = {
	{ "num_sge", -1, make_num_sge },
	{ "num_sge", INT_MIN, make_num_sge },
	{ "num_sge", 0, make_num_sge },
	{ "max_send_sge less", 2, make_num_sge },
	{ "max_send_sge", 3, make_num_sge },
	{ "max_send_sge more", 4, make_num_sge },
	{ "inline", -1, make_inline },
	{ "inline", 0, make_inline },
	{ "inline", 1, make_inline },
	{ "inline", 100000, make_inline },
	{ "length", 0, make_length },
	{ "length", 4, make_length },
	{ "length", 1000, make_length },
	{ "length", 0x7fffffff, make_length },
	{ "length", 0xffffffff, make_length },
	{ "lkey", 256, make_lkey },
	{ "flags", 0, make_flags },
	{ "flags", IBV_SEND_FENCE, make_flags },
	{ "flags", IBV_SEND_SOLICITED, make_flags },
	{ "flags", IBV_SEND_IP_CSUM, make_flags },
	{ "flags", 1 << 5, make_flags },
	{ "flags", 1 << 30, make_flags },
};

static const struct fault remote_faults[] = {
	{ "remote", 1, make_remote },
	{ "remote", 4, make_remote },
	{ "remote", 8, make_remote },
	{ "remote", 1 << 20, make_remote },
};

/* The queue pair's own long message ends in an error while its first packets arrive, and the
 * next message has no receive any more: then Linux 6.12's rxe sometimes reads at address 0. */
static bool harms_kernel(enum ibv_qp_type type, const struct fault *fault)
{
	return type != IBV_QPT_UD && fault->make == make_length && fault->value >= 0x7fffffff;
}

static void try_send(void)
{
	for (int t = 0; t < COUNT(types); t++) {
		for (int opcode = 0; opcode < 18; opcode++)
			if (opcode != IBV_WR_BIND_MW)
				send_try(types[t], opcode, NULL);
		for (int i = 0; i < COUNT(faults); i++)
			if (!harms_kernel(types[t], &faults[i]))
				send_try(types[t], IBV_WR_SEND, &faults[i]);
	}
	for (int i = 0; i < COUNT(faults); i++) {
		send_try(IBV_QPT_RC, IBV_WR_RDMA_WRITE, &faults[i]);
		send_try(IBV_QPT_RC, IBV_WR_RDMA_READ, &faults[i]);
		send_try(IBV_QPT_RC, IBV_WR_ATOMIC_FETCH_AND_ADD, &faults[i]);
	}
	for (int i = 0; i < COUNT(remote_faults); i++) {
		send_try(IBV_QPT_RC, IBV_WR_RDMA_WRITE, &remote_faults[i]);
		send_try(IBV_QPT_RC, IBV_WR_RDMA_READ, &remote_faults[i]);
		send_try(IBV_QPT_RC, IBV_WR_ATOMIC_CMP_AND_SWP, &remote_faults[i]);
	}
}

/* Post more requests than fit, one by one and in a list. */
static void try_full(enum ibv_qp_type type)
{
	struct ibv_recv_wr recv[40], *bad_recv = NULL;
	struct ibv_qp *qp = qp_in(type, IBV_QPS_INIT, NULL);
	int posted = 0, r = 0;

	while (posted < COUNT(recv) && !r) {
		recv[0] = (struct ibv_recv_wr){ .wr_id = posted };
		r = ibv_post_recv(qp, recv, &bad_recv);
		posted += !r;
	}
	say(r, "post_recv type %d one after the other, %d", type, posted);
	ibv_destroy_qp(qp);
	qp = qp_in(type, IBV_QPS_INIT, NULL);
	for (int i = 0; i < COUNT(recv); i++)
		recv[i] = (struct ibv_recv_wr){ .next = i + 1 < COUNT(recv) ? &recv[i + 1] : NULL };
	r = ibv_post_recv(qp, recv, &bad_recv);
	say(r, "post_recv type %d a list, %td", type, r ? bad_recv - recv : 0);
	ibv_destroy_qp(qp);
}

static void try_recv(enum ibv_qp_type type, struct ibv_srq *srq)
{
	static const enum ibv_qp_state states[] = { IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR,
						    IBV_QPS_RTS,   IBV_QPS_SQD,	 IBV_QPS_ERR };
	static const int nums[] = { -1, INT_MIN, 0, 1, 2, 3, 33, INT_MAX };
	static struct ibv_sge sge[64];
	struct ibv_recv_wr wr = { .sg_list = sge }, *bad;
	struct ibv_send_wr send = { .wr_id = SEND_ID, .opcode = IBV_WR_SEND }, *bad_send;
	struct ibv_ah *ah = own_ah();

	for (int s = 0; s < COUNT(states); s++) {
		struct ibv_qp *qp = qp_in(type, states[s], NULL);

		wr.num_sge = 0;
		say(ibv_post_recv(qp, &wr, &bad), "post_recv type %d state %d", type, states[s]);
		if (type == IBV_QPT_UD)
			send.wr.ud.ah = ah;
		say(ibv_post_send(qp, &send, &bad_send), "post_send type %d state %d", type,
		    states[s]);
		ibv_destroy_qp(qp);
		drain();
	}
	for (int i = 0; i < COUNT(nums); i++) {
		struct ibv_qp *qp = qp_in(type, IBV_QPS_INIT, NULL);

		/* Read no entry, because the list has fewer than this number. */
		wr.num_sge = nums[i];
		if (nums[i] >= 0)
			say(ibv_post_recv(qp, &wr, &bad), "post_recv type %d num_sge %d", type,
			    nums[i]);
		ibv_destroy_qp(qp);
		if (nums[i] < 0)
			continue;
		say(ibv_post_srq_recv(srq, &wr, &bad), "post_srq_recv num_sge %d", nums[i]);
		qp = qp_in(type, IBV_QPS_INIT, srq);
		say(ibv_post_recv(qp, &wr, &bad), "post_recv type %d with an SRQ num_sge %d", type,
		    nums[i]);
		ibv_destroy_qp(qp);
	}
	ibv_destroy_ah(ah);
}

/* Bind a window of type 1, because the kernel's device loses references to queue pairs with
 * windows of type 2. */
static void bind_try(enum ibv_qp_type type, unsigned int access, uint64_t offset, uint64_t length,
		     bool by_post)
{
	struct ibv_mr *mr =
		ibv_reg_mr(b.pd, b.buf, 8192, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	struct ibv_mw *mw = ibv_alloc_mw(b.pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = {
		.wr_id = SEND_ID,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = { mr, (uintptr_t)b.buf + offset, length, access },
	};
	struct ibv_send_wr wr = {
		.wr_id = SEND_ID,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_mw = { mw, mw ? ibv_inc_rkey(mw->rkey) : 0, bind.bind_info },
	};
	struct ibv_send_wr *bad;
	struct ibv_qp_cap cap;
	struct ibv_qp *qp;
	int r;

	if (mr && mw) {
		qp = qp_loop(type, &cap);
		r = by_post ? ibv_post_send(qp, &wr, &bad) : ibv_bind_mw(qp, mw, &bind);
		say(r, "%s type %d access 0x%x offset %llu length %llu, ended %d",
		    by_post ? "post BIND_MW" : "bind_mw", type, access, (unsigned long long)offset,
		    (unsigned long long)length, r ? -2 : send_status());
		ibv_destroy_qp(qp);
	}
	if (mw)
		ibv_dealloc_mw(mw);
	if (mr)
		ibv_dereg_mr(mr);
	drain();
}

static void try_bind(void)
{
	static const unsigned int accesses[] = { 0, IBV_ACCESS_REMOTE_WRITE, IBV_ACCESS_REMOTE_READ,
						 IBV_ACCESS_ZERO_BASED };

	for (int by_post = 0; by_post < 2; by_post++)
		for (int i = 0; i < COUNT(accesses); i++)
			bind_try(IBV_QPT_RC, accesses[i], 0, 4096, by_post);
	bind_try(IBV_QPT_RC, 0, 0, 0, false);
	bind_try(IBV_QPT_RC, 0, 4096, 4097, false);
	bind_try(IBV_QPT_UC, 0, 0, 4096, false);
	bind_try(IBV_QPT_UD, 0, 0, 4096, false);
}

void try_posts(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 60, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(b.pd, &init);

	must(srq, "ibv_create_srq");
	try_send();
	for (int t = 0; t < COUNT(types); t++) {
		try_recv(types[t], srq);
		try_full(types[t]);
	}
	try_bind();
	ibv_destroy_srq(srq);
}

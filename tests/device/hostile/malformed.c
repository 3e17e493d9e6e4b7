/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Hundreds of invalid calls: each parameter of a valid call is in turn null, huge, an unknown
 * bit, or an object of another context, of another device, or of the wrong kind. A refused call
 * sets errno, an accepted one is undone, and no call crashes. Afterwards data moves as before.
 * The programs tests/device/any/mistakes_*.c check the errno of each mistake. */
#include <fcntl.h>
#include <sys/mman.h>

#include "tests/lib/rt.h"

enum {
	LENGTH = 4096,
	BITS = 32,
	WORK_REQUESTS = 4,
	OPCODES = 20, /* of sends: more than exist */
	LEAST = 300,  /* calls that each case makes at least; this file makes far more in total */
};

/* Numbers that are often handled wrongly. */
static const int64_t numbers[] = {
	0, 1, -1, INT32_MAX, INT32_MIN, 255, 256, 65535, 65536, 1 << 24
};
static const uint64_t lengths[] = { 0,		1,	    4095,      1ull << 31,
				    1ull << 32, 1ull << 47, INT64_MAX, UINT64_MAX };

/* The objects of a context. The first set is valid, the second belongs to another context of the
 * same device, the third to another device. */
enum {
	OWN,
	OTHER,
	FAR,
	CONTEXTS
};

static struct objects {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_cq_ex *cq_ex;
	struct ibv_srq *srq, *xsrq;
	struct ibv_xrcd *xrcd;
	struct ibv_td *td;
	struct ibv_pd *parent;
	struct ibv_dm *dm;
	struct ibv_mr *mr, *dm_mr;
	struct ibv_mw *mw;
	struct ibv_qp *rc, *ud;
	struct ibv_ah *ah;
} objects[CONTEXTS], none;

static struct rt_dev *dev;
static unsigned int calls, refused;
static uint8_t *memory;

/* --- results --- */

static void call_begin(void)
{
	calls++;
	errno = 0;
}

/* Check a call that returns a pointer; return the object, if any. */
static void *made(void *object, const char *call)
{
	if (object)
		return object;
	refused++;
	if (!errno)
		FAIL("%s: refused without errno", call);
	return NULL;
}
#define MAKE(call) (call_begin(), made(call, #call))

/* Check a call that returns 0, an errno, or a negative number with errno set. Return whether it
 * succeeded. */
static bool taken(int r, const char *call)
{
	if (!r)
		return true;
	refused++;
	if (r < 0 && !errno)
		FAIL("%s: %d without errno", call, r);
	return false;
}
#define TAKE(call) (call_begin(), taken(call, #call))

static void undone(int r, const char *call)
{
	if (r)
		FAIL("%s: %s", call, strerror(r));
}
#define UNDO(object, call)                           \
	do {                                         \
		if (object)                          \
			undone(call(object), #call); \
	} while (0)

/* --- the world --- */

static void objects_make(struct objects *o, struct ibv_context *ctx)
{
	struct ibv_xrcd_init_attr xrcd = { .comp_mask = IBV_XRCD_INIT_ATTR_FD |
							IBV_XRCD_INIT_ATTR_OFLAGS,
					   .fd = -1,
					   .oflags = O_CREAT };
	struct ibv_cq_init_attr_ex cq_ex = { .cqe = 16 };
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_srq_init_attr_ex xsrq = { .attr = srq.attr,
					     .comp_mask =
						     IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
						     IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_XRCD,
					     .srq_type = IBV_SRQT_XRC };
	struct ibv_td_init_attr td = {};
	struct ibv_alloc_dm_attr dm = { .length = LENGTH };
	struct ibv_qp_init_attr qp = { .cap = { WORK_REQUESTS, WORK_REQUESTS, 1, 1, 0 },
				       .qp_type = IBV_QPT_RC };
	struct ibv_parent_domain_init_attr parent = {};

	o->ctx = ctx;
	CHECK((o->pd = ibv_alloc_pd(ctx)));
	CHECK((o->channel = ibv_create_comp_channel(ctx)));
	CHECK((o->cq = ibv_create_cq(ctx, 64, NULL, NULL, 0)));
	CHECK((o->cq_ex = ibv_create_cq_ex(ctx, &cq_ex)));
	CHECK((o->srq = ibv_create_srq(o->pd, &srq)));
	CHECK((o->xrcd = ibv_open_xrcd(ctx, &xrcd)));
	xsrq.pd = o->pd;
	xsrq.cq = o->cq;
	xsrq.xrcd = o->xrcd;
	CHECK((o->xsrq = ibv_create_srq_ex(ctx, &xsrq)));
	CHECK((o->td = ibv_alloc_td(ctx, &td)));
	parent.pd = o->pd;
	parent.td = o->td;
	CHECK((o->parent = ibv_alloc_parent_domain(ctx, &parent)));
	CHECK((o->dm = ibv_alloc_dm(ctx, &dm)));
	CHECK((o->mr = ibv_reg_mr(o->pd, memory, LENGTH,
				  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
					  IBV_ACCESS_MW_BIND)));
	CHECK((o->dm_mr = ibv_reg_dm_mr(o->pd, o->dm, 0, LENGTH,
					IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE)));
	CHECK((o->mw = ibv_alloc_mw(o->pd, IBV_MW_TYPE_1)));
	qp.send_cq = qp.recv_cq = o->cq;
	CHECK((o->rc = ibv_create_qp(o->pd, &qp)));
	qp.qp_type = IBV_QPT_UD;
	CHECK((o->ud = ibv_create_qp(o->pd, &qp)));
}

static void objects_destroy(struct objects *o)
{
	UNDO(o->ah, ibv_destroy_ah);
	UNDO(o->rc, ibv_destroy_qp);
	UNDO(o->ud, ibv_destroy_qp);
	UNDO(o->mw, ibv_dealloc_mw);
	UNDO(o->dm_mr, ibv_dereg_mr);
	UNDO(o->mr, ibv_dereg_mr);
	UNDO(o->dm, ibv_free_dm);
	UNDO(o->parent, ibv_dealloc_pd);
	UNDO(o->td, ibv_dealloc_td);
	UNDO(o->xsrq, ibv_destroy_srq);
	UNDO(o->xrcd, ibv_close_xrcd);
	UNDO(o->srq, ibv_destroy_srq);
	UNDO(ibv_cq_ex_to_cq(o->cq_ex), ibv_destroy_cq);
	UNDO(o->cq, ibv_destroy_cq);
	UNDO(o->channel, ibv_destroy_comp_channel);
	UNDO(o->pd, ibv_dealloc_pd);
}

/* Open another device, if there is one. */
static struct ibv_context *far_open(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;

	for (int i = 0; list[i] && !ctx; i++)
		if (list[i] != dev->ctx->device)
			ctx = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	return ctx;
}

static void world_make(void)
{
	struct ibv_context *far;
	struct rt_address self;
	struct ibv_ah_attr attr;

	/* A second device: an interface without a peer, created by the first case that needs it. */
	if (system("ip link show far0 >/dev/null 2>&1 ||"
		   " ip link add far0 type veth peer name far1; ip link set far0 up && ip link set far1 up") ||
	    setenv("UROCE", "on:lo,far0", 1))
		rt_skip("no second interface can be made");
	dev = rt_open();
	memory = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(memory != MAP_FAILED);
	objects_make(&objects[OWN], dev->ctx);
	objects_make(&objects[OTHER], ibv_open_device(dev->ctx->device));
	far = far_open();
	CHECK(far);
	objects_make(&objects[FAR], far);
	self = (struct rt_address){ .gid = dev->gid };
	attr = rt_ah_attr(dev, &self);
	CHECK((objects[OWN].ah = ibv_create_ah(objects[OWN].pd, &attr)));
	CHECK((objects[OTHER].ah = ibv_create_ah(objects[OTHER].pd, &attr)));
	calls = refused = 0;
}

/* Check that data moves as before. */
static void world_works(void)
{
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_sge sge = rt_sge(&pair.a, 0, LENGTH);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);

	rt_fill(pair.a.buf.p, LENGTH, 5);
	rt_recv(&pair.b, 2, 0, LENGTH);
	POST(&pair.a, &wr);
	EXPECT(&pair.a, 1, IBV_WC_SEND);
	EXPECT(&pair.b, 2, IBV_WC_RECV);
	VERIFY(pair.b.buf.p, LENGTH, 5);
	rt_pair_close(&pair);
}

static void world_end(unsigned int least)
{
	printf("%u calls, %u refused\n", calls, refused);
	CHECK(calls >= least);
	CHECK(refused > 0);
	world_works();
	for (int i = CONTEXTS - 1; i >= 0; i--) {
		objects_destroy(&objects[i]);
		if (i != OWN)
			CHECK_OK(ibv_close_device(objects[i].ctx));
	}
	munmap(memory, LENGTH);
	rt_close(dev);
}

/* Loop over the objects in place of the valid ones: none, and those of the three contexts. */
#define EACH_PARENT(o)                                                                     \
	for (struct objects *o = &objects[0]; o; o = o == &none			   ? NULL  \
						     : o + 1 == objects + CONTEXTS ? &none \
										   : o + 1)

/* --- regions --- */

static void reg(struct ibv_pd *pd, void *addr, uint64_t length, unsigned int access)
{
	struct ibv_mr *mr;

	mr = MAKE(ibv_reg_mr(pd, addr, length, access));
	UNDO(mr, ibv_dereg_mr);
	mr = MAKE(ibv_reg_mr_iova(pd, addr, length, ~(uint64_t)(uintptr_t)addr, access));
	UNDO(mr, ibv_dereg_mr);
	mr = MAKE(ibv_reg_dmabuf_mr(pd, (uintptr_t)addr, length, 0, -1, access));
	UNDO(mr, ibv_dereg_mr);
}

static void rereg(struct objects *o, int flags, struct ibv_pd *pd, void *addr, uint64_t length,
		  int access)
{
	if (TAKE(ibv_rereg_mr(o->mr, flags, pd, addr, length, access)))
		CHECK_OK(ibv_rereg_mr(o->mr,
				      IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD |
					      IBV_REREG_MR_CHANGE_ACCESS,
				      o->pd, memory, LENGTH,
				      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
					      IBV_ACCESS_MW_BIND));
}

static void regions(void)
{
	void *places[] = { NULL, (void *)1, (void *)-1, (void *)(1ull << 63), NULL, NULL };
	struct objects *own = &objects[OWN];

	world_make();
	places[4] = memory;
	places[5] = memory + LENGTH - 1;
	EACH_PARENT(o)
	reg(o->pd, memory, LENGTH, IBV_ACCESS_LOCAL_WRITE);
	reg(own->parent, memory, LENGTH, 0);
	for (int i = 0; i < BITS; i++)
		reg(own->pd, memory, LENGTH, 1u << i | IBV_ACCESS_LOCAL_WRITE);
	for (int i = 0; i < RT_COUNT(places); i++)
		for (int j = 0; j < RT_COUNT(lengths); j++) {
			reg(own->pd, places[i], lengths[j], IBV_ACCESS_LOCAL_WRITE);
			rereg(own, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, places[i], lengths[j], 0);
		}
	for (int i = 0; i < BITS; i++) {
		rereg(own, 1u << i, own->pd, memory, LENGTH, 0);
		rereg(own, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 1u << i);
	}
	EACH_PARENT(o)
	rereg(own, IBV_REREG_MR_CHANGE_PD, o->pd, NULL, 0, 0);
	world_end(LEAST);
}

/* --- device memory, windows, what is imported --- */

static void dm_region(struct objects *o, uint64_t offset, uint64_t length, unsigned int access)
{
	struct ibv_mr *mr = MAKE(ibv_reg_dm_mr(objects[OWN].pd, o->dm, offset, length, access));

	UNDO(mr, ibv_dereg_mr);
}

static void window(struct objects *o, struct ibv_qp *qp, struct ibv_mr *mr, uint64_t length,
		   unsigned int access)
{
	struct ibv_mw_bind bind = { .bind_info = { .mr = mr,
						   .addr = (uintptr_t)memory,
						   .length = length,
						   .mw_access_flags = access } };

	TAKE(ibv_bind_mw(qp, o->mw, &bind));
}

static void memories(void)
{
	struct objects *own = &objects[OWN];
	uint8_t bytes[16] = {};

	world_make();
	for (int i = 0; i < RT_COUNT(lengths); i++) {
		struct ibv_alloc_dm_attr attr = { .length = lengths[i],
						  .log_align_req = lengths[i] };
		struct ibv_dm *dm = MAKE(ibv_alloc_dm(own->ctx, &attr));

		UNDO(dm, ibv_free_dm);
		for (int j = 0; j < RT_COUNT(lengths); j++)
			dm_region(own, lengths[i], lengths[j], IBV_ACCESS_ZERO_BASED);
		if (lengths[i] > LENGTH) {
			TAKE(ibv_memcpy_to_dm(own->dm, lengths[i], bytes, sizeof(bytes)));
			TAKE(ibv_memcpy_from_dm(bytes, own->dm, lengths[i], sizeof(bytes)));
			TAKE(ibv_memcpy_to_dm(own->dm, 8, bytes, lengths[i]));
			TAKE(ibv_memcpy_from_dm(bytes, own->dm, 8, lengths[i]));
		}
		window(own, own->rc, own->mr, lengths[i], IBV_ACCESS_REMOTE_WRITE);
	}
	for (int i = 0; i < BITS; i++) {
		struct ibv_alloc_dm_attr attr = { .length = 64, .comp_mask = 1u << i };
		struct ibv_dm *dm = MAKE(ibv_alloc_dm(own->ctx, &attr));

		UNDO(dm, ibv_free_dm);
		dm_region(own, 0, 64, 1u << i);
		window(own, own->rc, own->mr, 64, 1u << i);
	}
	for (int i = 0; i < CONTEXTS; i++) {
		dm_region(&objects[i], 0, 64, IBV_ACCESS_ZERO_BASED);
		window(&objects[i], own->rc, own->mr, 64, IBV_ACCESS_REMOTE_WRITE);
		window(own, own->rc, objects[i].mr, 64, IBV_ACCESS_REMOTE_WRITE);
	}
	for (int i = 0; i < RT_COUNT(numbers); i++) {
		struct ibv_mw *mw = MAKE(ibv_alloc_mw(own->pd, numbers[i]));
		struct ibv_sge sge = { (uintptr_t)memory, numbers[i], own->mr->lkey };
		struct ibv_pd *pd;
		struct ibv_mr *mr;
		struct ibv_dm *dm;

		UNDO(mw, ibv_dealloc_mw);
		TAKE(ibv_advise_mr(own->pd, numbers[i], 0, &sge, 1));
		TAKE(ibv_advise_mr(own->pd, IBV_ADVISE_MR_ADVICE_PREFETCH, numbers[i], &sge, 1));
		sge.lkey = numbers[i];
		TAKE(ibv_advise_mr(own->pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1));
		pd = MAKE(ibv_import_pd(own->ctx, 0x40000000u + numbers[i]));
		if (pd)
			ibv_unimport_pd(pd);
		mr = MAKE(ibv_import_mr(own->pd, 0x40000000u + numbers[i]));
		if (mr)
			ibv_unimport_mr(mr);
		dm = MAKE(ibv_import_dm(own->ctx, 0x40000000u + numbers[i]));
		if (dm)
			ibv_unimport_dm(dm);
	}
	world_end(250);
}

/* --- queues --- */

static void cq_ex(struct ibv_cq_init_attr_ex attr)
{
	struct ibv_cq_ex *cq = MAKE(ibv_create_cq_ex(objects[OWN].ctx, &attr));

	UNDO(cq ? ibv_cq_ex_to_cq(cq) : NULL, ibv_destroy_cq);
}

static void cq(struct objects *o, int cqe, struct ibv_comp_channel *channel, int vector)
{
	struct ibv_cq *queue = MAKE(ibv_create_cq(o->ctx, cqe, NULL, channel, vector));

	UNDO(queue, ibv_destroy_cq);
}

static void srq_ex(struct ibv_srq_init_attr_ex attr)
{
	struct ibv_srq *srq = MAKE(ibv_create_srq_ex(objects[OWN].ctx, &attr));

	UNDO(srq, ibv_destroy_srq);
}

static void srq(struct ibv_pd *pd, uint32_t wr, uint32_t sge, uint32_t limit)
{
	struct ibv_srq_init_attr attr = { .attr = { wr, sge, limit } };
	struct ibv_srq *queue = MAKE(ibv_create_srq(pd, &attr));

	UNDO(queue, ibv_destroy_srq);
}

static void completion_queues(void)
{
	struct objects *own = &objects[OWN];

	for (int i = 0; i < RT_COUNT(numbers); i++) {
		struct ibv_modify_cq_attr attr = { .attr_mask = numbers[i] };

		if (numbers[i] <= 65536) {
			cq(own, numbers[i], NULL, 0);
			cq_ex((struct ibv_cq_init_attr_ex){ .cqe = numbers[i] });
			TAKE(ibv_resize_cq(own->cq, numbers[i]));
		}
		cq(own, 8, NULL, numbers[i]);
		cq_ex((struct ibv_cq_init_attr_ex){ .cqe = 8, .comp_vector = numbers[i] });
		TAKE(ibv_modify_cq(own->cq, &attr));
	}
	for (int i = 0; i < BITS; i++) {
		cq_ex((struct ibv_cq_init_attr_ex){ .cqe = 8, .comp_mask = 1u << i });
		cq_ex((struct ibv_cq_init_attr_ex){
			.cqe = 8, .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS, .flags = 1u << i });
		cq_ex((struct ibv_cq_init_attr_ex){ .cqe = 8, .wc_flags = 1ull << (BITS + i) });
	}
	EACH_PARENT(o)
	{
		cq(own, 8, o->channel, 0);
		cq_ex((struct ibv_cq_init_attr_ex){ .cqe = 8, .channel = o->channel });
		cq_ex((struct ibv_cq_init_attr_ex){ .cqe = 8,
						    .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
						    .parent_domain = o->parent });
		cq_ex((struct ibv_cq_init_attr_ex){
			.cqe = 8, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD, .parent_domain = o->pd });
	}
}

static void shared_queues(void)
{
	static const uint32_t all = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
				    IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_XRCD;
	struct objects *own = &objects[OWN];
	struct ibv_srq_init_attr_ex right = { .attr = { 8, 1, 0 },
					      .comp_mask = all,
					      .srq_type = IBV_SRQT_XRC,
					      .pd = own->pd,
					      .cq = own->cq,
					      .xrcd = own->xrcd };

	for (int i = 0; i < RT_COUNT(numbers); i++) {
		struct ibv_srq_attr attr = { numbers[i], 1, numbers[i] };

		srq(own->pd, numbers[i], 1, 0);
		srq(own->pd, 8, numbers[i], 0);
		srq(own->pd, 8, 1, numbers[i]);
		TAKE(ibv_modify_srq(own->srq, &attr, IBV_SRQ_MAX_WR));
		TAKE(ibv_modify_srq(own->srq, &attr, IBV_SRQ_LIMIT));
		TAKE(ibv_modify_srq(own->srq, &attr, numbers[i]));
	}
	for (int i = 0; i < BITS; i++) {
		struct ibv_srq_init_attr_ex attr = right;

		attr.comp_mask ^= 1u << i;
		srq_ex(attr);
		attr = right;
		attr.srq_type = i;
		srq_ex(attr);
	}
	EACH_PARENT(o)
	{
		struct ibv_srq_init_attr_ex attr = right;

		srq(o->pd, 8, 1, 0);
		attr.pd = o->pd;
		srq_ex(attr);
		attr = right;
		attr.cq = o->cq;
		srq_ex(attr);
		attr = right;
		attr.xrcd = o->xrcd;
		srq_ex(attr);
	}
}

static void queues(void)
{
	world_make();
	completion_queues();
	shared_queues();
	world_end(LEAST);
}

/* --- queue pairs --- */

static struct ibv_qp_init_attr_ex qp_right(enum ibv_qp_type type)
{
	struct objects *own = &objects[OWN];

	return (struct ibv_qp_init_attr_ex){ .send_cq = own->cq,
					     .recv_cq = own->cq,
					     .cap = { 4, 4, 1, 1, 0 },
					     .qp_type = type,
					     .comp_mask = IBV_QP_INIT_ATTR_PD,
					     .pd = own->pd };
}

static void qp_ex(struct ibv_qp_init_attr_ex attr)
{
	struct ibv_qp *qp = MAKE(ibv_create_qp_ex(objects[OWN].ctx, &attr));

	UNDO(qp, ibv_destroy_qp);
}

static void qp_sizes(void)
{
	for (int i = 0; i < RT_COUNT(numbers); i++)
		for (int field = 0; field < 5; field++) {
			struct ibv_qp_init_attr_ex attr = qp_right(IBV_QPT_RC);

			(&attr.cap.max_send_wr)[field] = numbers[i];
			qp_ex(attr);
		}
}

static void qp_bits(void)
{
	for (int i = 0; i < BITS; i++) {
		struct ibv_qp_init_attr_ex attr = qp_right(IBV_QPT_RC);

		attr.comp_mask |= 1u << i;
		qp_ex(attr);
		attr = qp_right(IBV_QPT_RC);
		attr.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
		attr.create_flags = 1u << i;
		qp_ex(attr);
		attr = qp_right(IBV_QPT_RC);
		attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		attr.send_ops_flags = 1ull << i;
		qp_ex(attr);
		attr.qp_type = i; /* and its extended operations */
		qp_ex(attr);
		attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD;
		attr.xrcd = objects[OWN].xrcd;
		qp_ex(attr);
	}
}

static void qp_parents(void)
{
	EACH_PARENT(o)
	{
		struct ibv_qp_init_attr_ex attr = qp_right(IBV_QPT_RC);
		struct ibv_qp_init_attr old = { .cap = attr.cap, .qp_type = IBV_QPT_RC };
		struct ibv_qp *qp;

		attr.pd = o->pd;
		qp_ex(attr);
		attr = qp_right(IBV_QPT_RC);
		attr.send_cq = o->cq;
		qp_ex(attr);
		attr = qp_right(IBV_QPT_RC);
		attr.recv_cq = o->cq;
		qp_ex(attr);
		attr = qp_right(IBV_QPT_RC);
		attr.srq = o->srq;
		qp_ex(attr);
		attr.srq = o->xsrq;
		qp_ex(attr);
		attr.comp_mask = IBV_QP_INIT_ATTR_XRCD;
		attr.qp_type = IBV_QPT_XRC_RECV;
		attr.xrcd = o->xrcd;
		qp_ex(attr);
		old.send_cq = old.recv_cq = o->cq;
		qp = MAKE(ibv_create_qp(objects[OWN].pd, &old));
		UNDO(qp, ibv_destroy_qp);
	}
}

/* Try every bit of the mask with values out of all ranges, in each state. */
static void qp_changes(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;

	for (int fill = 0; fill <= 0xff; fill += 0xff)
		for (int state = 0; state < 10; state++)
			for (int i = 0; i < BITS; i++) {
				struct ibv_qp_attr attr, seen;

				memset(&attr, fill, sizeof(attr));
				attr.qp_state = state;
				TAKE(ibv_modify_qp(qp, &attr, (int)(IBV_QP_STATE | 1u << i)));
				TAKE(ibv_query_qp(qp, &seen, (int)(1u << i), &init));
			}
	rt_qp_state(qp, IBV_QPS_RESET);
}

static void qp_opens(void)
{
	for (int i = 0; i < RT_COUNT(numbers); i++) {
		struct ibv_qp_open_attr attr = { .comp_mask = IBV_QP_OPEN_ATTR_NUM |
							      IBV_QP_OPEN_ATTR_XRCD |
							      IBV_QP_OPEN_ATTR_TYPE,
						 .qp_num = numbers[i],
						 .qp_type = IBV_QPT_XRC_RECV,
						 .xrcd = objects[OWN].xrcd };
		struct ibv_qp *qp = MAKE(ibv_open_qp(objects[OWN].ctx, &attr));

		UNDO(qp, ibv_destroy_qp);
		attr.comp_mask = numbers[i];
		qp = MAKE(ibv_open_qp(objects[OWN].ctx, &attr));
		UNDO(qp, ibv_destroy_qp);
	}
}

static void queue_pairs(void)
{
	world_make();
	qp_sizes();
	qp_bits();
	qp_parents();
	qp_opens();
	qp_changes(objects[OWN].rc);
	qp_changes(objects[OWN].ud);
	world_end(LEAST);
}

/* --- addresses, groups, and what this device has not --- */

static void ah(struct ibv_pd *pd, struct ibv_ah_attr attr)
{
	struct ibv_ah *made_one = MAKE(ibv_create_ah(pd, &attr));

	UNDO(made_one, ibv_destroy_ah);
}

static void handles(void)
{
	struct rt_address self = { .gid = dev->gid };
	struct ibv_ah_attr right = rt_ah_attr(dev, &self);
	struct objects *own = &objects[OWN];

	EACH_PARENT(o)
	ah(o->pd, right);
	for (int i = 0; i < RT_COUNT(numbers); i++) {
		struct ibv_ah_attr attr = right;
		struct ibv_wc wc = { .wc_flags = numbers[i], .slid = numbers[i] };
		struct ibv_grh grh;
		struct ibv_ah *from;

		attr.port_num = numbers[i];
		ah(own->pd, attr);
		attr = right;
		attr.is_global = numbers[i];
		ah(own->pd, attr);
		attr.grh.sgid_index = numbers[i];
		ah(own->pd, attr);
		attr = right;
		memset(&attr.grh.dgid, numbers[i], sizeof(attr.grh.dgid));
		ah(own->pd, attr);
		memset(&grh, numbers[i], sizeof(grh));
		from = MAKE(ibv_create_ah_from_wc(own->pd, &wc, &grh, numbers[i]));
		UNDO(from, ibv_destroy_ah);
		wc.wc_flags |= IBV_WC_GRH;
		from = MAKE(ibv_create_ah_from_wc(own->pd, &wc, &grh, 1));
		UNDO(from, ibv_destroy_ah);
		if (TAKE(ibv_attach_mcast(own->ud, &attr.grh.dgid, numbers[i])))
			CHECK_OK(ibv_detach_mcast(own->ud, &attr.grh.dgid, numbers[i]));
		TAKE(ibv_attach_mcast(own->rc, &attr.grh.dgid, 0));
		TAKE(ibv_detach_mcast(own->ud, &attr.grh.dgid, numbers[i]));
	}
}

static void flows(void)
{
	struct objects *own = &objects[OWN];

	for (int i = 0; i < RT_COUNT(numbers); i++) {
		struct {
			struct ibv_flow_attr attr;
			struct ibv_flow_spec spec;
		} flow = { .attr = { .type = numbers[i],
				     .size = numbers[i],
				     .num_of_specs = numbers[i],
				     .port = numbers[i],
				     .comp_mask = numbers[i] } };
		struct ibv_flow_action_esp_attr esp = { .comp_mask = numbers[i] };
		struct ibv_counters_init_attr counters = { .comp_mask = numbers[i] };
		struct ibv_wq_init_attr wq = { .wq_type = numbers[i],
					       .max_wr = numbers[i],
					       .max_sge = numbers[i],
					       .pd = own->pd,
					       .cq = own->cq };
		struct ibv_rwq_ind_table_init_attr table = { .log_ind_tbl_size = numbers[i] };
		struct ibv_flow *flow_made = MAKE(ibv_create_flow(own->ud, &flow.attr));
		struct ibv_flow_action *action = MAKE(ibv_create_flow_action_esp(own->ctx, &esp));
		struct ibv_counters *counted = MAKE(ibv_create_counters(own->ctx, &counters));
		struct ibv_wq *work = MAKE(ibv_create_wq(own->ctx, &wq));
		struct ibv_rwq_ind_table *spread = MAKE(ibv_create_rwq_ind_table(own->ctx, &table));

		CHECK(!flow_made && !action && !counted && !work && !spread);
	}
}

static void others(void)
{
	world_make();
	handles();
	flows();
	world_end(140);
}

/* --- requests --- */

static void pair_connect_self(struct rt_side *side)
{
	struct rt_address self = rt_side_address(side);

	rt_side_connect(side, &self);
}

static void post(struct ibv_qp *qp, struct ibv_send_wr wr)
{
	struct ibv_send_wr *bad = NULL;

	if (!TAKE(ibv_post_send(qp, &wr, &bad)))
		CHECK(bad == &wr);
}

/* Take all completions, also those with errors, and restart a queue pair that failed. */
static void qp_restart(struct rt_side *side)
{
	struct ibv_wc wc;

	rt_qp_state(side->qp, IBV_QPS_ERR);
	while (ibv_poll_cq(side->cq, 1, &wc) > 0)
		;
	rt_qp_state(side->qp, IBV_QPS_RESET);
	while (ibv_poll_cq(side->cq, 1, &wc) > 0)
		;
	pair_connect_self(side);
}

static void post_with(struct rt_side *side, enum ibv_wr_opcode opcode, unsigned int flags,
		      struct ibv_sge sge, int count)
{
	struct ibv_send_wr wr = {
		.opcode = opcode, .send_flags = flags, .sg_list = &sge, .num_sge = count
	};

	if (side->options.type == IBV_QPT_UD) {
		wr.wr.ud.ah = objects[OWN].ah;
		wr.wr.ud.remote_qpn = side->qp->qp_num;
		wr.wr.ud.remote_qkey = RT_QKEY;
	} else {
		wr.wr.rdma.remote_addr = ~0ull;
		wr.wr.rdma.rkey = count;
	}
	post(side->qp, wr);
	qp_restart(side);
}

static void posts(struct rt_side *side)
{
	struct ibv_sge sge = rt_sge(side, 0, 64);

	for (int opcode = 0; opcode < OPCODES; opcode++) {
		if (opcode == IBV_WR_BIND_MW)
			continue; /* the window of such a request is a pointer */
		post_with(side, opcode, 0, sge, 1);
		for (int i = 0; i < 8; i++)
			post_with(side, opcode, 1u << i, sge, 1);
	}
	for (int i = 0; i < RT_COUNT(numbers); i++) {
		struct ibv_sge bad = sge;
		struct ibv_recv_wr recv = { .sg_list = &bad, .num_sge = 1 }, *bad_recv;

		if (numbers[i] < 0 || numbers[i] > 1)
			post_with(side, IBV_WR_SEND, 0, sge, numbers[i]);
		bad.lkey = numbers[i];
		post_with(side, IBV_WR_SEND, 0, bad, 1);
		TAKE(ibv_post_recv(side->qp, &recv, &bad_recv));
		bad = sge;
		bad.length = numbers[i];
		post_with(side, IBV_WR_SEND, 0, bad, 1);
		post_with(side, IBV_WR_SEND, IBV_SEND_INLINE, bad, 1);
		TAKE(ibv_post_recv(side->qp, &recv, &bad_recv));
		bad = sge;
		bad.addr = numbers[i];
		post_with(side, IBV_WR_SEND, 0, bad, 1);
		if (numbers[i] < 0 || numbers[i] > 1) {
			recv.num_sge = numbers[i];
			TAKE(ibv_post_recv(side->qp, &recv, &bad_recv));
			TAKE(ibv_post_srq_recv(objects[OWN].srq, &recv, &bad_recv));
		}
		qp_restart(side);
	}
}

static void requests_of(enum ibv_qp_type type)
{
	const struct rt_options options = {
		.type = type, .retry_cnt = 1, .rnr_retry = RT_NO_RETRY, .timeout = 8
	};
	struct rt_side side;

	world_make();
	side = rt_side_open(dev, &options, NULL);
	pair_connect_self(&side);
	posts(&side);
	rt_side_close(&side);
	world_end(200);
}

static void requests_rc(void)
{
	requests_of(IBV_QPT_RC);
}

static void requests_uc(void)
{
	requests_of(IBV_QPT_UC);
}

static void requests_ud(void)
{
	requests_of(IBV_QPT_UD);
}

/* --- null pointers --- */

static void nothing(void)
{
	struct objects *own = &objects[OWN];
	struct ibv_wc wc = {};
	struct ibv_grh grh = {};

	world_make();
	MAKE(ibv_open_device(NULL));
	MAKE(ibv_import_device(-1));
	MAKE(ibv_alloc_pd(NULL));
	MAKE(ibv_create_comp_channel(NULL));
	MAKE(ibv_create_cq(NULL, 1, NULL, NULL, 0));
	MAKE(ibv_import_pd(NULL, 0));
	MAKE(ibv_import_dm(NULL, 0));
	MAKE(ibv_create_cq_ex(own->ctx, NULL));
	MAKE(ibv_create_srq(own->pd, NULL));
	MAKE(ibv_create_qp(own->pd, NULL));
	MAKE(ibv_create_qp(NULL, NULL));
	MAKE(ibv_open_qp(own->ctx, NULL));
	MAKE(ibv_open_xrcd(own->ctx, NULL));
	MAKE(ibv_alloc_td(own->ctx, NULL));
	MAKE(ibv_alloc_parent_domain(own->ctx, NULL));
	MAKE(ibv_alloc_dm(own->ctx, NULL));
	MAKE(ibv_reg_dm_mr(own->pd, NULL, 0, 1, 0));
	MAKE(ibv_reg_mr_ex(own->pd, NULL));
	MAKE(ibv_import_mr(NULL, 0));
	MAKE(ibv_create_ah(own->pd, NULL));
	MAKE(ibv_create_ah_from_wc(own->pd, NULL, &grh, 1));
	wc.wc_flags = IBV_WC_GRH;
	MAKE(ibv_create_ah_from_wc(own->pd, &wc, NULL, 1));
	MAKE(ibv_create_wq(own->ctx, NULL));
	MAKE(ibv_create_rwq_ind_table(own->ctx, NULL));
	MAKE(ibv_create_flow(own->ud, NULL));
	MAKE(ibv_create_flow_action_esp(own->ctx, NULL));
	MAKE(ibv_create_counters(own->ctx, NULL));
	CHECK(!TAKE(ibv_modify_qp(own->rc, NULL, IBV_QP_STATE)));
	CHECK(!TAKE(ibv_query_qp(own->rc, NULL, 0, NULL)));
	CHECK(!TAKE(ibv_modify_srq(own->srq, NULL, IBV_SRQ_LIMIT)));
	CHECK(!TAKE(ibv_modify_cq(own->cq, NULL)));
	CHECK(!TAKE(ibv_attach_mcast(own->ud, NULL, 0)));
	CHECK(!TAKE(ibv_detach_mcast(own->ud, NULL, 0)));
	CHECK(!TAKE(ibv_advise_mr(own->pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, NULL, 1)));
	CHECK_INT(refused, calls);
	world_end(30);
}

static const struct rt_case cases[] = {
	{ "nothing", nothing },		{ "regions", regions },
	{ "memories", memories },	{ "queues", queues },
	{ "queue_pairs", queue_pairs }, { "others", others },
	{ "requests_rc", requests_rc }, { "requests_uc", requests_uc },
	{ "requests_ud", requests_ud },
};
RT_MAIN(cases)

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A program linked with libibverbs 1.0, before 2007: its functions are the IBVERBS_1.0 versions
 * and its objects have the layouts of that time. It sends itself a datagram, writes, adds
 * atomically and takes receives from a shared queue. */
#include "old.h"

#undef ibv_query_port
#undef ibv_reg_mr

/* ---- libibverbs 1.0: the members of each object that the program knows */

struct old_device;
struct old_ah;
struct old_mr;

struct old_pd {
	struct old_context *context;
	uint32_t handle;
};

struct old_region {
	struct old_context *context;
	struct old_pd *pd;
	uint32_t handle;
	uint32_t lkey;
	uint32_t rkey;
};

struct old_cq {
	struct old_context *context;
	void *cq_context;
	uint32_t handle;
	int cqe;
};

struct old_srq {
	struct old_context *context;
	void *srq_context;
	struct old_pd *pd;
	uint32_t handle;
};

struct old_qp {
	struct old_context *context;
	void *qp_context;
	struct old_pd *pd;
	struct old_cq *send_cq;
	struct old_cq *recv_cq;
	struct old_srq *srq;
	uint32_t handle;
	uint32_t qp_num;
	enum ibv_qp_state state;
	enum ibv_qp_type qp_type;
};

struct old_qp_init_attr {
	void *qp_context;
	struct old_cq *send_cq;
	struct old_cq *recv_cq;
	struct old_srq *srq;
	struct ibv_qp_cap cap;
	enum ibv_qp_type qp_type;
	int sq_sig_all;
};

struct old_send_wr {
	struct old_send_wr *next;
	uint64_t wr_id;
	struct ibv_sge *sg_list;
	int num_sge;
	enum ibv_wr_opcode opcode;
	int send_flags;
	uint32_t imm_data;
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
			struct old_ah *ah;
			uint32_t remote_qpn;
			uint32_t remote_qkey;
		} ud;
	} wr;
};

struct old_recv_wr {
	struct old_recv_wr *next;
	uint64_t wr_id;
	struct ibv_sge *sg_list;
	int num_sge;
};

struct old_context {
	struct old_device *device;
	void *unused_1[7];
	int (*poll_cq)(struct old_cq *cq, int num_entries, struct ibv_wc *wc);
	int (*req_notify_cq)(struct old_cq *cq, int solicited_only);
	void *unused_2[7];
	int (*post_srq_recv)(struct old_srq *srq, struct old_recv_wr *wr,
			     struct old_recv_wr **bad_wr);
	void *unused_3[4];
	int (*post_send)(struct old_qp *qp, struct old_send_wr *wr, struct old_send_wr **bad_wr);
	int (*post_recv)(struct old_qp *qp, struct old_recv_wr *wr, struct old_recv_wr **bad_wr);
	void *unused_4[4];
	int cmd_fd;
	int async_fd;
	int num_comp_vectors;
};

#define OLD(type, name, ...)                                        \
	__asm__(".symver old_" #name ",ibv_" #name "@IBVERBS_1.0"); \
	type old_##name(__VA_ARGS__)

OLD(struct old_device **, get_device_list, int *num);
OLD(void, free_device_list, struct old_device **list);
OLD(const char *, get_device_name, struct old_device *device);
OLD(__be64, get_device_guid, struct old_device *device);
OLD(struct old_context *, open_device, struct old_device *device);
OLD(int, close_device, struct old_context *context);
OLD(int, query_device, struct old_context *context, struct ibv_device_attr *attr);
OLD(int, query_port, struct old_context *context, uint8_t port, void *attr);
OLD(int, query_gid, struct old_context *context, uint8_t port, int index, union ibv_gid *gid);
OLD(int, query_pkey, struct old_context *context, uint8_t port, int index, __be16 *pkey);
OLD(struct old_pd *, alloc_pd, struct old_context *context);
OLD(int, dealloc_pd, struct old_pd *pd);
OLD(struct old_region *, reg_mr, struct old_pd *pd, void *addr, size_t length, int access);
OLD(int, dereg_mr, struct old_region *mr);
OLD(struct old_cq *, create_cq, struct old_context *context, int cqe, void *cq_context,
    struct ibv_comp_channel *channel, int comp_vector);
OLD(int, resize_cq, struct old_cq *cq, int cqe);
OLD(int, destroy_cq, struct old_cq *cq);
OLD(struct old_srq *, create_srq, struct old_pd *pd, struct ibv_srq_init_attr *attr);
OLD(int, modify_srq, struct old_srq *srq, struct ibv_srq_attr *attr, int mask);
OLD(int, query_srq, struct old_srq *srq, struct ibv_srq_attr *attr);
OLD(int, destroy_srq, struct old_srq *srq);
OLD(struct old_qp *, create_qp, struct old_pd *pd, struct old_qp_init_attr *attr);
OLD(int, modify_qp, struct old_qp *qp, struct ibv_qp_attr *attr, int mask);
OLD(int, query_qp, struct old_qp *qp, struct ibv_qp_attr *attr, int mask,
    struct old_qp_init_attr *init);
OLD(int, destroy_qp, struct old_qp *qp);
OLD(struct old_ah *, create_ah, struct old_pd *pd, struct ibv_ah_attr *attr);
OLD(int, destroy_ah, struct old_ah *ah);
OLD(int, get_async_event, struct old_context *context, struct ibv_async_event *event);
OLD(void, ack_async_event, struct ibv_async_event *event);

/* ---- the program */

#define QKEY	 0x1234
#define GRH_SIZE 40

static const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

static struct {
	char out[64];
	char in[GRH_SIZE + 64];
	uint64_t number;
	uint64_t before;
} memory __attribute__((aligned(4096)));

static struct old_context *context;
static struct old_pd *pd;
static struct old_region *mr;
static struct old_cq *cq;
static struct ibv_ah_attr self;
static enum ibv_mtu mtu;

static struct ibv_sge piece(void *addr, uint32_t length)
{
	return (struct ibv_sge){ .addr = (uintptr_t)addr, .length = length, .lkey = mr->lkey };
}

static void find_device(void)
{
	const char *name = old_device_name();
	struct old_device *device = NULL;
	int n = -1, seen = 0;
	struct old_device **list = old_get_device_list(&n);

	EXPECT(list);
	for (; list[seen]; seen++)
		if (!strcmp(old_get_device_name(list[seen]), name))
			device = list[seen];
	EXPECT(seen == n);
	EXPECT(device);
	EXPECT(old_get_device_guid(device) != 0);
	context = old_open_device(device);
	EXPECT(context);
	old_free_device_list(list);
	EXPECT(!strcmp(old_get_device_name(context->device), name));
	EXPECT(context->num_comp_vectors > 0);
}

static void query_all(void)
{
	union {
		struct ibv_port_attr attr;
		unsigned char bytes[256];
	} port;
	struct ibv_device_attr device = {};
	__be16 pkey = 0;

	EXPECT(old_query_device(context, &device) == 0);
	EXPECT(device.max_qp > 0 && device.phys_port_cnt > 0);

	canary_set(&port, sizeof(port));
	EXPECT(old_query_port(context, 1, &port) == 0);
	EXPECT(canary_lives(&port, 48, sizeof(port)));
	EXPECT(port.attr.state == IBV_PORT_ACTIVE);
	mtu = port.attr.active_mtu;

	EXPECT(old_query_pkey(context, 1, 0, &pkey) == 0 && pkey);
	self = (struct ibv_ah_attr){ .is_global = 1, .port_num = 1 };
	self.grh.sgid_index = 1;
	self.grh.hop_limit = 64;
	EXPECT(old_query_gid(context, 1, 1, &self.grh.dgid) == 0);
}

static struct old_qp *create_qp(enum ibv_qp_type type, struct old_srq *srq)
{
	struct old_qp_init_attr init = {
		.qp_context = &memory,
		.send_cq = cq,
		.recv_cq = cq,
		.srq = srq,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = type,
		.sq_sig_all = 1,
	};
	struct old_qp *qp = old_create_qp(pd, &init);

	EXPECT(qp);
	EXPECT(init.cap.max_send_wr >= 4);
	EXPECT(qp->context == context && qp->pd == pd && qp->send_cq == cq && qp->srq == srq);
	EXPECT(qp->qp_type == type && qp->qp_context == &memory && qp->qp_num);
	return qp;
}

static void to_init(struct old_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY, .qp_access_flags = access
	};

	EXPECT(old_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				     (qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY
								: IBV_QP_ACCESS_FLAGS)) == 0);
	EXPECT(qp->state == IBV_QPS_INIT);
}

static void ud_to_rts(struct old_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };

	to_init(qp);
	EXPECT(old_modify_qp(qp, &attr, IBV_QP_STATE) == 0);
	attr.qp_state = IBV_QPS_RTS;
	EXPECT(old_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN) == 0);
}

/* Connect the queue pair to itself. */
static void rc_to_rts(struct old_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = mtu,
		.dest_qp_num = qp->qp_num,
		.rq_psn = 7,
		.sq_psn = 7,
		.max_dest_rd_atomic = 1,
		.max_rd_atomic = 1,
		.min_rnr_timer = 12,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = self,
	};

	to_init(qp);
	EXPECT(old_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				     IBV_QP_MIN_RNR_TIMER) == 0);
	attr.qp_state = IBV_QPS_RTS;
	EXPECT(old_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0);
	EXPECT(qp->state == IBV_QPS_RTS);
}

/* Take completions until those with the ids @a and @b (0: none) have come. */
static void complete(uint64_t a, uint64_t b)
{
	while (a || b) {
		struct ibv_wc wc;
		int n = context->poll_cq(cq, 1, &wc);

		EXPECT(n >= 0);
		if (!n)
			continue;
		EXPECT(wc.status == IBV_WC_SUCCESS);
		EXPECT(wc.wr_id == a || wc.wr_id == b);
		if (wc.wr_id == a)
			a = 0;
		else
			b = 0;
	}
}

static void send_datagram(void)
{
	struct ibv_sge out = piece(memory.out, sizeof(memory.out));
	struct ibv_sge in = piece(memory.in, sizeof(memory.in));
	struct old_recv_wr recv = { .wr_id = 1, .sg_list = &in, .num_sge = 1 }, *bad_recv;
	struct old_send_wr send = { .wr_id = 2,
				    .sg_list = &out,
				    .num_sge = 1,
				    .opcode = IBV_WR_SEND },
			   *bad_send;
	struct old_qp *qp = create_qp(IBV_QPT_UD, NULL);
	struct old_ah *ah = old_create_ah(pd, &self);

	EXPECT(ah);
	ud_to_rts(qp);
	strcpy(memory.out, "a datagram");
	send.wr.ud.ah = ah;
	send.wr.ud.remote_qpn = qp->qp_num;
	send.wr.ud.remote_qkey = QKEY;
	EXPECT(qp->context->post_recv(qp, &recv, &bad_recv) == 0);
	EXPECT(qp->context->post_send(qp, &send, &bad_send) == 0);
	complete(1, 2);
	EXPECT(!strcmp(memory.in + GRH_SIZE, "a datagram"));
	EXPECT(old_destroy_ah(ah) == 0);
	EXPECT(old_destroy_qp(qp) == 0);
}

static void write_and_add(struct old_qp *qp)
{
	struct ibv_sge out = piece(memory.out, sizeof(memory.out));
	struct ibv_sge number = piece(&memory.before, sizeof(memory.before));
	struct old_send_wr add = { .wr_id = 4,
				   .sg_list = &number,
				   .num_sge = 1,
				   .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD },
			   write = { .next = &add,
				     .wr_id = 3,
				     .sg_list = &out,
				     .num_sge = 1,
				     .opcode = IBV_WR_RDMA_WRITE },
			   *bad;

	strcpy(memory.out, "written");
	memory.number = 40;
	write.wr.rdma.remote_addr = (uintptr_t)memory.in;
	write.wr.rdma.rkey = mr->rkey;
	add.wr.atomic.remote_addr = (uintptr_t)&memory.number;
	add.wr.atomic.compare_add = 2;
	add.wr.atomic.rkey = mr->rkey;
	EXPECT(context->post_send(qp, &write, &bad) == 0);
	complete(3, 4);
	EXPECT(!strcmp(memory.in, "written"));
	EXPECT(memory.before == 40 && memory.number == 42);
}

/* The first bad request of a list is returned, and those before it are posted. */
static void name_bad_request(struct old_qp *qp, struct old_srq *srq)
{
	struct ibv_sge in = piece(memory.in, sizeof(memory.in));
	struct ibv_sge out = piece(memory.out, sizeof(memory.out));
	struct old_recv_wr too_many = { .wr_id = 6, .sg_list = &in, .num_sge = 1000 };
	struct old_recv_wr recv = { .next = &too_many, .wr_id = 5, .sg_list = &in, .num_sge = 1 },
			   *bad = NULL;
	struct old_send_wr send = { .wr_id = 7,
				    .sg_list = &out,
				    .num_sge = 1,
				    .opcode = IBV_WR_SEND },
			   *bad_send;

	EXPECT(context->post_srq_recv(srq, &recv, &bad) != 0);
	EXPECT(bad == &too_many);
	strcpy(memory.out, "shared");
	EXPECT(context->post_send(qp, &send, &bad_send) == 0);
	complete(5, 7);
	EXPECT(!strcmp(memory.in, "shared"));
}

/* The last receive that is taken raises the limit event of the shared queue. */
static void limit_event(struct old_qp *qp, struct old_srq *srq)
{
	struct ibv_sge in = piece(memory.in, sizeof(memory.in));
	struct ibv_sge out = piece(memory.out, sizeof(memory.out));
	struct old_recv_wr recv = { .wr_id = 8, .sg_list = &in, .num_sge = 1 }, *bad;
	struct old_send_wr send = { .wr_id = 9,
				    .sg_list = &out,
				    .num_sge = 1,
				    .opcode = IBV_WR_SEND },
			   *bad_send;
	struct ibv_srq_attr attr = { .srq_limit = 1 };
	struct ibv_async_event event;

	EXPECT(context->post_srq_recv(srq, &recv, &bad) == 0);
	EXPECT(old_modify_srq(srq, &attr, IBV_SRQ_LIMIT) == 0);
	EXPECT(context->post_send(qp, &send, &bad_send) == 0);
	complete(8, 9);
	do {
		EXPECT(old_get_async_event(context, &event) == 0);
		old_ack_async_event(&event);
	} while (event.event_type != IBV_EVENT_SRQ_LIMIT_REACHED);
	EXPECT((void *)event.element.srq == (void *)srq);
}

static void query_qp_and_srq(struct old_qp *qp, struct old_srq *srq)
{
	union {
		struct ibv_qp_attr attr;
		unsigned char bytes[512];
	} now;
	struct old_qp_init_attr init;
	struct ibv_srq_attr srq_attr = {};

	canary_set(&now, sizeof(now));
	EXPECT(old_query_qp(qp, &now.attr, IBV_QP_STATE | IBV_QP_CAP, &init) == 0);
	EXPECT(canary_lives(&now, offsetof(struct ibv_qp_attr, rate_limit), sizeof(now)));
	EXPECT(now.attr.qp_state == IBV_QPS_RTS);
	EXPECT(init.send_cq == cq && init.recv_cq == cq && init.srq == srq);
	EXPECT(init.qp_context == &memory && init.qp_type == IBV_QPT_RC);
	EXPECT(old_query_srq(srq, &srq_attr) == 0 && srq_attr.max_wr >= 4);
}

static void connected(void)
{
	struct ibv_srq_init_attr init = { .srq_context = &memory,
					  .attr = { .max_wr = 4, .max_sge = 1 } };
	struct old_srq *srq = old_create_srq(pd, &init);
	struct old_qp *qp;

	EXPECT(srq && srq->srq_context == &memory && init.attr.max_wr >= 4);
	qp = create_qp(IBV_QPT_RC, srq);
	rc_to_rts(qp);
	write_and_add(qp);
	name_bad_request(qp, srq);
	limit_event(qp, srq);
	query_qp_and_srq(qp, srq);
	EXPECT(old_destroy_qp(qp) == 0);
	EXPECT(old_destroy_srq(srq) == 0);
}

int main(void)
{
	find_device();
	query_all();
	pd = old_alloc_pd(context);
	EXPECT(pd && pd->context == context);
	mr = old_reg_mr(pd, &memory, sizeof(memory), access);
	EXPECT(mr && mr->pd == pd && mr->lkey);
	cq = old_create_cq(context, 16, &memory, NULL, 0);
	EXPECT(cq && cq->cqe >= 16 && cq->cq_context == &memory);
	EXPECT(context->req_notify_cq(cq, 0) == 0);
	EXPECT(old_resize_cq(cq, 64) == 0 && cq->cqe >= 64);

	send_datagram();
	connected();

	EXPECT(old_destroy_cq(cq) == 0);
	EXPECT(old_dereg_mr(mr) == 0);
	EXPECT(old_dealloc_pd(pd) == 0);
	EXPECT(old_close_device(context) == 0);
	return 0;
}

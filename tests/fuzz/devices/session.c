/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An input consists of the device, the command that fails, and then steps. A step is a byte for
 * its kind and the bytes that it needs. When a command runs, it takes the bytes of its
 * answer from the input, too. */
#include "tests/fuzz/devices/session.h"

#include <poll.h>
#include <unistd.h>
#include "tests/adapters/lab/shim/shim.h"

enum {
	STEPS = 96,
	SGES = 40,
	LIST = 4,
	HEADER = 64,
	ENTRIES = 8,
};

extern const struct verbs_provider_entry verbs_provider_entry;

/* Let allocations fail instead of ending the process, because inputs ask for more memory than
 * exists. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1:max_allocation_size_mb=64";
}

struct ibv_sge session_sge(struct session *s)
{
	uint32_t offset = input_u16(s->in), length = input_u16(s->in);

	return (struct ibv_sge){
		.addr = (uintptr_t)s->buffer + offset,
		.length = length < SESSION_BYTES - offset ? length : SESSION_BYTES - offset,
		.lkey = input_u8(s->in) % 16 ? s->mr->lkey : input_u32(s->in),
	};
}

static struct ibv_qp *a_qp(struct session *s)
{
	return s->qp[input_u8(s->in) % SESSION_QPS];
}

static struct ibv_cq *a_cq(struct session *s)
{
	return s->cq[input_u8(s->in) % 2];
}

/* ---- objects */

static void bring_up(struct session *s, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.port_num = 1,
		.qkey = 0x11111111,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = 0x55,
		.max_dest_rd_atomic = 1,
		.max_rd_atomic = 1,
		.min_rnr_timer = 12,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 6,
		.ah_attr = { .port_num = 1, .is_global = 1 },
	};
	bool connected = qp->qp_type != IBV_QPT_UD && qp->qp_type != IBV_QPT_RAW_PACKET,
	     reliable = connected && qp->qp_type != IBV_QPT_UC;
	int init = IBV_QP_STATE | IBV_QP_PORT, rtr = IBV_QP_STATE, rts = IBV_QP_STATE;

	if (qp->qp_type != IBV_QPT_RAW_PACKET) {
		init |= IBV_QP_PKEY_INDEX | (connected ? IBV_QP_ACCESS_FLAGS : IBV_QP_QKEY);
		rts |= IBV_QP_SQ_PSN;
	}
	if (connected)
		rtr |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (reliable && qp->qp_type != IBV_QPT_XRC_SEND)
		rtr |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	if (reliable)
		rts |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		       IBV_QP_MAX_QP_RD_ATOMIC;
	attr.qp_state = IBV_QPS_INIT;
	if (ibv_modify_qp(qp, &attr, init))
		return;
	attr.qp_state = IBV_QPS_RTR;
	if (ibv_modify_qp(qp, &attr, rtr))
		return;
	attr.qp_state = IBV_QPS_RTS;
	ibv_modify_qp(qp, &attr, rts);
}

static void step_create_qp(struct session *s)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD,
						  IBV_QPT_RAW_PACKET, IBV_QPT_XRC_SEND };
	uint8_t how = input_u8(s->in), at = input_u8(s->in) % SESSION_QPS;
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = s->cq[how & 1],
		.recv_cq = s->cq[how >> 1 & 1],
		.srq = how & 4 ? s->srq : NULL,
		.sq_sig_all = how >> 3 & 1,
		.qp_type = types[input_u8(s->in) % ARRAY_SIZE(types)],
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = s->pd,
		.cap = { .max_send_wr = input_u8(s->in),
			 .max_recv_wr = input_u8(s->in),
			 .max_send_sge = input_u8(s->in) % SGES,
			 .max_recv_sge = input_u8(s->in) % SGES,
			 .max_inline_data = input_u16(s->in) % 1024 },
	};

	if (how & 0x10) {
		attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		attr.send_ops_flags = input_u16(s->in);
	}
	if (attr.qp_type == IBV_QPT_XRC_SEND) {
		attr.srq = NULL;
		attr.cap.max_recv_wr = attr.cap.max_recv_sge = 0;
	}
	if (s->qp[at])
		ibv_destroy_qp(s->qp[at]);
	s->qp[at] = how & 0x20 && played.create_qp ? played.create_qp(s, &attr)
						   : ibv_create_qp_ex(s->context, &attr);
	if (s->qp[at])
		bring_up(s, s->qp[at]);
}

static void step_modify(struct session *s)
{
	struct ibv_qp *qp = a_qp(s);
	struct ibv_qp_attr attr = { .qp_state = input_u8(s->in) % (IBV_QPS_ERR + 1) };

	if (!qp)
		return;
	ibv_modify_qp(qp, &attr, IBV_QP_STATE);
	if (attr.qp_state == IBV_QPS_RESET)
		bring_up(s, qp);
}

static void step_resize(struct session *s)
{
	struct ibv_cq *cq = a_cq(s);

	if (cq)
		ibv_resize_cq(cq, 1 + input_u8(s->in));
}

/* ---- requests */

static void fill_send(struct session *s, struct ibv_qp *qp, struct ibv_send_wr *wr,
		      struct ibv_sge *sges)
{
	*wr = (struct ibv_send_wr){
		.wr_id = input_u8(s->in),
		.sg_list = sges,
		.num_sge = input_u8(s->in) % SGES,
		.opcode = input_u8(s->in) % (IBV_WR_DRIVER1 + 1),
		.send_flags = input_u8(s->in),
		.imm_data = input_u32(s->in),
	};
	for (int i = 0; i < wr->num_sge; i++)
		sges[i] = session_sge(s);
	/* A request for datagrams has an address or NULL: an invalid pointer would be a mistake
	 * of the program. */
	if (qp->qp_type == IBV_QPT_UD || qp->qp_type == IBV_QPT_DRIVER) {
		wr->wr.ud.ah = s->ah;
	} else if (wr->opcode == IBV_WR_BIND_MW) {
		wr->bind_mw.mw = s->mw;
		wr->bind_mw.rkey = input_u32(s->in);
		wr->bind_mw.bind_info = (struct ibv_mw_bind_info){ .mr = s->mr,
								   .addr = (uintptr_t)s->buffer,
								   .length = input_u16(s->in) };
	} else if (wr->opcode == IBV_WR_TSO) {
		wr->tso.hdr = s->buffer;
		wr->tso.hdr_sz = input_u16(s->in);
		wr->tso.mss = input_u16(s->in);
	} else {
		wr->wr.atomic.remote_addr = input_u64(s->in);
		wr->wr.atomic.rkey = input_u32(s->in);
	}
}

static void step_send(struct session *s)
{
	struct ibv_qp *qp = a_qp(s);
	int count = 1 + input_u8(s->in) % LIST;
	struct ibv_send_wr wr[LIST], *bad = NULL;
	struct ibv_sge sges[LIST][SGES];

	if (!qp || (qp->qp_type == IBV_QPT_UD && !s->ah))
		return;
	for (int i = 0; i < count; i++) {
		fill_send(s, qp, &wr[i], sges[i]);
		if (wr[i].opcode == IBV_WR_BIND_MW && !s->mw)
			return;
		wr[i].next = i + 1 < count ? &wr[i + 1] : NULL;
	}
	if (ibv_post_send(qp, wr, &bad))
		MUST(bad >= wr && bad < wr + count);
}

static void step_receive(struct session *s)
{
	struct ibv_qp *qp = a_qp(s);
	bool shared = input_u8(s->in) & 1;
	struct ibv_sge sges[SGES];
	struct ibv_recv_wr wr = { .sg_list = sges, .num_sge = input_u8(s->in) % SGES }, *bad;

	for (int i = 0; i < wr.num_sge; i++)
		sges[i] = session_sge(s);
	if (shared && s->srq)
		ibv_post_srq_recv(s->srq, &wr, &bad);
	else if (!shared && qp && !qp->srq)
		ibv_post_recv(qp, &wr, &bad);
}

/* Post one request by ibv_wr_*(), on a queue pair that supports it. */
static void step_wr(struct session *s)
{
	struct ibv_qp *qp = a_qp(s);
	struct ibv_qp_ex *ex = qp ? ibv_qp_to_qp_ex(qp) : NULL;
	uint8_t what = input_u8(s->in), data = input_u8(s->in);
	struct ibv_sge sges[SGES];
	size_t count = input_u8(s->in) % SGES;

	for (size_t i = 0; i < count; i++)
		sges[i] = session_sge(s);
	if (!ex || !ex->wr_start || (qp->qp_type == IBV_QPT_UD && !s->ah))
		return;
	ibv_wr_start(ex);
	ex->wr_flags = input_u8(s->in);
	switch (what % 4) {
	case 0:
		if (ex->wr_send)
			ibv_wr_send(ex);
		break;
	case 1:
		if (ex->wr_rdma_write)
			ibv_wr_rdma_write(ex, input_u32(s->in), input_u64(s->in));
		break;
	case 2:
		if (ex->wr_rdma_read)
			ibv_wr_rdma_read(ex, input_u32(s->in), input_u64(s->in));
		break;
	case 3:
		if (ex->wr_local_inv)
			ibv_wr_local_inv(ex, input_u32(s->in));
		break;
	}
	if (qp->qp_type == IBV_QPT_UD && ex->wr_set_ud_addr)
		ibv_wr_set_ud_addr(ex, s->ah, input_u32(s->in), input_u32(s->in));
	if (data & 1 && ex->wr_set_sge_list)
		ibv_wr_set_sge_list(ex, count, sges);
	else if (data & 2 && ex->wr_set_inline_data && count)
		ibv_wr_set_inline_data(ex, s->buffer, sges[0].length);
	else if (ex->wr_set_sge && count)
		ibv_wr_set_sge(ex, sges[0].lkey, sges[0].addr, sges[0].length);
	if (data & 4)
		ibv_wr_abort(ex);
	else
		ibv_wr_complete(ex);
}

/* ---- completions and events */

static void step_complete(struct session *s)
{
	uint32_t cqs = object_count(OBJECT_CQ), qps = object_count(OBJECT_QP);
	struct object *cq = cqs ? object_at(OBJECT_CQ, input_u8(s->in) % cqs) : NULL,
		      *qp = qps ? object_at(OBJECT_QP, input_u8(s->in) % qps) : NULL;
	uint8_t how = input_u8(s->in);
	struct ibv_wc wc = {
		.status = how & 1 ? input_u8(s->in) % (IBV_WC_TM_RNDV_INCOMPLETE + 1) : 0,
		.opcode = how & 2 ? IBV_WC_RECV + input_u8(s->in) % 2 : input_u8(s->in) % 9,
		.byte_len = input_u32(s->in),
		.wc_flags = input_u8(s->in),
		.src_qp = input_u16(s->in),
	};
	struct completion completion = {
		.qp = qp,
		.receive = how >> 1 & 1,
		.srq = how & 2 && qp ? qp->srq : NULL,
		.id = how & 4 ? input_u16(s->in) : input_u8(s->in) % 8,
		.note = input_u8(s->in),
		.wc = &wc,
	};

	if (!cq || !qp || !cq->ring.base || !device->complete)
		return;
	wc.qp_num = qp->number;
	if (how & 8)
		kernel_spoil_completion();
	device->complete(cq, &completion);
}

static void read_fields(struct ibv_cq_ex *cq)
{
	ibv_wc_read_opcode(cq);
	ibv_wc_read_vendor_err(cq);
	ibv_wc_read_wc_flags(cq);
	ibv_wc_read_byte_len(cq);
	ibv_wc_read_imm_data(cq);
	ibv_wc_read_qp_num(cq);
	ibv_wc_read_src_qp(cq);
}

static void poll_extended(struct ibv_cq_ex *cq)
{
	struct ibv_poll_cq_attr attr = {};
	int more = ENTRIES;

	if (ibv_start_poll(cq, &attr))
		return;
	do
		read_fields(cq);
	while (--more && !ibv_next_poll(cq));
	ibv_end_poll(cq);
}

static void step_poll(struct session *s)
{
	uint8_t which = input_u8(s->in);
	struct ibv_cq *cq = s->cq[which % 2];
	struct ibv_wc wc[ENTRIES];
	int most = 1 + which / 2 % ENTRIES;

	if (!cq)
		return;
	if (which & 1 && which & 0x80 && s->extended)
		poll_extended(s->extended);
	else
		MUST(ibv_poll_cq(cq, most, wc) <= most);
}

/* Act as a valid program and device: one request, its completion, and a poll. */
static void step_round(struct session *s)
{
	struct ibv_qp *qp = a_qp(s);
	struct object *of = qp ? object_by_number(OBJECT_QP, qp->qp_num) : NULL;
	uint8_t how = input_u8(s->in);
	struct ibv_sge sge = session_sge(s);
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr *bad_send, send = { .sg_list = &sge,
					       .num_sge = 1,
					       .opcode = IBV_WR_SEND,
					       .send_flags = IBV_SEND_SIGNALED };
	struct ibv_wc wc = { .byte_len = input_u32(s->in), .wc_flags = how >> 4 & 3 };
	struct completion completion = { .qp = of, .receive = how & 1, .wc = &wc };
	struct object *cq;

	if (!of || !device->complete || (qp->qp_type == IBV_QPT_UD && !s->ah))
		return;
	send.wr.ud.ah = qp->qp_type == IBV_QPT_RC ? NULL : s->ah;
	wc.qp_num = qp->qp_num;
	wc.opcode = completion.receive ? IBV_WC_RECV : IBV_WC_SEND;
	wc.status = how & 2 ? input_u8(s->in) % (IBV_WC_TM_RNDV_INCOMPLETE + 1) : 0;
	if (completion.receive ? qp->srq || ibv_post_recv(qp, &recv, &bad_recv)
			       : ibv_post_send(qp, &send, &bad_send))
		return;
	cq = completion.receive ? of->recv_cq : of->send_cq;
	if (!cq || !cq->ring.base)
		return;
	if (how & 8)
		kernel_spoil_completion();
	device->complete(cq, &completion);
	step_poll(s);
}

static void step_event(struct session *s)
{
	struct pollfd channel = { .fd = s->channel->fd, .events = POLLIN };
	uint32_t cqs = object_count(OBJECT_CQ);
	struct object *object = cqs ? object_at(OBJECT_CQ, input_u8(s->in) % cqs) : NULL;
	struct ibv_cq *cq = a_cq(s);
	void *context;

	if (cq)
		ibv_req_notify_cq(cq, input_u8(s->in) & 1);
	if (object && object->channel == s->channel->fd)
		event_completion(object);
	if (poll(&channel, 1, 0) > 0 && !ibv_get_cq_event(s->channel, &cq, &context))
		ibv_ack_cq_events(cq, 1);
}

/* Raise an event of an existing object; the input chooses its type. */
static void step_async(struct session *s)
{
	static const enum object_type types[] = { OBJECT_CQ, OBJECT_QP, OBJECT_SRQ };
	static const int of[] = { IBV_EVENT_CQ_ERR, IBV_EVENT_QP_FATAL, IBV_EVENT_SRQ_ERR };
	struct pollfd channel = { .fd = s->context->async_fd, .events = POLLIN };
	unsigned which = input_u8(s->in) % ARRAY_SIZE(types), type = input_u8(s->in);
	uint32_t count = object_count(types[which]);
	struct object *object = count ? object_at(types[which], input_u8(s->in) % count) : NULL;
	struct ibv_async_event event;

	if (object && type & 1)
		event_async(object, of[which]);
	else
		event_async(NULL, IBV_EVENT_DEVICE_FATAL + type % 4);
	if (poll(&channel, 1, 0) > 0 && !ibv_get_async_event(s->context, &event))
		ibv_ack_async_event(&event);
}

static void step_own(struct session *s)
{
	if (played.step)
		played.step(s);
}

static void (*const steps[])(struct session *s) = {
	step_create_qp, step_send,     step_receive, step_complete, step_poll,	 step_complete,
	step_poll,	step_event,    step_async,   step_wr,	    step_modify, step_resize,
	step_own,	step_complete, step_round,   step_own,
};

/* ---- from open to close */

static bool session_objects(struct session *s)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 1 + input_u8(s->in),
		.channel = s->channel,
		.wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_IMM | IBV_WC_EX_WITH_QP_NUM |
			    IBV_WC_EX_WITH_SRC_QP,
	};
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = input_u8(s->in),
						   .max_sge = input_u8(s->in) % SGES } };
	/* A neighbour whose MAC address is in its GID, so that the kernel is not asked. */
	struct ibv_ah_attr ah = { .port_num = 1,
				  .is_global = 1,
				  .grh.dgid.raw = { 0xfe, 0x80, [11] = 0xff, 0xfe, [15] = 2 } };

	s->cq[0] = ibv_create_cq(s->context, 1 + input_u8(s->in), NULL, s->channel, 0);
	s->extended = ibv_create_cq_ex(s->context, &attr);
	s->cq[1] = s->extended ? ibv_cq_ex_to_cq(s->extended)
			       : ibv_create_cq(s->context, attr.cqe, NULL, s->channel, 0);
	s->srq = ibv_create_srq(s->pd, &srq);
	s->ah = ibv_create_ah(s->pd, &ah);
	s->mw = ibv_alloc_mw(s->pd, IBV_MW_TYPE_2);
	return s->cq[0] && s->cq[1];
}

static void session_close(struct session *s)
{
	if (played.close)
		played.close(s);
	for (int i = 0; i < SESSION_QPS; i++)
		MUST(!s->qp[i] || !ibv_destroy_qp(s->qp[i]));
	MUST(!s->srq || !ibv_destroy_srq(s->srq));
	MUST(!s->ah || !ibv_destroy_ah(s->ah));
	MUST(!s->mw || !ibv_dealloc_mw(s->mw));
	for (int i = 0; i < 2; i++)
		MUST(!s->cq[i] || !ibv_destroy_cq(s->cq[i]));
	MUST(!s->channel || !ibv_destroy_comp_channel(s->channel));
	MUST(!s->mr || !ibv_dereg_mr(s->mr));
	MUST(!s->pd || !ibv_dealloc_pd(s->pd));
}

static void session_run(struct session *s)
{
	s->pd = ibv_alloc_pd(s->context);
	s->channel = ibv_create_comp_channel(s->context);
	s->mr = s->pd ? ibv_reg_mr(s->pd, s->buffer, SESSION_BYTES, IBV_ACCESS_LOCAL_WRITE) : NULL;
	if (s->pd && played.open)
		played.open(s);
	if (s->mr && s->channel && session_objects(s)) {
		for (int i = 0; i < STEPS && s->in->size; i++)
			steps[input_u8(s->in) % ARRAY_SIZE(steps)](s);
	}
	session_close(s);
}

static struct verbs_device *device_new(const struct device *of)
{
	struct verbs_device *vdev = calloc(1, sizeof(*vdev));

	MUST(vdev);
	vdev->provider = verbs_provider_entry.provider;
	vdev->driver_id = vdev->provider->driver_id;
	vdev->abi_version = of->abi_version;
	vdev->index = -1;
	vdev->refcount = 1;
	vdev->device.node_type = of->node_type;
	vdev->device.transport_type = IBV_TRANSPORT_IB;
	strcpy(vdev->device.name, of->ibdev);
	strcpy(vdev->device.dev_name, "uverbs0");
	return vdev;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { .data = data, .size = size };
	struct session s = { .in = &in, .buffer = malloc(SESSION_BYTES) };
	const struct verbs_open_context open = {};
	unsigned which = input_u8(&in) % ARRAY_SIZE(played.devices);
	struct verbs_context *context;
	struct verbs_device *vdev;

	while (!played.devices[which])
		which--;
	setenv("VERBS_LOG_LEVEL", "0", 0);
	memset(s.buffer, 0x5a, SESSION_BYTES);
	vdev = device_new(played.devices[which]);
	kernel_start(&in, played.devices[which]);
	if (!verbs_context_create(vdev, kernel_open(), &open, &context)) {
		s.context = &context->context;
		s.context->num_comp_vectors = 1;
		session_run(&s);
		MUST(!ibv_close_device(s.context));
	}
	kernel_stop();
	free(vdev);
	free(s.buffer);
	return 0;
}

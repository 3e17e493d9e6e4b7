/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mlx5: ConnectX. Answers of its kernel driver, and completions. mlx5_wqe.c has its work
 * requests. */
#include "tests/adapters/lab/device/mlx5_queue.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <rdma/mlx5-abi.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include "tests/adapters/lab/model/frame.h"
#include "tests/adapters/lab/model/tag.h"
#include "tests/adapters/lab/shim/attribute.h"
#include "tests/adapters/lab/shim/shim.h"
#include "tests/adapters/lab/shim/trace.h"

enum {
	PAGE = 4096,
	BF_REG_SIZE = 512,
	FIRST_BFREG = 0x800, /* offset in a UAR */
	CQE_SIZE = 64,
	MAX_WR = 32768,
	DCI_STREAMS_LOG = 4,
	VENDOR_OUI = 0x2c9, /* which is not the number of the bus */
	CQE_MOST = (1 << 22) - 1,
	CLOCK_KHZ = 1000000,
	DM_MOST = 1 << 18,
	DM_ALIGN_MOST = 6,
	DM_START = 0x40,   /* in its page */
	RATE_LEAST = 1000, /* kbit/s */
	RATE_MOST = 100000000,
};

/* UAR objects are mapped at offsets that only the kernel chooses. */
static const uint64_t uar_offset = 1ull << 40;

#define F(member, how) FIELD(mlx5_ib_alloc_ucontext_req_v2, member, how)
static const struct field context_fields[] = {
	F(total_num_bfregs, 'x'),
	F(num_low_latency_bfregs, 'x'),
	F(flags, 'x'),
	F(comp_mask, 'x'),
	F(max_cqe_version, 'x'),
	F(lib_caps, 'x'),
	{ 0 },
};
#undef F
#define F(member, how) FIELD(mlx5_ib_create_cq, member, how)
static const struct field cq_fields[] = {
	F(buf_addr, 'p'),
	F(db_addr, 'p'),
	F(cqe_size, 'x'),
	F(cqe_comp_en, 'x'),
	F(cqe_comp_res_format, 'x'),
	F(flags, 'x'),
	F(uar_page_index, 'x'),
	{ 0 },
};
#undef F
#define F(member, how) FIELD(mlx5_ib_resize_cq, member, how)
static const struct field resize_fields[] = { F(buf_addr, 'p'), F(cqe_size, 'x'), { 0 } };
#undef F
#define F(member, how) FIELD(mlx5_ib_create_qp, member, how)
static const struct field qp_fields[] = {
	F(buf_addr, 'p'),
	F(db_addr, 'p'),
	F(sq_wqe_count, 'x'),
	F(rq_wqe_count, 'x'),
	F(rq_wqe_shift, 'x'),
	F(flags, 'x'),
	F(uidx, 'x'),
	F(bfreg_index, 'x'),
	F(sq_buf_addr, 'p'),
	F(ece_options, 'x'),
	{ 0 },
};
#undef F
#define F(member, how) FIELD(mlx5_ib_create_srq, member, how)
static const struct field srq_fields[] = {
	F(buf_addr, 'p'), F(db_addr, 'p'), F(flags, 'x'), F(uidx, 'x'), { 0 },
};
#undef F
#define F(member, how) FIELD(mlx5_ib_create_wq, member, how)
static const struct field wq_fields[] = {
	F(buf_addr, 'p'),     F(db_addr, 'p'),		 F(rq_wqe_count, 'x'),
	F(rq_wqe_shift, 'x'), F(user_index, 'x'),	 F(flags, 'x'),
	F(comp_mask, 'x'),    F(two_byte_shift_en, 'x'), { 0 },
};
#undef F
#define F(member, how) FIELD(mlx5_ib_create_qp_rss, member, how)
static const struct field table_fields[] = {
	F(rx_hash_fields_mask, 'x'),
	F(rx_hash_function, 'x'),
	F(rx_key_len, 'x'),
	F(comp_mask, 'x'),
	F(flags, 'x'),
	{ 0 },
};
#undef F
#define F(member, how) FIELD(mlx5_ib_modify_qp, member, how)
static const struct field modify_fields[] = {
	F(comp_mask, 'x'),
	F(burst_info.max_burst_sz, 's'),
	F(burst_info.typical_pkt_sz, 's'),
	F(burst_info.reserved, 's'),
	F(ece_options, 'x'),
	{ 0 },
};
#undef F

static bool is_dynamic(void)
{
	return device == &device_mlx5_dynamic;
}

bool mlx5_is_full(void)
{
	return model_on() || device == &device_mlx5_full;
}

/* The answer to the creation of the process's context. */
static struct mlx5_ib_alloc_ucontext_resp told;

static int get_context(struct command *command)
{
	struct mlx5_ib_alloc_ucontext_req_v2 q;
	struct mlx5_ib_alloc_ucontext_resp response = {
		.qp_tab_size = 1 << 18,
		.bf_reg_size = BF_REG_SIZE,
		.cache_line_size = 64,
		.max_sq_desc_sz = 1024,
		.max_rq_desc_sz = 512,
		.max_send_wqebb = MAX_WR,
		.max_recv_wr = MAX_WR,
		.max_srq_recv_wr = MAX_WR - 1,
		.num_ports = 1,
		.comp_mask = MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_ECE |
			     MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_SQD2RTS,
		.response_length = sizeof(response),
		.cqe_version = 1,
		.cmds_supp_uhw =
			MLX5_USER_CMDS_SUPP_UHW_QUERY_DEVICE | MLX5_USER_CMDS_SUPP_UHW_CREATE_AH,
		.eth_min_inline = MLX5_USER_INLINE_MODE_NONE,
		.log_uar_size = 12,
		.num_uars_per_page = host_page() / PAGE,
	};

	int r;

	if (command->driver.in_len < sizeof(struct mlx5_ib_alloc_ucontext_req))
		return EINVAL;
	command_request(command, &q, sizeof(q));
	r = q.flags & MLX5_IB_ALLOC_UCTX_DEVX ? fault_of("CREATE_UCTX") : 0;
	if (r)
		return r;
	if (mlx5_is_full()) {
		response.comp_mask |= MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_CORE_CLOCK_OFFSET |
				      MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_DUMP_FILL_MKEY;
		response.clock_info_versions = 1u << MLX5_IB_CLOCK_INFO_V1;
		response.dump_fill_mkey = NOWHERE;
	}
	if (!is_dynamic()) {
		response.tot_bfregs = q.total_num_bfregs;
		response.num_dyn_bfregs = 1024;
	}
	if (host_page() != PAGE && !(q.lib_caps & MLX5_LIB_CAP_4K_UAR))
		return EINVAL;
	if (host_is("no-wc"))
		response.bf_reg_size = 0;
	if (host_is("old-kernel"))
		response.comp_mask = 0;
	if (host_is("old-firmware"))
		response.cqe_version = 0;
	told = response;
	command_reply(command, &response, sizeof(response));
	return 0;
}

static int query_device(struct ibv_device_attr *attr, struct command *command)
{
	const size_t old = offsetof(struct mlx5_ib_query_device_resp, dci_streams_caps);
	struct mlx5_ib_query_device_resp response = {
		.response_length = host_answer(command->driver.out_len, old),
	};

	if (attr->max_cqe > CQE_MOST)
		attr->max_cqe = CQE_MOST;
	attr->vendor_id = VENDOR_OUI;
	attr->max_qp_wr = MAX_WR;
	attr->max_srq_wr = MAX_WR - 1;
	attr->max_sge = attr->max_sge_rd = 30;
	attr->max_srq_sge = 31;
	attr->device_cap_flags &= ~IBV_DEVICE_SRQ_RESIZE;
	if (host_is("out-of-order"))
		response.flags |= MLX5_IB_QUERY_DEV_RESP_FLAGS_OOO_DP;
	if (model_on()) {
		response.dci_streams_caps.max_log_num_concurent = DCI_STREAMS_LOG;
		response.dci_streams_caps.max_log_num_errored = DCI_STREAMS_LOG;
	}
	if (device == &device_mlx5_full) {
		attr->device_cap_flags |= IBV_DEVICE_RAW_IP_CSUM;
		response.tso_caps.max_tso = 1 << 18;
		response.tso_caps.supported_qpts = 1u << IBV_QPT_RAW_PACKET;
		response.rss_caps.rx_hash_function = MLX5_RX_HASH_FUNC_TOEPLITZ;
		response.rss_caps.rx_hash_fields_mask = 0xff;
		response.packet_pacing_caps.qp_rate_limit_min = RATE_LEAST;
		response.packet_pacing_caps.qp_rate_limit_max = RATE_MOST;
		response.packet_pacing_caps.supported_qpts = 1u << IBV_QPT_RAW_PACKET;
		response.packet_pacing_caps.cap_flags = MLX5_IB_PP_SUPPORT_BURST;
		response.striding_rq_caps.min_single_stride_log_num_of_bytes = 6;
		response.striding_rq_caps.max_single_stride_log_num_of_bytes = 13;
		response.striding_rq_caps.min_single_wqe_log_num_of_strides = 9;
		response.striding_rq_caps.max_single_wqe_log_num_of_strides = 16;
		response.striding_rq_caps.supported_qpts = 1u << IBV_QPT_RAW_PACKET;
	}
	command_reply(command, &response, host_answer(sizeof(response), old));
	return 0;
}

static void query_device_ex(struct ib_uverbs_ex_query_device_resp *ret)
{
	if (!mlx5_is_full())
		return;
	model_query_odp(ret);
	ret->tm_caps.max_rndv_hdr_size = TAG_HEADERS_MOST;
	ret->tm_caps.max_num_tags = TAGS_MOST;
	ret->tm_caps.max_ops = TAG_OPS_MOST;
	ret->tm_caps.max_sge = 1;
	ret->tm_caps.flags = IBV_TM_CAP_RC;
	ret->timestamp_mask = ~0ull;
	ret->hca_core_clock = CLOCK_KHZ;
	ret->max_dm_size = DM_MOST;
	if (model_on() && !model_has_frames())
		return;
	ret->rss_caps.supported_qpts = 1u << IBV_QPT_RAW_PACKET;
	ret->rss_caps.max_rwq_indirection_tables = 16;
	ret->rss_caps.max_rwq_indirection_table_size = 64;
	ret->max_wq_type_rq = 64;
	if (model_on() || !host_is("all-capabilities"))
		return;
	ret->device_cap_flags_ex |= IBV_DEVICE_PCI_WRITE_END_PADDING;
	ret->raw_packet_caps = IBV_RAW_PACKET_CAP_CVLAN_STRIPPING | IBV_RAW_PACKET_CAP_SCATTER_FCS |
			       IBV_RAW_PACKET_CAP_IP_CSUM | IBV_RAW_PACKET_CAP_DELAY_DROP;
}

static void answer_with(struct ib_uverbs_attr *attr, const void *bytes, size_t length)
{
	memcpy(bytes_pointer(attr->data), bytes, length);
	fault_spoil(bytes_pointer(attr->data), length);
	attr->flags |= UVERBS_ATTR_F_VALID_OUTPUT;
}

/* Answer an attribute of an allocation of device memory. Each allocation is in a page of its own,
 * and does not begin it.
 */
static void answer_dm(struct ib_uverbs_attr *attr, const struct object *dm)
{
	const uint64_t start = (uint64_t)dm->ordinal * host_page() + DM_START;
	const uint16_t page = dm->ordinal;

	if (attr->attr_id == MLX5_IB_ATTR_ALLOC_DM_RESP_START_OFFSET)
		answer_with(attr, &start, sizeof(start));
	else if (attr->attr_id == MLX5_IB_ATTR_ALLOC_DM_RESP_PAGE_INDEX)
		answer_with(attr, &page, sizeof(page));
}

static int alloc_dm(struct object *dm, uint32_t log_align, struct ib_uverbs_ioctl_hdr *call)
{
	uint64_t type = number(call, MLX5_IB_ATTR_ALLOC_DM_REQ_TYPE);

	if (type)
		return mlx5_icm_alloc(dm, type, call);
	if (!mlx5_is_full() || !dm->length || dm->length > DM_MOST || log_align > DM_ALIGN_MOST)
		return EINVAL;
	for (int i = 0; i < call->num_attrs; i++)
		answer_dm(&call->attrs[i], dm);
	return 0;
}

static void mapped(uint64_t offset, void *at, size_t length)
{
	uint64_t page = offset / host_page(), command = page >> 8 & 0xff;
	struct object *dm;

	switch (command) {
	case MLX5_IB_MMAP_CORE_CLOCK:
	case MLX5_IB_MMAP_CLOCK_INFO:
		if (model_on())
			mlx5_clock_mapped(command == MLX5_IB_MMAP_CLOCK_INFO, at);
		break;
	case MLX5_IB_MMAP_DEVICE_MEM:
		dm = object_at(OBJECT_DM, (page & 0xff) | (page >> 16) << 8);
		/* A process that imports the memory sees the same pages. */
		if (dm && dm->rq.base)
			mremap(dm->rq.base - DM_START, 0, length, MREMAP_MAYMOVE | MREMAP_FIXED,
			       at);
		else if (dm)
			dm->rq.base = (uint8_t *)at + DM_START;
	}
}

static int alloc_pd(struct object *pd, struct command *command)
{
	command_reply(command, &pd->number, sizeof(pd->number));
	return 0;
}

static int create_cq(struct object *cq, uint32_t *cqe, struct command *command)
{
	struct mlx5_ib_create_cq_resp response = { .cqn = cq->number };
	struct mlx5_ib_create_cq q;
	int r;

	command_request(command, &q, sizeof(q));
	if ((q.cqe_size != 64 && q.cqe_size != 128) || *cqe > CQE_MOST)
		return EINVAL;
	cq->ring = (struct queue){
		.base = bytes_pointer(q.buf_addr),
		.entries = bytes_power_of_two(*cqe + 1),
		.stride = q.cqe_size,
		.record = bytes_pointer(q.db_addr),
	};
	*cqe = cq->ring.entries - 1;
	r = model_create_cq(cq, cq->ring.entries);
	if (r)
		return r;
	/* The register carries an arming, which the next arming of any CQ overwrites. The record
	 * stays, but the first value that a process writes may equal its initial value. */
	cq->arm_seen = NEVER_ARMED;
	if (model_on())
		cq->ring.record[1] = NEVER_ARMED;
	trace_watch_object(cq, "buffer", cq->ring.base, (size_t)cq->ring.entries * cq->ring.stride);
	trace_watch_object(cq, "record", (void *)cq->ring.record, 8);
	command_reply(command, &response, sizeof(response));
	return 0;
}

static void write_entry(struct object *cq, const void *bytes, size_t length)
{
	struct mlx5_cqe cqe = { 0 };

	memcpy(&cqe, bytes, length < sizeof(cqe) ? length : sizeof(cqe));
	mlx5_write_cqe(cq, &cqe, cqe.op_own >> 4, cqe.op_own & 0xe);
}

static int resize_cq(struct object *cq, uint32_t *cqe, struct command *command)
{
	struct mlx5_cqe last = { 0 };
	struct mlx5_ib_resize_cq q;
	int r;

	command_request(command, &q, sizeof(q));
	model_settle();
	if (q.cqe_size != cq->ring.stride || !*cqe || mlx_in_ring(cq) >= *cqe)
		return EINVAL;
	r = model_resize_cq(cq, bytes_power_of_two(*cqe + 1));
	if (r)
		return r;
	mlx5_write_cqe(cq, &last, CQE_RESIZE, 0);
	trace_unwatch(cq);
	cq->ring.base = bytes_pointer(q.buf_addr);
	cq->ring.entries = bytes_power_of_two(*cqe + 1);
	*cqe = cq->ring.entries - 1;
	trace_watch_object(cq, "buffer", cq->ring.base, (size_t)cq->ring.entries * cq->ring.stride);
	trace_watch_object(cq, "record", (void *)cq->ring.record, 8);
	return 0;
}

/* Choose the doorbell register of a QP among those that the process mapped: the dedicated ones
 * first. */
static uint32_t choose_bfreg(uint32_t ordinal)
{
	uint32_t n = ordinal < 4 ? 12 + ordinal : 1 + (ordinal - 4) % 11;

	return n / 2 * 4 + n % 2;
}

static int create_dct(struct object *qp, uint64_t key, struct command *command)
{
	struct mlx5_ib_create_qp_resp response = { 0 };
	int r;

	if (!qp->srq || !qp->recv_cq)
		return EINVAL;
	qp->dc = DC_TARGET;
	qp->dc_key = key;
	r = model_create_dc(qp);
	if (!r)
		command_reply(command, &response, sizeof(response));
	return r;
}

/* Return whether the rate can be set: the queue pair is in RTS, or this request moves it from RTR
 * to RTS. */
static bool is_sending(const struct object *qp, const struct ib_uverbs_modify_qp *q)
{
	enum ibv_qp_state next = q->attr_mask & IBV_QP_STATE ? q->qp_state : qp->state;

	return next == IBV_QPS_RTS && (qp->state == IBV_QPS_RTS || qp->state == IBV_QPS_RTR);
}

static int pace(struct object *qp, const struct ib_uverbs_ex_modify_qp *q, struct command *command)
{
	struct mlx5_ib_modify_qp d = { 0 };
	uint32_t rate = q->rate_limit;

	command_request(command, &d, sizeof(d));
	if (device != &device_mlx5_full || qp->qp_type != IBV_QPT_RAW_PACKET ||
	    !is_sending(qp, &q->base) || d.burst_info.reserved)
		return EINVAL;
	if (!rate)
		return d.burst_info.max_burst_sz || d.burst_info.typical_pkt_sz ? EINVAL : 0;
	return rate < RATE_LEAST || rate > RATE_MOST ? EINVAL : 0;
}

/*
 * A target gets its number when it can be reached. The firmware then chooses options for
 * connections, also if the process requested none.
 */
static void modified(struct object *qp, struct command *command)
{
	struct mlx5_ib_modify_qp_resp response = { .response_length = sizeof(response) };

	if (qp->dc == DC_TARGET && qp->state == IBV_QPS_RTR) {
		response.dctn = qp->number;
		response.ece_options = LAB_ECE;
	}
	command_reply(command, &response, sizeof(response));
}

/* Report the number and the address of a queue pair's TIR. */
static void tir_tell(const struct object *qp, struct mlx5_ib_create_qp_resp *response)
{
	response->comp_mask =
		MLX5_IB_CREATE_QP_RESP_MASK_TIRN | MLX5_IB_CREATE_QP_RESP_MASK_TIR_ICM_ADDR;
	response->tirn = qp->tir;
	response->tir_icm_addr = LAB_TIR(qp->tir);
}

/* Create a queue pair that spreads packets over the queues of a table. */
static int create_spread(struct object *qp, struct mlx5_ib_create_qp_resp *response,
			 struct command *command)
{
	struct mlx5_spread *spread = calloc(1, sizeof(*spread));
	struct mlx5_ib_create_qp_rss q;

	if (!spread)
		return ENOMEM;
	command_request(command, &q, sizeof(q));
	qp->device = spread;
	spread->fields = q.rx_hash_fields_mask;
	memcpy(spread->key, q.rx_hash_key, sizeof(spread->key));
	if (q.rx_hash_fields_mask & MLX5_RX_HASH_INNER ||
	    (q.rx_hash_fields_mask && q.rx_key_len != HASH_KEY))
		return EOPNOTSUPP;
	mlx5_tir_assign(qp);
	tir_tell(qp, response);
	command_reply(command, response, sizeof(*response));
	return 0;
}

static int create_qp(struct object *qp, struct ib_uverbs_ex_create_qp *q, struct command *command)
{
	struct mlx5_ib_create_qp_resp response = {
		.bfreg_index = is_dynamic() ? 0 : choose_bfreg(qp->ordinal)
	};
	struct mlx5_ib_create_qp d;
	size_t rq_size;
	int r;

	if (qp->table) {
		response.bfreg_index = 0;
		if (model_has_frames())
			return create_spread(qp, &response, command);
		command_reply(command, &response, sizeof(response));
		return model_on() ? EOPNOTSUPP : 0;
	}
	command_request(command, &d, sizeof(d));
	qp->user_index = d.uidx;
	if (d.flags & MLX5_QP_FLAG_TYPE_DCT)
		return create_dct(qp, d.access_key, command);
	if (d.flags & MLX5_QP_FLAG_TYPE_DCI)
		qp->dc = DC_INITIATOR;
	if (qp->qp_type == IBV_QPT_DRIVER && !qp->dc)
		return EINVAL;
	if (d.flags & MLX5_QP_FLAG_DCI_STREAM)
		trace_line("    streams   concurrent=%u errored=%u",
			   d.dci_streams.log_num_concurent, d.dci_streams.log_num_errored);
	qp->rq = (struct queue){
		.base = bytes_pointer(d.buf_addr),
		.entries = q->is_srq ? 0 : d.rq_wqe_count,
		.stride = 1u << d.rq_wqe_shift,
		.record = bytes_pointer(d.db_addr),
	};
	rq_size = (size_t)qp->rq.entries * qp->rq.stride;
	qp->sq = (struct queue){
		.base = bytes_pointer(d.sq_buf_addr ? d.sq_buf_addr : d.buf_addr + rq_size),
		.entries = d.sq_wqe_count,
		.stride = WQEBB,
		.record = qp->rq.record + 1,
	};
	if (qp->qp_type == IBV_QPT_RAW_PACKET && model_has_frames()) {
		mlx5_tir_assign(qp);
		model_frame_open();
		r = 0;
	} else
		r = qp->dc ? model_create_dc(qp)
			   : model_create_qp(qp, q, qp->sq.entries, qp->rq.entries);
	if (r)
		return r;
	if (qp->tir)
		tir_tell(qp, &response);
	else if (qp->qp_type == IBV_QPT_RAW_PACKET && host_is("raw-numbers")) {
		response.comp_mask = 0x1f;
		response.tirn = 0x71;
		response.tisn = 0x72;
		response.rqn = 0x73;
		response.sqn = 0x74;
		response.tir_icm_addr = 0x7500000000;
	}
	trace_watch_object(qp, "rq", qp->rq.base, rq_size);
	trace_watch_object(qp, "sq", qp->sq.base, (size_t)qp->sq.entries * WQEBB);
	trace_watch_object(qp, "record", (void *)qp->rq.record, 8);
	command_reply(command, &response, sizeof(response));
	return 0;
}

static int create_wq(struct object *wq, struct ib_uverbs_ex_create_wq *q, struct command *command)
{
	struct mlx5_ib_create_wq_resp response = { .response_length = sizeof(response) };
	struct mlx5_ib_create_wq d;

	if (model_on() && !model_has_frames())
		return EOPNOTSUPP;
	command_request(command, &d, sizeof(d));
	if (model_on() && d.comp_mask & MLX5_IB_CREATE_WQ_STRIDING_RQ)
		return EOPNOTSUPP;
	wq->qp_type = IBV_QPT_RAW_PACKET;
	wq->user_index = d.user_index;
	wq->rq = (struct queue){
		.base = bytes_pointer(d.buf_addr),
		.entries = d.rq_wqe_count,
		.stride = 1u << (d.rq_wqe_shift & 31),
		.record = bytes_pointer(d.db_addr),
	};
	if (d.comp_mask & MLX5_IB_CREATE_WQ_STRIDING_RQ)
		trace_line("    strides   2^%u of 2^%u bytes", d.single_wqe_log_num_of_strides,
			   d.single_stride_log_num_of_bytes);
	trace_watch_object(wq, "buffer", wq->rq.base, (size_t)wq->rq.entries * wq->rq.stride);
	trace_watch_object(wq, "record", (void *)wq->rq.record, 8);
	command_reply(command, &response, sizeof(response));
	return 0;
}

static int create_srq(struct object *srq, struct ib_uverbs_create_xsrq *q, struct command *command)
{
	struct mlx5_ib_create_srq_resp response = { 0 };
	struct mlx5_ib_create_srq d;
	uint32_t stride = bytes_power_of_two(SRQ_HEADER + SGE_SIZE * q->max_sge);
	int r;

	command_request(command, &d, sizeof(d));
	if (srq->tags && q->max_num_tags > TAGS_MOST)
		return EINVAL;
	srq->user_index = d.uidx;
	srq->rq = (struct queue){
		.base = bytes_pointer(d.buf_addr),
		.entries = bytes_power_of_two(q->max_wr + 1),
		.stride = stride < 32 ? 32 : stride,
		.record = bytes_pointer(d.db_addr),
	};
	q->max_wr = srq->rq.entries - 1;
	q->max_sge = (srq->rq.stride - SRQ_HEADER) / SGE_SIZE;
	r = model_create_srq(srq, srq->rq.entries, q->max_sge);
	if (r)
		return r;
	response.srqn = srq->number;
	trace_watch_object(srq, "buffer", srq->rq.base, (size_t)srq->rq.entries * srq->rq.stride);
	trace_watch_object(srq, "record", (void *)srq->rq.record, 4); /* the other word is unused */
	command_reply(command, &response, sizeof(response));
	return 0;
}

static int create_ah(struct object *ah, const struct ib_uverbs_ah_attr *q, struct command *command)
{
	struct mlx5_ib_create_ah_resp response = {
		.response_length = sizeof(response),
		.dmac = { 2, 0, 0, 0, 0, 9 },
	};

	command_reply(command, &response, sizeof(response));
	return 0;
}

static enum region_kind region(uint64_t offset, size_t length, char *ret_name, size_t size)
{
	static const char *const names[] = {
		"uar",	 "contiguous",	"uar-wc",     "uar-nc", "4",
		"clock", "uar-dynamic", "clock-info", "memory",
	};
	uint64_t page = offset / host_page(), command = page >> 8 & 0xff;

	if (offset >= uar_offset)
		snprintf(ret_name, size, "uar-object%u", (unsigned)(page & 0xff));
	else
		snprintf(ret_name, size, "%s%u", command < 9 ? names[command] : "unknown",
			 (unsigned)(page & 0xff));
	return command == MLX5_IB_MMAP_CORE_CLOCK || command == MLX5_IB_MMAP_CLOCK_INFO ||
			       command == MLX5_IB_MMAP_DEVICE_MEM
		       ? REGION_MEMORY
		       : REGION_REGISTERS;
}

/* Answer an attribute of the allocation of a UAR. */
static void answer_uar(struct ib_uverbs_attr *attr, const struct object *uar)
{
	const uint64_t offset = uar_offset + (uint64_t)uar->ordinal * host_page();
	const uint32_t length = host_page(), page = 0x20 + uar->ordinal;

	switch (attr->attr_id) {
	case MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE:
		attr->data = uar->handle;
		break;
	case MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET:
		memcpy(bytes_pointer(attr->data), &offset, sizeof(offset));
		break;
	case MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH:
		memcpy(bytes_pointer(attr->data), &length, sizeof(length));
		break;
	case MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID:
		memcpy(bytes_pointer(attr->data), &page, sizeof(page));
		break;
	}
}

/* Return the creation answers of objects to a process that imports them. */
static int query_pd(struct ib_uverbs_ioctl_hdr *call)
{
	const struct object *pd =
		object_find(OBJECT_PD, number(call, MLX5_IB_ATTR_QUERY_PD_HANDLE));

	trace_line("QUERY_PD");
	if (!pd)
		return ENOENT;
	output(call, MLX5_IB_ATTR_QUERY_PD_RESP_PDN, &pd->number, sizeof(pd->number));
	return 0;
}

/* The port is the uplink of the switch. */
static int query_port(struct ib_uverbs_ioctl_hdr *call)
{
	const struct mlx5_ib_uapi_query_port port = {
		.flags = MLX5_IB_UAPI_QUERY_PORT_VPORT |
			 MLX5_IB_UAPI_QUERY_PORT_VPORT_STEERING_ICM_RX |
			 MLX5_IB_UAPI_QUERY_PORT_VPORT_STEERING_ICM_TX |
			 MLX5_IB_UAPI_QUERY_PORT_ESW_OWNER_VHCA_ID,
		.vport = 0xffff,
		.esw_owner_vhca_id = MLX5_FUNCTION,
		.vport_steering_icm_rx = LAB_UPLINK_RX,
		.vport_steering_icm_tx = LAB_UPLINK_TX,
	};

	if (!model_has_frames())
		return EPROTONOSUPPORT;
	if (number(call, MLX5_IB_ATTR_QUERY_PORT_PORT_NUM) != 1)
		return EINVAL;
	output(call, MLX5_IB_ATTR_QUERY_PORT, &port, sizeof(port));
	return 0;
}

static int query_dm(struct ib_uverbs_ioctl_hdr *call)
{
	const struct object *dm =
		object_find(OBJECT_DM, number(call, MLX5_IB_ATTR_QUERY_DM_REQ_HANDLE));
	const uint64_t start = dm ? (uint64_t)dm->ordinal * host_page() + DM_START : 0;
	const uint16_t page = dm ? dm->ordinal : 0;

	trace_line("QUERY_DM");
	if (!dm)
		return ENOENT;
	output(call, MLX5_IB_ATTR_QUERY_DM_RESP_START_OFFSET, &start, sizeof(start));
	output(call, MLX5_IB_ATTR_QUERY_DM_RESP_PAGE_INDEX, &page, sizeof(page));
	output(call, MLX5_IB_ATTR_QUERY_DM_RESP_LENGTH, &dm->length, sizeof(dm->length));
	return 0;
}

static int method(uint16_t object, uint16_t method_id, struct ib_uverbs_ioctl_hdr *call)
{
	struct object *uar;
	uint64_t type = 0;

	if (object == UVERBS_OBJECT_DEVICE && method_id == UVERBS_METHOD_QUERY_CONTEXT) {
		output(call, MLX5_IB_ATTR_QUERY_CONTEXT_RESP_UCTX, &told, sizeof(told));
		return 0;
	}
	if (object == UVERBS_OBJECT_DEVICE && method_id == MLX5_IB_METHOD_QUERY_PORT)
		return query_port(call);
	if (object == UVERBS_OBJECT_PD && method_id == MLX5_IB_METHOD_PD_QUERY)
		return query_pd(call);
	if (object == UVERBS_OBJECT_DM && method_id == MLX5_IB_METHOD_DM_QUERY)
		return query_dm(call);
	if (!is_dynamic() || object != MLX5_IB_OBJECT_UAR)
		return mlx5_devx_method(object, method_id, call);
	if (method_id == MLX5_IB_METHOD_UAR_OBJ_DESTROY) {
		trace_line("UAR_DESTROY %s", object_name(OBJECT_PRIVATE, call->attrs[0].data));
		object_free(object_find(OBJECT_PRIVATE, call->attrs[0].data));
		return 0;
	}
	if (fault_of("UAR_ALLOC")) {
		trace_line("UAR_ALLOC fails on demand");
		return ENOMEM;
	}
	if (host_is("no-wc") &&
	    number(call, MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE) == MLX5_IB_UAPI_UAR_ALLOC_TYPE_BF) {
		trace_line("UAR_ALLOC type=0 is refused without write combining");
		return EOPNOTSUPP;
	}
	uar = object_new(OBJECT_PRIVATE);
	if (!uar)
		return ENOMEM;
	for (int i = 0; i < call->num_attrs; i++) {
		if (call->attrs[i].attr_id == MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE)
			type = call->attrs[i].data;
		answer_uar(&call->attrs[i], uar);
	}
	trace_line("UAR_ALLOC type=%u -> %s", (unsigned)type,
		   object_name(OBJECT_PRIVATE, uar->handle));
	return 0;
}

/* Release the device's data of an object. */
static void destroy(struct object *object)
{
	if (object->type == OBJECT_DM)
		mlx5_icm_free(object);
}

static void complete(struct object *cq, const struct completion *c)
{
	struct mlx5_cqe cqe = mlx5_completion(c, model_on() ? mlx5_clock_now() : cq->produced);
	const struct ibv_wc *wc = c->wc;

	if (c->receive && !wc->status && wc->wc_flags & IBV_WC_WITH_INV)
		mlx5_forget_list(mlx5_find_list(wc->invalidated_rkey));
	mlx5_write_cqe(cq, &cqe, cqe.op_own >> 4, 0);
}

/* A doorbell carries the first eight bytes of a request, and thereby the index of the last
 * request. */
static void stored(const char *name, size_t offset, const uint8_t *bytes, size_t length)
{
	uint32_t word[2];
	struct object *qp;

	if (offset < FIRST_BFREG || length < sizeof(word) || offset % (BF_REG_SIZE / 2))
		return;
	memcpy(word, bytes, sizeof(word));
	qp = object_by_number(OBJECT_QP, be32toh(word[1]) >> 8);
	if (qp)
		qp->sq.cursor = be32toh(word[0]) >> 8 & 0xffff;
}

static uint16_t traced_id(const struct object *qp, bool receive, uint32_t index)
{
	return receive ? index : qp->sq.cursor;
}

/* A copy of memory names an address in the plug-in, which differs in each run. */
static unsigned ignored(const char *region, size_t offset)
{
	unsigned ordinal;
	char what[8];
	struct object *qp = sscanf(region, "qp%u.%7s", &ordinal, what) == 2 && !strcmp(what, "sq")
				    ? object_at(OBJECT_QP, ordinal)
				    : NULL;

	return qp && offset % WQEBB == 16 && qp->sq.base[offset - 16 + 3] == OP_COPY ? 0xff00 : 0;
}

#define COMMON                                                                                   \
	.ibdev = "mlx5_0", .modalias = "pci:v000015B3d00001017sv000015B3sd00000020bc02sc07i00",  \
	.vendor_id = 0x15b3, .part_id = 0x1017, .abi_version = 1, .node_type = IBV_NODE_CA,      \
	.link_layer = IBV_LINK_LAYER_ETHERNET,                                                   \
	.fields = { [REQUEST_CONTEXT] = context_fields, [REQUEST_CQ] = cq_fields,                \
		    [REQUEST_RESIZE] = resize_fields,	[REQUEST_QP] = qp_fields,                \
		    [REQUEST_MODIFY] = modify_fields,	[REQUEST_SRQ] = srq_fields,              \
		    [REQUEST_WQ] = wq_fields,		[REQUEST_QP_TABLE] = table_fields },     \
	.get_context = get_context, .query_device = query_device, .alloc_pd = alloc_pd,          \
	.create_cq = create_cq, .resize_cq = resize_cq, .create_qp = create_qp, .pace = pace,    \
	.modified = modified, .create_srq = create_srq, .create_wq = create_wq,                  \
	.create_ah = create_ah, .method = method, .destroy = destroy, .region = region,          \
	.async_event = firmware_event, .query_device_ex = query_device_ex, .alloc_dm = alloc_dm, \
	.mapped = mapped, .unmapped = mlx5_clock_unmapped, .tick = mlx5_clock_tick,              \
	.stored = stored, .next_send = mlx5_next_send, .next_receive = mlx5_next_receive,        \
	.room = mlx_room, .frame = mlx5_frame, .send_frame = mlx5_send_frame,                    \
	.tagged = mlx5_tagged, .complete = complete, .entry = write_entry, .armed = mlx5_armed,  \
	.traced_id = traced_id, .traced_note = mlx5_note_of, .ignored = ignored

const struct device device_mlx5 = { .name = "mlx5", COMMON };
/* A kernel whose doorbell registers are objects. */
const struct device device_mlx5_dynamic = { .name = "mlx5-dynamic", COMMON };
/* A device that has all capabilities in traces, too. In run mode every device has them. */
const struct device device_mlx5_full = { .name = "mlx5-full", COMMON };

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * irdma: what the kernel driver of Intel's adapters answers. The process registers the memory of
 * each queue as a region, and the driver finds the region by its address.
 *
 * "irdma" is an E810 with RoCE, and "irdma-iwarp" the same with iWARP. "irdma-x722" is the adapter
 * of the first generation, and "irdma-gen3" one of the third, which has shared receive queues and
 * atomics. Run mode needs RoCE, because the backend makes connections as RoCE does.
 */
#include "tests/adapters/lab/device/irdma.h"
#include "tests/adapters/lab/device/bytes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include "tests/adapters/lab/shim/shim.h"
#include "tests/adapters/lab/shim/trace.h"

enum {
	PART_X722 = 0x37d0,
	PART_E810 = 0x1592,
	PART_GEN3 = 0x1452,
	MAX_WR = 4063, /* of the largest requests */
	MAX_CQE = 1048574,
	MAX_SRQ_WR = 4095,
	OLD_CONTEXT = 16, /* bytes of the answer of i40iw, the first driver of an X722 */
	MIDDLE_CONTEXT = 64,
	MAP_DOORBELL = 0x10000,
};

const struct irdma_limits irdma_generations[] = {
	[1] = { 0, 3, 1, 48, 2 },
	[2] = { IRDMA_FEATURE_RTS_AE | IRDMA_FEATURE_RESIZE, 13, 13, 101, 8 },
	[3] = { IRDMA_FEATURE_RTS_AE | IRDMA_FEATURE_RESIZE | IRDMA_FEATURE_CQE_64 |
			IRDMA_FEATURE_ATOMICS | IRDMA_FEATURE_SRQ,
		13, 13, 216, 8 },
};

#define F(member, how) FIELD(irdma_create_cq_req, member, how)
static const struct field cq_fields[] = { F(user_cq_buf, 'p'), F(user_shadow_area, 'p'), { 0 } };
#undef F
#define F(member, how) FIELD(irdma_create_qp_req, member, how)
static const struct field qp_fields[] = { F(user_wqe_bufs, 'p'), { 0 } };
#undef F
#define F(member, how) FIELD(irdma_mem_reg_req, member, how)
static const struct field region_fields[] = {
	F(reg_type, 'x'), F(cq_pages, 's'), F(rq_pages, 's'), F(sq_pages, 's'), { 0 },
};
#undef F
#define F(member, how) FIELD(irdma_resize_cq_req, member, how)
static const struct field resize_fields[] = { F(user_cq_buffer, 'p'), { 0 } };
#undef F
#define F(member, how) FIELD(irdma_create_srq_req, member, how)
static const struct field srq_fields[] = { F(user_srq_buf, 'p'), F(user_shadow_area, 'p'), { 0 } };
#undef F

int irdma_generation(void)
{
	return device->part_id == PART_X722 ? 1 : device->part_id == PART_GEN3 ? 3 : 2;
}

bool irdma_is_iwarp(void)
{
	return device->node_type == IBV_NODE_RNIC;
}

bool irdma_has(uint32_t feature)
{
	return irdma_generations[irdma_generation()].features & feature;
}

static int get_context(struct command *command)
{
	int generation = irdma_generation();
	struct irdma_alloc_ucontext_req q;
	struct irdma_alloc_ucontext_resp response = {
		.max_pds = 1 << 15,
		.max_qps = 1 << 16,
		.kernel_ver = IRDMA_ABI_VER,
		.feature_flags = irdma_generations[generation].features,
		.db_mmap_key = MAP_DOORBELL,
		.max_hw_wq_frags = irdma_generations[generation].frags,
		.max_hw_read_sges = irdma_generations[generation].read_sges,
		.max_hw_inline = irdma_generations[generation].max_inline,
		.max_hw_rq_quanta = IRDMA_RING_MOST,
		.max_hw_wq_quanta = IRDMA_RING_MOST,
		.min_hw_cq_size = 1,
		.max_hw_cq_size = MAX_CQE + 1,
		.max_hw_sq_chunk = irdma_generations[generation].chunk,
		.hw_rev = generation,
	};

	command_request(command, &q, sizeof(q));
	if (q.userspace_ver < 4 || q.userspace_ver > IRDMA_ABI_VER)
		return EINVAL;
	if (generation == 1 && host_is("old-kernel")) {
		if (q.userspace_ver > 4)
			return EINVAL;
		response.kernel_ver = 4;
		command_reply(command, &response, OLD_CONTEXT);
		return 0;
	}
	if (generation < 3) {
		command_reply(command, &response, MIDDLE_CONTEXT);
		return 0;
	}
	if (!(q.comp_mask & IRDMA_SUPPORT_WQE_FORMAT_V2))
		return EOPNOTSUPP;
	response.comp_mask = (q.comp_mask & IRDMA_ALLOC_UCTX_USE_RAW_ATTR) |
			     IRDMA_ALLOC_UCTX_MIN_HW_WQ_SIZE | IRDMA_ALLOC_UCTX_MAX_HW_SRQ_QUANTA |
			     IRDMA_SUPPORT_WQE_FORMAT_V2;
	response.min_hw_wq_size = IRDMA_RING_MIN;
	response.max_hw_srq_quanta = IRDMA_RING_MOST;
	command_reply(command, &response, sizeof(response));
	return 0;
}

static int query_device(struct ibv_device_attr *attr, struct command *command)
{
	int generation = irdma_generation();

	if (command->driver.in_len || command->driver.out_len)
		return EINVAL;
	attr->max_qp_wr = MAX_WR;
	attr->max_sge = irdma_generations[generation].frags;
	attr->max_sge_rd = irdma_generations[generation].read_sges;
	attr->max_cqe = MAX_CQE;
	attr->device_cap_flags &=
		~(IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_MEM_WINDOW_TYPE_2B | IBV_DEVICE_XRC);
	if (!irdma_has(IRDMA_FEATURE_ATOMICS))
		attr->atomic_cap = IBV_ATOMIC_NONE;
	if (!irdma_has(IRDMA_FEATURE_SRQ))
		attr->max_srq = attr->max_srq_wr = attr->max_srq_sge = 0;
	else
		attr->max_srq_wr = MAX_SRQ_WR, attr->max_srq_sge = attr->max_sge;
	if (irdma_is_iwarp())
		attr->max_ah = attr->max_mcast_grp = attr->max_mcast_qp_attach =
			attr->max_total_mcast_qp_attach = 0;
	return 0;
}

static int alloc_pd(struct object *pd, struct command *command)
{
	const struct irdma_alloc_pd_resp response = { .pd_id = pd->number };

	if (command->driver.out_len < sizeof(response))
		return EINVAL;
	command_reply(command, &response, sizeof(response));
	return 0;
}

/* ---- memory of queues */

static int reg_mr(struct object *mr, const struct ib_uverbs_reg_mr *q, struct command *command)
{
	struct irdma_region *region = calloc(1, sizeof(*region));
	uint64_t pages = (q->start % IRDMA_PAGE + q->length + IRDMA_PAGE - 1) / IRDMA_PAGE, wanted;

	if (!region)
		return ENOMEM;
	mr->device = region;
	if (command->driver.in_len < sizeof(region->request))
		return EINVAL;
	command_request(command, &region->request, sizeof(region->request));
	region->start = q->start;
	region->length = q->length;
	switch (region->request.reg_type) {
	case IRDMA_MEMREG_TYPE_MEM:
		return 0;
	case IRDMA_MEMREG_TYPE_QP:
		wanted = region->request.sq_pages + region->request.rq_pages + 1;
		if (irdma_is_iwarp() && q->start % host_page())
			return EINVAL;
		break;
	case IRDMA_MEMREG_TYPE_CQ:
		wanted = region->request.cq_pages + !irdma_has(IRDMA_FEATURE_RESIZE);
		break;
	case IRDMA_MEMREG_TYPE_SRQ:
		if (!irdma_has(IRDMA_FEATURE_SRQ))
			return EINVAL;
		wanted = region->request.rq_pages + 1;
		break;
	default:
		return EINVAL;
	}
	return wanted > pages ? EINVAL : 0;
}

struct irdma_region *irdma_region_take(uint64_t start, unsigned type)
{
	for (uint32_t i = object_count(OBJECT_MR); i--;) {
		struct object *mr = object_at(OBJECT_MR, i);
		struct irdma_region *region = mr ? mr->device : NULL;

		if (region && !region->used && region->start == start &&
		    region->request.reg_type == type) {
			region->used = true;
			return region;
		}
	}
	return NULL;
}

static uint32_t entries_least(uint32_t entries)
{
	return entries < 4 ? 4 : entries;
}

static uint32_t stride(void)
{
	return irdma_has(IRDMA_FEATURE_CQE_64) ? 64 : 32;
}

static int create_cq(struct object *cq, uint32_t *cqe, struct command *command)
{
	const struct irdma_create_cq_resp response = { .cq_id = cq->number };
	uint32_t entries = entries_least(*cqe);
	struct irdma_create_cq_req q;
	struct irdma_region *ring;
	int r;

	cq->device = calloc(1, sizeof(struct irdma_played_cq));
	if (!cq->device)
		return ENOMEM;
	if (command->driver.out_len < sizeof(response))
		return EINVAL;
	command_request(command, &q, sizeof(q));
	ring = irdma_region_take(q.user_cq_buf, IRDMA_MEMREG_TYPE_CQ);
	if (!ring || (irdma_has(IRDMA_FEATURE_RESIZE) &&
		      !irdma_region_take(q.user_shadow_area, IRDMA_MEMREG_TYPE_CQ)))
		return EPROTO;
	if ((uint64_t)ring->request.cq_pages * IRDMA_PAGE < (uint64_t)entries * stride())
		return EINVAL;
	cq->ring = (struct queue){
		.base = bytes_pointer(q.user_cq_buf),
		.entries = entries,
		.stride = stride(),
		.record = bytes_pointer(q.user_shadow_area),
	};
	r = model_create_cq(cq, entries);
	if (r)
		return r;
	trace_watch_object(cq, "buffer", cq->ring.base, (size_t)entries * stride());
	trace_watch_object(cq, "shadow", bytes_pointer(q.user_shadow_area), IRDMA_SHADOW);
	command_reply(command, &response, sizeof(response));
	return 0;
}

static int resize_cq(struct object *cq, uint32_t *cqe, struct command *command)
{
	struct irdma_played_cq *played = cq->device;
	uint32_t entries = entries_least(*cqe);
	struct irdma_resize_cq_req q;
	struct irdma_region *ring;
	int r;

	if (!irdma_has(IRDMA_FEATURE_RESIZE))
		return EOPNOTSUPP;
	command_request(command, &q, sizeof(q));
	if (command->driver.in_len < sizeof(q) || *cqe > MAX_CQE + 1)
		return EINVAL;
	ring = irdma_region_take(q.user_cq_buffer, IRDMA_MEMREG_TYPE_CQ);
	if (!ring || (uint64_t)ring->request.cq_pages * IRDMA_PAGE < (uint64_t)entries * stride())
		return ENOMEM;
	model_settle();
	r = model_resize_cq(cq, entries);
	if (r)
		return r;
	trace_unwatch(cq);
	cq->ring.base = bytes_pointer(q.user_cq_buffer);
	cq->ring.entries = entries;
	played->base = cq->produced;
	played->resizes++;
	trace_watch_object(cq, "buffer", cq->ring.base, (size_t)entries * stride());
	trace_watch_object(cq, "shadow", (const void *)cq->ring.record, IRDMA_SHADOW);
	return 0;
}

static int create_ah(struct object *ah, const struct ib_uverbs_ah_attr *q, struct command *command)
{
	const struct irdma_create_ah_resp response = { .ah_id = ah->number };

	command_reply(command, &response, sizeof(response));
	return q->is_global ? 0 : EINVAL;
}

static enum region_kind region(uint64_t offset, size_t length, char *ret_name, size_t size)
{
	bool legacy = irdma_generation() == 1 && host_is("old-kernel");

	snprintf(ret_name, size, "%s",
		 offset == (legacy ? 0 : MAP_DOORBELL) ? "doorbell" : "unknown");
	return REGION_REGISTERS;
}

#define DEVICE(symbol, device_name, ibdev_name, id, part, alias, node) \
	const struct device symbol = {                                 \
		.name = device_name,                                   \
		.ibdev = ibdev_name,                                   \
		.driver_id = id,                                       \
		.modalias = alias,                                     \
		.vendor_id = 0x8086,                                   \
		.part_id = part,                                       \
		.abi_version = IRDMA_ABI_VER,                          \
		.node_type = node,                                     \
		.link_layer = IBV_LINK_LAYER_ETHERNET,                 \
		.loose_modify = true,                                  \
		.cqes_beyond = 1,                                      \
		.fields = { [REQUEST_REGION] = region_fields,          \
			    [REQUEST_CQ] = cq_fields,                  \
			    [REQUEST_RESIZE] = resize_fields,          \
			    [REQUEST_QP] = qp_fields,                  \
			    [REQUEST_SRQ] = srq_fields },              \
		.get_context = get_context,                            \
		.query_device = query_device,                          \
		.alloc_pd = alloc_pd,                                  \
		.reg_mr = reg_mr,                                      \
		.create_cq = create_cq,                                \
		.resize_cq = resize_cq,                                \
		.create_qp = irdma_answer_qp,                          \
		.transition = irdma_transition,                        \
		.create_srq = irdma_answer_srq,                        \
		.create_ah = create_ah,                                \
		.region = region,                                      \
		.next_send = irdma_next_send,                          \
		.next_receive = irdma_next_receive,                    \
		.room = irdma_room,                                    \
		.entry = irdma_entry,                                  \
		.complete = irdma_complete,                            \
		.armed = irdma_armed,                                  \
		.traced_id = irdma_traced_id,                          \
		.traced_note = irdma_traced_note,                      \
	}

DEVICE(device_irdma, "irdma", "irdma_0", 0, PART_E810,
       "pci:v00008086d00001592sv00008086sd00000002bc02sc00i00", IBV_NODE_CA);
DEVICE(device_irdma_iwarp, "irdma-iwarp", "irdma_0", 0, PART_E810,
       "pci:v00008086d00001592sv00008086sd00000002bc02sc00i00", IBV_NODE_RNIC);
DEVICE(device_irdma_x722, "irdma-x722", "irdma_0", 0, PART_X722,
       "pci:v00008086d000037D0sv00008086sd00000002bc02sc00i00", IBV_NODE_RNIC);
/* The third generation is recognised by the number of its driver. */
DEVICE(device_irdma_gen3, "irdma-gen3", "irdma_0", RDMA_DRIVER_I40IW, PART_GEN3,
       "pci:v00008086d00001452sv00008086sd00000000bc02sc00i00", IBV_NODE_CA);

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mana: queues of raw Ethernet in memory of the program. The program drives them itself, and the
 * model executes none of their requests. Queue numbers are returned with the queue pair that
 * uses the queues. */
#include "tests/adapters/lab/device/device.h"

#include <errno.h>
#include <stdio.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/mana-abi.h>
#include "tests/adapters/lab/shim/shim.h"
#include "tests/adapters/lab/shim/trace.h"

enum {
	PAGE = 4096,
	CQE = 64,
	TABLE_MAX = 64,
	PORTS = 1,
	VP_OFFSET = 0x30,
};

#define F(member, how) FIELD(mana_ib_create_cq, member, how)
static const struct field cq_fields[] = { F(buf_addr, 'p'), F(flags, 'x'), { 0 } };
#undef F
#define F(member, how) FIELD(mana_ib_create_qp, member, how)
static const struct field qp_fields[] = {
	F(sq_buf_addr, 'p'),
	F(sq_buf_size, 'x'),
	F(port, 'x'),
	{ 0 },
};
#undef F
#define F(member, how) FIELD(mana_ib_create_wq, member, how)
static const struct field wq_fields[] = { F(wq_buf_addr, 'p'), F(wq_buf_size, 'x'), { 0 } };
#undef F
#define F(member, how) FIELD(mana_ib_create_qp_rss, member, how)
#define KEY(n)                                                                                    \
	{                                                                                         \
		"rx_hash_key" #n, offsetof(struct mana_ib_create_qp_rss, rx_hash_key) + 8 * n, 8, \
			'x'                                                                       \
	}
static const struct field table_fields[] = {
	F(rx_hash_fields_mask, 'x'),
	F(rx_hash_function, 'x'),
	F(rx_hash_key_len, 'x'),
	KEY(0),
	KEY(1),
	KEY(2),
	KEY(3),
	KEY(4),
	F(port, 'x'),
	{ 0 },
};
#undef F

static int get_context(struct command *command)
{
	return 0;
}

static int query_device(struct ibv_device_attr *attr, struct command *command)
{
	attr->max_qp_wr = 8192;
	attr->max_srq = attr->max_srq_wr = attr->max_srq_sge = 0;
	attr->atomic_cap = IBV_ATOMIC_NONE;
	return 0;
}

static int alloc_pd(struct object *pd, struct command *command)
{
	return 0;
}

static bool is_ring(uint64_t address, uint32_t bytes)
{
	return address && address % PAGE == 0 && bytes >= PAGE && !(bytes & (bytes - 1));
}

static uint32_t cq_bytes(uint32_t cqe)
{
	uint32_t bytes = PAGE;

	while (bytes < cqe * CQE)
		bytes *= 2;
	return bytes;
}

static int create_cq(struct object *cq, uint32_t *cqe, struct command *command)
{
	struct mana_ib_create_cq q;

	command_request(command, &q, sizeof(q));
	if (!*cqe || *cqe > 8192 || q.flags || !is_ring(q.buf_addr, PAGE))
		return EINVAL;
	trace_watch_object(cq, "ring", (void *)(uintptr_t)q.buf_addr, cq_bytes(*cqe));
	return 0;
}

static int create_wq(struct object *wq, struct ib_uverbs_ex_create_wq *q, struct command *command)
{
	struct mana_ib_create_wq d;

	command_request(command, &d, sizeof(d));
	if (q->wq_type != IBV_WQT_RQ || !is_ring(d.wq_buf_addr, d.wq_buf_size))
		return EINVAL;
	trace_watch_object(wq, "ring", (void *)(uintptr_t)d.wq_buf_addr, d.wq_buf_size);
	return 0;
}

static int create_table_qp(struct object *qp, struct command *command)
{
	const struct object *table = qp->table;
	struct mana_ib_create_qp_rss_resp response = { .num_entries = table->member_count };
	struct mana_ib_create_qp_rss q;

	command_request(command, &q, sizeof(q));
	if (table->member_count > TABLE_MAX || !q.port || q.port > PORTS ||
	    q.rx_hash_function != MANA_IB_RX_HASH_FUNC_TOEPLITZ ||
	    q.rx_hash_key_len != sizeof(q.rx_hash_key))
		return EINVAL;
	for (uint32_t i = 0; i < table->member_count; i++) {
		response.entries[i].cqid = table->members[i]->recv_cq->number;
		response.entries[i].wqid = table->members[i]->number;
	}
	if (fault_of("TABLE_ANSWER")) /* a driver that forgets one */
		response.num_entries--;
	command_reply(command, &response, sizeof(response));
	return 0;
}

static int create_qp(struct object *qp, struct ib_uverbs_ex_create_qp *q, struct command *command)
{
	struct mana_ib_create_qp_resp response;
	struct mana_ib_create_qp d;

	if (q->qp_type != IBV_QPT_RAW_PACKET)
		return EOPNOTSUPP;
	if (qp->table)
		return create_table_qp(qp, command);
	command_request(command, &d, sizeof(d));
	if (!d.port || d.port > PORTS || !is_ring(d.sq_buf_addr, d.sq_buf_size))
		return EINVAL;
	trace_watch_object(qp, "sq", (void *)(uintptr_t)d.sq_buf_addr, d.sq_buf_size);
	response = (struct mana_ib_create_qp_resp){
		.sqid = qp->number,
		.cqid = qp->send_cq->number,
		.tx_vp_offset = VP_OFFSET + qp->ordinal,
	};
	command_reply(command, &response, sizeof(response));
	return 0;
}

static enum region_kind region(uint64_t offset, size_t length, char *ret_name, size_t size)
{
	snprintf(ret_name, size, offset ? "unknown" : "doorbells");
	return REGION_REGISTERS;
}

const struct device device_mana = {
	.name = "mana",
	.ibdev = "mana_0",
	.modalias = "pci:v00001414d000000BAsv00000000sd00000000bc02sc00i00",
	.vendor_id = 0x1414,
	.part_id = 0x00ba,
	.driver_id = RDMA_DRIVER_MANA,
	.abi_version = MANA_IB_UVERBS_ABI_VERSION,
	.node_type = 1,
	.link_layer = IBV_LINK_LAYER_ETHERNET,
	.fields = { [REQUEST_CQ] = cq_fields,
		    [REQUEST_QP] = qp_fields,
		    [REQUEST_QP_TABLE] = table_fields,
		    [REQUEST_WQ] = wq_fields },
	.get_context = get_context,
	.query_device = query_device,
	.alloc_pd = alloc_pd,
	.create_cq = create_cq,
	.create_qp = create_qp,
	.create_wq = create_wq,
	.region = region,
};

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Commands: a table of those that the drivers send. */
#include "tests/hosts/vm/pci/mlx5.h"

#include <stdlib.h>
#include "tests/hosts/vm/pci/play.h"

enum {
	BOOT_PAGES = 4,
	INIT_PAGES = 16,
	MOST_PAGES = 1024,
	DATA = 0x10,
	COUNTER_SET = AT(0x8, 7, 8),
};

/* Pages that the driver gave. They stay unused here, but the driver wants them back. */
static uint64_t given[MOST_PAGES];
static uint32_t given_count, issi;

static enum hca_status accept(const struct hca_call *call)
{
	(void)call;
	return HCA_OK;
}

static enum hca_status teardown(const struct hca_call *call)
{
	(void)call;
	hca_forget_all();
	return HCA_OK;
}

static enum hca_status query_issi(const struct hca_call *call)
{
	put(call->out, CURRENT_ISSI, issi);
	put(call->out, SUPPORTED_ISSI, 1 << 0 | 1 << 1);
	return HCA_OK;
}

static enum hca_status set_issi(const struct hca_call *call)
{
	issi = get(call->in, CURRENT_ISSI);
	return issi <= 1 ? HCA_OK : HCA_BAD_PARAMETER;
}

static enum hca_status query_pages(const struct hca_call *call)
{
	enum {
		BOOT = 1,
		INIT,
	};

	put(call->out, QUERY_NUM_PAGES,
	    call->op_mod == BOOT   ? BOOT_PAGES
	    : call->op_mod == INIT ? INIT_PAGES
				   : 0);
	return HCA_OK;
}

static enum hca_status manage_pages(const struct hca_call *call)
{
	enum {
		GIVE = 1,
		TAKE,
	};
	uint32_t count = get(call->in, PAGES_IN), n = 0;

	if (call->op_mod == GIVE) {
		if (count > MOST_PAGES - given_count)
			return HCA_BAD_PARAMETER;
		for (; n < count; n++)
			given[given_count++] = get64(call->in + DATA + 8 * n);
	} else if (call->op_mod == TAKE) {
		for (; n < count && given_count && DATA + 8 * (n + 1) <= call->out_len; n++)
			put64(call->out + DATA + 8 * n, given[--given_count]);
		put(call->out, PAGES_OUT, n);
	}
	return HCA_OK;
}

static enum hca_status query_adapter(const struct hca_call *call)
{
	put(call->out, ADAPTER_IEEE_VENDOR_ID, 0x2c9);
	memcpy(call->out + ADAPTER_PSID, "PLAYED", 6);
	return HCA_OK;
}

/* Domains are numbers only: what belongs to one names it. */
static enum hca_status alloc_number(const struct hca_call *call)
{
	static uint32_t next;

	put(call->out, COMMAND_NUMBER, ++next);
	return HCA_OK;
}

static enum hca_status alloc_counters(const struct hca_call *call)
{
	put(call->out, COUNTER_SET, 1);
	return HCA_OK;
}

/* The agents of the port's management get an answer with nothing in it. */
static enum hca_status mad(const struct hca_call *call)
{
	enum {
		MAD = 256,
		METHOD = 3,
		GET_RESPONSE = 0x81,
	};

	memcpy(call->out + DATA, call->in + DATA, MAD);
	call->out[DATA + METHOD] = GET_RESPONSE;
	return HCA_OK;
}

static const struct {
	uint32_t opcode;
	const char *name;
	enum hca_status (*run)(const struct hca_call *call);
} commands[] = {
	{ 0x100, "QUERY_HCA_CAP", hca_query_capabilities },
	{ 0x101, "QUERY_ADAPTER", query_adapter },
	{ 0x102, "INIT_HCA", accept },
	{ 0x103, "TEARDOWN_HCA", teardown },
	{ 0x104, "ENABLE_HCA", accept },
	{ 0x105, "DISABLE_HCA", accept },
	{ 0x107, "QUERY_PAGES", query_pages },
	{ 0x108, "MANAGE_PAGES", manage_pages },
	{ 0x109, "SET_HCA_CAP", hca_set_capabilities },
	{ 0x10a, "QUERY_ISSI", query_issi },
	{ 0x10b, "SET_ISSI", set_issi },
	{ 0x10d, "SET_DRIVER_VERSION", accept },
	{ 0x200, "CREATE_MKEY", hca_create_key },
	{ 0x202, "DESTROY_MKEY", hca_destroy_key },
	{ 0x301, "CREATE_EQ", hca_create_eq },
	{ 0x302, "DESTROY_EQ", hca_destroy_eq },
	{ 0x400, "CREATE_CQ", hca_create_cq },
	{ 0x401, "DESTROY_CQ", hca_destroy_cq },
	{ 0x403, "MODIFY_CQ", hca_modify_cq },
	{ 0x500, "CREATE_QP", hca_create_qp },
	{ 0x501, "DESTROY_QP", hca_destroy_qp },
	{ 0x502, "RST2INIT_QP", hca_modify_qp },
	{ 0x503, "INIT2RTR_QP", hca_modify_qp },
	{ 0x504, "RTR2RTS_QP", hca_modify_qp },
	{ 0x505, "RTS2RTS_QP", hca_modify_qp },
	{ 0x506, "SQERR2RTS_QP", hca_modify_qp },
	{ 0x507, "2ERR_QP", hca_modify_qp },
	{ 0x50a, "2RST_QP", hca_modify_qp },
	{ 0x50b, "QUERY_QP", hca_query_qp },
	{ 0x50c, "SQD_RTS_QP", hca_modify_qp },
	{ 0x50d, "MAD_IFC", mad },
	{ 0x50e, "INIT2INIT_QP", hca_modify_qp },
	{ 0x705, "CREATE_XRC_SRQ", hca_create_xrc_srq },
	{ 0x706, "DESTROY_XRC_SRQ", hca_destroy_srq },
	{ 0x707, "QUERY_XRC_SRQ", hca_query_srq },
	{ 0x708, "ARM_XRC_SRQ", hca_modify_srq },
	{ 0x750, "QUERY_VPORT_STATE", hca_query_vport_state },
	{ 0x751, "MODIFY_VPORT_STATE", accept },
	{ 0x754, "QUERY_NIC_VPORT_CONTEXT", hca_query_nic },
	{ 0x755, "MODIFY_NIC_VPORT_CONTEXT", hca_modify_nic },
	{ 0x761, "SET_ROCE_ADDRESS", hca_set_address },
	{ 0x762, "QUERY_HCA_VPORT_CONTEXT", hca_query_port },
	{ 0x763, "MODIFY_HCA_VPORT_CONTEXT", hca_modify_port },
	{ 0x764, "QUERY_HCA_VPORT_GID", hca_query_gid },
	{ 0x765, "QUERY_HCA_VPORT_PKEY", hca_query_pkey },
	{ 0x770, "QUERY_VPORT_COUNTER", accept },
	{ 0x771, "ALLOC_Q_COUNTER", alloc_counters },
	{ 0x772, "DEALLOC_Q_COUNTER", accept },
	{ 0x773, "QUERY_Q_COUNTER", accept },
	{ 0x800, "ALLOC_PD", alloc_number },
	{ 0x801, "DEALLOC_PD", accept },
	{ 0x802, "ALLOC_UAR", hca_alloc_uar },
	{ 0x803, "DEALLOC_UAR", hca_dealloc_uar },
	{ 0x805, "ACCESS_REG", hca_access_register },
	{ 0x806, "ATTACH_TO_MCG", hca_attach_group },
	{ 0x807, "DETACH_FROM_MCG", hca_detach_group },
	{ 0x80e, "ALLOC_XRCD", alloc_number },
	{ 0x80f, "DEALLOC_XRCD", accept },
	{ 0x816, "ALLOC_TRANSPORT_DOMAIN", alloc_number },
	{ 0x817, "DEALLOC_TRANSPORT_DOMAIN", accept },
	{ 0x900, "CREATE_TIR", alloc_number },
	{ 0x901, "MODIFY_TIR", accept },
	{ 0x902, "DESTROY_TIR", accept },
	{ 0x904, "CREATE_SQ", hca_create_frame_sq },
	{ 0x905, "MODIFY_SQ", hca_modify_frame_sq },
	{ 0x906, "DESTROY_SQ", hca_destroy_frame_sq },
	{ 0x908, "CREATE_RQ", hca_create_frame_rq },
	{ 0x909, "MODIFY_RQ", hca_modify_frame_rq },
	{ 0x90a, "DESTROY_RQ", hca_destroy_frame_rq },
	{ 0x90c, "CREATE_RMP", hca_create_rmp },
	{ 0x90d, "MODIFY_RMP", hca_modify_srq },
	{ 0x90e, "DESTROY_RMP", hca_destroy_srq },
	{ 0x90f, "QUERY_RMP", hca_query_srq },
	{ 0x912, "CREATE_TIS", alloc_number },
	{ 0x913, "MODIFY_TIS", accept },
	{ 0x914, "DESTROY_TIS", accept },
	{ 0x916, "CREATE_RQT", alloc_number },
	{ 0x917, "MODIFY_RQT", accept },
	{ 0x918, "DESTROY_RQT", accept },
	{ 0x92f, "SET_FLOW_TABLE_ROOT", accept },
	{ 0x930, "CREATE_FLOW_TABLE", alloc_number },
	{ 0x931, "DESTROY_FLOW_TABLE", accept },
	{ 0x933, "CREATE_FLOW_GROUP", alloc_number },
	{ 0x934, "DESTROY_FLOW_GROUP", accept },
	{ 0x936, "SET_FLOW_TABLE_ENTRY", accept },
	{ 0x938, "DELETE_FLOW_TABLE_ENTRY", accept },
	{ 0x939, "ALLOC_FLOW_COUNTER", alloc_number },
	{ 0x93a, "DEALLOC_FLOW_COUNTER", accept },
	{ 0x93b, "QUERY_FLOW_COUNTER", accept },
	{ 0x93c, "MODIFY_FLOW_TABLE", accept },
};

enum hca_status hca_execute(const struct hca_call *call)
{
	enum hca_status status;

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (commands[i].opcode != call->opcode)
			continue;
		status = commands[i].run(call);
		PLAY_LOG("%s, mode %u, number 0x%x: status 0x%x\n", commands[i].name, call->op_mod,
			 call->number, status);
		return status;
	}
	printf("command 0x%x is not played\n", call->opcode);
	return HCA_BAD_OPCODE;
}

/* Commands that make objects or change queue pairs fail. The driver cannot continue if it cannot
 * free an object. */
uint32_t hca_random_status(uint32_t opcode, uint32_t random)
{
	static const struct {
		uint32_t from, to;
	} fail[] = {
		{ 0x200, 0x200 }, { 0x400, 0x400 }, { 0x500, 0x500 }, { 0x502, 0x504 },
		{ 0x705, 0x705 }, { 0x800, 0x800 }, { 0x802, 0x802 }, { 0x806, 0x806 },
		{ 0x816, 0x816 }, { 0x90c, 0x90c },
	};
	static const enum hca_status statuses[] = { HCA_INTERNAL, HCA_BAD_PARAMETER,
						    HCA_BAD_RESOURCE, HCA_LIMIT };

	for (size_t i = 0; i < sizeof(fail) / sizeof(fail[0]); i++)
		if (opcode >= fail[i].from && opcode <= fail[i].to)
			return statuses[random % (sizeof(statuses) / sizeof(statuses[0]))];
	return HCA_OK;
}

void hca_forget_all(void)
{
	for (int i = 0; i < HCA_EQS; i++)
		hca_unmap_ring(&hca.eqs[i].map);
	for (int i = 0; i < HCA_CQS; i++)
		hca_unmap_ring(&hca.cqs[i].map);
	for (int i = 0; i < HCA_QPS; i++)
		hca_unmap_ring(&hca.qps[i].map);
	for (int i = 0; i < HCA_SRQS; i++)
		hca_unmap_ring(&hca.srqs[i].map);
	for (int i = 0; i < HCA_FRAME_QUEUES; i++) {
		hca_unmap_ring(&hca.sqs[i].map);
		hca_unmap_ring(&hca.rqs[i].map);
	}
	for (int i = 0; i < HCA_KEYS; i++)
		free(hca.keys[i].page);
	memset(&hca, 0, sizeof(hca));
	issi = 0;
	hca_capabilities_reset();
}

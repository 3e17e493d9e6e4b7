/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A table of the commands that the driver sends. */
#include "tests/hosts/vm/pci/mlx4.h"

#include <string.h>
#include "tests/hosts/vm/pci/icm.h"
#include "tests/hosts/vm/pci/play.h"
#include "util/bytes.h"

enum {
	MAILBOX = 4096,
	AUXILIARY_PAGES = 16,
	KEYS = 0xf0,
	LOG_KEYS = 0xfb,
	TABLES = 0x100,
	INIT_SIZE = 0x200,
	CLOCK = 0xc, /* in the answer to QUERY_HCA */
};

static uint8_t parameters[INIT_SIZE]; /* parameters of INIT_HCA */

static enum hcr_status accept(struct hcr_call *call)
{
	(void)call;
	return HCR_OK;
}

static enum hcr_status nothing(struct hcr_call *call)
{
	memset(hcr_out(call), 0, MAILBOX);
	return HCR_OK;
}

/* Mode 2 asks for values, others set them. */
static enum hcr_status configure(struct hcr_call *call)
{
	return call->mode >= 2 ? nothing(call) : HCR_OK;
}

/* Pages for the firmware itself stay unused. */
static enum hcr_status set_icm_size(struct hcr_call *call)
{
	call->out = AUXILIARY_PAGES;
	return HCR_OK;
}

static enum hcr_status init_hca(struct hcr_call *call)
{
	memcpy(parameters, hcr_in(call), sizeof(parameters));
	icm_tables = get64(parameters + TABLES);
	hca_place_keys(get64(parameters + KEYS), parameters[LOG_KEYS] & 0x3f);
	return HCR_OK;
}

static enum hcr_status query_hca(struct hcr_call *call)
{
	uint8_t *out = hcr_out(call);

	memset(out, 0, MAILBOX);
	memcpy(out, parameters, sizeof(parameters));
	put16(out + CLOCK, HCA_CLOCK_MHZ);
	return HCR_OK;
}

static enum hcr_status close_hca(struct hcr_call *call)
{
	(void)call;
	loop_forget_all();
	hca_forget_groups();
	return HCR_OK;
}

static const struct hcr_command commands[] = {
	{ 0x03, "QUERY_DEV_CAP", hca_query_capabilities },
	{ 0x04, "QUERY_FW", hca_query_firmware },
	{ 0x06, "QUERY_ADAPTER", hca_query_adapter },
	{ 0x07, "INIT_HCA", init_hca },
	{ 0x08, "CLOSE_HCA", close_hca },
	{ 0x09, "INIT_PORT", accept },
	{ 0x0a, "CLOSE_PORT", accept },
	{ 0x0b, "QUERY_HCA", query_hca },
	{ 0x0c, "SET_PORT", hca_set_port },
	{ 0x0d, "SW2HW_MPT", hca_create_key },
	{ 0x0f, "HW2SW_MPT", hca_destroy_key },
	{ 0x12, "MAP_EQ", hca_map_events },
	{ 0x13, "SW2HW_EQ", hca_create_eq },
	{ 0x14, "HW2SW_EQ", hca_destroy_eq },
	{ 0x16, "SW2HW_CQ", hca_create_cq },
	{ 0x17, "HW2SW_CQ", hca_destroy_cq },
	{ 0x19, "RST2INIT_QP", hca_modify_qp },
	{ 0x1a, "INIT2RTR_QP", hca_modify_qp },
	{ 0x1b, "RTR2RTS_QP", hca_modify_qp },
	{ 0x1c, "RTS2RTS_QP", hca_modify_qp },
	{ 0x1d, "SQERR2RTS_QP", hca_modify_qp },
	{ 0x1e, "2ERR_QP", hca_modify_qp },
	{ 0x1f, "RTS2SQD_QP", hca_modify_qp },
	{ 0x20, "SQD2RTS_QP", hca_modify_qp },
	{ 0x21, "2RST_QP", hca_modify_qp },
	{ 0x22, "QUERY_QP", hca_query_qp },
	{ 0x23, "CONF_SPECIAL_QP", hca_special_qps },
	{ 0x24, "MAD_IFC", hca_mad },
	{ 0x25, "READ_MCG", hca_read_group },
	{ 0x26, "WRITE_MCG", hca_write_group },
	{ 0x27, "MGID_HASH", hca_hash_group },
	{ 0x2c, "MODIFY_CQ", hca_modify_cq },
	{ 0x2d, "INIT2INIT_QP", hca_modify_qp },
	{ 0x2f, "SYNC_TPT", accept },
	{ 0x30, "DIAG_RPRT", nothing },
	{ 0x31, "NOP", accept },
	{ 0x34, "MOD_STAT_CFG", configure },
	{ 0x35, "SW2HW_SRQ", hca_create_srq },
	{ 0x36, "HW2SW_SRQ", hca_destroy_srq },
	{ 0x37, "QUERY_SRQ", hca_query_srq },
	{ 0x38, "SQD2SQD_QP", hca_modify_qp },
	{ 0x40, "ARM_SRQ", hca_arm_srq },
	{ 0x43, "QUERY_PORT", hca_query_port },
	{ 0x5a, "SET_NODE", accept },
	{ 0xff6, "RUN_FW", accept },
	{ 0xff9, "UNMAP_ICM", icm_unmap },
	{ 0xffa, "MAP_ICM", icm_map },
	{ 0xffb, "UNMAP_ICM_AUX", accept },
	{ 0xffc, "MAP_ICM_AUX", accept },
	{ 0xffd, "SET_ICM_SIZE", set_icm_size },
	{ 0xffe, "UNMAP_FA", accept },
	{ 0xfff, "MAP_FA", accept },
};

const struct hcr hca_hcr = {
	.at = HCA_HCR,
	.commands = commands,
	.count = sizeof(commands) / sizeof(commands[0]),
	.event = hca_command_event,
};

/* Commands that make objects or change queue pairs fail. The driver resets the adapter if it cannot
 * give an object back. */
uint32_t hca_random_status(uint32_t opcode, uint32_t random)
{
	static const uint16_t fail[] = { 0x0d, 0x16, 0x19, 0x1a, 0x1b, 0x35 };
	static const enum hcr_status statuses[] = { HCR_INTERNAL, HCR_BAD_PARAMETER, HCR_LIMIT,
						    HCR_BUSY };

	for (size_t i = 0; i < sizeof(fail) / sizeof(fail[0]); i++)
		if (opcode == fail[i])
			return statuses[random % (sizeof(statuses) / sizeof(statuses[0]))];
	return HCR_OK;
}

void hca_forget_all(void)
{
	loop_forget_all();
	hca_forget_eqs();
	hca_forget_groups();
	hca_place_keys(0, 0);
	icm_forget();
	hcr_reset(&hca_hcr);
}

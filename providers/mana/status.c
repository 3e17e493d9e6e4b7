/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The causes of failures that the device reports. */
#include "providers/mana/rc.h"

enum ibv_wc_status mana_status(uint32_t cause)
{
	switch (cause) {
	case 0x005:
	case 0x102:
	case 0x10f:
		return IBV_WC_LOC_LEN_ERR;
	case 0x109:
	case 0x201:
	case 0x205:
	case 0x209 ... 0x20b:
	case 0x210 ... 0x211:
	case 0x215 ... 0x217:
		return IBV_WC_LOC_QP_OP_ERR;
	case 0x143:
	case 0x1c3:
	case 0x202 ... 0x204:
	case 0x206 ... 0x208:
	case 0x220 ... 0x227:
		return IBV_WC_LOC_PROT_ERR;
	case 0x10b:
	case 0x183:
		return IBV_WC_LOC_ACCESS_ERR;
	case 0x003:
		return IBV_WC_REM_INV_REQ_ERR;
	case 0x043:
	case 0x083:
	case 0x0c3:
	case 0x162:
		return IBV_WC_REM_ACCESS_ERR;
	case 0x161:
	case 0x163:
		return IBV_WC_REM_OP_ERR;
	case 0x108:
	case 0x10a:
	case 0x10c:
	case 0x111:
	case 0x145:
	case 0x185:
	case 0x1c5:
	case 0x212 ... 0x214:
	case 0x218:
		return IBV_WC_FATAL_ERR;
	case 0x1c7:
	case CAUSE_FLUSHED:
		return IBV_WC_WR_FLUSH_ERR;
	case 0x1c6:
		return IBV_WC_RETRY_EXC_ERR;
	case 0x164:
		return IBV_WC_RNR_RETRY_EXC_ERR;
	default:
		return IBV_WC_GENERAL_ERR;
	}
}

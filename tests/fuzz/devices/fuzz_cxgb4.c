/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cxgb4 on a hostile kernel and a hostile device. */
#include "tests/fuzz/devices/session.h"

const struct played played = {
	.devices = { &device_cxgb4, &device_cxgb4_t5, &device_cxgb4_t4, &device_cxgb4_verbs },
};

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* irdma on a hostile kernel and a hostile device. */
#include "tests/fuzz/devices/session.h"

const struct played played = {
	.devices = { &device_irdma, &device_irdma_gen3, &device_irdma_x722, &device_irdma_iwarp },
};

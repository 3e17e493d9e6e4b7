/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ocrdma on a hostile kernel and a hostile device. */
#include "tests/fuzz/devices/session.h"

const struct played played = {
	.devices = { &device_ocrdma, &device_ocrdma_gen1 },
};

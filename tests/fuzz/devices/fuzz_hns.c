/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* hns on a hostile kernel and a hostile device. */
#include "tests/fuzz/devices/session.h"

const struct played played = {
	.devices = { &device_hns, &device_hns_full, &device_hns_hip08, &device_hns_full },
};

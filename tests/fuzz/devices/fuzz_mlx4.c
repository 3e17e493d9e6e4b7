/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mlx4 on a hostile kernel and a hostile device. */
#include "tests/fuzz/devices/session.h"

const struct played played = {
	.devices = { &device_mlx4, &device_mlx4_ib },
};

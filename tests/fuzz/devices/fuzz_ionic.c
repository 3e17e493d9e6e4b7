/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ionic on a hostile kernel and a hostile device, with domains of any preferences. */
#include <infiniband/ionic_dv.h>

#include "tests/fuzz/devices/session.h"

static void step(struct session *s)
{
	uint8_t how = input_u8(s->in);

	ionic_dv_pd_set_udma_mask(s->pd, how >> 6);
	ionic_dv_pd_set_sqcmb(s->pd, how & 1, how >> 1 & 1, how >> 2 & 1);
	ionic_dv_pd_set_rqcmb(s->pd, how >> 3 & 1, how >> 4 & 1, how >> 5 & 1);
}

const struct played played = {
	.devices = { &device_ionic, &device_ionic_v1 },
	.step = step,
};

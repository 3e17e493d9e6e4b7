/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Numbers of queue pairs, and numbers of XRC SRQs for devices whose numbers are short. Only the
 * process of an SRQ reads its number, so that other processes may have it too. */
#ifndef DEVICES_NUMBER_H
#define DEVICES_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

enum {
	MODEL_SHORT_SRQS = 1 << 12, /* the device's numbers are smaller */
	MODEL_SHORT_SRQ = 1 << 16,  /* this bit is in the backend's number besides */
};

bool model_has_short_numbers(void);
/* Return a number of which each QPN is a multiple, or 0. */
uint32_t model_number_step(void);

#endif

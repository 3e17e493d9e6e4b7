/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Upcalls of the paths. */
#ifndef UROCE_HOST_RECEIVE_H
#define UROCE_HOST_RECEIVE_H

#include "providers/uroce/host/objects.h"

/* The upcalls of the host's paths. */
extern const struct path_events uroce_path_events;

#endif

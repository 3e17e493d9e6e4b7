/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Requests of the backend's queue pairs. This is a separate header, because unsent.c includes
 * headers of uroce. */
#ifndef DEVICES_UNSENT_H
#define DEVICES_UNSENT_H

#include <stdbool.h>
#include <infiniband/verbs.h>

/* Return whether a queue pair of the backend has requests that are not complete. */
bool model_unsent(struct ibv_qp *qp);

#endif

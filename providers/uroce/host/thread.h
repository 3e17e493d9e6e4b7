/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The progress thread. */
#ifndef UROCE_HOST_THREAD_H
#define UROCE_HOST_THREAD_H

#include "providers/uroce/host/objects.h"

/* Start and stop the progress thread. host->shm must exist. */
int uroce_thread_start(struct uroce_host *host);
void uroce_thread_stop(struct uroce_host *host);

#endif

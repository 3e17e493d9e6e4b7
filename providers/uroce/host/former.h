/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The end of peers. */
#ifndef UROCE_HOST_FORMER_H
#define UROCE_HOST_FORMER_H

#include "providers/uroce/host/objects.h"

/*
 * Fail every QP that is connected to @peer of @path, because that process has gone. The caller has
 * a strand locked.
 */
void uroce_qps_peer_gone(struct uroce_host *host, const struct uroce_path *path, const void *peer);
/*
 * Free the structs of former peers that no address vector names, if there are enough of them. Only
 * for the thread that watches, between two waits, because pending events name peers.
 */
void uroce_former_peers_free(struct uroce_host *host);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* QP1 of a device: datagrams that arrive, and operations for the connection manager. */
#ifndef UROCE_HOST_GSI_OPS_H
#define UROCE_HOST_GSI_OPS_H

#include "providers/uroce/host/objects.h"

/* Bring a datagram for QP1 to the connection manager of its process. Under progress_lock. */
void uroce_gsi_packet(struct uroce_host *host, const struct uroce_packet *pkt,
		      const union ibv_gid *sgid);
/*
 * Make a uroce_progress_pass() with sockets, release the locks and hand received MADs to their
 * taker. The caller holds progress_lock, or the locks of all strands, and no other lock.
 */
unsigned int uroce_gsi_pass(struct uroce_host *host);
/* Report to the connection manager that the process of @slot has gone. Under progress_lock. */
void uroce_gsi_peer_gone(struct uroce_host *host, uint16_t slot);
/* Report to the connection manager that the device's interface has gone. */
void uroce_gsi_removed(struct uroce_dev *dev);
void uroce_gsi_free(struct uroce_gsi *gsi);

/* Operations of the provider. */
int uroce_gsi_open(struct ibv_context *ctx, const struct verbs_gsi_taker *taker, int *ret_fd,
		   uint16_t *ret_prefix);
int uroce_gsi_listen(struct ibv_context *ctx, uint64_t service_id, const union ibv_gid *gid,
		     bool on);
int uroce_gsi_send(struct ibv_context *ctx, const struct verbs_gsi_mad *mad);
int uroce_gsi_recv(struct ibv_context *ctx, struct verbs_gsi_mad *ret_mad);
int uroce_gsi_probe(struct ibv_context *ctx, const struct verbs_gsi_mad *mad, int *fd);
int uroce_gsi_offer(struct ibv_context *ctx, const struct verbs_gsi_mad *mad);
void uroce_gsi_poll(struct ibv_context *ctx);
void uroce_gsi_leave(struct ibv_context *ctx);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The sockets of flows. udp_path.h explains flows. */
#ifndef UROCE_UDP_FLOW_H
#define UROCE_UDP_FLOW_H

#include "providers/uroce/path/udp/udp_path.h"

void uroce_udp_flows_init(struct uroce_udp *udp);

/*
 * Return the flow of a packet. NULL: use port 4791, because the packet does not belong to an RC QP
 * or because there is no flow to its destination and none can be made.
 */
struct udp_tx_flow *uroce_udp_tx_flow(struct uroce_udp *udp, const struct uroce_av *av,
				      const struct uroce_hdr *hdr);

/* Return an existing flow, or NULL. */
struct udp_tx_flow *uroce_udp_tx_flow_known(struct uroce_udp *udp, const struct uroce_av *av,
					    uint32_t dest_qpn);

/*
 * Close a flow that refused a message or, if @lossy, whose packets seem to be lost. No message in
 * the queue may still use the flow. The flow is tried again later.
 */
void uroce_udp_tx_flow_break(struct uroce_udp *udp, struct udp_tx_flow *flow, bool lossy);

/*
 * Open a connected socket for a source that keeps sending to QPs of this process, if there is a
 * place for it. The thread watches it. Under progress_lock.
 */
void uroce_udp_rx_flow_open(struct uroce_udp *udp, const struct udp_source *source,
			    unsigned int gid_index);

/*
 * Close all flows of a GID that has gone. The caller ensures that no message is queued and no
 * thread receives.
 */
void uroce_udp_flows_close(struct uroce_udp *udp, unsigned int gid_index);

#endif

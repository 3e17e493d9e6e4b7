/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The sockets of flows; what a flow is: udp_path.h. */
#ifndef UROCE_UDP_FLOW_H
#define UROCE_UDP_FLOW_H

#include "providers/uroce/path/udp/udp_path.h"

void uroce_udp_flows_init(struct uroce_udp *udp);

/*
 * The flow a packet leaves by. NULL: port 4791, because it is not of an RC QP, or there is no flow
 * to that destination and none can be made.
 */
struct udp_tx_flow *uroce_udp_tx_flow(struct uroce_udp *udp, const struct uroce_av *av,
				      const struct uroce_hdr *hdr);

/* The flow that is there already, or NULL. */
struct udp_tx_flow *uroce_udp_tx_flow_known(struct uroce_udp *udp, const struct uroce_av *av,
					    uint32_t dest_qpn);

/*
 * It did not take a message, or, @doubted, what it took does not seem to arrive. Nothing in the
 * queue may be of it any more; it is tried again later.
 */
void uroce_udp_tx_flow_break(struct uroce_udp *udp, struct udp_tx_flow *flow, bool doubted);

/*
 * Who keeps sending to QPs of this process gets a socket for itself, watched by the thread, if
 * there is a place for it. Under progress_lock.
 */
void uroce_udp_rx_flow_open(struct uroce_udp *udp, const struct udp_source *source,
			    unsigned int gid_index);

/* All flows of a GID that is no more. Nothing is queued, nobody receives. */
void uroce_udp_flows_close(struct uroce_udp *udp, unsigned int gid_index);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the requester's files share: req.c goes on through the send queue, req_packet.c sends a
 * packet of it, retry.c sends again. */
#ifndef UROCE_REQ_H
#define UROCE_REQ_H

#include "providers/uroce/engine/engine.h"

/* Send @length payload bytes of @wqe from @offset. 0, -EAGAIN, or the error the WQE ends with. */
int req_packet_send(struct uroce_qp *qp, struct uroce_swqe *wqe, const struct uroce_av *av,
		    const struct uroce_hdr *hdr, uint32_t offset, uint32_t length);
/* What a failed send means for the WQE: -EAGAIN waits, unreachable waits for the timer, the rest is
 * local. */
int req_send_failed(struct uroce_qp *qp, struct uroce_swqe *wqe, int r);

/* One packet of a send or write. Return: 1 the WQE is completely out, 0 more to come, -errno. */
int req_message_step(struct uroce_qp *qp, struct uroce_swqe *wqe);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Functions that the files of the requester share: req.c walks the send queue, req_packet.c sends a
 * packet of it, retry.c sends again. */
#ifndef UROCE_REQ_H
#define UROCE_REQ_H

#include "providers/uroce/engine/engine.h"

/* Send @length payload bytes of @wqe from @offset. Return: 0, -EAGAIN, or the error of the WQE. */
int req_packet_send(struct uroce_qp *qp, struct uroce_swqe *wqe, const struct uroce_av *av,
		    const struct uroce_hdr *hdr, uint32_t offset, uint32_t length);
/* Handle a failed send of a packet. After -EAGAIN the WQE waits for room. If the destination is
 * unreachable, it waits for the timer. All other errors are local and fail the WQE. */
int req_send_failed(struct uroce_qp *qp, struct uroce_swqe *wqe, int r);

/* Send one packet of a send or write. Return: 1: the WQE has left completely; 0: packets remain;
 * -errno. */
int req_message_step(struct uroce_qp *qp, struct uroce_swqe *wqe);

#endif

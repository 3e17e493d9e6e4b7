/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * UROCE_CAPTURE: the packets of this process in a file (pcapng.h), as they are or would be on a
 * wire: IP, UDP, BTH to ICRC. Without the variable host->capture is NULL and none of this is
 * reached.
 */
#ifndef UROCE_CAPTURE_H
#define UROCE_CAPTURE_H

#include "providers/uroce/host/dev.h"

struct uroce_capture;

/* "FILE[,snaplen=BYTES][,size=BYTES[K|M|G]]", %p in it the process's number. */
struct capture_wish {
	char path[4096];
	uint32_t snaplen;
	uint64_t size;
};

/* -EINVAL: @message (256 bytes) says what is wrong. */
int uroce_capture_parse(const char *text, struct capture_wish *ret, char *message);

/*
 * From the environment; *@ret NULL: none is wanted, or the file cannot be had, which is said.
 * -EINVAL: not understood, which is said as well.
 */
int uroce_capture_new(struct uroce_capture **ret);
void uroce_capture_free(struct uroce_capture *capture);

/*
 * A packet of the network: @packet has @length bytes, BTH to ICRC. @av from its sender's point of
 * view;
 * @port: UDP port it comes from; @id: identification of its IPv4 header.
 */
void uroce_capture_wire(struct uroce_dev *dev, const struct uroce_av *av, bool outgoing,
			uint16_t port, uint16_t id, const uint8_t *packet, uint32_t length);

/* A datagram another process of this host handed over: @length bytes, BTH to padding. */
void uroce_capture_forwarded(struct uroce_host *host, const union ibv_gid *sgid,
			     const union ibv_gid *dgid, const uint8_t *packet, uint32_t length);

/* A packet for @qp out of a ring of shared memory. */
void uroce_capture_peer(struct uroce_qp *qp, const struct uroce_packet *pkt);

/* The operations of the path through shared memory, with a look at each packet that leaves. */
extern const struct uroce_path_ops uroce_capture_shm_ops;

#endif

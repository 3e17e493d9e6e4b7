/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * UROCE_CAPTURE: write the packets of this process into a file (pcapng.h). Packets are as they are
 * or would be on a wire: IP, UDP, BTH to ICRC.
 */
#ifndef UROCE_CAPTURE_H
#define UROCE_CAPTURE_H

#include "providers/uroce/engine/engine.h"

struct uroce_capture;

/*
 * Parsed text "FILE[,snaplen=BYTES][,size=BYTES[K|M|G]]". %p in FILE stands for the process number.
 */
struct capture_wish {
	char path[4096];
	uint32_t snaplen;
	uint64_t size;
};

/* Parse the text. -EINVAL: @message (256 bytes) names the mistake. In capture_wish.c. */
int uroce_capture_parse(const char *text, struct capture_wish *ret, char *message);

/*
 * Read the wish for a capture from the environment. *@ret is NULL if no capture was requested, or
 * if the file cannot be opened, which is logged. -EINVAL: the wish is malformed, which is logged as
 * well.
 */
int uroce_capture_new(struct uroce_capture **ret);
void uroce_capture_free(struct uroce_capture *capture);

/* Capture a packet that a path saw. A packet without a device counts for @device. */
void uroce_capture_sight(struct uroce_capture *capture, const struct path_sight *sight,
			 const char *device);

/* Capture a packet that arrived for @qp of @device by a ring of shared memory. */
void uroce_capture_peer(struct uroce_capture *capture, const char *device,
			const struct uroce_qp *qp, const struct uroce_packet *pkt);

/*
 * Capture each packet that leaves by @path through shared memory from now on. @device: the name of
 * the device by which @qp sends, or, if @qp is NULL, the connection manager; NULL: there is none.
 */
void uroce_capture_path(struct uroce_capture *capture, struct uroce_path *path,
			const char *(*device)(struct path_host *host, const struct uroce_qp *qp));

#endif

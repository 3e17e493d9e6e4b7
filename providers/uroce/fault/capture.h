/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * UROCE_CAPTURE: the packets of this process in a file (pcapng.h), as they are or would be on a
 * wire: IP, UDP, BTH to ICRC.
 */
#ifndef UROCE_CAPTURE_H
#define UROCE_CAPTURE_H

#include "providers/uroce/engine/engine.h"

struct uroce_capture;

/* "FILE[,snaplen=BYTES][,size=BYTES[K|M|G]]", %p in it the process's number. */
struct capture_wish {
	char path[4096];
	uint32_t snaplen;
	uint64_t size;
};

/* capture_wish.c: -EINVAL: @message (256 bytes) says what is wrong. */
int uroce_capture_parse(const char *text, struct capture_wish *ret, char *message);

/*
 * Read the wish for a capture from the environment. *@ret is NULL without a wish, or if the file
 * cannot be opened, which is logged. -EINVAL: the wish is malformed, which is logged as well.
 */
int uroce_capture_new(struct uroce_capture **ret);
void uroce_capture_free(struct uroce_capture *capture);

/* A packet as a path saw it. Without a device it counts as one of @device. */
void uroce_capture_sight(struct uroce_capture *capture, const struct path_sight *sight,
			 const char *device);

/* A packet for @qp, of @device, out of a ring of shared memory. */
void uroce_capture_peer(struct uroce_capture *capture, const char *device,
			const struct uroce_qp *qp, const struct uroce_packet *pkt);

/*
 * A look at each packet that leaves by @path through shared memory, from now on. @device: the name
 * of the device that @qp, or with NULL the connection manager, sends by; NULL: there is none.
 */
void uroce_capture_path(struct uroce_capture *capture, struct uroce_path *path,
			const char *(*device)(struct path_host *host, const struct uroce_qp *qp));

#endif

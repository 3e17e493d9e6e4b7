/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Frames of Ethernet, which raw packet queues of run mode send and receive. DEVICES_WIRE names the
 * network interface that is the device's wire. */
#ifndef DEVICES_FRAME_H
#define DEVICES_FRAME_H

#include "tests/adapters/lab/model/model.h"

enum {
	FRAME_MOST = 2048,
};

/* Return whether the device has raw packet queues: DEVICES_HOST has the word frames. */
bool model_has_frames(void);
/* Open the wire, and start the model. */
void model_frame_open(void);
/* Return the index of the interface that is the wire, or 0. */
unsigned model_frame_interface(void);
/* Give frames that arrived by the wire to the device. Return whether there were any. */
bool model_frames(void);
/* Send a frame by the wire. Without a wire the frame is lost. */
void model_frame_send(const void *frame, size_t length);
/* Execute a request of a raw packet queue pair, whose data is one frame. ENOMEM: its completion
 * has no room yet. */
int model_frame_post(struct object *qp, struct work *work);
/* Copy bytes of the process that a request of @queue describes; EACCES: a key does not allow it.
 */
int model_gather(const struct object *queue, const struct ibv_sge *sge, void *to);
/* Copy a frame to the memory of a receive; EMSGSIZE: the memory is too short. */
int model_scatter(const struct object *queue, const struct work *work, const void *frame,
		  size_t length);

#endif

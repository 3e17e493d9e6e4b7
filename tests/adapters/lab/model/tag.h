/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tag matching, which the backend does not have: an SRQ with a list of receives. The backend's SRQ
 * has buffers of the model, and the model copies each message to the receive that it belongs to.
 */
#ifndef DEVICES_TAG_H
#define DEVICES_TAG_H

#include "tests/adapters/lab/model/model.h"

#include <infiniband/tm_types.h>

enum {
	TAGS_MOST = 127,
	TAG_OPS_MOST = 64,
	TAG_HEADERS_MOST = 64, /* bytes of a rendezvous request */
};

enum tag_event {
	TAG_ADDED,
	TAG_REMOVED,
	TAG_SYNCED,
	TAG_MATCHED,	/* the data will be fetched */
	TAG_FETCHED,	/* the data have been fetched */
	TAG_WHOLE,	/* a message matched, and its data have arrived */
	TAG_SOFTWARE,	/* a message matched, and the process fetches the data */
	TAG_CANCELED,	/* the data could not be fetched */
	TAG_UNEXPECTED, /* the message is in a receive of the queue */
	TAG_NONE,	/* a message without a tag is in a receive of the queue */
};

/*
 * A completion.
 * @index: of the receive in the list or in the queue
 * @good: an operation took effect
 * @unexpected: messages without a match so far
 * @header: of the message, or NULL
 */
struct tagged {
	const struct object *srq;
	enum tag_event event;
	uint32_t qp_num, length;
	uint16_t index;
	bool good;
	uint16_t unexpected;
	const struct ibv_tmh *header;
};

/* Create the SRQ of the backend, with buffers of the model. */
int model_create_tags(struct object *srq);
void model_destroy_tags(struct object *srq);
/* Put a receive into the last entry of the list; the entry @next becomes the last. */
void model_tag_add(struct object *srq, uint16_t next, uint64_t tag, uint64_t mask,
		   const struct ibv_sge *sge);
/* Return whether the entry was in the list. */
bool model_tag_remove(struct object *srq, uint16_t index);
/* The process has handled this many messages without a match. */
void model_tag_sync(struct object *srq, uint16_t handled);
uint16_t model_tag_unexpected(const struct object *srq);
/* A message is in buffer @buffer, or the buffer was flushed. */
void model_tag_arrived(struct object *srq, const struct object *qp, unsigned buffer,
		       const struct ibv_wc *wc);
/* Deliver messages that wait, in order. Return whether there was one. */
bool model_tag_deliver(struct object *srq);
/* The backend has read the data of a message. */
void model_tag_fetched(struct object *srq, uint16_t index, const struct ibv_wc *wc);

#endif

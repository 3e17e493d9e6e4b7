/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The calls for datagrams: datagram.c, transfer.c, delivery.c. */
#ifndef LIBRDMACM_RSOCKET_DATAGRAM_CALLS_H
#define LIBRDMACM_RSOCKET_DATAGRAM_CALLS_H

#include "librdmacm/rsocket/socket.h"

/*
 * The functions up to ds_has_queues()
 * take the lock themselves.
 */
struct ds_received {
	struct sockaddr_storage name; /* of the sender, in the form of the socket's domain */
	socklen_t name_size;	      /* 0: no sender */
	bool truncated;
	size_t control_size;
	union {
		struct cmsghdr align;
		uint8_t bytes[CMSG_SPACE(sizeof(struct in6_pktinfo)) +
			      CMSG_SPACE(sizeof(struct in_pktinfo)) + 4 * CMSG_SPACE(sizeof(int))];
	} control;
};
int ds_create(struct rs_socket *s);
void ds_destroy(struct rs_socket *s);
int ds_bind(struct rs_socket *s, const struct sockaddr *addr, socklen_t size);
int ds_connect(struct rs_socket *s, const struct sockaddr *addr, socklen_t size);
int ds_shutdown(struct rs_socket *s, int how);
int ds_name(const struct rs_socket *s, bool peer, struct sockaddr *addr, socklen_t *size);
int ds_option_set(struct rs_socket *s, int level, int name, const void *value, socklen_t size);
int ds_option_get(struct rs_socket *s, int level, int name, void *value, socklen_t *size);
/* @msg: a message without a name goes to the connected peer */
ssize_t ds_send(struct rs_socket *s, const struct msghdr *msg, int flags);
ssize_t ds_receive(struct rs_socket *s, const struct iovec *iov, int count, int flags,
		   struct ds_received *ret);
/* Wait until all sends completed, at most @timeout_ms. */
void ds_flush(struct rs_socket *s, int timeout_ms);
/* With @lock held. */
bool ds_has_queues(const struct rs_socket *s); /* its sizes can no longer change */
bool ds_arm(struct rs_socket *s);
void ds_drain(struct rs_socket *s);
short ds_revents(struct rs_socket *s, short events);
/* Copy the control messages, and set MSG_CTRUNC if the room is too small. */
void ds_ancillary_give(const struct ds_received *from, struct msghdr *msg);
int ds_bytes_waiting(const struct rs_socket *s); /* bytes of the first datagram */
void ds_drop_all(struct rs_socket *s);

#endif

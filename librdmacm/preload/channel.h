/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The requests of a child, and the answers of its parent. */
#ifndef LIBRDMACM_PRELOAD_CHANNEL_H
#define LIBRDMACM_PRELOAD_CHANNEL_H

#include <sys/socket.h>

enum channel_op {
	CHANNEL_CLAIM, /* the child uses that RDMA socket; the answer has a descriptor */
	CHANNEL_CLOSE, /* the child does not need that RDMA socket any more; no answer */
	CHANNEL_CHILD, /* the descriptor is the channel of a child of the child; no answer */
};

struct channel_request {
	enum channel_op op;
	int name; /* number of the RDMA socket in the child */
};

struct relay_names {
	struct sockaddr_storage own, peer;
	socklen_t own_size, peer_size;
};

struct channel_answer {
	int kind; /* FD_RELAYED*; FD_NONE: the descriptor is a TCP socket, or there is none */
	struct relay_names names;
};

#endif

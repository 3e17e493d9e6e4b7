/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The UDP path: which sockets are polled, and how. */
#include <string.h>

#include "providers/uroce/path/udp/udp_call.h"
#include "providers/uroce/path/udp/udp_flow.h"
#include "providers/uroce/path/udp/udp_socket.h"

enum {
	/*
	 * A socket without packets for IDLE_POLLS polls is silent. Silent sockets are polled in
	 * turn: one socket every TURN_BUSY passes, or every TURN_SILENT passes if all are silent.
	 */
	IDLE_POLLS = 64,
	TURN_BUSY = 16,
	TURN_SILENT = 4,
	STREAM = 4,	   /* this number of consecutive polls with packets is a stream */
	PAIR = 2,	   /* datagrams that may be joined by chance, such as a message and an
			      acknowledgement */
	LONE_ENOUGH = 256, /* polls with packets but without a stream: stop joining */
};

struct udp_control {
	union {
		char buf[4 * CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	};
};

struct udp_receiver {
	struct mmsghdr msgs[UDP_RX_MESSAGES];
	struct iovec iov[UDP_RX_MESSAGES];
	union uroce_address from[UDP_RX_MESSAGES];
	struct udp_control control[UDP_RX_MESSAGES];
	uint8_t buffers[UDP_RX_MESSAGES][UDP_RX_BUFFER];
};

int uroce_udp_receiver_new(struct udp_receiver **ret_receiver)
{
	/* the kernel allocates pages of this memory at their first use */
	struct udp_receiver *rx = malloc(sizeof(*rx));

	if (!rx)
		return -ENOMEM;
	for (int i = 0; i < UDP_RX_MESSAGES; i++) {
		rx->iov[i] = (struct iovec){ rx->buffers[i], UDP_RX_BUFFER };
		rx->msgs[i].msg_hdr = (struct msghdr){
			.msg_name = &rx->from[i],
			.msg_iov = &rx->iov[i],
			.msg_iovlen = 1,
			.msg_control = &rx->control[i],
		};
	}
	*ret_receiver = rx;
	return 0;
}

static void message_prepare(struct udp_receiver *rx, int i)
{
	rx->msgs[i].msg_hdr.msg_namelen = sizeof(rx->from[i]);
	rx->msgs[i].msg_hdr.msg_controllen = sizeof(rx->control[i]);
}

/*
 * Receive one message in the way that is cheapest for an empty socket, because most polls find no
 * message.
 */
static int message_take(struct udp_receiver *rx, const struct udp_inlet *inlet)
{
	ssize_t n;

	message_prepare(rx, 0);
	n = call_recvmsg(inlet->fd, &rx->msgs[0].msg_hdr);
	if (n < 0)
		return 0;
	rx->msgs[0].msg_len = n;
	return 1;
}

/* Receive one datagram without control data. This is a third cheaper, also on an empty socket. */
static int datagram_take(struct udp_receiver *rx, const struct udp_inlet *inlet)
{
	struct msghdr *msg = &rx->msgs[0].msg_hdr;
	ssize_t n;

	message_prepare(rx, 0);
	msg->msg_controllen = 0;
	n = call_recvfrom(inlet->fd, rx->buffers[0], UDP_RX_BUFFER, msg->msg_name,
			  &msg->msg_namelen);
	if (n < 0)
		return 0;
	rx->msgs[0].msg_len = n;
	return 1;
}

static int messages_take(struct udp_receiver *rx, const struct udp_inlet *inlet)
{
	for (int i = 0; i < UDP_RX_MESSAGES; i++)
		message_prepare(rx, i);
	return call_recvmmsg(inlet->fd, rx->msgs, UDP_RX_MESSAGES);
}

typedef int take_fn(struct udp_receiver *rx, const struct udp_inlet *inlet);

static unsigned int inlet_receive(struct uroce_udp *udp, const struct udp_inlet *inlet,
				  unsigned int budget, take_fn *take)
{
	struct udp_receiver *rx = udp->receiver;
	unsigned int total = 0;
	int n;

	assert_held(&udp->path.host->progress_lock);
	do {
		uint64_t now;

		n = take(rx, inlet);
		if (n <= 0)
			break;
		now = take == datagram_take ? 0 : uroce_now();
		for (int i = 0; i < n; i++)
			total += uroce_udp_arrived(udp, &rx->msgs[i], inlet, now);
	} while (n == UDP_RX_MESSAGES && total < budget);
	return total;
}

unsigned int uroce_udp_receive(struct uroce_path *path, int fd, const union ibv_gid *group,
			       unsigned int budget)
{
	const struct udp_inlet inlet = { .fd = fd, .dgid = group };

	return inlet_receive(to_udp(path), &inlet, budget, messages_take);
}

void uroce_udp_ready(struct uroce_path *path)
{
	atomic_store_explicit(&to_udp(path)->ready, true, memory_order_relaxed);
}

/*
 * Stop joining if datagrams come one by one, as in a ping-pong, because then they need no control
 * data. Join again in a stream. If a joined message is read after joining has stopped, nothing
 * tells where to split it. Therefore stop only when a poll has just found the socket empty. Do not
 * stop while headers are shown, because headers are also control data.
 */
static void joining_adapt(const struct uroce_udp *udp, int fd, struct udp_pace *pace,
			  unsigned int n)
{
	bool wanted;

	if (n)
		pace->lone = n > PAIR || pace->hits >= STREAM ? 0 : pace->lone + 1;
	wanted = pace->lone < LONE_ENOUGH ||
		 atomic_load_explicit(&udp->shows_headers, memory_order_relaxed);
	if (likely(wanted == pace->joins || (!wanted && n)))
		return;
	pace->joins = uroce_udp_socket_join(fd, wanted);
}

static take_fn *take_of(const struct uroce_udp *udp, const struct udp_pace *pace)
{
	if (pace->hits > 1) /* the last polls also found packets */
		return messages_take;
	if (pace->joins || atomic_load_explicit(&udp->shows_headers, memory_order_relaxed))
		return message_take;
	return datagram_take;
}

static unsigned int inlet_poll(struct uroce_udp *udp, const struct udp_inlet *inlet,
			       struct udp_pace *pace, unsigned int budget)
{
	unsigned int n;

	n = inlet_receive(udp, inlet, budget, take_of(udp, pace));
	pace->hits = n ? pace->hits + 1 : 0;
	pace->idle = n ? 0 : pace->idle + 1;
	joining_adapt(udp, inlet->fd, pace, n);
	return n;
}

static unsigned int gid_poll(struct uroce_udp *udp, unsigned int gid_index, unsigned int budget)
{
	struct udp_port *port = &udp->ports[gid_index];
	const struct udp_inlet inlet = { .fd = port->fd, .dgid = &port->gid };
	unsigned int n = inlet_poll(udp, &inlet, &port->pace, budget);

	if (unlikely(udp->steady))
		uroce_udp_steady(udp, gid_index);
	return n;
}

static unsigned int flow_poll(struct uroce_udp *udp, struct udp_rx_flow *flow, unsigned int budget)
{
	const struct udp_inlet inlet = { flow->fd, &udp->ports[flow->gid_index].gid, flow };
	unsigned int n;

	n = inlet_poll(udp, &inlet, &flow->pace, budget);
	if (unlikely(udp->steady)) /* this socket received packets of another sender, which needs a
				      flow */
		uroce_udp_steady(udp, flow->gid_index);
	return n;
}

/* Return the pace of the @i-th socket: first those of GIDs, then those of flows. NULL: it is not
 * open. */
static const struct udp_pace *socket_pace(const struct uroce_udp *udp, unsigned int i)
{
	if (i < udp->slots)
		return udp->ports[i].fd >= 0 ? &udp->ports[i].pace : NULL;
	i -= udp->slots;
	return udp->rx_flows[i].fd >= 0 ? &udp->rx_flows[i].pace : NULL;
}

static unsigned int socket_poll(struct uroce_udp *udp, unsigned int i, unsigned int budget)
{
	return i < udp->slots ? gid_poll(udp, i, budget)
			      : flow_poll(udp, &udp->rx_flows[i - udp->slots], budget);
}

/* Poll the next silent socket. */
static unsigned int silent_poll(struct uroce_udp *udp, unsigned int budget)
{
	unsigned int count = udp->slots + udp->rx_count;

	for (unsigned int tries = 0; tries < count; tries++) {
		unsigned int i = ++udp->turn % count;
		const struct udp_pace *pace = socket_pace(udp, i);

		if (pace && pace->idle > IDLE_POLLS)
			return socket_poll(udp, i, budget);
	}
	return 0;
}

/* Poll all sockets that had packets recently, and from time to time a silent one. */
unsigned int uroce_udp_poll(struct uroce_path *path, unsigned int budget)
{
	struct uroce_udp *udp = to_udp(path);
	unsigned int total = 0, looks = 0;
	bool all = false;

	if (unlikely(atomic_load_explicit(&udp->ready, memory_order_relaxed))) {
		atomic_store_explicit(&udp->ready, false, memory_order_relaxed);
		all = true;
	}
	for (unsigned int i = 0; i < udp->slots + udp->rx_count; i++) {
		const struct udp_pace *pace = socket_pace(udp, i);

		if (!pace || (pace->idle > IDLE_POLLS && !all))
			continue;
		total += socket_poll(udp, i, budget);
		looks++;
	}
	if (++udp->passes % (looks ? TURN_BUSY : TURN_SILENT) == 0)
		total += silent_poll(udp, budget);
	return total;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <sys/socket.h>

#include <netlink/netlink.h>

#include "util/netlink.h"
#include "util/util.h"

/* bytes of the largest datagram of a dump */
#define NETLINK_BUFFER_SIZE 32768

/* Convert the error numbers of libnl that can occur here to an errno. */
static int netlink_errno(int nl_error)
{
	switch (-nl_error) {
	case NLE_NOMEM:
		return -ENOMEM;
	case NLE_PROTO_MISMATCH:
	case NLE_AF_NOSUPPORT:
		return -EPROTONOSUPPORT;
	case NLE_PERM:
	case NLE_NOACCESS:
		return -EPERM;
	default:
		return -EIO;
	}
}

int netlink_open(int protocol, struct nl_sock **ret_sock)
{
	_cleanup_nl_socket_ struct nl_sock *sock = nl_socket_alloc();
	int r;

	if (!sock)
		return -ENOMEM;
	r = nl_connect(sock, protocol);
	if (r < 0)
		return netlink_errno(r);
	*ret_sock = take_ptr(&sock);
	return 0;
}

/* Receive one datagram from the kernel. Drop datagrams of other processes. */
static ssize_t netlink_receive(struct nl_sock *sock, void *buffer, size_t size)
{
	struct sockaddr_nl from;
	ssize_t n;

	do {
		socklen_t from_len = sizeof(from);

		n = recvfrom(nl_socket_get_fd(sock), buffer, size, MSG_TRUNC,
			     (struct sockaddr *)&from, &from_len);
	} while ((n < 0 && errno == EINTR) || (n >= 0 && from.nl_pid));
	if (n < 0)
		return -errno;
	return n > size ? -EMSGSIZE : n;
}

/* Handle a message. @single: the answer has one message. Return: 1: the answer is complete; 0: more
 * messages follow; -errno. */
static int netlink_handle(struct nlmsghdr *hdr, bool single, netlink_answer_fn answer, void *arg)
{
	struct nlmsgerr *error = NLMSG_DATA(hdr);
	int r;

	switch (hdr->nlmsg_type) {
	case NLMSG_DONE:
		return 1;
	case NLMSG_NOOP:
		return 0;
	case NLMSG_ERROR:
		if (!netlink_has(hdr, sizeof(*error)) || error->error > 0)
			return -EBADMSG;
		return error->error ? error->error : 1;
	default:
		r = answer ? answer(hdr, arg) : 0;
		return r ? r : single;
	}
}

int netlink_ask(struct nl_sock *sock, struct nl_msg *msg, netlink_answer_fn answer, void *arg)
{
	_cleanup_free_ char *buffer = malloc(NETLINK_BUFFER_SIZE);
	uint32_t sequence;
	bool single;
	int r;

	if (!buffer)
		return -ENOMEM;
	r = nl_send_auto(sock, msg);
	if (r < 0)
		return netlink_errno(r);
	sequence = nlmsg_hdr(msg)->nlmsg_seq;
	single = !(nlmsg_hdr(msg)->nlmsg_flags & (NLM_F_ACK | NLM_F_DUMP));
	for (;;) {
		ssize_t n = netlink_receive(sock, buffer, NETLINK_BUFFER_SIZE);
		struct nlmsghdr *hdr = (struct nlmsghdr *)buffer;

		if (n < 0)
			return n;
		for (int left = n; NLMSG_OK(hdr, left); hdr = NLMSG_NEXT(hdr, left)) {
			if (hdr->nlmsg_seq != sequence)
				continue;
			r = netlink_handle(hdr, single, answer, arg);
			if (r)
				return min_of(r, 0);
		}
	}
}

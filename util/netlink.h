/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One netlink request and its answers. Messages are built with the nlmsg_ and nla_ functions of
 * libnl-3, which also find attributes. Answers are read with the macros of <linux/netlink.h> and
 * the functions below, because the dynamic linker binds each function of libnl at the start of
 * every verbs program. libnl-route is not used, because its constructors cost every verbs program
 * as many instructions as the start of the C library.
 */
#ifndef UTIL_NETLINK_H
#define UTIL_NETLINK_H

#include <stdbool.h>
#include <string.h>

#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/socket.h>

/*
 * Handle one message of the answer, of which only the length was checked. Return: 0 to continue;
 * -errno to end the exchange with this result.
 */
typedef int (*netlink_answer_fn)(struct nlmsghdr *hdr, void *arg);

/*
 * @protocol: NETLINK_ROUTE, NETLINK_RDMA
 * The socket is released with nl_socket_free().
 */
int netlink_open(int protocol, struct nl_sock **ret_sock);

/*
 * Send @msg, hand each message of the answer to @answer (may be NULL) and return when the kernel
 * says that it is complete. On a socket without automatic acknowledgements, the answer to a request
 * that asks for one object is one message. Return: 0, the kernel's or @answer's -errno. @msg still
 * belongs to the caller. If @answer fails, the exchange ends, and the socket can still be used for
 * other requests.
 */
int netlink_ask(struct nl_sock *sock, struct nl_msg *msg, netlink_answer_fn answer, void *arg);

/* Return whether the message has a family header of @size bytes. */
static inline bool netlink_has(const struct nlmsghdr *hdr, size_t size)
{
	return hdr->nlmsg_len >= NLMSG_LENGTH(size);
}

static inline void *netlink_attr_data(const struct nlattr *attr)
{
	return (char *)attr + NLA_HDRLEN;
}

static inline size_t netlink_attr_size(const struct nlattr *attr)
{
	return attr->nla_len - NLA_HDRLEN;
}

/* Read a number. The caller has checked the size of the attribute. */

static inline uint8_t netlink_attr_u8(const struct nlattr *attr)
{
	return *(uint8_t *)netlink_attr_data(attr);
}

static inline uint16_t netlink_attr_u16(const struct nlattr *attr)
{
	uint16_t value;

	memcpy(&value, netlink_attr_data(attr), sizeof(value));
	return value;
}

static inline uint32_t netlink_attr_u32(const struct nlattr *attr)
{
	uint32_t value;

	memcpy(&value, netlink_attr_data(attr), sizeof(value));
	return value;
}

static inline uint64_t netlink_attr_u64(const struct nlattr *attr)
{
	uint64_t value;

	memcpy(&value, netlink_attr_data(attr), sizeof(value));
	return value;
}

static inline void netlink_cleanup_socket(struct nl_sock **sock)
{
	if (*sock)
		nl_socket_free(*sock);
}

static inline void netlink_cleanup_msg(struct nl_msg **msg)
{
	if (*msg)
		nlmsg_free(*msg);
}

#define _cleanup_nl_socket_ __attribute__((cleanup(netlink_cleanup_socket)))
#define _cleanup_nl_msg_    __attribute__((cleanup(netlink_cleanup_msg)))

#endif

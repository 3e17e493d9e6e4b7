/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which slots have a process: one request to the kernel, which lists the listening sockets. If the
 * kernel does not answer, each name is tried, which takes a thousand system calls.
 */
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "providers/uroce/path/shm/shm_hello.h"

enum {
	PIECE = 16384, /* bytes of one piece of the answer, which may consist of many */
	WORD_BITS = 64,
};

static int listing_ask(int fd)
{
	struct {
		struct nlmsghdr header;
		struct unix_diag_req request;
	} message = {
		.header = { .nlmsg_len = sizeof(message),
			    .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			    .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.request = { .sdiag_family = AF_UNIX,
			     .udiag_states = 1 << TCP_LISTEN,
			     .udiag_show = UDIAG_SHOW_NAME },
	};

	return send(fd, &message, sizeof(message), 0) == sizeof(message) ? 0 : -errno;
}

/* Add the slot of a socket. @name: not terminated; abstract names begin with a zero byte. */
static void name_take(const char *name, size_t length, struct shm_listing *listing)
{
	char text[sizeof(((struct sockaddr_un *)0)->sun_path) + 1] = "";
	const char *number;
	unsigned long slot;

	if (length < 2 || length >= sizeof(text) || name[0])
		return;
	memcpy(text, name + 1, length - 1);
	number = strrchr(text, '-');
	slot = number ? strtoul(number + 1, NULL, 10) : 0;
	if (slot && slot < SHM_SLOTS && shm_slot_is_named(slot, name, length))
		listing->slots[slot / WORD_BITS] |= 1ull << slot % WORD_BITS;
}

static void socket_take(const struct nlmsghdr *header, struct shm_listing *listing)
{
	int left = header->nlmsg_len - NLMSG_SPACE(sizeof(struct unix_diag_msg));
	const char *at = (const char *)header + NLMSG_SPACE(sizeof(struct unix_diag_msg));

	while (left >= (int)sizeof(struct nlattr)) {
		const struct nlattr *attr = (const struct nlattr *)at;
		int length = NLA_ALIGN(attr->nla_len);

		if (attr->nla_len < sizeof(*attr) || attr->nla_len > left)
			return;
		if (attr->nla_type == UNIX_DIAG_NAME)
			name_take(at + NLA_HDRLEN, attr->nla_len - NLA_HDRLEN, listing);
		at += length;
		left -= length;
	}
}

/* Read a piece of the answer. Return: 1: more pieces follow; 0: it was the last one; -errno. */
static int piece_take(const void *piece, int length, struct shm_listing *listing)
{
	const struct nlmsghdr *header = piece;

	for (; NLMSG_OK(header, length); header = NLMSG_NEXT(header, length)) {
		if (header->nlmsg_type == NLMSG_DONE)
			return 0;
		/* for example, the module unix_diag is missing */
		if (header->nlmsg_type == NLMSG_ERROR)
			return -EOPNOTSUPP;
		if (header->nlmsg_type == SOCK_DIAG_BY_FAMILY)
			socket_take(header, listing);
	}
	return 1;
}

static int listing_read(int fd, struct shm_listing *listing)
{
	_cleanup_free_ void *piece = malloc(PIECE);
	int r = piece ? listing_ask(fd) : -ENOMEM;

	for (r = r < 0 ? r : 1; r > 0;) {
		ssize_t length = recv(fd, piece, PIECE, 0);

		if (length < 0 && errno == EINTR)
			continue;
		r = length > 0 ? piece_take(piece, length, listing) : -EIO;
	}
	return r;
}

void shm_listing_get(const struct uroce_shm *shm, struct shm_listing *ret)
{
	_cleanup_close_ int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

	*ret = (struct shm_listing){};
	if (fd < 0 || listing_read(fd, ret) < 0)
		memset(ret->slots, 0xff, sizeof(ret->slots));
}

bool shm_listing_has(const struct shm_listing *listing, unsigned int slot)
{
	return listing->slots[slot / WORD_BITS] >> slot % WORD_BITS & 1;
}

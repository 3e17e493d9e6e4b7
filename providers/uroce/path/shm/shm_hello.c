/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The messages of the handshake. */
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "providers/uroce/path/shm/shm_hello.h"

int shm_hello_send(int conn, const struct hello *hello, const int *fds, int nfds)
{
	union {
		char buf[CMSG_SPACE(sizeof(int) * HELLO_FDS)];
		struct cmsghdr align;
	} control = {};
	struct iovec iov = { (void *)hello, sizeof(*hello) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (nfds) {
		struct cmsghdr *c;

		msg.msg_control = control.buf;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * nfds);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * nfds);
		memcpy(CMSG_DATA(c), fds, sizeof(int) * nfds);
	}
	return sendmsg(conn, &msg, MSG_NOSIGNAL) == sizeof(*hello) ? 0 : -errno;
}

void shm_fds_close(int *fds)
{
	for (int i = 0; i < HELLO_FDS; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}

int shm_hello_recv(int conn, enum hello_type type, struct hello *hello, int *fds)
{
	union {
		char buf[CMSG_SPACE(sizeof(int) * HELLO_FDS)];
		struct cmsghdr align;
	} control = {};
	struct iovec iov = { hello, sizeof(*hello) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control.buf,
			      .msg_controllen = sizeof(control.buf) };
	struct cmsghdr *c;
	ssize_t n;
	int nfds = 0;

	for (int i = 0; i < HELLO_FDS; i++)
		fds[i] = -1;
	n = recvmsg(conn, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0)
		return -errno;
	for (c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		nfds = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(fds, CMSG_DATA(c), sizeof(int) * min_of(nfds, (int)HELLO_FDS));
	}
	if (n == 0)
		return -ECONNRESET;
	if (n != sizeof(*hello) || hello->magic != SHM_MAGIC || hello->version != SHM_VERSION ||
	    hello->type != type || !hello->slot || hello->slot >= SHM_SLOTS) {
		shm_fds_close(fds);
		return -EPROTO;
	}
	return nfds;
}

void shm_hello_fill(const struct uroce_shm *shm, struct hello *hello, enum hello_type type,
		    bool can_read)
{
	*hello = (struct hello){
		.magic = SHM_MAGIC,
		.version = SHM_VERSION,
		.type = type,
		.slot = shm->host->slot,
		.can_read = can_read,
		.pid = getpid(),
		.probe = (uintptr_t)shm->board->probe,
	};
}

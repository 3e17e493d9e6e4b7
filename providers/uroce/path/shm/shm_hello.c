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
	if (sendmsg(conn, &msg, MSG_NOSIGNAL) == sizeof(*hello))
		return 0;
	return errno == EAGAIN ? -ENOBUFS : -errno; /* the receiving code handles EAGAIN */
}

void shm_fds_close(int fds[HELLO_FDS])
{
	for (int i = 0; i < HELLO_FDS; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}

/* Check a message. A message of another version may be longer or shorter. */
static int hello_check(const struct hello *hello, ssize_t length)
{
	if (length < (ssize_t)offsetof(struct hello, to) || hello->magic != SHM_MAGIC)
		return -EPROTO;
	if (hello->version != SHM_VERSION)
		return -EOPNOTSUPP;
	return length == sizeof(*hello) && hello->slot && hello->slot < SHM_SLOTS &&
			       hello->to < SHM_SLOTS
		       ? 0
		       : -EPROTO;
}

/* Take the descriptors. The kernel creates no more than fit into the buffer. */
static int fds_take(struct msghdr *msg, int fds[HELLO_FDS])
{
	struct cmsghdr *c;
	int count = 0;

	for (c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		count = min_of((int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int)), (int)HELLO_FDS);
		memcpy(fds, CMSG_DATA(c), sizeof(int) * count);
	}
	return count;
}

int shm_hello_recv(int conn, struct hello *hello, int fds[HELLO_FDS])
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
	ssize_t n;
	int count, r;

	for (int i = 0; i < HELLO_FDS; i++)
		fds[i] = -1;
	n = recvmsg(conn, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n <= 0)
		return n ? -errno : -ECONNRESET;
	count = fds_take(&msg, fds);
	r = msg.msg_flags & MSG_TRUNC ? hello_check(hello, n + 1) : hello_check(hello, n);
	if (!r && (msg.msg_flags & MSG_CTRUNC))
		r = -EMFILE;
	if (!r)
		return count;
	shm_fds_close(fds);
	return r;
}

void shm_hello_fill(const struct uroce_shm *shm, struct hello *hello, enum hello_type type,
		    uint16_t to)
{
	*hello = (struct hello){
		.magic = SHM_MAGIC,
		.version = SHM_VERSION,
		.type = type,
		.slot = shm->host->slot,
		.to = to,
		.wishes = (shm->host->udp_only ? HELLO_UDP_ONLY : 0) |
			  (shm->fences ? HELLO_FENCES : 0),
		.pid = getpid(),
		.probe = (uintptr_t)shm->board->first_page.probe,
	};
}

/*
 * Set *fd to -1 before close(). Otherwise a child that is forked in between would close a number
 * that may already belong to another file.
 */
void shm_fd_forget(int *fd)
{
	int old = *fd;

	*(volatile int *)fd = -1;
	if (old >= 0)
		close(old);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Slots: abstract sockets by whose names the processes of a user find each other. */
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "providers/uroce/path/shm/shm_hello.h"

enum {
	BACKLOG = 4096, /* more than processes there can be: none is turned away while this one
			   waits */
	TURN_MS = 100,	/* who starts needs one or two; who is stopped meanwhile holds up nobody */
};

/* @what: a slot's number, or another word. */
static socklen_t name_address(const char *what, struct sockaddr_un *ret)
{
	int n;

	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	/* A leading zero byte: an abstract name. The version keeps different builds apart. */
	n = snprintf(ret->sun_path + 1, sizeof(ret->sun_path) - 1, "uroce-%d-%u-%s", SHM_VERSION,
		     geteuid(), what);
	return offsetof(struct sockaddr_un, sun_path) + 1 + n;
}

static socklen_t slot_address(uint8_t slot, struct sockaddr_un *ret)
{
	char number[4];

	snprintf(number, sizeof(number), "%u", slot);
	return name_address(number, ret);
}

/* @name: the abstract socket's, behind its leading zero byte. */
static int turn_missed(const char *name)
{
	log_info(
		"uroce: whoever has the abstract socket %s, a process of uid %u that starts, or one of another user, "
		"kept it for %d ms: this one starts beside it, and UDP datagrams between the two may "
		"take a detour",
		name, geteuid(), TURN_MS);
	return -EADDRINUSE;
}

int uroce_shm_turn_take(void)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un address;
	socklen_t len = name_address("start", &address);

	if (fd < 0)
		return -errno;
	for (int ms = 0; bind(fd, (struct sockaddr *)&address, len); ms++) {
		if (errno != EADDRINUSE)
			return -errno;
		if (ms == TURN_MS)
			return turn_missed(address.sun_path + 1);
		usleep(1000);
	}
	return take_fd(&fd);
}

int shm_peer_credentials(int conn, pid_t *ret_pid)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(conn, SOL_SOCKET, SO_PEERCRED, &cred, &len))
		return -errno;
	if (cred.uid != geteuid())
		return -EPERM;
	*ret_pid = cred.pid;
	return 0;
}

int shm_slot_connect(uint8_t slot)
{
	_cleanup_close_ int conn =
		socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address;
	socklen_t len = slot_address(slot, &address);

	if (conn < 0)
		return -errno;
	if (connect(conn, (struct sockaddr *)&address, len))
		return errno == ECONNREFUSED ? -ENOENT : -errno;
	return take_fd(&conn);
}

/*
 * Claiming it, for a moment, is the one question that does not disturb its owner. Whoever listens
 * there as another user has only the name, and is nobody here.
 */
bool uroce_shm_slot_used(uint8_t slot)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	_cleanup_close_ int conn = -1;
	struct sockaddr_un address;
	socklen_t len = slot_address(slot, &address);
	pid_t pid;

	if (fd < 0 || !bind(fd, (struct sockaddr *)&address, len) || errno != EADDRINUSE)
		return false;
	conn = shm_slot_connect(slot);
	return conn < 0 ? conn != -ENOENT : shm_peer_credentials(conn, &pid) != -EPERM;
}

/* How many slots of this user other users sit on; one of them. */
static unsigned int slots_foreign(uid_t *ret_uid)
{
	unsigned int count = 0;

	for (unsigned int slot = 1; slot < SHM_SLOTS; slot++) {
		_cleanup_close_ int conn = shm_slot_connect(slot);
		struct ucred cred;
		socklen_t len = sizeof(cred);

		if (conn < 0 || getsockopt(conn, SOL_SOCKET, SO_PEERCRED, &cred, &len) ||
		    cred.uid == geteuid())
			continue;
		*ret_uid = cred.uid;
		count++;
	}
	return count;
}

static void explain_slots(void)
{
	uid_t uid = 0;
	unsigned int foreign = slots_foreign(&uid);

	log_err("uroce: all %d slots for processes of uid %u in this network namespace are taken",
		SHM_SLOTS - 1, geteuid());
	if (foreign)
		log_err("uroce: %u of them by other users, such as uid %u, who have bound the abstract socket names "
			"uroce-%d-%u-*: nothing but a network namespace of its own keeps them away",
			foreign, uid, SHM_VERSION, geteuid());
}

int shm_slot_claim(struct path_host *host, int *ret_listener)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address;

	if (fd < 0)
		return -errno;
	/* From the lowest on: UDP datagrams are steered by it, see udp_socket.c. */
	for (unsigned int slot = 1; slot < SHM_SLOTS; slot++) {
		socklen_t len = slot_address(slot, &address);

		if (bind(fd, (struct sockaddr *)&address, len)) {
			if (errno == EADDRINUSE)
				continue;
			return -errno;
		}
		if (listen(fd, BACKLOG))
			return -errno;
		host->slot = slot;
		*ret_listener = take_fd(&fd);
		return 0;
	}
	explain_slots();
	return -EUSERS;
}

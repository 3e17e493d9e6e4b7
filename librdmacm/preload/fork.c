/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Servers that fork, if both ends ask for it by RDMAV_FORK_SAFE. A connection uses TCP until its
 * first use, in the process that keeps it. Then it is made again over RDMA. The accepting end
 * listens at the same address, sends a word of zeros over TCP, and accepts the other end, which
 * waited for that word. An end that reads anything else first stays with TCP.
 *
 * Other builds of this library do the same, therefore either end may use another build.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "librdmacm/preload/preload.h"
#include "util/env.h"

#define TIMEOUT_S 20 /* limit of the wait for the other end, and for the address */

/* Protects the choice of the thread that changes a connection. No other lock is taken inside. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void lock_take(void)
{
	preload_lock(&lock);
}

static void lock_release(void)
{
	preload_unlock(&lock);
}

static bool wanted;

static void wanted_read(void)
{
	const char *text = env_get(ENV_RDMAV_FORK_SAFE);

	wanted = text && atoi(text) > 0;
	if (wanted)
		pthread_atfork(lock_take, lock_release, lock_release);
}

bool fork_is_wanted(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, wanted_read);
	return wanted;
}

struct name {
	struct sockaddr_storage address;
	socklen_t size;
};

static bool is_same_host(const struct name *a, const struct name *b)
{
	const struct sockaddr_in *a4 = (void *)&a->address, *b4 = (void *)&b->address;
	const struct sockaddr_in6 *a6 = (void *)&a->address, *b6 = (void *)&b->address;

	if (a->address.ss_family != b->address.ss_family)
		return false;
	if (a->address.ss_family == AF_INET)
		return a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	return !memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof(a6->sin6_addr));
}

/* Fork instead, because a child of vfork() would change the table of its parent. */
EXPORT pid_t vfork(void)
{
	return fork();
}

static uint64_t now_s(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec;
}

/* Bind, and try again while another process listens at the address for a connection of its own. */
static int address_bind(int rs, const struct name *own)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	uint64_t end = now_s() + TIMEOUT_S;
	int r;

	do {
		r = RS(rbind(rs, (struct sockaddr *)&own->address, own->size));
		if (r == 0 || errno != EADDRINUSE)
			return r;
		nanosleep(&pause, NULL);
	} while (now_s() < end);
	return r;
}

static int listener_open(const struct name *own)
{
	const struct timeval time = { .tv_sec = TIMEOUT_S };
	int rs = RS(rsocket(own->address.ss_family, SOCK_STREAM, 0)), on = 1;

	if (rs < 0)
		return -1;
	RS(rsetsockopt(rs, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)));
	RS(rsetsockopt(rs, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time)));
	if (address_bind(rs, own) == 0 && RS(rlisten(rs, 1)) == 0)
		return rs;
	RS(rclose(rs));
	return -1;
}

/* Accept a connection from the host of the TCP connection. */
static int other_end_accept(int listener, const struct name *peer)
{
	for (;;) {
		struct name from = { .size = sizeof(from.address) };
		int rs = RS_SLEEPY(raccept(listener, (struct sockaddr *)&from.address, &from.size));

		if (rs < 0 || is_same_host(&from, peer))
			return rs;
		RS(rclose(rs));
	}
}

/*
 * Make the RDMA connection of the accepting end. Return: the RDMA socket, or -1. *ret_told: the
 * word was sent, TCP cannot be used any more.
 */
static int passive_open(int tcp, bool *ret_told)
{
	struct name own = { .size = sizeof(own.address) }, peer = { .size = sizeof(peer.address) };
	const uint32_t word = 0;
	int listener, rs = -1;

	if (real()->getsockname(tcp, (struct sockaddr *)&own.address, &own.size) < 0 ||
	    real()->getpeername(tcp, (struct sockaddr *)&peer.address, &peer.size) < 0)
		return -1;
	listener = listener_open(&own);
	if (listener < 0)
		return -1;
	*ret_told = real()->send(tcp, &word, sizeof(word), MSG_NOSIGNAL) == sizeof(word);
	if (*ret_told)
		rs = other_end_accept(listener, &peer);
	RS(rclose(listener));
	return rs;
}

static int active_open(int tcp, bool *ret_told)
{
	const struct timeval time = { .tv_sec = TIMEOUT_S }, none = {};
	struct name peer = { .size = sizeof(peer.address) };
	uint32_t word = 1;
	ssize_t n;
	int rs;

	real()->setsockopt(tcp, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
	n = real()->recv(tcp, &word, sizeof(word), MSG_PEEK | MSG_WAITALL);
	real()->setsockopt(tcp, SOL_SOCKET, SO_RCVTIMEO, &none, sizeof(none));
	if (n != sizeof(word) || word ||
	    real()->getpeername(tcp, (struct sockaddr *)&peer.address, &peer.size) < 0)
		return -1;
	*ret_told = true;
	rs = RS(rsocket(peer.address.ss_family, SOCK_STREAM, 0));
	if (rs >= 0 && RS_SLEEPY(rconnect(rs, (struct sockaddr *)&peer.address, peer.size)) == 0)
		return rs;
	if (rs >= 0)
		RS(rclose(rs));
	return -1;
}

/* Replace the TCP socket by the RDMA socket. The number stays taken at every moment. */
static void number_move(int fd, int rs, int flags)
{
	int descriptor_flags = real()->fcntl(fd, F_GETFD, 0);

	socket_options_copy(fd, rs);
	RS(rfcntl(rs, F_SETFL, flags & O_NONBLOCK));
	real()->shutdown(fd, SHUT_RDWR);
	real()->dup3(rs, fd, descriptor_flags & FD_CLOEXEC ? O_CLOEXEC : 0);
	real()->fcntl(rs, F_SETFD, (void *)(intptr_t)FD_CLOEXEC);
	fd_set_socket(fd, rs);
}

static void change_over(int fd, int kind)
{
	int flags = real()->fcntl(fd, F_GETFL, 0), rs;
	bool told = false;

	real()->fcntl(fd, F_SETFL, (void *)(intptr_t)(flags & ~O_NONBLOCK));
	rs = kind == FD_PASSIVE ? passive_open(fd, &told) : active_open(fd, &told);
	real()->fcntl(fd, F_SETFL, (void *)(intptr_t)flags);
	if (rs >= 0) {
		number_move(fd, rs, flags);
		return;
	}
	log_warn("rspreload: descriptor %d: no connection over RDMA: %s", fd,
		 told ? "it is at its end" : "TCP is used");
	if (told)
		real()->shutdown(fd, SHUT_RDWR);
	fd_release(fd);
}

int fork_change_over(int fd)
{
	int kind, error = errno;

	lock_take();
	while ((kind = fd_socket(fd)) == FD_CHANGING)
		pthread_cond_wait(&changed, &lock);
	if (kind == FD_ACTIVE || kind == FD_PASSIVE) {
		fd_set_kind(fd, FD_CHANGING);
		lock_release();
		change_over(fd, kind);
		lock_take();
		pthread_cond_broadcast(&changed);
	}
	lock_release();
	errno = error;
	return fd_socket(fd);
}

int fork_connect(int fd, const struct sockaddr *addr, socklen_t addrlen)
{
	int flags = real()->fcntl(fd, F_GETFL, 0), r;

	real()->fcntl(fd, F_SETFL, (void *)(intptr_t)(flags & ~O_NONBLOCK));
	r = real()->connect(fd, addr, addrlen);
	real()->fcntl(fd, F_SETFL, (void *)(intptr_t)flags);
	if (r == 0)
		fd_set_kind(fd, FD_ACTIVE);
	return r;
}

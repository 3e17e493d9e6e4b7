/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Servers that fork, where both ends ask for it by RDMAV_FORK_SAFE. Sockets are TCP's until a
 * connection is first used, by then in the process that keeps it. It is made anew over RDMA then:
 * who accepted listens at the same address, says so by a word of zeros over TCP, and takes the
 * other end, which waited for that word. An end that finds anything else in front of it stays with
 * TCP.
 *
 * Other builds of this library do the same, so either end may be one of theirs.
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

#define TIMEOUT_S 20 /* for the other end, and for the address */

/* Which thread changes a connection over; nothing else is taken inside. */
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

/* What its child does before it starts a program would be done to the parent's table. */
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

/* Another process may be listening there for a connection of its own: it is done soon. */
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

/* The one that comes from the host of the connection over TCP. */
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

/* Return: the RDMA socket; or -1. *ret_told: then TCP is of no use any more. */
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

/* The number is the program's at every moment. */
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

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Calls that send and receive. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "end.h"

/* Bytes that a seed gives: a receiver that gets others has another sum. */
static void bytes_make(uint8_t *bytes, size_t size, unsigned int seed, size_t position)
{
	for (size_t i = 0; i < size; i++)
		bytes[i] = (position + i) * (2 * seed + 1) + (position + i) / 251 + seed;
}

/* FNV-1a. The sum of the bytes before is @sum, or 0. */
static uint32_t bytes_sum(const uint8_t *bytes, size_t size, uint32_t sum)
{
	sum = sum ? sum : 2166136261u;
	for (size_t i = 0; i < size; i++)
		sum = (sum ^ bytes[i]) * 16777619u;
	return sum;
}

static int flags_of(const char *letters)
{
	return (strchr(letters, 'n') ? MSG_NOSIGNAL : 0) |
	       (strchr(letters, 'd') ? MSG_DONTWAIT : 0) | (strchr(letters, 'p') ? MSG_PEEK : 0) |
	       (strchr(letters, 'w') ? MSG_WAITALL : 0) | (strchr(letters, 't') ? MSG_TRUNC : 0) |
	       (strchr(letters, 'o') ? MSG_OOB : 0);
}

/* Three pieces, of which the second is empty. */
static void pieces_make(uint8_t *bytes, size_t size, struct iovec ret[3])
{
	ret[0] = (struct iovec){ bytes, size / 3 };
	ret[1] = (struct iovec){ NULL, 0 };
	ret[2] = (struct iovec){ bytes + size / 3, size - size / 3 };
}

static size_t size_of(const struct words *words, int i)
{
	long size = number(words, i);

	return size < 0 ? 0 : size > ROOM ? ROOM : size;
}

/* send HOW SLOT SIZE FLAGS SEED POSITION PORT */
static void make_send(const struct words *words, struct answer *ret)
{
	const char *how = string(words, 0);
	size_t size = size_of(words, 2);
	int fd = slot_fd(words, 1), flags = flags_of(string(words, 3)), port = number(words, 6);
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct msghdr message = { .msg_iovlen = 3 };
	struct iovec pieces[3];

	bytes_make(words->buffer, size, number(words, 4), number(words, 5));
	pieces_make(words->buffer, size, pieces);
	message.msg_iov = pieces;
	if (port) {
		message.msg_name = &to;
		message.msg_namelen = sizeof(to);
	}
	if (!strcmp(how, "write"))
		answer_result(ret, write(fd, words->buffer, size));
	else if (!strcmp(how, "writev"))
		answer_result(ret, writev(fd, pieces, 3));
	else if (!strcmp(how, "sendmsg"))
		answer_result(ret, sendmsg(fd, &message, flags));
	else if (!strcmp(how, "sendto"))
		answer_result(ret, sendto(fd, words->buffer, size, flags, message.msg_name,
					  message.msg_namelen));
	else
		answer_result(ret, send(fd, words->buffer, size, flags));
}

static void from_add(struct answer *answer, const struct sockaddr_in *from, socklen_t size)
{
	if (size)
		answer_add(answer, " from %d bytes port %d", (int)size, ntohs(from->sin_port));
}

/* recv HOW SLOT SIZE FLAGS SUM */
static void make_recv(const struct words *words, struct answer *ret)
{
	const char *how = string(words, 0);
	size_t size = size_of(words, 2), had;
	int fd = slot_fd(words, 1), flags = flags_of(string(words, 3));
	struct sockaddr_in from = {};
	struct iovec pieces[3];
	struct msghdr message = { .msg_iovlen = 3, .msg_name = &from, .msg_namelen = sizeof(from) };
	socklen_t from_size = sizeof(from);

	pieces_make(words->buffer, size, pieces);
	message.msg_iov = pieces;
	if (!strcmp(how, "read"))
		answer_result(ret, read(fd, words->buffer, size));
	else if (!strcmp(how, "readv"))
		answer_result(ret, readv(fd, pieces, 3));
	else if (!strcmp(how, "recvmsg"))
		answer_result(ret, recvmsg(fd, &message, flags));
	else if (!strcmp(how, "recvfrom"))
		answer_result(ret,
			      recvfrom(fd, words->buffer, size, flags, (void *)&from, &from_size));
	else
		answer_result(ret, recv(fd, words->buffer, size, flags));
	if (ret->result < 0)
		return;
	had = (size_t)ret->result < size ? (size_t)ret->result : size;
	answer_add(ret, "sum %u", bytes_sum(words->buffer, had, number(words, 4)));
	if (!strcmp(how, "recvmsg"))
		answer_add(ret, " flags %x", message.msg_flags & ~MSG_CMSG_CLOEXEC);
	if (!strcmp(how, "recvmsg") || !strcmp(how, "recvfrom"))
		from_add(ret, &from, *how && how[4] == 'm' ? message.msg_namelen : from_size);
}

/* Return whether a non-blocking socket had to wait. Wait as a blocking socket does, because both
 * calls need the result.
 */
static bool waited(int fd, long n, short events)
{
	struct pollfd p = { .fd = fd, .events = events };

	return n < 0 && errno == EAGAIN && poll(&p, 1, -1) > 0;
}

/* flood SLOT SIZE PIECE SEED: send SIZE bytes by blocking calls, until an error. */
static void make_flood(const struct words *words, struct answer *ret)
{
	long size = number(words, 1), piece = size_of(words, 2), done = 0, n = 1;

	while (done < size && n > 0) {
		size_t want = piece < size - done ? piece : size - done;

		bytes_make(words->buffer, want, number(words, 3), done);
		do
			n = send(slot_fd(words, 0), words->buffer, want, MSG_NOSIGNAL);
		while (waited(slot_fd(words, 0), n, POLLOUT));
		if (n > 0)
			done += n;
	}
	answer_result(ret, n < 0 ? n : 0);
	answer_add(ret, "sent %ld", done);
}

/* drain SLOT SIZE PIECE: receive until SIZE bytes are here, or the end, or an error. */
static void make_drain(const struct words *words, struct answer *ret)
{
	long size = number(words, 1), piece = size_of(words, 2), done = 0, n = 1;
	uint32_t sum = 0;

	while (done < size && n > 0) {
		size_t want = piece < size - done ? piece : size - done;

		do
			n = recv(slot_fd(words, 0), words->buffer, want, 0);
		while (waited(slot_fd(words, 0), n, POLLIN));
		if (n > 0) {
			sum = bytes_sum(words->buffer, n, sum);
			done += n;
		}
	}
	answer_result(ret, n < 0 ? n : 0);
	answer_add(ret, "received %ld sum %u", done, sum);
}

const struct call data_calls[] = {
	{ "send", make_send },
	{ "recv", make_recv },
	{ "flood", make_flood },
	{ "drain", make_drain },
	{},
};

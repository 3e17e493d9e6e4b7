// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Calls that ask or wait for readiness. */
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

#include "end.h"

/* Readiness has the same bits in poll() and epoll. */
static const struct bit {
	const char *name;
	uint32_t bit;
} bits[] = {
	{ "IN", EPOLLIN },	    { "PRI", EPOLLPRI }, { "OUT", EPOLLOUT },
	{ "ERR", EPOLLERR },	    { "HUP", EPOLLHUP }, { "RDHUP", EPOLLRDHUP },
	{ "NVAL", POLLNVAL },	    { "ET", EPOLLET },	 { "ONE", EPOLLONESHOT },
	{ "EXCL", EPOLLEXCLUSIVE },
};
#define BITS (sizeof(bits) / sizeof(bits[0]))

/* Bits of a word such as IN+OUT+ET */
static uint32_t bits_of(const char *word)
{
	uint32_t found = 0;

	while (*word) {
		size_t size = strcspn(word, "+");

		for (unsigned int i = 0; i < BITS; i++)
			if (strlen(bits[i].name) == size && !strncmp(bits[i].name, word, size))
				found |= bits[i].bit;
		word += size + (word[size] == '+');
	}
	return found;
}

static void bits_add(struct answer *answer, long slot, uint32_t had)
{
	answer_add(answer, " %ld:", slot);
	for (unsigned int i = 0; i < BITS; i++)
		if (had & bits[i].bit)
			answer_add(answer, "%s+", bits[i].name);
}

static struct timespec time_of(long milliseconds)
{
	return (struct timespec){ milliseconds / 1000, milliseconds % 1000 * 1000000 };
}

/* poll poll|ppoll TIME SLOT BITS [SLOT BITS]... */
static void make_poll(const struct words *words, struct answer *ret)
{
	struct timespec time = time_of(number(words, 1));
	struct pollfd polls[WORDS / 2] = {};
	int count = (words->count - 2) / 2;

	for (int i = 0; i < count; i++)
		polls[i] = (struct pollfd){ .fd = slot_fd(words, 2 + 2 * i),
					    .events = bits_of(string(words, 3 + 2 * i)) };
	if (!strcmp(string(words, 0), "ppoll"))
		answer_result(ret, ppoll(polls, count, number(words, 1) < 0 ? NULL : &time, NULL));
	else
		answer_result(ret, poll(polls, count, number(words, 1)));
	for (int i = 0; i < count && ret->result >= 0; i++)
		bits_add(ret, number(words, 2 + 2 * i), polls[i].revents);
}

/* select select|pselect TIME SLOT BITS [SLOT BITS]... */
static void make_select(const struct words *words, struct answer *ret)
{
	struct timespec time = time_of(number(words, 1));
	struct timeval left = { time.tv_sec, time.tv_nsec / 1000 };
	int count = (words->count - 2) / 2, above = 0;
	fd_set sets[3];
	const uint32_t asked[3] = { EPOLLIN, EPOLLOUT, EPOLLPRI };

	for (int i = 0; i < 3; i++)
		FD_ZERO(&sets[i]);
	for (int i = 0; i < count; i++) {
		int fd = slot_fd(words, 2 + 2 * i);
		uint32_t want = bits_of(string(words, 3 + 2 * i));

		above = fd >= above ? fd + 1 : above;
		for (int j = 0; j < 3; j++)
			if (want & asked[j])
				FD_SET(fd, &sets[j]);
	}
	if (!strcmp(string(words, 0), "pselect"))
		answer_result(ret, pselect(above, &sets[0], &sets[1], &sets[2],
					   number(words, 1) < 0 ? NULL : &time, NULL));
	else
		answer_result(ret, select(above, &sets[0], &sets[1], &sets[2],
					  number(words, 1) < 0 ? NULL : &left));
	for (int i = 0; i < count && ret->result >= 0; i++) {
		uint32_t had = 0;

		for (int j = 0; j < 3; j++)
			had |= FD_ISSET(slot_fd(words, 2 + 2 * i), &sets[j]) ? asked[j] : 0;
		bits_add(ret, number(words, 2 + 2 * i), had);
	}
}

/* epoll SLOT */
static void make_epoll(const struct words *words, struct answer *ret)
{
	int fd = epoll_create1(0);

	answer_result(ret, fd < 0 ? fd : 0);
	slot_set(words, 0, fd);
}

/* ctl EPOLL add|mod|del SLOT BITS */
static void make_ctl(const struct words *words, struct answer *ret)
{
	const char *how = string(words, 1);
	struct epoll_event event = { .events = bits_of(string(words, 3)),
				     .data.u64 = number(words, 2) };
	int operation = !strcmp(how, "add")   ? EPOLL_CTL_ADD
			: !strcmp(how, "mod") ? EPOLL_CTL_MOD
					      : EPOLL_CTL_DEL;

	answer_result(ret, epoll_ctl(slot_fd(words, 0), operation, slot_fd(words, 2), &event));
}

/* wait epoll_wait|epoll_pwait|epoll_pwait2 EPOLL TIME MOST */
static void make_wait(const struct words *words, struct answer *ret)
{
	const char *how = string(words, 0);
	struct timespec time = time_of(number(words, 2));
	struct epoll_event events[SLOTS] = {};
	uint32_t had[SLOTS] = {};
	int fd = slot_fd(words, 1), ms = number(words, 2), most = number(words, 3);

	most = most > SLOTS ? SLOTS : most;
	if (!strcmp(how, "epoll_pwait2"))
		answer_result(ret, epoll_pwait2(fd, events, most, ms < 0 ? NULL : &time, NULL));
	else if (!strcmp(how, "epoll_pwait"))
		answer_result(ret, epoll_pwait(fd, events, most, ms, NULL));
	else
		answer_result(ret, epoll_wait(fd, events, most, ms));
	for (int i = 0; i < ret->result; i++)
		had[events[i].data.u64 & (SLOTS - 1)] |= events[i].events;
	for (int i = 0; i < SLOTS; i++)
		if (had[i])
			bits_add(ret, i, had[i]);
}

const struct call wait_calls[] = {
	{ "poll", make_poll }, { "select", make_select }, { "epoll", make_epoll },
	{ "ctl", make_ctl },   { "wait", make_wait },	  {},
};

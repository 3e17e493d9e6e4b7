/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Questions to sockets, whose answers are lines: see sockets_states.c. */
#ifndef TESTS_TOOLS_SOCKETS_STATES_H
#define TESTS_TOOLS_SOCKETS_STATES_H

#include <netinet/in.h>
#include <stdbool.h>

extern const char *state; /* named in the lines */

void die(const char *what);
int listener_open(struct sockaddr_in *ret, int backlog);
void say(const char *question, long result);
void error_say(const char *question, int error);
void events_say(const char *how, unsigned int events);
short poll_now(int fd, short asked);
/* Wait until an action of the peer has arrived here. */
void news_await(int fd, short events);
/* Send SIGALRM repeatedly, because the first ones may come before the call. */
void handler_set(int flags);
void alarms(bool on);

/* sockets_connecting.c */
void part_connecting(void);
void part_connecting_resumed(void);
void part_connecting_ended(void);
void part_connecting_peer_dies(void);
void part_listen(void); /* runs without the other parts */

/* sockets_leaving.c */
void part_leaving(void);
void part_leave(void); /* runs without the other parts */

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Parts that the programs of librdmacm share: options, addresses, errors (tool.c); a set of
 * connections that send each other messages (tool_peer.c, tool_test.c, tool_messages.c); two
 * endpoints that exchange a greeting (tool_hello.c).
 *
 * Output lines, exit codes and messages equal those of the programs of the same names that
 * distributions ship. Therefore one end may be a program of a distribution.
 */
#ifndef LIBRDMACM_TOOLS_TOOL_H
#define LIBRDMACM_TOOLS_TOOL_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <rdma/rdma_cma.h>

#include "util/util.h"

/* ---- tool.c ---- */

enum tool_kind {
	TOOL_FLAG = 1, /* bool */
	TOOL_NUMBER,   /* int; from .min to .max */
	TOOL_WORD,     /* int; one of .words, by name or by value */
	TOOL_WORDS,    /* int; each word adds its bits */
	TOOL_TEXT,     /* const char * */
};

struct tool_word {
	const char *name; /* NULL: end of the list */
	int value;
};

struct tool_option {
	char letter; /* 0: end of the list */
	enum tool_kind kind;
	void *value;
	const char *argument; /* name of the argument in the help; NULL for a TOOL_FLAG */
	const char *help;
	long min, max;
	const struct tool_word *words;
};

/* Parse options. Exit with 0 after --help, and with @mistake after a mistake. */
void tool_options_parse(const struct tool_option *options, int mistake, int argc, char **argv);
/*
 * Parse the options of a program that has @arguments behind them (" [FILE]"). Return: the index of
 * the first argument.
 */
int tool_arguments_parse(const struct tool_option *options, const char *arguments, int mistake,
			 int argc, char **argv);

/* Log the mistake in the arguments, and exit with @mistake. */
_Noreturn void tool_mistake(int mistake, const char *fmt, ...) _printf_(2, 3);

/* Words of the options that several programs have. */
extern const struct tool_word tool_address_formats[], tool_datagram_spaces[];

/*
 * Parameters of an address look-up. tool_address() returns the result of rdma_getaddrinfo(): 0, an
 * EAI_ value, or -1 with errno. It prints both kinds of errors with @prefix in front.
 */
struct tool_names {
	const char *prefix;
	const char *destination; /* NULL: listen on @source */
	const char *source;	 /* NULL: any */
	const char *service;
	int family; /* family in tool_address_formats */
	int port_space;
};
int tool_address(const struct tool_names *names, struct rdma_addrinfo **ret_info);
/* Return the text of a result of rdma_getaddrinfo(). */
const char *tool_address_error(int r);

/* Look up the first address of a host. Return: 0, or an EAI_ value, which is also printed. */
int tool_ip_address(const char *text, struct sockaddr_storage *ret_addr);

/* Print "prefix: what: text of errno" to stderr. Return: -1. */
int tool_perror(const char *prefix, const char *what);
/*
 * Report the failure of a program's first call in the same way. Without a device the message is
 * that of other releases.
 */
int tool_open_error(const char *prefix, const char *what);

/* Explain an error event on stderr: why a connection was rejected. */
void tool_explain_event(const struct rdma_cm_event *event);

/* Write each line at once, also into a pipe, and let the library explain errors. */
void tool_start(void);

/* The form in which programs that measure sockets print numbers: "1.5k" bytes, "10k" messages. */
const char *tool_size_text(long long size, char text[48]);
const char *tool_count_text(int count, char text[48]);
/* Return the number of messages of that size in a measurement. */
int tool_transfers(int size);

/* ---- tool_peer.c ---- */

/* wr_id */
enum {
	TOOL_SEND = 1,
	TOOL_RECV
};

/* A connection, or one side of an exchange of datagrams, with a buffer for messages. */
struct tool_peer {
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_comp_channel *completions;
	struct ibv_cq *send_cq, *recv_cq;
	struct ibv_mr *mr;
	char *buffer;
	bool connected;
	/* Datagrams: where to. */
	struct ibv_ah *ah;
	uint32_t remote_qpn, remote_qkey;
};

struct tool_test {
	const char *prefix; /* prefix of printed lines */
	bool datagrams;
	int connections, messages, size;
	struct rdma_conn_param connect; /* parameters that a client proposes */
	int tos, ack_timeout;		/* -1: the default */
	uint32_t create_flags;		/* enum ibv_qp_create_flags */
	/* If set, handles events instead of tool_test_connect() and tool_test_listen(). */
	int (*on_event)(struct tool_test *test, const struct rdma_cm_event *event);
	struct rdma_event_channel *channel, *first_channel;
	struct rdma_cm_id *listen, *refused; /* @refused: identifier to destroy after its event */
	struct tool_peer *peers;
	int accepted;	   /* server: number of peers in use */
	int connects_left; /* number of peers that are still connecting */
	int disconnects_left;
};

/*
 * The functions below return 0. After a failure, which they have logged, they return -1, a negative
 * errno, or the status of a CM event.
 */

/* Make PD, CQs, QP and buffer on the device of peer->id, and post receives for all messages. */
int tool_peer_open(struct tool_test *test, struct tool_peer *peer);
/* Set the destination of datagrams from the event that contains it. */
int tool_peer_set_address(struct tool_test *test, struct tool_peer *peer,
			  const struct rdma_ud_param *to);

/*
 * Return the place of a message. The place of a received one includes the bytes in front of a
 * datagram.
 */
struct ibv_sge tool_peer_sge(const struct tool_test *test, const struct tool_peer *peer,
			     bool received);
void tool_peer_close(struct tool_peer *peer);

/* ---- tool_test.c ---- */

/* Open the test before anything is printed: without a device the programs only print this error. */
int tool_test_open(struct tool_test *test);
void tool_test_close(struct tool_test *test);

/*
 * Make all connections, as client or as server. Both functions return when all connections exist.
 */
int tool_test_connect(struct tool_test *test, struct rdma_addrinfo *info);
int tool_test_listen(struct tool_test *test, struct rdma_addrinfo *info);
/* Handle one event. */
int tool_test_event(struct tool_test *test);
/* Handle events until @left, a member of @test, is 0. */
int tool_test_events(struct tool_test *test, const int *left);

/* Move all connections to a new channel. */
int tool_test_migrate(struct tool_test *test);
int tool_test_disconnect(struct tool_test *test);

/* ---- tool_messages.c ---- */

/* Send or receive all messages to or from all peers. */
int tool_test_send(struct tool_test *test);
int tool_test_wait_sent(struct tool_test *test);
int tool_test_wait_received(struct tool_test *test);

/* ---- tool_hello.c: 16 bytes to the server and usually back, with synchronous calls ---- */

struct tool_hello {
	const char *prefix; /* prefix of printed lines */
	bool listen;
	bool one_way; /* no answer; the server first sends the number of its SRQ, 0: none */
	const char *node, *port;
	int type; /* enum ibv_qp_type */
};

extern const struct tool_word tool_hello_types[];

/* Run the whole program. Return: its exit code. */
int tool_hello_run(const struct tool_hello *options);

#endif

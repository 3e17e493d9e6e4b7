/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rdma-doctor --serve. A child process serves one client, and a signal ends the child after a
 * minute. Further clients wait.
 */
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "rdma-doctor/capture.h"
#include "rdma-doctor/child.h"
#include "rdma-doctor/clock.h"
#include "rdma-doctor/peer_side.h"

static int sorry(int fd, const char *text, int error)
{
	struct peer_message message = { .type = PEER_SORRY };

	snprintf(message.text, sizeof(message.text), "%s: %s%s", text, strerror(error),
		 error == EMFILE ? " (ulimit -n)" : "");
	peer_message_send(fd, &message);
	return -error;
}

/* Receive a flow from the client, and report it. */
static int flow_take(struct peer_side *side, const struct peer_flow *flow)
{
	struct peer_message message = { .type = PEER_READY };
	struct peer_report before, report = {}, after;
	struct peer_sent sent;
	int r = side_prepare(side, flow);

	if (r)
		return sorry(side->fd, "ibv_post_recv", r);
	side_count(side, &before);
	r = peer_message_send(side->fd, &message);
	if (!r)
		r = side_receive(side, flow, &report, &sent);
	if (r < 0)
		return r;
	side_count(side, &after);
	report.losses = after.losses - before.losses;
	report.drops = after.drops - before.drops;
	report.marks = after.marks - before.marks;
	message = (struct peer_message){ .type = PEER_REPORT };
	if (flow->kind == FLOW_LOAD)
		pfc_report(side->netdev, &report, message.text);
	message.report = report;
	return peer_message_send(side->fd, &message);
}

static int flow_give(struct peer_side *side, const struct peer_flow *flow)
{
	struct peer_message message = { .type = PEER_SENT };
	struct peer_report report = {};

	side_send(side, flow, &message.sent, &report);
	return peer_message_send(side->fd, &message);
}

static int flows_serve(struct peer_side *side)
{
	struct peer_message message;
	int r;

	for (;;) {
		r = peer_message_receive(side->fd, PEER_FLOW, &message);
		if (r < 0 || message.type == PEER_BYE)
			return r;
		r = message.flow.from_server ? flow_give(side, &message.flow)
					     : flow_take(side, &message.flow);
		if (r < 0)
			return r;
	}
}

static int client_serve(struct peer_side *side, const char *wanted)
{
	struct peer_message message, answer = { .type = PEER_HELLO };
	const char *verb;
	int r = peer_message_receive(side->fd, PEER_HELLO, &message);

	if (r < 0 || message.type != PEER_HELLO)
		return r ?: -EPROTO;
	verb = side_open(side, wanted, answer.text, sizeof(answer.text));
	if (verb)
		return sorry(side->fd, verb, errno ?: EIO);
	answer.hello = side->here;
	/* The client compares both sides as well, and reports the difference. */
	if (message.hello.link_layer != side->here.link_layer ||
	    message.hello.roce != side->here.roce)
		return peer_message_send(side->fd, &answer);
	r = side_connect(side, &message.hello);
	if (r)
		return sorry(side->fd, "ibv_modify_qp", r);
	r = peer_message_send(side->fd, &answer);
	return r ?: flows_serve(side);
}

struct server_job {
	const struct doctor *doctor;
	int fd;
};

static void server_job(const void *arg, void *result)
{
	const struct server_job *job = arg;
	struct peer_side side = { .doctor = job->doctor, .fd = job->fd };
	struct capture capture;
	char said[512];

	capture_begin(&capture);
	*(int *)result = client_serve(&side, job->doctor->wanted);
	side_close(&side);
	capture_end(&capture, said, sizeof(said));
}

static int listen_on(int family, const struct sockaddr *address, socklen_t length)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const int on = 1, off = 0;
	int error;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (!bind(fd, address, length) && !listen(fd, 8))
		return fd;
	error = errno;
	close(fd);
	return -error;
}

/* Listen on all addresses. Return: the socket or -errno. */
static int server_listen(void)
{
	const in_port_t port = htons(atoi(PEER_TCP_PORT));
	const struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = port };
	const struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = port };
	int fd = listen_on(AF_INET6, (const struct sockaddr *)&v6, sizeof(v6));

	return fd == -EAFNOSUPPORT || fd == -EADDRNOTAVAIL
		       ? listen_on(AF_INET, (const struct sockaddr *)&v4, sizeof(v4))
		       : fd;
}

/* Return whether the line was written. */
static bool client_report(const struct sockaddr_storage *from, socklen_t length, int error)
{
	char name[INET6_ADDRSTRLEN] = "?";

	getnameinfo((const struct sockaddr *)from, length, name, sizeof(name), NULL, 0,
		    NI_NUMERICHOST);
	printf("%s: %s\n", name, error ? strerror(-error) : "served");
	return !fflush(stdout);
}

/* Accept a client. Return: the socket, or -EMFILE. The limit of open files is then too low for any
 * client, because no other client is served. */
static int client_accept(int listener, struct sockaddr_storage *ret_from, socklen_t *ret_length)
{
	int fd;

	for (;;) {
		*ret_length = sizeof(*ret_from);
		fd = accept4(listener, (struct sockaddr *)ret_from, ret_length, SOCK_CLOEXEC);
		if (fd >= 0 || errno == EMFILE)
			return fd < 0 ? -EMFILE : fd;
		/* The client has gone, or the kernel lacks memory. */
		clock_wait(100 * CLOCK_MS);
	}
}

static int server_failed(const char *what, int error)
{
	fprintf(stderr, "rdma-doctor: %s: %s\n", what, strerror(error));
	return 1;
}

int peer_serve(struct doctor *d)
{
	int listener = server_listen();

	if (listener < 0)
		return server_failed("TCP port " PEER_TCP_PORT, -listener);
	printf("serving rdma-doctor --peer on TCP port %s\n", PEER_TCP_PORT);
	/* The caller of main() reports an error of standard output. */
	if (fflush(stdout))
		return 1;
	for (;;) {
		struct sockaddr_storage from;
		socklen_t length;
		struct server_job job = {
			.doctor = d,
			.fd = client_accept(listener, &from, &length),
		};
		int signal, error = 0, r;

		if (job.fd < 0)
			return server_failed("no client can be accepted (ulimit -n)", -job.fd);
		r = child_run(server_job, &job, &error, sizeof(error), &signal);
		close(job.fd);
		if (!client_report(&from, length, r ?: error))
			return 1;
	}
}

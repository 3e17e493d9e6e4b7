/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <grp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rdma-conform/report.h"
#include "rdma-conform/world.h"
#include "util/util.h"

#define FOREVER	    INT64_MAX / 2
#define START_LIMIT 60000000000ll /* ns to open the device, independent of @patience */

static int events_send(const struct agent *agent, int control)
{
	uint32_t length = 0;
	int r;

	for (unsigned int i = 0; i < THREADS; i++)
		length += agent->threads[i].count * sizeof(struct event);
	r = wire_write(control, &length, sizeof(length));
	for (unsigned int i = 0; i < THREADS && !r; i++)
		r = wire_write(control, agent->threads[i].events,
			       agent->threads[i].count * sizeof(struct event));
	return r;
}

/* Run the process of an agent: take programs until the controller has gone. */
static void agent_serve(struct agent *agent, int control)
{
	static _Thread_local struct program program;
	uint32_t length;
	void *text;

	while (wire_frame_read(control, &text, &length, FOREVER) == 0) {
		const char *wrong = program_parse(text, &program);

		free(text);
		if (wrong) {
			fprintf(stderr, "rdma-conform: %s\n", wrong);
			return;
		}
		agent_run(agent, &program);
		if (events_send(agent, control) < 0)
			return;
		agent_forget(agent);
	}
}

struct agent_start {
	const struct world_options *options;
	uint8_t side;
	int control, peer;
};

static void *agent_main(void *arg)
{
	struct agent_start *start = arg;
	struct agent *agent = calloc(1, sizeof(*agent));

	if (!agent || agent_open(agent, start->side, &start->options->agent) < 0)
		_exit(1);
	agent->peer = start->peer;
	if (wire_frame_write(start->control, &agent->offer, sizeof(agent->offer)) == 0)
		agent_serve(agent, start->control);
	return NULL;
}

static void user_set(const struct world_options *options, uint8_t side)
{
	int user = options->user;

	if (side == 0 || user < 0)
		return;
	if (setgroups(0, NULL) || setresgid(user, user, user) || setresuid(user, user, user)) {
		perror("rdma-conform: --user");
		_exit(1);
	}
}

/* Fork a process that runs one agent, or both agents as threads. @others: descriptors that the
 * process closes, so that the death of an agent closes its connections. */
static pid_t agents_fork(const struct agent_start *start, unsigned int agents, const int *others,
			 unsigned int count)
{
	pid_t child = fork();
	pthread_t other;

	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (unsigned int i = 0; i < count; i++)
		close(others[i]);
	if (agents == 1)
		user_set(start->options, start->side);
	if (agents == 1 || !pthread_create(&other, NULL, agent_main, (void *)&start[1]))
		agent_main((void *)start);
	_exit(0);
}

static int tcp_connect(const char *host, const char *port)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list;
	int fd = -1;

	if (getaddrinfo(host, port, &hints, &list))
		return -1;
	for (struct addrinfo *a = list; a && fd < 0; a = a->ai_next) {
		fd = socket(a->ai_family, a->ai_socktype, a->ai_protocol);
		if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen)) {
			close(fd);
			fd = -1;
		}
	}
	freeaddrinfo(list);
	return fd;
}

/* The server takes the first connection for programs, the second for the other agent. */
static int start_remote(struct world *world)
{
	const struct world_options *options = world->options;
	int near[2], peer;

	world->control[1] = tcp_connect(options->peer, options->port);
	peer = world->control[1] < 0 ? -1 : tcp_connect(options->peer, options->port);
	if (peer < 0) {
		fprintf(stderr, "rdma-conform: no connection to %s, port %s\n", options->peer,
			options->port);
		return -EHOSTUNREACH;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, near))
		return -errno;
	world->child[0] =
		agents_fork(&(struct agent_start){ options, 0, near[1], peer }, 1, NULL, 0);
	world->control[0] = near[0];
	close(near[1]);
	close(peer);
	return 0;
}

static int start_local(struct world *world)
{
	int control[2][2], peer[2], far[2];
	struct agent_start start[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, peer))
		return -errno;
	for (unsigned int i = 0; i < 2; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control[i]))
			return -errno;
		world->control[i] = control[i][0];
		far[i] = control[i][1];
		start[i] = (struct agent_start){ world->options, i, far[i], peer[i] };
	}
	if (world->options->one_process)
		world->child[0] = agents_fork(start, 2, NULL, 0);
	for (unsigned int i = 0; i < 2 && !world->options->one_process; i++) {
		const int others[] = { far[!i], peer[!i], world->control[0], world->control[1] };

		world->child[i] = agents_fork(&start[i], 1, others, ARRAY_SIZE(others));
	}
	for (unsigned int i = 0; i < 2; i++) {
		close(far[i]);
		close(peer[i]);
	}
	return 0;
}

static int hear_offer(struct world *world, unsigned int side)
{
	struct {
		uint32_t length;
		struct offer offer;
	} frame;
	int r = wire_read(world->control[side], &frame, sizeof(frame), START_LIMIT);

	world->offer[side] = frame.offer;
	return r ?: frame.length == sizeof(frame.offer) ? 0 : -EPROTO;
}

int world_start(struct world *world, const struct world_options *options)
{
	int r;

	*world = (struct world){ .options = options,
				 .events = world->events,
				 .control = { -1, -1 } };
	r = options->peer ? start_remote(world) : start_local(world);
	for (unsigned int i = 0; i < 2 && !r; i++)
		r = hear_offer(world, i);
	for (unsigned int i = 0; i < 2; i++)
		world->offer[i].same_address = !options->peer;
	world->runs = !r;
	if (r < 0)
		world_stop(world);
	return r;
}

void world_stop(struct world *world)
{
	for (unsigned int i = 0; i < 2; i++) {
		if (world->control[i] >= 0)
			close(world->control[i]);
		world->control[i] = -1;
		if (world->child[i] > 0) {
			kill(world->child[i], SIGKILL);
			waitpid(world->child[i], NULL, 0);
		}
		world->child[i] = 0;
	}
	world->runs = false;
}

static int program_send(struct world *world, const struct program *program)
{
	char *text = text_of(program, NULL);
	int r = 0;

	for (unsigned int i = 0; i < 2; i++)
		r = wire_frame_write(world->control[i], text, strlen(text)) ?: r;
	free(text);
	return r;
}

/* A side that does not answer has ended or hangs. In both cases it cannot be used any more. */
static void note_end(struct world *world, unsigned int side, int r, struct trial *trial)
{
	int status = 0;

	trial->ended[side] = true;
	trial->silent[side] = r == -ETIMEDOUT;
	if (r != -ETIMEDOUT && world->child[side] > 0 &&
	    waitpid(world->child[side], &status, 0) > 0) {
		world->child[side] = 0;
		trial->signal[side] = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	}
}

int world_run(struct world *world, const struct program *program, struct trial *ret_trial)
{
	uint32_t bytes = 0, total = 0;
	int r = world->runs ? 0 : world_start(world, world->options);

	if (r < 0)
		return r;
	*ret_trial = (struct trial){ .program = program, .offers = world->offer };
	free(world->events);
	world->events = NULL;
	if (program_send(world, program) < 0)
		world->runs = false;
	for (unsigned int i = 0; i < 2; i++) {
		void *data = NULL;

		r = wire_frame_read(world->control[i], &data, &bytes,
				    world->options->agent.patience * 4);
		if (r < 0) {
			note_end(world, i, r, ret_trial);
			continue;
		}
		world->events = need(realloc(world->events, total + bytes + 1));
		memcpy((char *)world->events + total, data, bytes);
		total += bytes;
		free(data);
	}
	ret_trial->events = world->events;
	ret_trial->count = total / sizeof(struct event);
	if (ret_trial->ended[0] || ret_trial->ended[1])
		world_stop(world);
	return 0;
}

static int tcp_listen(const char *port)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_port = htons(atoi(port)) };
	int fd = socket(AF_INET6, SOCK_STREAM, 0), yes = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (!bind(fd, (struct sockaddr *)&any, sizeof(any)) && !listen(fd, 8))
		return fd;
	fprintf(stderr, "rdma-conform: port %s: %s\n", port, strerror(errno));
	return -errno;
}

int world_serve(const struct world_options *options)
{
	int listener = tcp_listen(options->port);

	if (listener < 0)
		return listener;
	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		int control = accept(listener, NULL, NULL);
		int peer = control < 0 ? -1 : accept(listener, NULL, NULL);

		if (peer >= 0)
			agents_fork(&(struct agent_start){ options, 1, control, peer }, 1, NULL, 0);
		close(control);
		close(peer);
	}
}

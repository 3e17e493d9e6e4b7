/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Datagram sockets that processes share, if some of them are stopped or killed. The test process
 * has a plain socket, a parent has the shared one, and the child of the parent uses it.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "socket_cases.h"

/* What all processes of a case know. The test process reads @up and writes to @down. */
struct family {
	int peer;	   /* socket of the test process */
	int shared, other; /* sockets of the parent */
	struct sockaddr_in peer_name, shared_name;
	int up[2], down[2];
	pid_t parent, child;
};

static struct sockaddr_in name_of(int fd)
{
	struct sockaddr_in name = loopback(0);
	socklen_t size = sizeof(name);

	CHECK(getsockname(fd, (void *)&name, &size) == 0);
	return name;
}

static int bound_open(void)
{
	struct sockaddr_in name = loopback(0);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	CHECK(bind(fd, (void *)&name, sizeof(name)) == 0);
	return fd;
}

static void tell(const int *way, char byte)
{
	CHECK(write(way[1], &byte, 1) == 1);
}

static char hear(const int *way)
{
	char byte = 0;

	CHECK(read(way[0], &byte, 1) == 1);
	return byte;
}

static void child_start(struct family *f, void (*child)(struct family *f))
{
	f->child = fork();
	if (f->child)
		return;
	f->child = getpid();
	CHECK(write(f->up[1], f, sizeof(*f)) == sizeof(*f));
	child(f);
	_exit(case_failed);
}

/*
 * Start a parent with two sockets and a child. The parent waits for its child. The test process
 * makes its socket later, because children of a process that used RDMA use UDP.
 */
static struct family family_start(void (*child)(struct family *f))
{
	struct family f = {}, of_child;

	CHECK(pipe(f.up) == 0 && pipe(f.down) == 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1); /* wait for the child of a killed parent */
	f.parent = fork();
	if (f.parent == 0) {
		prctl(PR_SET_CHILD_SUBREAPER, 1);
		f.shared = bound_open();
		f.other = bound_open();
		f.shared_name = name_of(f.shared);
		CHECK(read(f.down[0], &f.peer_name, sizeof(f.peer_name)) == sizeof(f.peer_name));
		child_start(&f, child);
		while (waitpid(-1, NULL, 0) > 0)
			;
		exit(case_failed); /* this waits until the relay has sent all datagrams */
	}
	f.peer = bound_open();
	f.peer_name = name_of(f.peer);
	CHECK(write(f.down[1], &f.peer_name, sizeof(f.peer_name)) == sizeof(f.peer_name));
	CHECK(read(f.up[0], &of_child, sizeof(of_child)) == sizeof(of_child));
	f.child = of_child.child;
	f.shared_name = of_child.shared_name;
	return f;
}

static void family_end(struct family *f)
{
	close(f->peer);
	close(f->up[0]);
	close(f->up[1]);
	close(f->down[0]);
	close(f->down[1]);
}

static void parent_kill(struct family *f)
{
	kill(f->parent, SIGKILL);
	CHECK(waitpid(f->parent, NULL, 0) == f->parent);
}

/* Wait until the process has that state in /proc. */
static void state_await(pid_t pid, char state)
{
	char path[40], line[400], *place;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	for (;;) {
		file = fopen(path, "r");
		if (!file || !fgets(line, sizeof(line), file))
			break;
		fclose(file);
		place = strrchr(line, ')');
		if (place && place[2] == state)
			return;
		usleep(1000);
	}
	CHECK(!"the process has that state");
}

static ssize_t answer(struct family *f, int fd, const char *text, int flags)
{
	return sendto(fd, text, strlen(text), flags, (void *)&f->peer_name, sizeof(f->peer_name));
}

static void ask(struct family *f, const char *text)
{
	CHECK(sendto(f->peer, text, strlen(text), 0, (void *)&f->shared_name,
		     sizeof(f->shared_name)) == (ssize_t)strlen(text));
}

/* Datagrams of two sockets arrive in any order. */
static void both_expect(struct family *f)
{
	char one[3], two[3];

	CHECK(recv(f->peer, one, 3, 0) == 3 && recv(f->peer, two, 3, 0) == 3);
	CHECK(!memcmp(one[0] == 'o' ? one : two, "one", 3));
	CHECK(!memcmp(one[0] == 'o' ? two : one, "two", 3));
}

/* ---- a parent that is killed ---- */

/* The relay is gone: each call ends, and none by SIGPIPE. */
static void child_of_killed(struct family *f)
{
	char byte;

	signal(SIGPIPE, SIG_DFL);
	CHECK_ERRNO(recv(f->shared, &byte, 1, MSG_DONTWAIT), EAGAIN);
	CHECK(answer(f, f->shared, "up", 0) == 2);
	tell(f->up, 'c');
	if (is_over_rdma()) {
		struct pollfd p = { .fd = f->shared, .events = POLLIN };

		CHECK(poll(&p, 1, PATIENCE_MS) == 1 && p.revents & (POLLHUP | POLLERR));
		CHECK(recv(f->shared, &byte, 1, 0) <= 0);
		CHECK(answer(f, f->shared, "x", 0) < 0);
		CHECK_ERRNO(recv(f->other, &byte, 1, MSG_DONTWAIT), EBADF);
	} else {
		CHECK(hear(f->down) == 'k' && expect(f->shared, "more"));
		CHECK_ERRNO(recv(f->other, &byte, 1, MSG_DONTWAIT), EAGAIN);
	}
}

static void case_kill_parent(void)
{
	struct family f = family_start(child_of_killed);

	CHECK(hear(f.up) == 'c' && expect(f.peer, "up"));
	parent_kill(&f);
	if (!is_over_rdma())
		ask(&f, "more");
	tell(f.down, 'k');
	CHECK(child_status(f.child) == 0);
	family_end(&f);
}

/* A receive that waits ends. */
static void child_that_waits(struct family *f)
{
	char bytes[5];

	CHECK_ERRNO(recv(f->shared, bytes, 1, MSG_DONTWAIT), EAGAIN);
	tell(f->up, 'c');
	CHECK(is_over_rdma() ? recv(f->shared, bytes, 4, 0) <= 0 : expect(f->shared, "more"));
}

static void case_kill_parent_beside_wait(void)
{
	struct family f = family_start(child_that_waits);

	CHECK(hear(f.up) == 'c');
	state_await(f.child, 'S');
	parent_kill(&f);
	if (!is_over_rdma())
		ask(&f, "more");
	CHECK(child_status(f.child) == 0);
	family_end(&f);
}

/* ---- a parent that is stopped ---- */

static void flood(struct family *f, char tell_full)
{
	int sent = 0;

	/* The kernel drops datagrams, so this loop has an end. */
	while (sent < 5000 && answer(f, f->shared, "flood", MSG_DONTWAIT) == 5)
		sent++;
	CHECK(sent > 5);
	tell(f->up, tell_full);
}

static void child_of_stopped(struct family *f)
{
	char byte;

	CHECK_ERRNO(recv(f->shared, &byte, 1, MSG_DONTWAIT), EAGAIN);
	tell(f->up, 'c');
	CHECK(hear(f->down) == 's');
	flood(f, 'f');
	CHECK(becomes(f->shared, POLLOUT));
	CHECK(expect(f->shared, "go"));
	CHECK(answer(f, f->shared, "end", 0) == 3);
}

/* The child may fill the Unix domain socket, and goes on with its parent. */
static void case_stop_parent(void)
{
	struct family f = family_start(child_of_stopped);
	char bytes[10];
	ssize_t n;

	CHECK(hear(f.up) == 'c');
	kill(f.parent, SIGSTOP);
	state_await(f.parent, 'T');
	tell(f.down, 's');
	CHECK(hear(f.up) == 'f');
	kill(f.parent, SIGCONT);
	ask(&f, "go");
	do
		n = recv(f.peer, bytes, sizeof(bytes), MSG_DONTWAIT);
	while (n >= 0 || errno == EAGAIN ? waitpid(f.child, NULL, WNOHANG) == 0 && n != 3 : false);
	CHECK(child_status(f.parent) == 0);
	family_end(&f);
}

static void count(int number)
{
	(void)number;
}

/* Signals interrupt the wait for a stopped parent, and the claim is served afterwards. */
static void child_that_is_poked(struct family *f)
{
	const struct sigaction action = { .sa_handler = count };
	char byte;

	sigaction(SIGUSR1, &action, NULL);
	tell(f->up, 'c');
	CHECK(hear(f->down) == 's');
	CHECK_ERRNO(recv(f->shared, &byte, 1, MSG_DONTWAIT), EAGAIN);
	CHECK_ERRNO(recv(f->other, &byte, 1, MSG_DONTWAIT), EAGAIN);
	CHECK(name_of(f->shared).sin_port == f->shared_name.sin_port);
	CHECK(answer(f, f->shared, "one", 0) == 3 && answer(f, f->other, "two", 0) == 3);
}

static void case_stop_parent_at_claim(void)
{
	struct family f = family_start(child_that_is_poked);

	CHECK(hear(f.up) == 'c');
	kill(f.parent, SIGSTOP);
	state_await(f.parent, 'T');
	tell(f.down, 's');
	for (int i = 0; is_over_rdma() && i < 20; i++) {
		state_await(f.child, 'S');
		kill(f.child, SIGUSR1);
	}
	kill(f.parent, SIGCONT);
	both_expect(&f);
	CHECK(child_status(f.parent) == 0);
	family_end(&f);
}

/* A child that is killed while it waits for room leaves the socket to its parent. */
static void child_that_fills(struct family *f)
{
	char byte;

	CHECK_ERRNO(recv(f->shared, &byte, 1, MSG_DONTWAIT), EAGAIN);
	tell(f->up, 'c');
	CHECK(hear(f->down) == 's');
	flood(f, 'f');
	for (;;)
		answer(f, f->shared, "flood", 0);
}

static void case_kill_child_of_stopped(void)
{
	struct family f = family_start(child_that_fills);

	CHECK(hear(f.up) == 'c');
	kill(f.parent, SIGSTOP);
	state_await(f.parent, 'T');
	tell(f.down, 's');
	CHECK(hear(f.up) == 'f');
	kill(f.child, SIGKILL);
	kill(f.parent, SIGCONT);
	CHECK(child_status(f.parent) == 0);
	family_end(&f);
}

/* ---- others ---- */

/* The process in the middle is killed; the grandchild uses the socket of the first process. */
static void child_with_child(struct family *f)
{
	char byte;

	CHECK_ERRNO(recv(f->other, &byte, 1, MSG_DONTWAIT), EAGAIN);
	if (fork() == 0) {
		tell(f->up, 'g');
		CHECK(hear(f->down) == 'k');
		CHECK(expect(f->shared, "go"));
		CHECK(answer(f, f->shared, "one", 0) == 3 && answer(f, f->other, "two", 0) == 3);
		_exit(case_failed);
	}
	pause();
}

static void case_kill_middle(void)
{
	struct family f = family_start(child_with_child);

	CHECK(hear(f.up) == 'g');
	kill(f.child, SIGKILL);
	tell(f.down, 'k');
	ask(&f, "go");
	both_expect(&f);
	CHECK(child_status(f.parent) == 0);
	while (waitpid(-1, NULL, 0) > 0)
		;
	family_end(&f);
}

/* A datagram may be larger than the send buffer. */
static void child_with_small_buffer(struct family *f)
{
	static char large[60000];
	int size = 2048;

	CHECK(setsockopt(f->shared, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)) == 0);
	CHECK(sendto(f->shared, large, sizeof(large), 0, (void *)&f->peer_name,
		     sizeof(f->peer_name)) == sizeof(large));
}

static void case_share_small_buffer(void)
{
	struct family f = family_start(child_with_small_buffer);
	static char large[60000];

	CHECK(recv(f.peer, large, sizeof(large), 0) == sizeof(large));
	CHECK(child_status(f.parent) == 0);
	family_end(&f);
}

/* ---- a process of its own for each case ---- */

/* Children of a process that used RDMA use UDP. Therefore start the program again for one case. */
static void fresh_run(const char *name, void (*run)(void))
{
	pid_t pid;

	if (getenv("SOCKET_CASE")) {
		run();
		return;
	}
	pid = fork();
	if (pid == 0) {
		setenv("SOCKET_CASE", name, 1);
		dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
		execl("/proc/self/exe", "socket_cases", name, NULL);
		_exit(127);
	}
	CHECK(child_status(pid) == 0);
}

#define FRESH(name)                            \
	static void fresh_##name(void)         \
	{                                      \
		fresh_run(#name, case_##name); \
	}

FRESH(kill_parent)
FRESH(kill_parent_beside_wait)
FRESH(stop_parent)
FRESH(stop_parent_at_claim)
FRESH(kill_child_of_stopped)
FRESH(kill_middle)
FRESH(share_small_buffer)

const struct case_row share_kill_cases[] = {
	{ "kill_parent", fresh_kill_parent },
	{ "kill_parent_beside_wait", fresh_kill_parent_beside_wait },
	{ "stop_parent", fresh_stop_parent },
	{ "stop_parent_at_claim", fresh_stop_parent_at_claim },
	{ "kill_child_of_stopped", fresh_kill_child_of_stopped },
	{ "kill_middle", fresh_kill_middle },
	{ "share_small_buffer", fresh_share_small_buffer },
	{},
};

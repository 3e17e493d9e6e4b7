/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * usage: death [library
 * call
 * reborn
 * stopped]
 *
 * A process is killed, and its child lives on. The child has all descriptors of its parent, because
 * it was forked without exec: by fork(), or by the bare system call, which no library sees. The
 * peer still detects the death. A child by fork() has one descriptor of the device, that of the
 * context for importing it. That descriptor leads to the parent. After the parent's death it is
 * useless.
 *
 * If another process gets the dead one's number, with other data at the same addresses, it is
 * not written to. A process that is only stopped is waited for as long as the queue pair's
 * retries last.
 */
#include <dirent.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/device/hostile/net.h"
#include "tests/lib/rt.h"

enum {
	LENGTH = 4096,
	SEED = 7,
};

enum fork_kind {
	BY_LIBRARY,
	BY_SYSTEM_CALL,
};

/* Shared by all processes. */
static struct world {
	struct rt_address victim;
	atomic_int heir; /* the victim's child */
	atomic_bool ready, killed, reborn, over, sends;
} * world;

/* Take the dead process's number, and have its memory as it was. */
static void bystander_main(const struct rt_side *side)
{
	world->reborn = true;
	while (!world->over)
		usleep(1000);
	VERIFY(side->buf.p, LENGTH, SEED);
	_exit(0);
}

/* Fork with this process number; skip the test if that is not allowed. */
static pid_t fork_as(pid_t pid)
{
	struct clone_args args = { .exit_signal = SIGCHLD,
				   .set_tid = (uintptr_t)&pid,
				   .set_tid_size = 1 };

	return syscall(SYS_clone3, &args, sizeof(args));
}

/* Whether the other end of the socket is closed. */
static bool is_dead_end(int fd)
{
	struct pollfd end = { .fd = fd };

	return poll(&end, 1, 0) == 1 && end.revents & POLLHUP;
}

/* The victim's child. */
static void heir_main(const struct rt_side *side, pid_t dead, enum fork_kind kind, bool reborn)
{
	int status, cmd_fd = side->dev->ctx->cmd_fd;
	pid_t pid;

	CHECK(!is_dead_end(cmd_fd));
	world->heir = getpid();
	while (!world->killed)
		usleep(1000);
	if (!reborn) {
		while (!world->over)
			usleep(1000);
		CHECK_INT(is_dead_end(cmd_fd), kind == BY_LIBRARY);
		_exit(0);
	}
	pid = fork_as(dead);
	if (!pid)
		bystander_main(side);
	CHECK_INT(pid, dead);
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);
	_exit(0);
}

static int descriptors(const char *of)
{
	DIR *dir = opendir("/proc/self/fd");
	char link[64], path[320];
	struct dirent *entry;
	int count = 0;

	CHECK(dir);
	while ((entry = readdir(dir))) {
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
		n = readlink(path, link, sizeof(link) - 1);
		if (n < 0)
			continue;
		link[n] = '\0';
		count += strstr(link, of) != NULL;
	}
	closedir(dir);
	return count;
}

static void victim_main(int socket, enum fork_kind kind, bool reborn)
{
	int sockets = descriptors("socket:"), events = descriptors("anon_inode:"),
	    memory = descriptors("memfd:");
	struct rt_dev *dev = rt_open();
	struct rt_side side = rt_side_open(dev, NULL, NULL);
	struct rt_address mine = rt_side_address(&side), theirs;
	pid_t self = getpid(), child;

	world->victim = mine;
	theirs = rt_exchange(socket, &mine);
	rt_side_connect(&side, &theirs);
	rt_exchange(socket, &mine);
	rt_exchange(socket, &mine); /* wait for the peer's write */
	rt_fill(side.buf.p, LENGTH, SEED);
	child = kind == BY_LIBRARY ? fork() : syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	CHECK(child >= 0);
	if (!child) {
		if (kind == BY_LIBRARY) {
			CHECK_INT(descriptors("socket:"), sockets + 1); /* and cmd_fd */
			CHECK_INT(descriptors("anon_inode:"), events);
			CHECK_INT(descriptors("memfd:"), memory);
		}
		heir_main(&side, self, kind, reborn);
	}
	while (!world->heir)
		usleep(1000);
	world->ready = true;
	pause();
}

static void survivor_main(int socket, bool reborn)
{
	static const struct rt_options options = { .timeout = 12, .retry_cnt = 1 };
	struct rt_dev *dev = rt_open();
	struct rt_side side = rt_side_open(dev, &options, NULL);
	struct rt_address mine = rt_side_address(&side), theirs = rt_exchange(socket, &mine);
	struct ibv_sge sge = rt_sge(&side, 0, LENGTH);
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, 1, &sge);

	rt_side_connect(&side, &theirs);
	rt_exchange(socket, &mine);
	wr.wr.rdma.remote_addr = theirs.addr;
	wr.wr.rdma.rkey = theirs.rkey;
	POST(&side, &wr);
	EXPECT(&side, 1, IBV_WC_RDMA_WRITE);
	rt_exchange(socket, &mine);
	while (reborn ? !world->reborn : !world->killed)
		;
	if (world->sends)
		wr.opcode = IBV_WR_SEND;
	POST(&side, &wr);
	EXPECT_STATUS(&side, 1, IBV_WC_RETRY_EXC_ERR);
	rt_side_close(&side);
	rt_close(dev);
}

/* --- both --- */

static pid_t end_start(const int sockets[2], int which, enum fork_kind kind, bool reborn)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0);
	if (pid)
		return pid;
	alarm(RT_SECONDS);
	close(sockets[!which]);
	net_enter(NET_HERE);
	setenv("VERBS_LOG_LEVEL", "0", 0);
	if (which)
		victim_main(sockets[1], kind, reborn);
	else
		survivor_main(sockets[0], reborn);
	exit(0);
}

static void run(enum fork_kind kind, bool reborn)
{
	int sockets[2], status, ended;
	pid_t pids[2];

	memset(world, 0, sizeof(*world));
	CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets));
	for (int i = 0; i < 2; i++)
		pids[i] = end_start(sockets, i, kind, reborn);
	close(sockets[0]);
	close(sockets[1]);
	while (!world->ready) {
		CHECK_INT(waitpid(-1, NULL, WNOHANG), 0);
		usleep(1000);
	}
	/* Only checks before a copy can detect the death. */
	if (reborn)
		CHECK_OK(kill(pids[0], SIGSTOP));
	CHECK_OK(kill(pids[1], SIGKILL));
	CHECK_INT(waitpid(pids[1], NULL, 0), pids[1]);
	world->killed = true;
	while (reborn && !world->reborn)
		usleep(1000);
	if (reborn)
		CHECK_OK(kill(pids[0], SIGCONT));
	CHECK_INT(waitpid(pids[0], &status, 0), pids[0]);
	world->over = true;
	CHECK_INT(waitpid(world->heir, &ended, 0), world->heir);
	CHECK_INT(status, 0);
	CHECK_INT(ended, 0);
}

/* Requests that do not need the stopped peer complete; the others end with an error. */
static void stopped(void)
{
	int sockets[2], status;
	pid_t pids[2];

	memset(world, 0, sizeof(*world));
	CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets));
	for (int i = 0; i < 2; i++)
		pids[i] = end_start(sockets, i, BY_LIBRARY, false);
	close(sockets[0]);
	close(sockets[1]);
	while (!world->ready)
		usleep(1000);
	CHECK_OK(kill(pids[1], SIGSTOP));
	world->sends = true;
	world->killed = true;
	CHECK_INT(waitpid(pids[0], &status, 0), pids[0]);
	CHECK_INT(status, 0);
	CHECK_OK(kill(pids[1], SIGKILL));
	CHECK_INT(waitpid(pids[1], NULL, 0), pids[1]);
}

/* Run as process 1 of a namespace, which inherits the dead one's child; no other process takes
 * numbers. */
static void all(const char *only)
{
	if (!only || !strcmp(only, "library"))
		run(BY_LIBRARY, false);
	if (!only || !strcmp(only, "call"))
		run(BY_SYSTEM_CALL, false);
	if (!only || !strcmp(only, "reborn"))
		run(BY_SYSTEM_CALL, true);
	if (!only || !strcmp(only, "stopped"))
		stopped();
}

int main(int argc, char **argv)
{
	int status;
	pid_t pid;

	net_make("shm");
	world = mmap(NULL, sizeof(*world), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	CHECK(world != MAP_FAILED);
	if (unshare(CLONE_NEWPID))
		rt_skip("no PID namespaces here: %m");
	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		alarm(2 * RT_SECONDS);
		all(argv[1]);
		exit(0);
	}
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);
	return 0;
}

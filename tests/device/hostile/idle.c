/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * usage: idle shm
 * udp
 *
 * Two processes with connected queue pairs exchange messages and then become idle: none of their
 * threads runs.
 */
#include <dirent.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "tests/device/hostile/net.h"
#include "tests/lib/rt.h"

enum {
	PAIRS = 4,
	LENGTH = 1000,
	IDLE = 3, /* seconds */
};

static void message(struct rt_side *side, bool first)
{
	struct ibv_sge sge = rt_sge(side, 0, LENGTH);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);

	if (first)
		POST(side, &wr);
	/* The answer may come before the completion of the question. */
	for (int i = 0; i < 1 + first; i++)
		CHECK_INT(rt_wait(side).status, IBV_WC_SUCCESS);
	if (first)
		return;
	POST(side, &wr);
	EXPECT(side, 1, IBV_WC_SEND);
}

/* @peer: to the other end. @parent: a byte reports that all is done; this process ends with the
 * parent's end. */
static void end_main(int peer, int parent, bool first)
{
	static const struct rt_options kinds[PAIRS] = {
		{}, { .type = IBV_QPT_UC }, { .channel = true }, { .srq = true }
	};
	struct rt_dev *dev = rt_open();
	struct rt_side side[PAIRS];
	struct rt_address address;
	char byte;

	for (int i = 0; i < PAIRS; i++) {
		side[i] = rt_side_open(dev, &kinds[i], NULL);
		address = rt_side_address(&side[i]);
		address = rt_exchange(peer, &address);
		rt_side_connect(&side[i], &address);
		rt_recv(&side[i], 2, 8192, LENGTH);
		rt_exchange(peer, &address);
		message(&side[i], first);
	}
	CHECK_INT(write(parent, "!", 1), 1);
	CHECK_INT(read(parent, &byte, 1), 0);
	for (int i = 0; i < PAIRS; i++)
		rt_side_close(&side[i]);
	rt_close(dev);
}

static pid_t end_start(int host, int peer, int *ret_parent)
{
	int parent[2];
	pid_t pid;

	CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, parent));
	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		alarm(RT_SECONDS);
		net_enter(host);
		close(*ret_parent); /* the first process's end, in the second */
		close(parent[0]);
		end_main(peer, parent[1], host == NET_HERE);
		exit(0);
	}
	close(parent[1]);
	*ret_parent = parent[0];
	return pid;
}

/* Return how often threads of the process left the processor. @ret_ready: a thread is running or
 * ready to run. */
static long switches(pid_t pid, bool *ret_ready)
{
	char path[300], line[200];
	struct dirent *entry;
	long total = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	CHECK(dir);
	while ((entry = readdir(dir))) {
		FILE *file;
		long count;

		snprintf(path, sizeof(path), "/proc/%d/task/%s/status", pid, entry->d_name);
		file = entry->d_name[0] != '.' ? fopen(path, "r") : NULL;
		while (file && fgets(line, sizeof(line), file)) {
			*ret_ready |= !strncmp(line, "State:\tR", strlen("State:\tR"));
			if (sscanf(line, "voluntary_ctxt_switches: %ld", &count) == 1 ||
			    sscanf(line, "nonvoluntary_ctxt_switches: %ld", &count) == 1)
				total += count;
		}
		if (file)
			fclose(file);
	}
	closedir(dir);
	return total;
}

/* Wait for a second in which no thread ran or was ready. The alarm stops a process that never
 * comes to rest. */
static void idle_await(const pid_t *pids)
{
	long before, after;
	bool ready = false;

	do {
		before = switches(pids[0], &ready) + switches(pids[1], &ready);
		sleep(1);
		ready = false;
		after = switches(pids[0], &ready) + switches(pids[1], &ready);
	} while (ready || after != before);
}

int main(int argc, char **argv)
{
	int peers[2], parent[2] = { -1, -1 }, status;
	long before[2];
	pid_t pids[2];
	bool ready = false;
	char byte;

	net_make(argv[1]);
	CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, peers));
	for (int i = 0; i < 2; i++) {
		parent[i] = i ? parent[0] : -1;
		pids[i] = end_start(i, peers[i], &parent[i]);
	}
	for (int i = 0; i < 2; i++)
		CHECK_INT(read(parent[i], &byte, 1), 1);
	idle_await(pids);
	for (int i = 0; i < 2; i++)
		before[i] = switches(pids[i], &ready);
	sleep(IDLE);
	for (int i = 0; i < 2; i++) {
		long after = switches(pids[i], &ready);

		printf("%ld switches in %d idle seconds\n", after - before[i], IDLE);
		CHECK(before[i] > 0); /* it was active before */
		CHECK_INT(after - before[i], 0);
	}
	for (int i = 0; i < 2; i++) {
		close(parent[i]);
		CHECK_INT(waitpid(pids[i], &status, 0), pids[i]);
		CHECK_INT(status, 0);
	}
	return 0;
}

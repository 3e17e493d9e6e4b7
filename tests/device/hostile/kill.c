/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * usage: kill shm
 * udp [ROUNDS]
 *
 * Two processes have every kind of traffic in both directions. One process is killed at a random
 * moment after its start. The work requests of the other process end soon, with errors, and no
 * resource is left. The next two processes work. The last two are not killed, and lose no message.
 */
#include <dirent.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/device/hostile/net.h"
#include "tests/lib/rt.h"

enum {
	ROUNDS = 20,
	DEPTH = 8,
	RECEIVES = 64,
	SLOT = 65536,	   /* bytes of the buffer for each request */
	MESSAGES = 1000,   /* of the two that are not killed */
	HANG = 60,	   /* seconds */
	SETUP_ROUNDS = 5,  /* in every such round they are killed before they are connected */
	DELAY_MAX = 30000, /* us */
};

/* Exit codes of a survivor; other codes are a failed check. */
enum {
	SURVIVED = 0,	       /* its requests ended with errors */
	NEVER_CONNECTED = 100, /* the other one died before */
};

struct end {
	struct rt_dev *dev;
	struct rt_side side;
	struct rt_address remote;
	int posted, completed, received; /* sends, and receives of theirs */
	int recvs;
	unsigned int random;
	bool failed;
};

static const struct rt_options options = {
	.send_wr = DEPTH,
	.recv_wr = RECEIVES,
	.cqe = 2 * RECEIVES + 2 * DEPTH,
	.size = (2 * DEPTH + RECEIVES) * SLOT,
	.retry_cnt = 2,
	.timeout = 12, /* 17 ms */
	.rd_atomic = 4,
};
#define PATIENT_TIMEOUT 17 /* half a second, for two living sides on a busy host */

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000ull + t.tv_nsec / 1000;
}

/* --- one of the two --- */

/* Exchange addresses; false: the other process has gone. */
static bool exchange(int socket, struct rt_address *address)
{
	struct rt_address theirs;

	if (send(socket, address, sizeof(*address), MSG_NOSIGNAL) != sizeof(*address) ||
	    recv(socket, &theirs, sizeof(theirs), MSG_WAITALL) != sizeof(theirs))
		return false;
	*address = theirs;
	return true;
}

static bool end_connect(struct end *end, int socket, bool lives)
{
	struct rt_options patient = options;
	struct rt_address mine;

	if (lives)
		patient.timeout = PATIENT_TIMEOUT;
	end->dev = rt_open();
	end->side = rt_side_open(end->dev, &patient, NULL);
	end->remote = rt_side_address(&end->side);
	if (!exchange(socket, &end->remote))
		return false;
	rt_side_connect(&end->side, &end->remote);
	for (; end->recvs < RECEIVES; end->recvs++)
		rt_recv(&end->side, 2, (2 * DEPTH + end->recvs) * (size_t)SLOT, SLOT);
	mine = end->remote;
	return exchange(socket, &mine);
}

static const enum ibv_wr_opcode opcodes[] = { IBV_WR_SEND,	    IBV_WR_RDMA_WRITE,
					      IBV_WR_RDMA_READ,	    IBV_WR_ATOMIC_FETCH_AND_ADD,
					      IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE_WITH_IMM };

static void post_one(struct end *end)
{
	static const uint32_t lengths[] = { 8, 1000, 5000, 20000, SLOT };
	enum ibv_wr_opcode opcode = opcodes[rand_r(&end->random) % RT_COUNT(opcodes)];
	uint32_t slot = end->posted % DEPTH;
	struct ibv_sge sge = rt_sge(&end->side, slot * (size_t)SLOT,
				    lengths[rand_r(&end->random) % RT_COUNT(lengths)]);
	struct ibv_send_wr wr = rt_wr(opcode, 1, &sge);

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		sge.length = 8;
		wr.wr.atomic.remote_addr = end->remote.addr;
		wr.wr.atomic.rkey = end->remote.rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = end->remote.addr + (DEPTH + slot) * (size_t)SLOT;
		wr.wr.rdma.rkey = end->remote.rkey;
	}
	POST(&end->side, &wr);
	end->posted++;
}

static void completion(struct end *end, const struct ibv_wc *wc)
{
	if (wc->status != IBV_WC_SUCCESS && wc->status != IBV_WC_RETRY_EXC_ERR &&
	    wc->status != IBV_WC_WR_FLUSH_ERR)
		FAIL("%s of request %d: %s", wc->wr_id == 1 ? "send" : "receive", wc->opcode,
		     ibv_wc_status_str(wc->status));
	if (wc->status != IBV_WC_SUCCESS)
		end->failed = true;
	if (wc->wr_id == 1) {
		end->completed++;
		return;
	}
	end->recvs--;
	end->received++;
	if (end->failed)
		return;
	rt_recv(&end->side, 2, (2 * DEPTH + end->received % RECEIVES) * (size_t)SLOT, SLOT);
	end->recvs++;
}

static void poll_all(struct end *end)
{
	struct ibv_wc wc;
	int n;

	while ((n = ibv_poll_cq(end->side.cq, 1, &wc)) > 0)
		completion(end, &wc);
	CHECK_INT(n, 0);
}

/* Send until the other process has gone; then no request may stay outstanding. */
static void traffic(struct end *end)
{
	while (!end->failed) {
		if (end->posted - end->completed < DEPTH)
			post_one(end);
		poll_all(end);
	}
	while (end->posted != end->completed || end->recvs)
		poll_all(end);
}

static int live(struct end *end, int socket)
{
	struct rt_address done = end->remote;

	while (end->completed < MESSAGES) {
		if (end->posted < MESSAGES && end->posted - end->completed < DEPTH)
			post_one(end);
		poll_all(end);
		CHECK(!end->failed);
	}
	/* The other process may not have finished. */
	CHECK(send(socket, &done, sizeof(done), MSG_NOSIGNAL) == sizeof(done));
	while (recv(socket, &done, sizeof(done), MSG_DONTWAIT) != sizeof(done)) {
		poll_all(end);
		CHECK(!end->failed);
	}
	return SURVIVED;
}

static int end_main(int socket, int ready, bool lives, int seed)
{
	struct end end = { .random = seed };
	int result = SURVIVED;

	alarm(HANG);
	if (!end_connect(&end, socket, lives))
		result = NEVER_CONNECTED;
	if (!lives)
		CHECK_INT(write(ready, "!", 1), 1);
	if (lives)
		result = live(&end, socket);
	else if (result == SURVIVED)
		traffic(&end);
	rt_side_close(&end.side);
	rt_close(end.dev);
	return result;
}

/* --- both --- */

/* @ready: gets a byte when the traffic starts. */
static pid_t end_start(int host, int sockets[2], int ready, bool lives, int seed)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0);
	if (pid)
		return pid;
	close(sockets[!host]);
	net_enter(host);
	setenv("VERBS_LOG_LEVEL", "0", 0);
	fflush(stdout);
	exit(end_main(sockets[host], ready, lives, seed));
}

static int end_wait(pid_t pid)
{
	int status;

	CHECK_INT(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status))
		FAIL("the survivor was killed by signal %d (%s)", WTERMSIG(status),
		     strsignal(WTERMSIG(status)));
	return WEXITSTATUS(status);
}

static int entries(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	int count = 0;

	while (dir && (entry = readdir(dir)))
		count += entry->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return count;
}

/*
 * Give this process and its children an empty folder in place of @folder, so that it has no files
 * of other programs. A folder that has the program itself stays.
 */
static void folder_empty(const char *folder)
{
	char program[PATH_MAX] = "";

	CHECK(readlink("/proc/self/exe", program, sizeof(program) - 1) > 0);
	if (!strncmp(program, folder, strlen(folder)))
		return;
	if (mount("none", folder, "tmpfs", 0, NULL))
		rt_skip("cannot mount an empty %s: %m", folder);
}

static void folders_empty(void)
{
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		rt_skip("no mount namespaces here: %m");
	folder_empty("/dev/shm");
	folder_empty("/tmp");
}

static void clean_check(void)
{
	CHECK(!net_left_over(NET_HERE));
	CHECK(!net_is_udp() || !net_left_over(NET_THERE));
}

/* Return the microseconds from the kill to the survivor's end, or -1 if the survivor was not
 * connected. */
static int64_t round_run(int round, unsigned int *random)
{
	int sockets[2], ready[2], victim = round % 2, result;
	uint64_t killed;
	pid_t pids[2];
	char byte;

	CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets));
	CHECK_OK(pipe(ready));
	for (int i = 0; i < 2; i++)
		pids[i] = end_start(i, sockets, ready[1], false, 2 * round + i);
	close(sockets[0]);
	close(sockets[1]);
	/* Some are killed during their setup. */
	for (int i = 0; i < 2 && round % SETUP_ROUNDS; i++)
		CHECK_INT(read(ready[0], &byte, 1), 1);
	usleep(rand_r(random) % DELAY_MAX);
	CHECK_OK(kill(pids[victim], SIGKILL));
	killed = now_us();
	CHECK_INT(waitpid(pids[victim], NULL, 0), pids[victim]);
	result = end_wait(pids[!victim]);
	close(ready[0]);
	close(ready[1]);
	CHECK(result == SURVIVED || result == NEVER_CONNECTED);
	clean_check();
	return result == SURVIVED ? (int64_t)(now_us() - killed) : -1;
}

static void last_round(void)
{
	int sockets[2];
	pid_t pids[2];

	CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets));
	for (int i = 0; i < 2; i++)
		pids[i] = end_start(i, sockets, -1, true, i);
	close(sockets[0]);
	close(sockets[1]);
	for (int i = 0; i < 2; i++)
		CHECK_INT(end_wait(pids[i]), SURVIVED);
	clean_check();
}

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? atoi(argv[2]) : ROUNDS, survived = 0;
	unsigned int random = time(NULL);
	int64_t longest = 0;
	int shm, tmp;

	if (argc < 2)
		return 2;
	printf("seed %u\n", random);
	net_make(argv[1]);
	folders_empty();
	shm = entries("/dev/shm");
	tmp = entries("/tmp");
	for (int i = 0; i < rounds; i++) {
		int64_t us = round_run(i, &random);

		survived += us >= 0;
		longest = us > longest ? us : longest;
	}
	last_round();
	CHECK_INT(entries("/dev/shm"), shm);
	CHECK_INT(entries("/tmp"), tmp);
	printf("%d rounds, %d of them killed amid traffic; the survivor's end at most %lld ms later\n",
	       rounds, survived, (long long)longest / 1000);
	CHECK(survived >= rounds / 2);
	return 0;
}

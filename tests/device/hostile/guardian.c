/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A peer like a kernel's connection manager, which never probes whether the other side is still
 * alive. Processes that are connected to it end in every possible way, and the peer is told. */
#include <arpa/inet.h>
#include <dirent.h>
#include <endian.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/device/hostile/net.h"
#include "tests/device/hostile/stranger.h"
#include "tests/lib/rt_child.h"
#include "tests/lib/rt_cm.h"

enum {
	PORT = 7600,
	RESOLVE_MS = 60000,
	VICTIM_QPN = 0x123456, /* no such QP exists */
	PEER_QPN = 0x654321,
	PEER_ID = 0x1000, /* of its first connection */
	MANY = 300,
	PLACES = MANY + 16,
	SECONDS = 100, /* for all cases: without a guardian the peer would wait for ever */
};

/* The messages that the peer received. */
static struct world {
	bool deaf;     /* it answers no request */
	uint64_t guid; /* of the last request that it did not answer, with the id in that request */
	uint32_t id;
	uint32_t connected, first; /* connections ever made, and those before this case */
	uint32_t ids[PLACES];	   /* the other side's id of each */
	bool ended[PLACES];
	atomic_uint ended_count, dreqs; /* counters of this case */
	atomic_uint rejs, strange;
} * world;

/* --- the peer --- */

static void request_answer(struct stranger *s, const struct ibcm_mad *req)
{
	uint32_t n = world->connected;
	struct ibcm_mad rep = {
		.type = IBCM_REP,
		.tid = req->tid,
		.local_id = PEER_ID + n,
		.remote_id = req->local_id,
		.rep = { .ca_guid = 1, .qpn = PEER_QPN, .starting_psn = 1 },
	};

	if (world->deaf) {
		world->guid = req->req.ca_guid;
		world->id = req->local_id;
	}
	if (world->deaf || n == PLACES)
		return;
	/* A repeated request counts once. */
	if (n && world->ids[n - 1] == req->local_id)
		rep.local_id--;
	else
		world->ids[world->connected++] = req->local_id;
	stranger_say(s, &rep);
}

static void end_note(const struct ibcm_mad *dreq)
{
	uint32_t n = dreq->remote_id - PEER_ID;

	if (n >= world->connected || world->ids[n] != dreq->local_id ||
	    dreq->dreq.remote_qpn != PEER_QPN) {
		world->strange++;
		return;
	}
	if (n < world->first) /* repeated */
		return;
	world->ended_count += !world->ended[n];
	world->ended[n] = true;
	world->dreqs++;
}

static void rejection_note(const struct ibcm_mad *rej)
{
	uint64_t guid;

	memcpy(&guid, rej->rej.info, sizeof(guid));
	if (rej->rej.reason == IBCM_REJ_TIMEOUT && rej->local_id == world->id &&
	    rej->rej.info_length == sizeof(guid) && be64toh(guid) == world->guid)
		world->rejs++;
	else
		world->strange++;
}

static void peer(int socket, int arg)
{
	struct stranger s;
	struct ibcm_mad mad;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	net_enter(NET_THERE);
	s = stranger_at("192.0.2.2", STRANGER_ROCE_PORT, "192.0.2.1");
	rt_tell(socket, 0);
	for (;;) {
		if (!stranger_hear(&s, &mad))
			continue;
		if (mad.type == IBCM_REQ)
			request_answer(&s, &mad);
		else if (mad.type == IBCM_DREQ)
			end_note(&mad);
		else if (mad.type == IBCM_REJ)
			rejection_note(&mad);
	}
}

/* --- the processes that end --- */

static struct sockaddr *address(const char *text)
{
	static struct sockaddr_in in;

	in = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(PORT) };
	inet_pton(AF_INET, text, &in.sin_addr);
	return (struct sockaddr *)&in;
}

static struct rdma_cm_id *ask(struct rdma_event_channel *events, const char *text)
{
	struct rdma_conn_param param = { .qp_num = VICTIM_QPN };
	struct rdma_cm_id *id = rt_cm_id(events, RDMA_PS_TCP);

	CHECK_OK(rdma_resolve_addr(id, NULL, address(text), RESOLVE_MS));
	CM_TAKE(events, ADDR_RESOLVED, 0);
	CHECK_OK(rdma_resolve_route(id, RESOLVE_MS));
	CM_TAKE(events, ROUTE_RESOLVED, 0);
	CHECK_OK(rdma_connect(id, &param));
	return id;
}

static struct rdma_cm_id *connect_to_peer(struct rdma_event_channel *events)
{
	struct rdma_cm_id *id = ask(events, "192.0.2.2");

	CM_TAKE(events, CONNECT_RESPONSE, 0);
	CHECK_OK(rdma_establish(id));
	return id;
}

static void stay(int socket)
{
	rt_tell(socket, 0);
	pause();
}

static atomic_int children_ended;

static void on_child(int number)
{
	children_ended++;
}

/* The process cannot see its guardian: neither by signals nor by waitpid(). */
static void victim_looks(int socket, int arg)
{
	struct sigaction action = { .sa_handler = on_child };

	net_enter(NET_HERE);
	CHECK_OK(sigaction(SIGCHLD, &action, NULL));
	connect_to_peer(rt_cm_channel());
	CHECK_INT(children_ended, 0);
	CHECK_INT(waitpid(-1, NULL, WNOHANG | __WALL), -1);
	CHECK_INT(errno, ECHILD);
	stay(socket);
}

/* Create a child that only shares memory, without any library's knowledge. */
static void victim_forks(int socket, int arg)
{
	net_enter(NET_HERE);
	connect_to_peer(rt_cm_channel());
	if (!syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL)) {
		alarm(SECONDS);
		rt_tell(socket, getpid());
		for (;;)
			pause();
	}
	pause();
}

static void victim_execs(int socket, int arg)
{
	net_enter(NET_HERE);
	connect_to_peer(rt_cm_channel());
	rt_tell(socket, 0);
	execlp("sleep", "sleep", "1000", NULL);
	FAIL("no sleep: %m");
}

static void victim_exits(int socket, int arg)
{
	net_enter(NET_HERE);
	connect_to_peer(rt_cm_channel());
	rt_tell(socket, 0);
}

static void victim_asks(int socket, int arg)
{
	net_enter(NET_HERE);
	ask(rt_cm_channel(), "192.0.2.2");
	stay(socket);
}

static void victim_of_many(int socket, int arg)
{
	struct rdma_event_channel *events;

	net_enter(NET_HERE);
	events = rt_cm_channel();
	for (int i = 0; i < MANY; i++)
		connect_to_peer(events);
	stay(socket);
}

/* Make the start of another program fatal from here on. */
static void confine(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execve, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { RT_COUNT(code), code };

	CHECK_OK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHECK_OK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

static void victim_confined(int socket, int arg)
{
	net_enter(NET_HERE);
	confine();
	connect_to_peer(rt_cm_channel());
	stay(socket);
}

/* Both ends are processes of this host, which watch each other. */
static void victim_at_home(int socket, int arg)
{
	struct rdma_conn_param param = { .qp_num = VICTIM_QPN };
	struct rdma_event_channel *events, *others;
	struct rdma_cm_event *event;
	struct rdma_cm_id *listener;

	net_enter(NET_HERE);
	events = rt_cm_channel();
	others = rt_cm_channel();
	listener = rt_cm_id(events, RDMA_PS_TCP);
	CHECK_OK(rdma_bind_addr(listener, address("192.0.2.1")));
	CHECK_OK(rdma_listen(listener, 0));
	ask(others, "192.0.2.1");
	event = CM_EXPECT(events, CONNECT_REQUEST, 0);
	CHECK_OK(rdma_accept(event->id, &param));
	CHECK_OK(rdma_ack_cm_event(event));
	CM_TAKE(others, CONNECT_RESPONSE, 0);
	stay(socket);
}

/* --- what remains of them --- */

static bool reads_as(const char *pid, const char *file, const char *text)
{
	char path[64], line[256];
	FILE *f;
	bool same;

	snprintf(path, sizeof(path), "/proc/%.16s/%s", pid, file);
	f = fopen(path, "re");
	same = f && fgets(line, sizeof(line), f) && strstr(line, text);
	if (f)
		fclose(f);
	return same;
}

static bool is_of_net(const char *pid, const struct stat *net)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%.16s/ns/net", pid);
	return !stat(path, &st) && st.st_ino == net->st_ino;
}

/* Count the guardians in this process's network namespace. A process that has ended has no
 * namespace. */
static unsigned int guardians(void)
{
	unsigned int count = 0;
	struct dirent *entry;
	struct stat net;
	DIR *dir = opendir("/proc");

	CHECK(dir);
	CHECK_OK(stat("/proc/self/ns/net", &net));
	while ((entry = readdir(dir)))
		count += reads_as(entry->d_name, "comm", "uroce-guardian") &&
			 is_of_net(entry->d_name, &net);
	closedir(dir);
	return count;
}

static void all_gone(void)
{
	while (guardians())
		usleep(10000);
}

static void wait_for(atomic_uint *number, unsigned int least)
{
	while (*number < least)
		usleep(1000);
}

static void begin(const char *what)
{
	CHECK_INT(world->strange, 0);
	world->deaf = false;
	world->first = world->connected;
	world->ended_count = world->dreqs = 0;
	printf("%s\n", what);
}

static struct rt_child start(void (*victim)(int socket, int arg))
{
	struct rt_child child = rt_child_start(victim, 0);

	rt_hear(child.socket);
	return child;
}

/* A process that keeps the other end of the pipe open prevents the read from ending. */
static void killed(void)
{
	struct rt_child child;
	int ends[2];
	char byte;

	begin("killed");
	CHECK_OK(pipe(ends));
	child = start(victim_looks);
	while (guardians() != 1) /* it gets its name a moment after its start */
		usleep(1000);
	close(ends[1]);
	rt_child_kill(&child);
	CHECK_INT(read(ends[0], &byte, 1), 0);
	CHECK_INT(guardians(), 1);
	close(ends[0]);
	wait_for(&world->dreqs, 3);
}

static void killed_with_many(void)
{
	struct rt_child child;

	begin("killed with many connections");
	child = start(victim_of_many);
	rt_child_kill(&child);
	wait_for(&world->ended_count, MANY);
}

static void killed_with_child(void)
{
	struct rt_child child;
	pid_t orphan;

	begin("killed, and a child lives");
	child = rt_child_start(victim_forks, 0);
	orphan = rt_hear(child.socket);
	rt_child_kill(&child);
	wait_for(&world->dreqs, 1);
	(void)kill(orphan, SIGKILL);
}

static void another_program(void)
{
	struct rt_child child;

	begin("becomes another program");
	child = start(victim_execs);
	wait_for(&world->dreqs, 1);
	rt_child_kill(&child);
}

static void killed_asking(void)
{
	struct rt_child child;

	begin("killed before the answer");
	world->deaf = true;
	child = start(victim_asks);
	while (!world->id)
		usleep(1000);
	rt_child_kill(&child);
	wait_for(&world->rejs, 2);
	CHECK_INT(world->dreqs, 0);
}

/* The process itself sends the message, once. */
static void exits(void)
{
	struct rt_child child;

	begin("exits");
	all_gone();
	child = start(victim_exits);
	rt_child_finish(&child);
	all_gone();
	wait_for(&world->dreqs, 1);
	CHECK_INT(world->dreqs, 1);
}

static void not_guarded(const char *what, void (*victim)(int socket, int arg))
{
	struct rt_child child;

	begin(what);
	child = start(victim);
	CHECK_INT(guardians(), 0);
	rt_child_kill(&child);
}

int main(void)
{
	struct rt_child there;

	setvbuf(stdout, NULL, _IOLBF, 0);
	alarm(SECONDS);
	net_make("udp");
	net_enter(NET_HERE);
	world = mmap(NULL, sizeof(*world), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	CHECK(world != MAP_FAILED);
	there = start(peer);
	not_guarded("within one host", victim_at_home);
	not_guarded("confined", victim_confined);
	killed();
	killed_with_many();
	killed_with_child();
	another_program();
	killed_asking();
	exits();
	rt_child_kill(&there);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * usage: absent [SITUATION]
 *
 * A caller connects to a process of its host that does not answer for a while: it is stopped, has
 * no free descriptor, or is killed during the attempt. No other process waits for it: a bystander
 * connects to the caller and exchanges messages with it. When the absent process is back, it
 * connects as well, and all messages between the two arrive: both have chosen the same path.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "tests/device/hostile/net.h"
#include "tests/lib/rt.h"

enum role {
	CALLER,
	ABSENT,
	BYSTANDER,
	ROLES
};

enum {
	PAUSE = 1500000, /* us that it does not answer after all others have finished their part */
	MESSAGES = 20,
	LENGTH = 300,
};

enum how {
	STOPPED,
	FULL, /* no descriptor is free */
	KILLED,
	OWN_WAY, /* the peer is there, but refuses shared memory */
};

static const struct situation {
	const char *name;
	enum how how;
	enum role first; /* opens its device first and therefore has to connect */
} situations[] = {
	{ "stopped", STOPPED, CALLER }, { "stopped-first", STOPPED, ABSENT },
	{ "full", FULL, CALLER },	{ "full-first", FULL, ABSENT },
	{ "killed", KILLED, CALLER },	{ "killed-first", KILLED, ABSENT },
	{ "own-way", OWN_WAY, CALLER }, { "own-way-first", OWN_WAY, ABSENT },
};

/* Shared by all processes. The caller has two QPs, the others have one. */
static struct world {
	struct rt_address caller[ROLES]; /* by the role of the peer */
	struct rt_address others[ROLES];
	atomic_int opened, published, away, served, back, ready;
} * world;

static void await(const atomic_int *flag, int value)
{
	while (atomic_load(flag) < value)
		usleep(1000);
}

/* --- traffic --- */

static void ready_to_send(struct rt_side *side)
{
	for (int i = 0; i < MESSAGES; i++)
		rt_recv(side, 2, 32768 + i * LENGTH, LENGTH);
	rt_side_rts(side);
}

static void talk(struct rt_side *side, int seed, int peer_seed)
{
	int sent = 0, received = 0;

	rt_fill(side->buf.p, LENGTH, seed);
	for (int i = 0; i < MESSAGES / 2; i++) {
		struct ibv_sge sge = rt_sge(side, 0, LENGTH);
		struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);

		POST(side, &wr);
	}
	while (sent < MESSAGES / 2 || received < MESSAGES / 2) {
		struct ibv_wc wc = rt_wait(side);

		CHECK_INT(wc.status, IBV_WC_SUCCESS);
		if (wc.wr_id == 1)
			sent++;
		else
			VERIFY(side->buf.p + 32768 + received++ * LENGTH, LENGTH, peer_seed);
	}
}

/* --- the three --- */

static struct rt_dev *opened_in_turn(const struct situation *s, enum role role)
{
	enum role second = s->first == CALLER ? ABSENT : CALLER;
	struct rt_dev *dev;

	await(&world->opened, role == s->first ? 0 : role == second ? 1 : 2);
	dev = rt_open();
	atomic_fetch_add(&world->opened, 1);
	return dev;
}

static struct rt_side published(struct rt_dev *dev, struct rt_address *place)
{
	struct rt_side side = rt_side_open(dev, &(struct rt_options){ .recv_wr = MESSAGES }, NULL);

	rt_side_init(&side);
	*place = rt_side_address(&side);
	return side;
}

static void *connect_to_absent(void *arg)
{
	rt_side_rtr(arg, &world->others[ABSENT]);
	return NULL;
}

static void caller_main(struct rt_dev *dev, const struct situation *s)
{
	struct rt_side absent = published(dev, &world->caller[ABSENT]),
		       bystander = published(dev, &world->caller[BYSTANDER]);
	pthread_t thread;

	atomic_fetch_add(&world->published, 1);
	await(&world->published, ROLES);
	await(&world->away, 1);
	CHECK_OK(pthread_create(&thread, NULL, connect_to_absent, &absent));
	usleep(100000); /* so that it has begun, as a rule */
	rt_side_rtr(&bystander, &world->others[BYSTANDER]);
	ready_to_send(&bystander);
	atomic_fetch_add(&world->ready, 1);
	await(&world->ready, 2);
	talk(&bystander, CALLER, BYSTANDER);
	atomic_store(&world->served, 1);
	CHECK_OK(pthread_join(thread, NULL));
	if (s->how == KILLED)
		exit(0);
	ready_to_send(&absent);
	atomic_fetch_add(&world->ready, 1);
	await(&world->ready, 4);
	talk(&absent, CALLER, ABSENT);
	atomic_fetch_add(&world->ready, 1);
	await(&world->ready, 6);
	exit(0);
}

static void bystander_main(struct rt_dev *dev)
{
	struct rt_side side = published(dev, &world->others[BYSTANDER]);

	atomic_fetch_add(&world->published, 1);
	await(&world->away, 1);
	rt_side_rtr(&side, &world->caller[BYSTANDER]);
	ready_to_send(&side);
	atomic_fetch_add(&world->ready, 1);
	await(&world->ready, 2);
	talk(&side, BYSTANDER, CALLER);
	await(&world->served, 1);
	exit(0);
}

/* An application at its limit of descriptors gets an error; its QP takes no other path. */
static void without_descriptors(struct rt_side *side)
{
	struct rlimit limit, none;
	int lowest = dup(0);

	CHECK(lowest >= 0);
	close(lowest);
	CHECK_OK(getrlimit(RLIMIT_NOFILE, &limit));
	none = (struct rlimit){ .rlim_cur = lowest, .rlim_max = limit.rlim_max };
	CHECK_OK(setrlimit(RLIMIT_NOFILE, &none));
	atomic_store(&world->away, 1);
	CHECK_INT(rt_side_try_rtr(side, &world->caller[ABSENT]), EMFILE);
	await(&world->back, 1);
	CHECK_OK(setrlimit(RLIMIT_NOFILE, &limit));
}

static void absent_main(struct rt_dev *dev, const struct situation *s)
{
	struct rt_side side = published(dev, &world->others[ABSENT]);

	atomic_fetch_add(&world->published, 1);
	await(&world->published, ROLES);
	if (s->how == FULL)
		without_descriptors(&side);
	else if (s->how != OWN_WAY)
		raise(SIGSTOP);
	rt_side_rtr(&side, &world->caller[ABSENT]);
	ready_to_send(&side);
	atomic_fetch_add(&world->ready, 1);
	await(&world->ready, 4);
	talk(&side, ABSENT, CALLER);
	atomic_fetch_add(&world->ready, 1);
	await(&world->ready, 6);
	exit(0);
}

static pid_t role_start(const struct situation *s, enum role role)
{
	struct rt_dev *dev;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0);
	if (pid)
		return pid;
	alarm(RT_SECONDS);
	net_enter(NET_HERE);
	setenv("VERBS_LOG_LEVEL", "0", 0);
	if (role == ABSENT && s->how == OWN_WAY)
		setenv("UROCE_PATH", "udp", 1);
	dev = opened_in_turn(s, role);
	if (role == CALLER)
		caller_main(dev, s);
	else if (role == ABSENT)
		absent_main(dev, s);
	else
		bystander_main(dev);
	return -1;
}

static void ended_well(pid_t pid, int expected)
{
	int status;

	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, expected);
}

static void situation_run(const struct situation *s)
{
	bool stops = s->how == STOPPED || s->how == KILLED;
	pid_t pids[ROLES];
	int status;

	printf("%s\n", s->name);
	memset(world, 0, sizeof(*world));
	for (int i = 0; i < ROLES; i++)
		pids[i] = role_start(s, i);
	if (stops) {
		CHECK_INT(waitpid(pids[ABSENT], &status, WUNTRACED), pids[ABSENT]);
		CHECK(WIFSTOPPED(status));
	}
	if (s->how != FULL)
		atomic_store(&world->away, 1);
	while (!atomic_load(&world->served)) {
		CHECK_INT(waitpid(-1, &status, WNOHANG), 0); /* no process has failed */
		usleep(1000);
	}
	if (s->how != OWN_WAY)
		usleep(PAUSE);
	atomic_store(&world->back, 1);
	if (stops)
		CHECK_OK(kill(pids[ABSENT], s->how == KILLED ? SIGKILL : SIGCONT));
	ended_well(pids[BYSTANDER], 0);
	ended_well(pids[CALLER], 0);
	ended_well(pids[ABSENT], s->how == KILLED ? SIGKILL : 0);
	CHECK(!net_left_over(NET_HERE));
}

int main(int argc, char **argv)
{
	alarm(RT_SECONDS);
	net_make("shm");
	world = mmap(NULL, sizeof(*world), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	CHECK(world != MAP_FAILED);
	for (int i = 0; i < RT_COUNT(situations); i++)
		if (argc < 2 || !strcmp(argv[1], situations[i].name))
			situation_run(&situations[i]);
	return 0;
}

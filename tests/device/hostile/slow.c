/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A peer on the same host is stopped with its queue pair ready. The sender checks repeatedly
 * whether the peer is only slow, and keeps no additional mapping for that. If the peer
 * continues, all messages arrive. Otherwise the retries end, the sooner the fewer they are. */
#include <signal.h>
#include <sys/wait.h>

#include <infiniband/uroce.h>

#include "tests/device/hostile/net.h"
#include "tests/lib/rt.h"
#include "tests/lib/rt_child.h"

enum {
	MESSAGES = 8,
	LENGTH = 256,
	SEED = 5,
	LOOKS = 3, /* timeouts after which the sender has checked */
};

/* The peer: reports when it is ready, and when all messages have come. */
static void peer_main(int socket, int messages)
{
	struct rt_dev *dev;
	struct rt_side side;
	struct rt_address mine, theirs;

	net_enter(NET_HERE);
	dev = rt_open();
	side = rt_side_open(dev, NULL, NULL);
	mine = rt_side_address(&side);
	theirs = rt_exchange(socket, &mine);
	rt_side_connect(&side, &theirs);
	for (int i = 0; i < messages; i++)
		rt_recv(&side, i, i * LENGTH, LENGTH);
	rt_tell(socket, 0);
	for (int i = 0; i < messages; i++)
		EXPECT(&side, i, IBV_WC_RECV);
	VERIFY(side.buf.p, messages * LENGTH, SEED);
	rt_tell(socket, 0);
	rt_hear(socket);
	rt_side_close(&side);
	rt_close(dev);
}

static uint64_t counter(const struct rt_side *side, const char *name)
{
	struct uroce_counter counters[64];
	int n = uroce_query_counters(side->dev->ctx, side->qp, counters, RT_COUNT(counters));

	for (int i = 0; i < n; i++)
		if (!strcmp(counters[i].name, name))
			return counters[i].value;
	FAIL("no counter %s", name);
}

/* Return the KiB of others' boards that are mapped, none of them writable. */
static unsigned long boards_kib(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long start, end, kib = 0;
	char line[512], rights[5];

	CHECK(maps);
	while (fgets(line, sizeof(line), maps))
		if (strstr(line, "uroce-board") &&
		    sscanf(line, "%lx-%lx %4s", &start, &end, rights) == 3 && rights[1] == '-')
			kib += (end - start) / 1024;
	fclose(maps);
	return kib;
}

struct sender {
	struct rt_child peer;
	struct rt_dev *dev;
	struct rt_side side;
};

static void begin(struct sender *s, const struct rt_options *options)
{
	struct rt_address mine, theirs;

	net_make("shm");
	s->peer = rt_child_start(peer_main, MESSAGES);
	net_enter(NET_HERE);
	s->dev = rt_open();
	s->side = rt_side_open(s->dev, options, NULL);
	mine = rt_side_address(&s->side);
	theirs = rt_exchange(s->peer.socket, &mine);
	rt_side_connect(&s->side, &theirs);
	rt_hear(s->peer.socket);
	CHECK_OK(kill(s->peer.pid, SIGSTOP));
	CHECK_INT(waitpid(s->peer.pid, NULL, WUNTRACED), s->peer.pid);
	rt_fill(s->side.buf.p, MESSAGES * LENGTH, SEED);
	for (int i = 0; i < MESSAGES; i++) {
		struct ibv_sge sge = rt_sge(&s->side, i * LENGTH, LENGTH);
		struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, i, &sge);

		POST(&s->side, &wr);
	}
}

static void end(struct sender *s)
{
	rt_side_close(&s->side);
	rt_close(s->dev);
}

static void goes_on(void)
{
	static const struct rt_options options = { .timeout = 12, .retry_cnt = 7 };
	struct sender s;
	unsigned long before;

	begin(&s, &options);
	before = boards_kib();
	CHECK(before);
	while (counter(&s.side, "local_ack_timeout_err") < LOOKS)
		usleep(1000);
	CHECK_INT(boards_kib(), before);
	CHECK_OK(kill(s.peer.pid, SIGCONT));
	for (int i = 0; i < MESSAGES; i++)
		EXPECT(&s.side, i, IBV_WC_SEND);
	rt_hear(s.peer.socket);
	rt_tell(s.peer.socket, 0);
	rt_child_finish(&s.peer);
	end(&s);
}

/* The sender retries as often as configured, and each wait is as long as for a process. */
static void stays_stopped(int retry_cnt)
{
	const struct rt_options options = { .timeout = 12, .retry_cnt = retry_cnt };
	struct sender s;

	begin(&s, &options);
	EXPECT_STATUS(&s.side, 0, IBV_WC_RETRY_EXC_ERR);
	CHECK_INT(counter(&s.side, "retry_exceeded_err"), 1);
	for (int i = 1; i < MESSAGES; i++)
		EXPECT_STATUS(&s.side, i, IBV_WC_WR_FLUSH_ERR);
	rt_child_kill(&s.peer);
	end(&s);
}

static void stays_stopped_once(void)
{
	stays_stopped(1);
}

static void stays_stopped_long(void)
{
	stays_stopped(7);
}

static const struct rt_case cases[] = {
	{ "goes_on", goes_on },
	{ "stays_stopped_once", stays_stopped_once },
	{ "stays_stopped_long", stays_stopped_long },
};

RT_MAIN(cases)

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * usage: congestion [-n SENDERS] [-t SECONDS] [-r MBIT] [-q QDISC] [-m MTU] [-l BYTES] [-p MS]
 *                   [-f PERCENT] [-u PERCENT] [-w COUNT] [-e] [-d]
 *
 * Hosts around a switch, each a network namespace: SENDERS write to one receiver at once (incast),
 * whose link is narrower than the links of the senders. The link is a tbf of MBIT, with QDISC
 * inside (e.g. "fq_codel ecn") or a short queue without; 0: as wide as the others. With -p the
 * receiver is stopped repeatedly for this time in ms.
 *
 * No request may fail. Further checks:
 *
 * - -f: the share of each sender differs from the mean by at most this percentage.
 *
 * - -u: at most this percentage of all packets is sent again.
 *
 * - -w: at most this number of packets is sent again for each stop.
 *
 * - -e: there were congestion marks and notifications.
 *
 * -d: the hosts' processes have no privilege, so that their receive buffers have the kernel's
 * default limit.
 */
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include <infiniband/uroce.h>

#include "tests/lib/rt.h"
#include "tests/device/uroce/net.h"

enum {
	SENDERS_MAX = 64,
	BUFFER = 1 << 20,
	AHEAD = 8, /* messages posted at once */
	COUNTERS_MAX = 64,
	NOBODY = 65534,
	MISSED_MS = 5, /* a completion that came before the wait for it */
	RUNS = 2,      /* between two stops the receiver runs for 1/RUNS of a stop */
};

static struct {
	unsigned int senders, seconds, mbit, mtu, length, stop, fair, again, waste;
	const char *qdisc;
	bool marks, plain;
} options = { .senders = 16, .seconds = 2, .mbit = 0, .mtu = 1500, .length = 8192 };

/* The report of a sender at the end. */
struct result {
	uint64_t bytes, sent, again, notified;
	int status; /* enum ibv_wc_status of the first failure */
};

static double seconds_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

__attribute__((format(printf, 1, 2))) static int shell(const char *format, ...)
{
	char command[1024];
	va_list list;

	va_start(list, format);
	vsnprintf(command, sizeof(command), format, list);
	va_end(list);
	return system(command);
}

static uint64_t counter(struct rt_dev *dev, const char *name)
{
	struct uroce_counter counters[COUNTERS_MAX];
	int count = uroce_query_counters(dev->ctx, NULL, counters, COUNTERS_MAX);

	for (int i = 0; i < count; i++)
		if (!strcmp(counters[i].name, name))
			return counters[i].value;
	return 0;
}

/* --- the hosts --- */

static void message_post(struct rt_side *side, const struct rt_address *peer)
{
	struct ibv_sge sge = rt_sge(side, 0, options.length);
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, 0, &sge);

	wr.wr.rdma.remote_addr = peer->addr;
	wr.wr.rdma.rkey = peer->rkey;
	POST(side, &wr);
}

/* Sleep, because the few processors here are needed by others. */
static void completion_wait(struct rt_side *side)
{
	struct pollfd fd = { .fd = side->channel->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *context;

	CHECK_OK(ibv_req_notify_cq(side->cq, 0));
	if (poll(&fd, 1, MISSED_MS) > 0) {
		CHECK_OK(ibv_get_cq_event(side->channel, &cq, &context));
		ibv_ack_cq_events(cq, 1);
	}
}

/* Send until the time is over or a request fails. */
static void messages_send(struct rt_side *side, const struct rt_address *peer,
			  struct result *result)
{
	double end = seconds_now() + options.seconds;
	unsigned int posted = 0;
	struct ibv_wc wc;

	for (;;) {
		bool over = seconds_now() >= end;
		int n;

		while (!over && posted < AHEAD) {
			message_post(side, peer);
			posted++;
		}
		if (!posted)
			return;
		n = ibv_poll_cq(side->cq, 1, &wc);
		CHECK(n >= 0);
		if (!n) {
			completion_wait(side);
			continue;
		}
		posted--;
		if (wc.status != IBV_WC_SUCCESS) {
			result->status = wc.status;
			return;
		}
		result->bytes += options.length;
	}
}

static const struct rt_options qp_options = { .size = BUFFER, .channel = true, .timeout = 18 };

static void sender(int receiver, int parent)
{
	struct rt_dev *dev = rt_open();
	struct rt_side side = rt_side_open(dev, &qp_options, NULL);
	struct rt_address mine = rt_side_address(&side), peer = rt_exchange(receiver, &mine);
	struct result result = {};
	char byte = 0;

	rt_side_connect(&side, &peer);
	CHECK_INT(send(parent, &byte, 1, MSG_NOSIGNAL), 1);
	CHECK_INT(recv(parent, &byte, 1, MSG_WAITALL), 1);
	messages_send(&side, &peer, &result);
	result.sent = counter(dev, "sent_pkts");
	result.again = counter(dev, "resent_pkts");
	result.notified = counter(dev, "rp_cnp_handled");
	CHECK_INT(send(parent, &result, sizeof(result), MSG_NOSIGNAL), sizeof(result));
	CHECK_INT(recv(parent, &byte, 1, MSG_WAITALL), 1);
	rt_side_close(&side);
	rt_close(dev);
}

/* The device's own thread does the work of the receiver. */
static void receiver(const int *senders, int parent)
{
	static struct rt_side sides[SENDERS_MAX];
	struct rt_dev *dev = rt_open();
	uint64_t marked;
	char byte = 0;

	for (unsigned int i = 0; i < options.senders; i++) {
		struct rt_address mine, peer;

		sides[i] = rt_side_open(dev, &qp_options, NULL);
		mine = rt_side_address(&sides[i]);
		peer = rt_exchange(senders[i], &mine);
		rt_side_connect(&sides[i], &peer);
	}
	CHECK_INT(send(parent, &byte, 1, MSG_NOSIGNAL), 1);
	CHECK_INT(recv(parent, &byte, 1, MSG_WAITALL), 1);
	marked = counter(dev, "np_ecn_marked_roce_packets");
	CHECK_INT(send(parent, &marked, sizeof(marked), MSG_NOSIGNAL), sizeof(marked));
	CHECK_INT(recv(parent, &byte, 1, MSG_WAITALL), 1);
	for (unsigned int i = 0; i < options.senders; i++)
		rt_side_close(&sides[i]);
	rt_close(dev);
}

/* --- the network --- */

struct host {
	pid_t pid;
	int socket; /* connection to the process */
};

static struct host hosts[SENDERS_MAX + 1]; /* the last one is the receiver */

static void privilege_drop(void)
{
	CHECK_OK(setuid(NOBODY));
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* the fork cleared it */
}

/* Start a process in a network of its own, with a link to the switch. */
static struct host host_start(unsigned int number, const int *peers)
{
	int sockets[2];
	struct host host;
	char byte = 0;

	CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	host = (struct host){ .pid = fork(), .socket = sockets[0] };
	CHECK(host.pid >= 0);
	if (!host.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(sockets[0]);
		CHECK_OK(unshare(CLONE_NEWNET));
		CHECK_INT(send(sockets[1], &byte, 1, MSG_NOSIGNAL), 1);
		CHECK_INT(recv(sockets[1], &byte, 1, MSG_WAITALL), 1);
		CHECK_OK(shell(
			"ip link set lo up && ip link set eth0 mtu %u && "
			"ip addr add 10.0.0.%u/24 dev eth0 && ip link set eth0 up && "
			"until ip link show dev eth0 | grep -q 'state UP'; do sleep 0.02; done",
			options.mtu, number + 1));
		CHECK_INT(send(sockets[1], &byte, 1, MSG_NOSIGNAL), 1);
		CHECK_INT(recv(sockets[1], &byte, 1, MSG_WAITALL), 1);
		if (options.plain)
			privilege_drop();
		if (number == options.senders)
			receiver(peers, sockets[1]);
		else
			sender(peers[0], sockets[1]);
		exit(0);
	}
	close(sockets[1]);
	CHECK_INT(recv(host.socket, &byte, 1, MSG_WAITALL), 1);
	CHECK_OK(shell("ip link add port%u mtu %u type veth peer name eth0 netns %d && "
		       "ip link set port%u master switch && ip link set port%u up",
		       number, options.mtu, host.pid, number, number));
	CHECK_INT(send(host.socket, &byte, 1, MSG_NOSIGNAL), 1);
	CHECK_INT(recv(host.socket, &byte, 1, MSG_WAITALL), 1);
	return host;
}

/* Set a token bucket towards the receiver, and the kind of its queue. */
static void narrow(void)
{
	if (!options.mbit)
		return;
	if (shell("tc qdisc add dev port%u root handle 1: tbf rate %umbit burst 32k limit %u",
		  options.senders, options.mbit, options.qdisc ? 4 << 20 : 128 << 10))
		rt_skip("this kernel has no tbf");
	if (options.qdisc &&
	    shell("tc qdisc add dev port%u parent 1:1 %s", options.senders, options.qdisc))
		rt_skip("this kernel has no %s", options.qdisc);
}

static void network_make(void)
{
	int out[SENDERS_MAX], in[SENDERS_MAX];

	net_own();
	if (shell("ip link add switch type bridge && ip link set switch up"))
		rt_skip("a bridge cannot be made here");
	for (unsigned int i = 0; i < options.senders; i++) {
		int pair[2];

		CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
		out[i] = pair[0];
		in[i] = pair[1];
	}
	for (unsigned int i = 0; i < options.senders; i++)
		hosts[i] = host_start(i, &out[i]);
	hosts[options.senders] = host_start(options.senders, in);
	narrow();
}

/* --- the whole --- */

static void all_go(unsigned int count)
{
	char byte = 0;

	for (unsigned int i = 0; i < count; i++)
		CHECK_INT(send(hosts[i].socket, &byte, 1, MSG_NOSIGNAL), 1);
}

static void all_wait(unsigned int count)
{
	char byte;

	for (unsigned int i = 0; i < count; i++)
		CHECK_INT(recv(hosts[i].socket, &byte, 1, MSG_WAITALL), 1);
}

/* Stop and continue the receiver as long as the senders send. Return how often. */
static unsigned int stop_and_go(pid_t pid)
{
	double end = seconds_now() + options.seconds;
	unsigned int stops = 0;

	for (; seconds_now() < end; stops++) {
		kill(pid, SIGSTOP);
		usleep(options.stop * 1000);
		kill(pid, SIGCONT);
		usleep(options.stop * 1000 / RUNS);
	}
	return stops;
}

static void judge(const struct result *results, uint64_t marked, unsigned int stops)
{
	struct result all = {}, least = results[0], most = results[0];
	unsigned int failed = 0;
	double mean, again;

	for (unsigned int i = 0; i < options.senders; i++) {
		all.bytes += results[i].bytes;
		all.sent += results[i].sent;
		all.again += results[i].again;
		all.notified += results[i].notified;
		if (results[i].bytes < least.bytes)
			least = results[i];
		if (results[i].bytes > most.bytes)
			most = results[i];
		if (results[i].status) {
			printf("sender %u: %s\n", i, ibv_wc_status_str(results[i].status));
			failed++;
		}
	}
	mean = (double)all.bytes / options.senders;
	again = all.sent ? 100.0 * all.again / all.sent : 0;
	printf("%.1f MB/s; shares %.0f %% to %.0f %% of the mean; %llu packets, %llu again (%.2f %%), %llu marked, "
	       "%llu notifications\n",
	       all.bytes / 1e6 / options.seconds, 100 * least.bytes / mean, 100 * most.bytes / mean,
	       (unsigned long long)all.sent, (unsigned long long)all.again, again,
	       (unsigned long long)marked, (unsigned long long)all.notified);
	CHECK_INT(failed, 0);
	CHECK(all.bytes > 0);
	if (options.again && again > options.again)
		FAIL("more than %u %% of the packets were sent again", options.again);
	if (options.waste && all.again > (uint64_t)options.waste * stops)
		FAIL("in %u stops more than %u packets each were sent again", stops, options.waste);
	if (options.fair && (least.bytes < mean * (100 - options.fair) / 100 ||
			     most.bytes > mean * (100 + options.fair) / 100))
		FAIL("shares differ by more than %u %% from the mean", options.fair);
	if (options.marks && (!marked || !all.notified))
		FAIL("no congestion was told");
}

static void run(void)
{
	static struct result results[SENDERS_MAX];
	unsigned int n = options.senders, stops = 0;
	uint64_t marked;
	int status;

	setenv("UROCE", "on:eth0", 1);
	setenv("RT_DEVICE", "uroce_eth0", 1);
	network_make();
	all_go(n + 1);
	all_wait(n + 1); /* connected */
	all_go(n);
	if (options.stop)
		stops = stop_and_go(hosts[n].pid);
	for (unsigned int i = 0; i < n; i++)
		CHECK_INT(recv(hosts[i].socket, &results[i], sizeof(results[i]), MSG_WAITALL),
			  sizeof(results[i]));
	CHECK_INT(send(hosts[n].socket, &status, 1, MSG_NOSIGNAL), 1);
	CHECK_INT(recv(hosts[n].socket, &marked, sizeof(marked), MSG_WAITALL), sizeof(marked));
	judge(results, marked, stops);
	all_go(n + 1);
	for (unsigned int i = 0; i <= n; i++)
		CHECK(waitpid(hosts[i].pid, &status, 0) == hosts[i].pid && !status);
}

static void options_read(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "n:t:r:q:m:l:p:f:u:w:ed")) >= 0) {
		if (c == 'n')
			options.senders = atoi(optarg);
		else if (c == 't')
			options.seconds = atoi(optarg);
		else if (c == 'r')
			options.mbit = atoi(optarg);
		else if (c == 'q')
			options.qdisc = optarg;
		else if (c == 'm')
			options.mtu = atoi(optarg);
		else if (c == 'l')
			options.length = atoi(optarg);
		else if (c == 'p')
			options.stop = atoi(optarg);
		else if (c == 'f')
			options.fair = atoi(optarg);
		else if (c == 'u')
			options.again = atoi(optarg);
		else if (c == 'w')
			options.waste = atoi(optarg);
		else if (c == 'e')
			options.marks = true;
		else if (c == 'd')
			options.plain = true;
		else
			exit(2);
	}
	if (!options.senders || options.senders > SENDERS_MAX || !options.length ||
	    options.length > BUFFER) {
		fprintf(stderr, "congestion: 1 to %d senders, messages of 1 to %d bytes\n",
			SENDERS_MAX, BUFFER);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	options_read(argc, argv);
	run();
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Two hosts and a firewall that passes only packets from port 4791 to port 4791, inbound or
 * outbound, on one host or both: packets of flows never arrive. Every byte of a conversation
 * arrives, and every packet on the link has the ICRC that belongs to its header. */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "tests/device/hostile/net.h"
#include "tests/device/hostile/wire.h"
#include "tests/lib/rt.h"

enum {
	MESSAGES = 300,
	LENGTH = 20000, /* several packets */
	TOLD = 3,
	WRITES = 64,
	MANY = 8192,
	PATIENCE = 256, /* times MANY: after two losses a flow is not used for a million messages */
	IN = 0,		/* offsets in the buffer */
	OUT = 32768,
	WRITTEN = 61440,
};

/* The nft expression of all cases, which matches the packets of flows. */
#define FLOW_PACKETS "udp dport 4791 udp sport != 4791"

struct wall {
	const char *hook; /* NULL: no firewall */
	bool on[NET_HOSTS];
	bool ipv6;
	bool falls; /* built during traffic, and removed again */
};

/* Count packets before a firewall in the same host's input drops them. */

static void nft(const char *commands)
{
	char line[512];

	snprintf(line, sizeof(line), "nft '%s'", commands);
	CHECK_OK(system(line));
}

/* Count packets in a chain that runs before the rules that drop them (wall_build()). */
static void count_packets(void)
{
	nft("add table inet f; add counter inet f flows; add counter inet f walled;"
	    "add chain inet f in { type filter hook input priority -10; };"
	    "add rule inet f in " FLOW_PACKETS " counter name flows");
}

static void wall_build(const char *hook)
{
	char commands[256];

	snprintf(commands, sizeof(commands),
		 "add chain inet f wall { type filter hook %s priority 10; };"
		 "add rule inet f wall " FLOW_PACKETS " counter name walled drop",
		 hook);
	nft(commands);
}

static void wall_fall(void)
{
	nft("flush chain inet f wall");
}

static unsigned long long counted(const char *name)
{
	unsigned long long packets;
	char line[128];
	bool found = false;
	FILE *f;

	snprintf(line, sizeof(line), "nft list counter inet f %s", name);
	f = popen(line, "re");
	CHECK(f);
	while (fgets(line, sizeof(line), f))
		found |= sscanf(line, " packets %llu", &packets) == 1;
	CHECK_OK(pclose(f));
	CHECK(found);
	return packets;
}

/* --- the conversation --- */

struct talk {
	struct rt_side side;
	struct rt_address peer;
	int host, socket;
	uint32_t posted, sent, received, heard;
};

static void take(struct talk *talk)
{
	struct ibv_wc wc = rt_wait(&talk->side);

	if (wc.status != IBV_WC_SUCCESS)
		FAIL("after %u messages there and %u back: %s", talk->posted, talk->heard,
		     ibv_wc_status_str(wc.status));
	if (wc.opcode & IBV_WC_RECV)
		talk->received++;
	else
		talk->sent++;
}

static void all_sent(struct talk *talk)
{
	while (talk->sent != talk->posted)
		take(talk);
}

/* Both sides know the messages, because the messages follow from their numbers. */
static void say(struct talk *talk, uint32_t length)
{
	struct ibv_sge sge = rt_sge(&talk->side, OUT, length);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, talk->posted, &sge);

	all_sent(talk); /* the buffer is free */
	rt_fill(talk->side.buf.p + OUT, length, 2 * talk->posted + talk->host);
	talk->posted++;
	POST(&talk->side, &wr);
}

static void hear(struct talk *talk, uint32_t length)
{
	uint32_t n = talk->heard++;

	while (talk->received == n)
		take(talk);
	VERIFY(talk->side.buf.p + IN, length, 2 * n + !talk->host);
	memset(talk->side.buf.p + IN, 0, length);
	rt_recv(&talk->side, n, IN, LENGTH);
}

/* Send messages to a side that sends only acknowledgements. */
static void tell(struct talk *talk, int who)
{
	for (int i = 0; i < TOLD; i++)
		if (talk->host == who)
			say(talk, LENGTH);
		else
			hear(talk, LENGTH);
	all_sent(talk);
}

static void converse(struct talk *talk)
{
	for (unsigned int i = 0; i < MESSAGES; i++) {
		uint32_t length = 1 + i * 97 % LENGTH;

		if (talk->host == NET_HERE)
			say(talk, length);
		hear(talk, length);
		if (talk->host == NET_THERE)
			say(talk, length);
	}
	all_sent(talk);
}

/* Exchange a word; return the other side's. */
static bool agree(struct talk *talk, bool mine)
{
	char byte = mine;

	CHECK(send(talk->socket, &byte, 1, MSG_NOSIGNAL) == 1);
	CHECK_INT(recv(talk->socket, &byte, 1, MSG_WAITALL), 1);
	return byte;
}

/* --- one host --- */

static const char *netdev(int host)
{
	return host == NET_HERE ? "here0" : "there0";
}

static void use_ipv6(int host)
{
	char command[256];
	const char *dev = netdev(host);

	snprintf(command, sizeof(command),
		 "ip addr flush dev %s && ip addr add 2001:db8::%d/64 dev %s nodad", dev, host + 1,
		 dev);
	CHECK_OK(system(command));
}

/* Segment large sends before they reach the link. */
static void cut_up(int host)
{
	char command[64];

	snprintf(command, sizeof(command), "ip link set %s gso_max_segs 1", netdev(host));
	CHECK_OK(system(command));
}

static void talk_open(struct talk *talk)
{
	/* A busy machine must not count as a lost peer. */
	static const struct rt_options options = { .timeout = 16, .send_wr = WRITES };
	struct rt_address mine;

	talk->side = rt_side_open(rt_open(), &options, NULL);
	mine = rt_side_address(&talk->side);
	talk->peer = rt_exchange(talk->socket, &mine);
	rt_side_connect(&talk->side, &talk->peer);
	rt_recv(&talk->side, 0, IN, LENGTH);
	agree(talk, true);
}

static void talk_close(struct talk *talk)
{
	struct rt_dev *dev = talk->side.dev;

	rt_side_close(&talk->side);
	rt_close(dev);
}

/* A firewall that existed from the first packet must have dropped packets. With a later one the
 * flows may be at rest because the machine is busy. */
static void behind_wall(struct talk *talk, const struct wall *wall)
{
	bool mine = wall->hook && wall->on[talk->host];

	if (mine)
		wall_build(wall->hook);
	agree(talk, true);
	tell(talk, NET_HERE);
	agree(talk, true);
	tell(talk, NET_THERE);
	converse(talk);
	if (mine && !wall->falls)
		CHECK(counted("walled") > 0);
}

/* Send many messages in little time: each is longer than the one before, so that each leaves as
 * a packet of its own. */
static void write_many(struct talk *talk)
{
	for (uint32_t i = 1; i <= WRITES; i++) {
		struct ibv_sge sge = rt_sge(&talk->side, OUT, 4 * i);
		struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, i, &sge);

		wr.send_flags = i == WRITES ? IBV_SEND_SIGNALED : 0;
		wr.wr.rdma.remote_addr = talk->peer.addr + WRITTEN;
		wr.wr.rdma.rkey = talk->peer.rkey;
		POST(&talk->side, &wr);
	}
	EXPECT(&talk->side, WRITES, IBV_WC_RDMA_WRITE);
}

/* Without a firewall, packets go over the kernel's flows again after a while. */
static void until_flows(struct talk *talk)
{
	unsigned long long before = counted("flows");
	bool mine = false, theirs = false;

	rt_fill(talk->side.buf.p + OUT, 4 * WRITES, talk->host);
	agree(talk, true);
	for (int i = 0; !mine || !theirs; i++) {
		if (i == PATIENCE)
			FAIL("nothing comes by a flow%s", mine ? " at the other host" : "");
		for (int n = 0; n < MANY / WRITES; n++)
			write_many(talk);
		mine = counted("flows") > before;
		theirs = agree(talk, mine);
	}
	VERIFY(talk->side.buf.p + WRITTEN, 4 * WRITES, !talk->host);
	agree(talk, true);
}

static void host_run(const struct wall *wall, int host, int socket)
{
	struct talk talk = { .host = host, .socket = socket };
	struct wire wire = {};

	net_enter(host);
	if (wall->ipv6)
		use_ipv6(host);
	count_packets();
	cut_up(host);
	if (host == NET_HERE)
		wire = wire_watch(netdev(host));
	talk_open(&talk);
	if (wall->falls)
		until_flows(&talk);
	behind_wall(&talk, wall);
	if (wall->falls && wall->on[host])
		wall_fall();
	if (wall->falls || !wall->hook) {
		until_flows(&talk);
		converse(&talk);
	}
	talk_close(&talk);
	if (host == NET_HERE)
		wire_end(&wire);
}

static void two_hosts(const void *arg)
{
	int sockets[2], status;
	pid_t pid;

	net_make("udp");
	if (system("nft list tables"))
		rt_skip("nft does not work here");
	CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets));
	pid = fork();
	CHECK(pid >= 0);
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(sockets[!pid]);
	host_run(arg, pid ? NET_HERE : NET_THERE, sockets[!!pid]);
	if (!pid)
		exit(0);
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);
}

#define WALL(...)                                          \
	.run_with = two_hosts, .arg = &(const struct wall) \
	{                                                  \
		__VA_ARGS__                                \
	}

static const struct rt_case cases[] = {
	{ "none", WALL(NULL) },
	{ "none_ipv6", WALL(.ipv6 = true) },
	{ "input_here", WALL("input", { true, false }) },
	{ "input_there", WALL("input", { false, true }) },
	{ "input_both", WALL("input", { true, true }) },
	{ "input_both_ipv6", WALL("input", { true, true }, .ipv6 = true) },
	{ "output_here", WALL("output", { true, false }) },
	{ "output_there", WALL("output", { false, true }) },
	{ "input_falls", WALL("input", { true, false }, .falls = true) },
	{ "output_falls", WALL("output", { true, true }, .falls = true) },
};

RT_MAIN(cases)

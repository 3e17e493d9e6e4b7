/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Join a multicast group; send to it or receive from it. */
#include <arpa/inet.h>
#include <limits.h>
#include <string.h>

#include <infiniband/ib.h>

#include "tool.h"

#define RESOLVE_MS     2000
#define FABRIC_SETTLES 3 /* seconds to wait after a join on InfiniBand */
#define FULL_PKEY      0xffff

static struct tool_test test = {
	.prefix = "mckey",
	.datagrams = true,
	.connections = 1,
	.messages = 10,
	.size = 100,
};

static int port_space = RDMA_PS_UDP;
static const char *group, *raw_group, *source;
static bool sender, send_only, no_loopback;
static struct sockaddr_storage group_addr, source_addr;

static const struct tool_option options[] = {
	{ 'm', TOOL_TEXT, &group, "ADDRESS", "IP address of the group" },
	{ 'M', TOOL_TEXT, &raw_group, "GID", "GID of the group instead; needs -b" },
	{ 's', TOOL_FLAG, &sender, NULL, "send (without: receive)" },
	{ 'b', TOOL_TEXT, &source, "ADDRESS", "local address (default: by the route)" },
	{ 'c', TOOL_NUMBER, &test.connections, "COUNT", "queues to join with (default 1)", 1,
	  1 << 20 },
	{ 'C', TOOL_NUMBER, &test.messages, "COUNT", "messages for each (default 10)", 0, 1 << 20 },
	{ 'S', TOOL_NUMBER, &test.size, "BYTES", "size of a message, up to the MTU (default 100)",
	  0, INT_MAX / 4 },
	{ 'p', TOOL_WORD, &port_space, "SPACE", "port space: 0x111, UDP (default), or 0x2, IPoIB",
	  .words = tool_datagram_spaces },
	{ 'o', TOOL_FLAG, &send_only, NULL, "join as a sender that receives nothing" },
	{ 'l', TOOL_FLAG, &no_loopback, NULL, "what is sent does not come back to this host" },
	{},
};

/* ---- addresses ---- */

static void raw_group_parse(void)
{
	struct sockaddr_ib *sib = (struct sockaddr_ib *)&group_addr;

	*sib = (struct sockaddr_ib){ .sib_family = AF_IB, .sib_pkey = htobe16(FULL_PKEY) };
	if (!strcmp(raw_group, "0"))
		return;
	if (inet_pton(AF_INET6, raw_group, &sib->sib_addr) != 1)
		tool_mistake(1, "-M %s: a GID, written like an IPv6 address, is expected",
			     raw_group);
}

static int addresses_parse(void)
{
	int r = 0;

	if (source)
		r = tool_ip_address(source, &source_addr);
	if (!r && !raw_group)
		r = tool_ip_address(group, &group_addr);
	return r;
}

/* ---- joining ---- */

static int join(struct tool_peer *peer)
{
	struct rdma_cm_join_mc_attr_ex attr = {
		.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
		.join_flags = send_only ? RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER
					: RDMA_MC_JOIN_FLAG_FULLMEMBER,
		.addr = (struct sockaddr *)&group_addr,
	};

	if (tool_peer_open(&test, peer))
		return -1;
	return rdma_join_multicast_ex(peer->id, &attr, peer)
		       ? tool_perror("mckey", "failure joining")
		       : 0;
}

static int on_joined(struct tool_peer *peer, const struct rdma_ud_param *param)
{
	char gid[INET6_ADDRSTRLEN];

	inet_ntop(AF_INET6, param->ah_attr.grh.dgid.raw, gid, sizeof(gid));
	printf("mckey: joined dgid: %s mlid 0x%x sl %d\n", gid, param->ah_attr.dlid,
	       param->ah_attr.sl);
	peer->connected = true;
	test.connects_left--;
	return tool_peer_set_address(&test, peer, param);
}

static int on_event(struct tool_test *unused, const struct rdma_cm_event *event)
{
	struct tool_peer *peer = event->id->context;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		return join(peer);
	case RDMA_CM_EVENT_MULTICAST_JOIN:
		return on_joined(peer, &event->param.ud);
	case RDMA_CM_EVENT_ADDR_CHANGE:
		printf("mckey: event: %s, status: %d\n", rdma_event_str(event->event),
		       event->status);
		return 0;
	default:
		printf("mckey: event: %s, error: %d\n", rdma_event_str(event->event),
		       event->status);
		return event->status ? event->status : -ENODEV;
	}
}

static int join_start(struct tool_peer *peer)
{
	struct sockaddr *from = source ? (struct sockaddr *)&source_addr : NULL;

	if (rdma_create_id(test.channel, &peer->id, peer, port_space))
		return tool_perror("mckey", "failure creating id");
	if (from && rdma_bind_addr(peer->id, from))
		return tool_perror("mckey", "addr bind failure");
	if (raw_group)
		return join(peer);
	if (rdma_resolve_addr(peer->id, from, (struct sockaddr *)&group_addr, RESOLVE_MS))
		return tool_perror("mckey", "resolve addr failure");
	return 0;
}

static int join_all(void)
{
	int r = 0;

	printf("mckey: joining\n");
	for (int i = 0; i < test.connections && !r; i++)
		r = join_start(&test.peers[i]);
	return r ? r : tool_test_events(&test, &test.connects_left);
}

static void leave_all(void)
{
	for (int i = 0; i < test.connections; i++) {
		if (!test.peers[i].connected)
			continue;
		if (rdma_leave_multicast(test.peers[i].id, (struct sockaddr *)&group_addr))
			tool_perror("mckey", "failure leaving");
	}
}

/* ---- the course ---- */

/*
 * Wait for the fabric. The switches of InfiniBand learn about a new member after the join has been
 * confirmed.
 */
static void wait_for_fabric(struct rdma_cm_id *id)
{
	struct ibv_port_attr port;

	if (!ibv_query_port(id->verbs, id->port_num, &port) &&
	    port.link_layer == IBV_LINK_LAYER_INFINIBAND)
		sleep(FABRIC_SETTLES);
}

static int transfer(void)
{
	int r;

	if (!test.messages)
		return 0;
	if (sender) {
		wait_for_fabric(test.peers[0].id);
		printf("initiating data transfers\n");
		r = tool_test_send(&test);
		if (!r)
			r = tool_test_wait_sent(&test);
	} else {
		printf("receiving data transfers\n");
		r = tool_test_wait_received(&test);
	}
	if (!r)
		printf("data transfers complete\n");
	return r;
}

static int run(void)
{
	int r = addresses_parse();

	if (r)
		return r;
	r = join_all();
	if (!r)
		r = transfer();
	leave_all();
	return r;
}

int main(int argc, char **argv)
{
	int r;

	tool_start();
	tool_options_parse(options, 1, argc, argv);
	if (!group && !raw_group)
		tool_mistake(1, "-m is missing: the address of the group");
	if (raw_group && !source)
		tool_mistake(1,
			     "-M: unmapped multicast address requires binding to source address, "
			     "with -b");
	if (raw_group)
		raw_group_parse();
	test.on_event = on_event;
	test.create_flags = no_loopback ? IBV_QP_CREATE_BLOCK_SELF_MCAST_LB : 0;
	if (tool_test_open(&test))
		return 1;
	printf("mckey: starting %s\n", sender ? "client" : "server");
	r = run();
	tool_test_close(&test);
	printf("test complete\n");
	printf("return status %d\n", r);
	return r;
}

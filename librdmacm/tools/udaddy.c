/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Make pairs of datagram queues, and send messages to the server and back. */
#include <limits.h>

#include "tool.h"

static struct tool_test test = {
	.prefix = "udaddy",
	.datagrams = true,
	.connections = 1,
	.messages = 10,
	.size = 100,
	.tos = -1,
	.ack_timeout = -1,
};

static struct tool_names names = {
	.prefix = "udaddy",
	.service = "7174",
	.port_space = RDMA_PS_UDP,
};

static const struct tool_option options[] = {
	{ 's', TOOL_TEXT, &names.destination, "ADDRESS",
	  "be the client of the server there (without: be a server)" },
	{ 'b', TOOL_TEXT, &names.source, "ADDRESS", "local address (default: any)" },
	{ 'f', TOOL_WORD, &names.family, "FORMAT", "of addresses: name (default), ip, ipv6 or gid",
	  .words = tool_address_formats },
	{ 'P', TOOL_WORD, &names.port_space, "SPACE", "port space: udp (default) or ipoib",
	  .words = tool_datagram_spaces },
	{ 'p', TOOL_WORD, &names.port_space, "SPACE", "the same as a number: 0x111 or 0x2",
	  .words = tool_datagram_spaces },
	{ 'c', TOOL_NUMBER, &test.connections, "COUNT", "pairs of queues (default 1)", 1, 1 << 20 },
	{ 'C', TOOL_NUMBER, &test.messages, "COUNT", "messages each way on each (default 10)", 0,
	  1 << 20 },
	{ 'S', TOOL_NUMBER, &test.size, "BYTES", "size of a message, up to the MTU (default 100)",
	  0, INT_MAX / 4 },
	{ 't', TOOL_NUMBER, &test.tos, "TOS", "type of service", 0, UINT8_MAX },
	{},
};

static int exchange_as_server(void)
{
	int r;

	printf("receiving data transfers\n");
	r = tool_test_wait_received(&test);
	if (r)
		return r;
	printf("sending replies\n");
	r = tool_test_send(&test);
	return r ? r : tool_test_wait_sent(&test);
}

static int exchange_as_client(void)
{
	int r;

	printf("initiating data transfers\n");
	r = tool_test_send(&test);
	if (!r)
		r = tool_test_wait_sent(&test);
	if (r)
		return r;
	printf("receiving data transfers\n");
	return tool_test_wait_received(&test);
}

static int exchange(void)
{
	int r;

	if (!test.messages)
		return 0;
	r = names.destination ? exchange_as_client() : exchange_as_server();
	if (!r)
		printf("data transfers complete\n");
	return r;
}

static int run(void)
{
	struct rdma_addrinfo *info = NULL;
	int r = tool_address(&names, &info);

	if (r)
		return r;
	test.connect.private_data = info->ai_connect;
	test.connect.private_data_len = info->ai_connect_len;
	if (names.destination)
		printf("udaddy: connecting\n");
	r = names.destination ? tool_test_connect(&test, info) : tool_test_listen(&test, info);
	if (!r)
		r = exchange();
	rdma_freeaddrinfo(info);
	return r;
}

int main(int argc, char **argv)
{
	int r;

	tool_start();
	tool_options_parse(options, 1, argc, argv);
	if (tool_test_open(&test))
		return 1;
	printf("udaddy: starting %s\n", names.destination ? "client" : "server");
	r = run();
	tool_test_close(&test);
	printf("test complete\n");
	printf("return status %d\n", r);
	return r;
}

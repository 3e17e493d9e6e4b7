/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Make connections, send messages in both directions over each, and end them. */
#include <limits.h>

#include "tool.h"

static const struct tool_word port_spaces[] = {
	{ "tcp", RDMA_PS_TCP },
	{ "ib", RDMA_PS_IB },
	{},
};

static struct tool_test test = {
	.prefix = "cmatose",
	.connections = 1,
	.messages = 10,
	.size = 100,
	.tos = -1,
	.ack_timeout = -1,
	.connect = { .responder_resources = 1, .initiator_depth = 1, .retry_count = 5 },
};

static struct tool_names names = {
	.prefix = "cmatose",
	.service = "7471",
	.port_space = RDMA_PS_TCP,
};

static bool migrate;

static const struct tool_option options[] = {
	{ 's', TOOL_TEXT, &names.destination, "ADDRESS",
	  "be the client of the server there (without: be a server)" },
	{ 'b', TOOL_TEXT, &names.source, "ADDRESS", "local address (default: any)" },
	{ 'f', TOOL_WORD, &names.family, "FORMAT", "of addresses: name (default), ip, ipv6 or gid",
	  .words = tool_address_formats },
	{ 'P', TOOL_WORD, &names.port_space, "SPACE", "port space: tcp (default) or ib",
	  .words = port_spaces },
	{ 'c', TOOL_NUMBER, &test.connections, "COUNT", "connections (default 1)", 1, 1 << 20 },
	{ 'C', TOOL_NUMBER, &test.messages, "COUNT", "messages each way on each (default 10)", 0,
	  1 << 20 },
	{ 'S', TOOL_NUMBER, &test.size, "BYTES", "size of a message (default 100)", 0,
	  INT_MAX / 4 },
	{ 't', TOOL_NUMBER, &test.tos, "TOS", "type of service", 0, UINT8_MAX },
	{ 'p', TOOL_TEXT, &names.service, "PORT", "number or name (default 7471)" },
	{ 'm', TOOL_FLAG, &migrate, NULL, "move the connections to another event channel" },
	{ 'a', TOOL_NUMBER, &test.ack_timeout, "TIMEOUT",
	  "of acknowledgements: 4.096 microseconds * 2^TIMEOUT", 0, 31 },
	{},
};

static int exchange_as_server(void)
{
	int r;

	printf("initiating data transfers\n");
	r = tool_test_send(&test);
	if (r)
		return r;
	printf("completing sends\n");
	r = tool_test_wait_sent(&test);
	if (r)
		return r;
	printf("receiving data transfers\n");
	return tool_test_wait_received(&test);
}

static int exchange_as_client(void)
{
	int r;

	printf("receiving data transfers\n");
	r = tool_test_wait_received(&test);
	if (r)
		return r;
	printf("sending replies\n");
	return tool_test_send(&test);
}

static int exchange(void)
{
	int r = 0;

	if (!test.messages)
		return 0;
	r = names.destination ? exchange_as_client() : exchange_as_server();
	if (!r)
		printf("data transfers complete\n");
	return r;
}

static int move_channel(void)
{
	if (!migrate)
		return 0;
	printf("migrating to new event channel\n");
	return tool_test_migrate(&test);
}

static int run_server(struct rdma_addrinfo *info)
{
	int r = tool_test_listen(&test, info);

	if (!r)
		r = exchange();
	if (!r)
		r = move_channel();
	if (r)
		return r;
	printf("cmatose: disconnecting\n");
	r = tool_test_disconnect(&test);
	if (!r)
		printf("disconnected\n");
	return r;
}

static int run_client(struct rdma_addrinfo *info)
{
	int r;

	printf("cmatose: connecting\n");
	r = tool_test_connect(&test, info);
	if (!r)
		r = exchange();
	if (!r)
		r = move_channel();
	return r ? r : tool_test_events(&test, &test.disconnects_left);
}

static int run(void)
{
	struct rdma_addrinfo *info = NULL;
	int r = tool_address(&names, &info);

	if (r)
		return r;
	test.connect.private_data = info->ai_connect;
	test.connect.private_data_len = info->ai_connect_len;
	r = names.destination ? run_client(info) : run_server(info);
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
	printf("cmatose: starting %s\n", names.destination ? "client" : "server");
	r = run();
	tool_test_close(&test);
	printf("test complete\n");
	printf("return status %d\n", r);
	return r;
}

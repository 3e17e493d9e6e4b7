/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Serve one rdma_client, with synchronous calls. */
#include "tool.h"

static struct tool_hello hello = {
	.prefix = "rdma_server",
	.listen = true,
	.node = "0.0.0.0",
	.port = "7471",
	.type = IBV_QPT_RC,
};

static const struct tool_option options[] = {
	{ 's', TOOL_TEXT, &hello.node, "ADDRESS", "to listen on (default: any)" },
	{ 'p', TOOL_TEXT, &hello.port, "PORT", "number or name (default 7471)" },
	{},
};

int main(int argc, char **argv)
{
	tool_start();
	tool_options_parse(options, 1, argc, argv);
	return tool_hello_run(&hello);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Connect to rdma_xserver, with a choice of transport. */
#include "tool.h"

static struct tool_hello hello = {
	.one_way = true,
	.node = "127.0.0.1",
	.port = "7471",
	.type = IBV_QPT_RC,
};

static const struct tool_option options[] = {
	{ 's', TOOL_TEXT, &hello.node, "ADDRESS", "of the server (default 127.0.0.1)" },
	{ 'p', TOOL_TEXT, &hello.port, "PORT", "number or name (default 7471)" },
	{ 'c', TOOL_WORD, &hello.type, "TYPE", "r: reliable connection (default), x: XRC",
	  .words = tool_hello_types },
	{},
};

int main(int argc, char **argv)
{
	tool_start();
	tool_options_parse(options, 1, argc, argv);
	hello.prefix = argv[0];
	return tool_hello_run(&hello);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Results of right and wrong requests: a line each, "<request>: ok" or "<request>: <errno>", and
 * the granted values. It uses the public API only, and the lines do not differ between two runs,
 * so that the outputs with two libraries on one kernel can be compared line by line
 * (compare-verdicts).
 *
 * usage: verdicts DEVICE PART
 */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/errno_name.h"

#include "verdicts.h"

struct bench b;

void must(bool good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(1);
}

void say(int error, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf(": %s\n", error ? errno_name(error) ?: "another errno" : "ok");
}

static struct ibv_context *device_open(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;

	for (int i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			ctx = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	return ctx;
}

/* Choose the first RoCE v2 GID of IPv4, or else any. */
static void gid_choose(void)
{
	for (int i = 0; i < b.port.gid_tbl_len && i < 32; i++) {
		struct ibv_gid_entry entry;

		if (ibv_query_gid_ex(b.ctx, 1, i, &entry, 0))
			continue;
		b.gid = entry.gid;
		b.gid_index = i;
		if (entry.gid_type == IBV_GID_TYPE_ROCE_V2 && entry.gid.raw[10] == 0xff)
			return;
	}
}

static const struct {
	const char *name;
	void (*run)(void);
} parts[] = {
	{ "queries", try_queries },	{ "objects", try_objects }, { "create_qp", try_create_qp },
	{ "modify_qp", try_modify_qp }, { "posts", try_posts },
};

int main(int argc, char **argv)
{
	must(argc == 3, "usage: verdicts DEVICE PART");
	setlinebuf(stdout);
	b.ctx = device_open(argv[1]);
	b.other = device_open(argv[1]);
	must(b.ctx && b.other, "ibv_open_device");
	must(!ibv_query_device(b.ctx, &b.device), "ibv_query_device");
	must(!ibv_query_port(b.ctx, 1, &b.port), "ibv_query_port");
	gid_choose();
	b.pd = ibv_alloc_pd(b.ctx);
	b.cq = ibv_create_cq(b.ctx, 100, NULL, NULL, 0);
	must(b.pd && b.cq, "ibv_create_cq");
	b.mr = ibv_reg_mr(b.pd, b.buf, sizeof(b.buf),
			  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	must(b.mr, "ibv_reg_mr");
	for (int i = 0; i < COUNT(parts); i++) {
		if (strcmp(parts[i].name, argv[2]))
			continue;
		parts[i].run();
		return 0;
	}
	must(false, "no such part");
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Output of ibv_devinfo about one open device. */
#ifndef LIBIBVERBS_TOOLS_DEVINFO_H
#define LIBIBVERBS_TOOLS_DEVINFO_H

#include <stdbool.h>

#include <infiniband/verbs.h>

#include "libibverbs/tools/show.h"
#include "util/util.h"

/* Exit codes for one device. The codes of several devices are or'ed. */
enum {
	DEVINFO_RC_OPEN = 1,
	DEVINFO_RC_QUERY = 2,
	DEVINFO_RC_CLOSE = 3,
	DEVINFO_RC_PORT = 4,
};

struct devinfo_options {
	const char *device; /* NULL: all */
	unsigned int port;  /* 0: all */
	bool list;
	bool verbose;
	bool json; /* everything, as JSON */
};

struct devinfo {
	struct ibv_context *ctx;
	struct ibv_device_attr_ex attr;
};

void devinfo_attr_text(const struct devinfo *info, bool verbose);
void devinfo_attr_json(const struct devinfo *info);

/* Print the ports. Return: 0 or the exit code. */
int devinfo_ports(const struct devinfo *info, const struct devinfo_options *options);

#define ROWS_TEXT(rows, indent, base) show_rows_text(rows, ARRAY_SIZE(rows), indent, base)
#define ROWS_JSON(rows, base)	      show_rows_json(rows, ARRAY_SIZE(rows), base)
#define FLAGS_TEXT(flags, value)      show_flags_text(flags, ARRAY_SIZE(flags), value)
#define FLAGS_JSON(key, flags, value) show_flags_json(key, flags, ARRAY_SIZE(flags), value)

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Defaults of new sockets, which the administrator sets: one file for each number, in
 * /etc/rdma/rsocket.
 */
#include <stdlib.h>
#include <string.h>

#include "librdmacm/rsocket/rs.h"
#include "util/file.h"

#define FOLDER	RDMA_SYSCONFDIR "/rdma/rsocket/"

#define SPIN_US 10

static struct rs_defaults defaults = {
	.rbuf_size = RS_BUFFER_DEFAULT,
	.sbuf_size = RS_BUFFER_DEFAULT,
	.sq_size = RS_QUEUE_DEFAULT,
	.rq_size = RS_QUEUE_DEFAULT,
	.inline_size = RS_INLINE_DEFAULT,
	.mappings = 0,
	.spin_us = SPIN_US,
};

static const struct {
	const char *path;
	uint32_t *value;
	uint32_t least, most;
} files[] = {
	{ FOLDER "mem_default", &defaults.rbuf_size, RS_BUFFER_MIN, RS_BUFFER_MAX },
	{ FOLDER "wmem_default", &defaults.sbuf_size, RS_BUFFER_MIN, RS_BUFFER_MAX },
	{ FOLDER "sqsize_default", &defaults.sq_size, RS_QUEUE_MIN, RS_QUEUE_MAX },
	{ FOLDER "rqsize_default", &defaults.rq_size, RS_QUEUE_MIN, RS_QUEUE_MAX },
	{ FOLDER "inline_default", &defaults.inline_size, sizeof(struct rs_wire_mapping),
	  UINT16_MAX },
	{ FOLDER "iomap_size", &defaults.mappings, 0, 0x7fff },
	{ FOLDER "polling_time", &defaults.spin_us, 0, 1000000 },
};

static void file_read(unsigned int i)
{
	char text[32], *end;
	unsigned long long value;

	if (file_read_text(AT_FDCWD, files[i].path, text, sizeof(text)) < 0)
		return;
	text[strcspn(text, "\n")] = '\0';
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || end == text || value > files[i].most || value < files[i].least) {
		log_err("%s: '%s': not a number from %u to %u", files[i].path, text, files[i].least,
			files[i].most);
		return;
	}
	*files[i].value = value;
}

static void read_all(void)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(files); i++)
		file_read(i);
	defaults.rbuf_size &= ~1u;
}

const struct rs_defaults *rs_defaults(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_all);
	return &defaults;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdarg.h>

#include "rcopy.h"

int rcopy_send(int fd, const void *bytes, size_t size)
{
	while (size) {
		ssize_t n = rsend(fd, bytes, size, 0);

		if (n < 0)
			return -errno;
		bytes = (const uint8_t *)bytes + n;
		size -= n;
	}
	return 0;
}

int rcopy_receive(int fd, void *bytes, size_t size)
{
	ssize_t n = rrecv(fd, bytes, size, MSG_WAITALL);

	if (n < 0)
		return -errno;
	return (size_t)n == size ? 0 : -ECONNRESET;
}

int rcopy_receive_header(int fd, struct rcopy_header *ret_header)
{
	int r = rcopy_receive(fd, ret_header, sizeof(*ret_header));

	if (r < 0)
		return r;
	if (!ret_header->version && ret_header->length >= sizeof(*ret_header))
		return 0;
	printf("invalid version %u or length %u\n", ret_header->version, ret_header->length);
	return -EPROTO;
}

void rcopy_say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	fflush(stdout);
}

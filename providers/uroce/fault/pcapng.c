/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "providers/uroce/fault/pcapng.h"
#include "util/util.h"
#include "util/cancel.h"

enum {
	BLOCK_SECTION = 0x0a0d0d0a,
	BLOCK_INTERFACE = 1,
	BLOCK_PACKET = 6, /* "enhanced" */
	BYTE_ORDER_MAGIC = 0x1a2b3c4d,
	LINKTYPE_RAW = 101,
	OPTION_END = 0,
	OPTION_COMMENT = 1,
	OPTION_NAME = 2, /* of an interface */
	OPTION_TSRESOL = 9,
	OPTION_FLAGS = 2, /* of a packet */
	FLAG_INBOUND = 1,
	FLAG_OUTBOUND = 2,
	NANOSECONDS = 9,
	OPTIONS = 256,
};

struct block {
	uint32_t type;
	uint32_t length;
};

struct section {
	uint32_t byte_order;
	uint16_t major, minor;
	uint64_t length; /* all ones: unknown */
};

struct interface {
	uint16_t linktype, reserved;
	uint32_t snaplen;
};

struct packet {
	uint32_t interface;
	uint32_t time_high, time_low;
	uint32_t kept, length;
};

struct options {
	uint32_t length;
	uint8_t bytes[OPTIONS];
};

static void option_add(struct options *o, uint16_t code, const void *value, uint16_t size)
{
	uint16_t head[] = { code, size };
	uint32_t padded = ROUND_UP(size, 4);

	if (o->length + sizeof(head) + padded > sizeof(o->bytes))
		return;
	memcpy(o->bytes + o->length, head, sizeof(head));
	memset(o->bytes + o->length + sizeof(head), 0, padded);
	if (size)
		memcpy(o->bytes + o->length + sizeof(head), value, size);
	o->length += sizeof(head) + padded;
}

/*
 * Write a block: fixed part, data padded to 4 bytes, options. The length is at the beginning and at
 * the end.
 */
static int block_write(struct pcapng *file, uint32_t type, const void *fixed, uint32_t fixed_size,
		       const void *data, uint32_t data_size, const struct options *options)
{
	_cleanup_cancel_ int cancel = cancel_off();
	static const uint8_t zeros[4];
	uint32_t pad = -data_size & 3;
	struct block head = { type, sizeof(head) + fixed_size + data_size + pad + options->length +
					    sizeof(uint32_t) };
	struct iovec iov[] = {
		{ &head, sizeof(head) },
		{ (void *)fixed, fixed_size },
		{ (void *)data, data_size },
		{ (void *)zeros, pad },
		{ (void *)options->bytes, options->length },
		{ &head.length, sizeof(head.length) },
	};

	if (file->full)
		return 0;
	if (file->size + head.length > file->limit) {
		file->full = true;
		return -ENOSPC;
	}
	if (writev(file->fd, iov, ARRAY_SIZE(iov)) != (ssize_t)head.length) {
		/* Only half of a block was written, so no reader could read later blocks. */
		file->full = true;
		return errno ? -errno : -EIO;
	}
	file->size += head.length;
	return 0;
}

int pcapng_create(const char *path, uint32_t snaplen, uint64_t limit, struct pcapng *ret)
{
	static const struct section section = { BYTE_ORDER_MAGIC, 1, 0, UINT64_MAX };
	static const struct options none;
	_cleanup_close_ int fd = open(
		path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
	struct stat st;
	int r;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		return -errno;
	/* A pipe would stop this process while its reader is slow, and kill it without a reader. */
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (flock(fd, LOCK_EX | LOCK_NB))
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	if (ftruncate(fd, 0))
		return -errno;
	*ret = (struct pcapng){ .fd = fd, .snaplen = snaplen, .limit = limit };
	r = block_write(ret, BLOCK_SECTION, &section, sizeof(section), NULL, 0, &none);
	if (r < 0)
		return r;
	ret->fd = take_fd(&fd);
	return 0;
}

void pcapng_close(struct pcapng *file)
{
	close(file->fd);
}

int pcapng_add_interface(struct pcapng *file, const char *name)
{
	const struct interface interface = { .linktype = LINKTYPE_RAW, .snaplen = file->snaplen };
	const uint8_t resolution = NANOSECONDS;
	struct options options = {};
	int r;

	option_add(&options, OPTION_NAME, name, strlen(name));
	option_add(&options, OPTION_TSRESOL, &resolution, sizeof(resolution));
	option_add(&options, OPTION_END, NULL, 0);
	r = block_write(file, BLOCK_INTERFACE, &interface, sizeof(interface), NULL, 0, &options);
	return r < 0 ? r : (int)file->interfaces++;
}

int pcapng_add_packet(struct pcapng *file, uint32_t interface, bool outgoing, uint64_t time_ns,
		      const void *packet, uint32_t length, const char *comment)
{
	const uint32_t flags = outgoing ? FLAG_OUTBOUND : FLAG_INBOUND;
	struct packet fixed = {
		.interface = interface,
		.time_high = time_ns >> 32,
		.time_low = time_ns,
		.kept = min_of(length, file->snaplen),
		.length = length,
	};
	struct options options = {};

	option_add(&options, OPTION_FLAGS, &flags, sizeof(flags));
	if (comment)
		option_add(&options, OPTION_COMMENT, comment, strlen(comment));
	option_add(&options, OPTION_END, NULL, 0);
	return block_write(file, BLOCK_PACKET, &fixed, sizeof(fixed), packet, fixed.kept, &options);
}

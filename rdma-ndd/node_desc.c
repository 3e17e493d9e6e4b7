/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <fcntl.h>
#include <string.h>

#include "rdma-ndd/node_desc.h"
#include "util/sysfs.h"
#include "util/util.h"

/*
 * A text with room for one byte more than the attribute, so that a cut text differs from a full
 * one.
 */
struct desc_text {
	size_t length;
	char bytes[NODE_DESC_SIZE + 1];
};

static void desc_add(struct desc_text *text, const char *bytes, size_t length)
{
	length = min_of(length, sizeof(text->bytes) - text->length);
	for (size_t i = 0; i < length; i++) {
		unsigned char byte = bytes[i];

		text->bytes[text->length++] = byte < ' ' || byte == 0x7f ? '_' : byte;
	}
}

/*
 * Return the length without a cut character. In UTF-8 all bytes of a character except the first are
 * 10xxxxxx.
 */
static size_t desc_length(const struct desc_text *text)
{
	size_t length = NODE_DESC_SIZE;

	if (text->length <= NODE_DESC_SIZE)
		return text->length;
	for (int i = 0; i < 3 && (text->bytes[length] & 0xc0) == 0x80; i++)
		length--;
	/*
	 * If there are more such bytes than a character can have, the text is not UTF-8 and is not
	 * shortened.
	 */
	return (text->bytes[length] & 0xc0) == 0x80 ? NODE_DESC_SIZE : length;
}

void node_desc_format(const char *format, const char *host, const char *device,
		      char ret_text[NODE_DESC_SIZE + 1])
{
	struct desc_text text = {};
	size_t length;

	for (const char *p = format; *p; p++) {
		char what = *p == '%' ? p[1] : '\0';

		if (what == 'h')
			desc_add(&text, host, strcspn(host, "."));
		else if (what == 'd')
			desc_add(&text, device, strlen(device));
		else
			desc_add(&text, p, 1);
		if (what == 'h' || what == 'd' || what == '%')
			p++;
	}
	length = desc_length(&text);
	memcpy(ret_text, text.bytes, length);
	ret_text[length] = '\0';
}

int node_desc_read(int device_fd, char ret_text[NODE_DESC_SIZE + 1])
{
	char text[NODE_DESC_SIZE + 2]; /* and a newline */
	int length = sysfs_read(device_fd, "node_desc", text, sizeof(text));

	if (length < 0)
		return length;
	memcpy(ret_text, text, NODE_DESC_SIZE);
	ret_text[NODE_DESC_SIZE] = '\0';
	return 0;
}

int node_desc_write(int device_fd, const char *text)
{
	_cleanup_close_ int fd =
		openat(device_fd, "node_desc", O_WRONLY | O_TRUNC | O_CLOEXEC | O_NONBLOCK);
	size_t length = strlen(text);
	ssize_t n;

	if (fd < 0)
		return -errno;
	/* The kernel takes all bytes. A newline would be part of the description. */
	do {
		n = write(fd, text, length);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return n == (ssize_t)length ? 0 : -EIO;
}

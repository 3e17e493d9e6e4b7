/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Variations of a command, each sent once. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/hosts/vm/uapi.h"
#include "util/util.h"

enum {
	UNKNOWN = 0x0f0f,
	INLINE = 8, /* longer input is behind a pointer */
	MORE = 8,
	MOST_BYTES = 1024,
};

/* The command whose variations are sent. */
struct subject {
	int fd, fresh, failed;
	const struct uapi_command *command;
};

const char *uapi_answer_name(int error)
{
	return error ? strerrorname_np(error) : "accepted";
}

/* Send a variation and return the answer. */
static int answer_to(const struct subject *subject, struct uapi_command *command)
{
	int fd = subject->fd, answer;
	char path[32];

	if (!subject->fresh)
		return uapi_send(fd, command);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", subject->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	answer = uapi_send(fd, command);
	close(fd);
	return answer;
}

/* Send a variation, and print the answer behind the text. */
static void try(const struct subject *subject, struct uapi_command *command, const char *text)
{
	printf("  %s: %s\n", text, uapi_answer_name(answer_to(subject, command)));
}

/* Send a variation that each driver answers in this way. */
static void expect(struct subject *subject, struct uapi_command *command, const char *text,
		   int wanted)
{
	int answer = answer_to(subject, command);

	if (answer == wanted)
		return;
	printf("FAILED: %s: %s, expected: %s\n", text, uapi_answer_name(answer),
	       uapi_answer_name(wanted));
	subject->failed = 1;
}

/* Return whether an attribute has a pointer. Input of up to 8 bytes is in the attribute, and the
 * kernel has marked the outputs that it wrote. */
static int is_pointer(const struct uapi_command *command, const struct ib_uverbs_attr *attr)
{
	return attr->len > INLINE || attr == uapi_driver_attr(&command->hdr, UAPI_DRIVER_OUT) ||
	       (attr->len && attr->flags & UVERBS_ATTR_F_VALID_OUTPUT);
}

/* Make a copy whose outputs are memory of this program. Otherwise the answer to a variation would
 * change an object of the library. */
static struct uapi_command copy_of(const struct subject *subject)
{
	static uint8_t scratch[UAPI_MOST_ATTRS][MOST_BYTES];
	struct uapi_command copy = *subject->command;

	for (unsigned int i = 0; i < copy.hdr.num_attrs; i++) {
		struct ib_uverbs_attr *attr = &copy.attrs[i];

		if (!is_pointer(&copy, attr) || attr->len > MOST_BYTES)
			continue;
		memcpy(scratch[i], (void *)(uintptr_t)attr->data, attr->len);
		attr->data = (uintptr_t)scratch[i];
		attr->flags &= ~UVERBS_ATTR_F_VALID_OUTPUT;
	}
	return copy;
}

static void add(struct uapi_command *command, const struct ib_uverbs_attr *attr)
{
	command->attrs[command->hdr.num_attrs++] = *attr;
	command->hdr.length += sizeof(*attr);
}

/* Vary what the core of the kernel checks for all drivers. */
static void vary_envelope(struct subject *subject)
{
	struct ib_uverbs_attr unknown = { .attr_id = UNKNOWN, .flags = UVERBS_ATTR_F_MANDATORY };
	struct uapi_command copy = copy_of(subject);

	add(&copy, &unknown);
	expect(subject, &copy, "an unknown attribute", EPROTONOSUPPORT);
	copy = copy_of(subject);
	add(&copy, &copy.attrs[0]);
	expect(subject, &copy, "an attribute twice", EINVAL);
	copy = copy_of(subject);
	copy.hdr.reserved2 = 1;
	expect(subject, &copy, "a reserved word of the header", EPROTONOSUPPORT);
	copy = copy_of(subject);
	copy.hdr.driver_id++;
	expect(subject, &copy, "the number of another driver", EINVAL);
}

static void vary_presence(const struct subject *subject, unsigned int i)
{
	struct uapi_command copy = copy_of(subject);
	char text[64];

	snprintf(text, sizeof(text), "without 0x%x", copy.attrs[i].attr_id);
	copy.hdr.num_attrs--;
	copy.hdr.length -= sizeof(copy.attrs[0]);
	memmove(&copy.attrs[i], &copy.attrs[i + 1],
		(copy.hdr.num_attrs - i) * sizeof(copy.attrs[0]));
	try(subject, &copy, text);
}

/* Return the input of an attribute. An input of up to 8 bytes is in the attribute. */
static void *input_of(struct ib_uverbs_attr *attr)
{
	return attr->len > INLINE ? (void *)(uintptr_t)attr->data : &attr->data;
}

static void vary_length(const struct subject *subject, unsigned int i, int length, int fill)
{
	struct uapi_command copy = copy_of(subject);
	struct ib_uverbs_attr *attr = &copy.attrs[i];
	uint8_t bytes[MOST_BYTES + MORE];
	char text[64];

	if (length <= 0)
		return;
	memset(bytes, fill, sizeof(bytes));
	if (attr->attr_id != UAPI_DRIVER_OUT)
		memcpy(bytes, input_of(attr), attr->len < length ? attr->len : length);
	snprintf(text, sizeof(text), "0x%x of %d bytes%s", attr->attr_id, length,
		 length > attr->len && fill ? ", the last not 0" : "");
	attr->len = length;
	attr->data = (uintptr_t)bytes;
	if (length <= INLINE && attr->attr_id != UAPI_DRIVER_OUT)
		memcpy(&attr->data, bytes, INLINE);
	try(subject, &copy, text);
}

static void vary_lengths(const struct subject *subject, unsigned int i)
{
	unsigned int length = subject->command->attrs[i].len;

	if (length > MOST_BYTES)
		return;
	vary_length(subject, i, length - 4, 0);
	if (length / 2 != length - 4)
		vary_length(subject, i, length / 2, 0);
	vary_length(subject, i, length + MORE, 0);
	if (subject->command->attrs[i].attr_id != UAPI_DRIVER_OUT)
		vary_length(subject, i, length + MORE, 0xff);
}

/* Return whether the user leaves this word out. UAPI_WITHOUT is the number of a legacy command, and
 * a place in its input. */
static int is_left_out(const struct subject *subject, unsigned int at)
{
	const char *text = getenv("UAPI_WITHOUT");
	unsigned int number, place;

	return text && sscanf(text, "%u %u", &number, &place) == 2 &&
	       uapi_legacy_command(&subject->command->hdr) == number && at == place;
}

/* Change the highest bit of each word of an input. The bit is a flag or reserved, makes a value
 * large, or belongs to an address. */
static void vary_words(const struct subject *subject, unsigned int i)
{
	for (unsigned int at = 0; at + 4 <= subject->command->attrs[i].len; at += 4) {
		struct uapi_command copy = copy_of(subject);
		uint32_t *word = (uint32_t *)((uint8_t *)input_of(&copy.attrs[i]) + at);
		char text[64];

		if (is_left_out(subject, at))
			continue;
		*word ^= 1u << 31;
		snprintf(text, sizeof(text), "0x%x, bit 31 of the word at %u",
			 copy.attrs[i].attr_id, at);
		try(subject, &copy, text);
	}
}

int uapi_vary(int fd, const struct uapi_command *command, int fresh)
{
	struct subject subject = { .fd = fd, .fresh = fresh, .command = command };

	vary_envelope(&subject);
	for (unsigned int i = 0; i < command->hdr.num_attrs; i++)
		vary_presence(&subject, i);
	for (unsigned int i = 0; i < command->hdr.num_attrs; i++) {
		const struct ib_uverbs_attr *attr = &command->attrs[i];
		int in = attr == uapi_driver_attr(&command->hdr, UAPI_DRIVER_IN);

		if (in || attr == uapi_driver_attr(&command->hdr, UAPI_DRIVER_OUT))
			vary_lengths(&subject, i);
		if (in)
			vary_words(&subject, i);
	}
	return subject.failed ? -1 : 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Inputs of rdma-ndd and rdma_rename from files, the host and udev: a configuration file, a host
 * name, the names of devices and policies. An input holds these as texts, one after the other,
 * each ended by a zero byte. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "rdma-ndd/node_desc.h"
#include "rdma-ndd/report.h"
#include "rdma-ndd/settings.h"
#include "tests/fuzz/input.h"
#include "udev/name.h"
#include "util/util.h"

/* Checked even if assertions are compiled out. */
#define MUST(condition)           \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

/* Return a text in an allocation of exactly its length, so that an access behind it is found.
 * The caller frees it. */
static char *input_text(struct input *in)
{
	size_t length = in->size ? strnlen((const char *)in->data, in->size) : 0;
	char *text = malloc(length + 1);

	MUST(text);
	input_bytes(in, text, length);
	text[length] = '\0';
	if (in->size)
		input_u8(in);
	return text;
}

/* No control character reaches other hosts, and no text is longer than the attribute. */
static void check_desc(const char *format, const char *host, const char *device)
{
	char text[NODE_DESC_SIZE + 1];

	node_desc_format(format, host, device, text);
	MUST(strnlen(text, sizeof(text)) <= NODE_DESC_SIZE);
	for (const char *p = text; *p; p++)
		MUST((unsigned char)*p >= ' ' && *p != 0x7f);
}

static void check_name(const char *policy, const char *fixed)
{
	struct name_device device = {
		.name = "x0", .prefix = "roce", .folder = -1, .fixed = fixed
	};
	char name[NAME_SIZE];

	MUST(name_policy_parse(policy) < NAME_POLICIES);
	if (name_make(NAME_FIXED, &device, name) < 0)
		return;
	MUST(*name && strlen(name) < NAME_SIZE && !strchr(name, '/') && *name != '.');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct settings settings = { .format = NODE_DESC_FORMAT };
	struct input in = { data, size };
	_cleanup_free_ char *file = input_text(&in);
	_cleanup_free_ char *host = input_text(&in);
	_cleanup_free_ char *device = input_text(&in);
	_cleanup_free_ char *policy = input_text(&in);

	report_open(REPORT_NOWHERE, false);
	settings_parse("fuzz", file, &settings);
	MUST(settings.format[0]);
	MUST(strnlen(settings.format, sizeof(settings.format)) < sizeof(settings.format));
	check_desc(settings.format, host, device);
	check_desc(file, host, device);
	check_name(policy, device);
	return 0;
}

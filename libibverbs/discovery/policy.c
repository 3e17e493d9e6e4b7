/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "libibverbs/discovery/discovery.h"
#include "util/env.h"
#include "util/file.h"

enum policy {
	POLICY_NONE, /* no policy found */
	POLICY_OFF,
	POLICY_AUTO,
	POLICY_ON,
};

static const char *const policy_names[] = {
	[POLICY_OFF] = "off",
	[POLICY_AUTO] = "auto",
	[POLICY_ON] = "on",
};

/* Parse the first word of @text, which ends at ':', white space or the end. */
static enum policy policy_parse(const char *text, const char *source)
{
	size_t length = strcspn(text, ": \t\r\n#");

	for (int i = POLICY_OFF; i < ARRAY_SIZE(policy_names); i++)
		if (strlen(policy_names[i]) == length && !strncmp(text, policy_names[i], length))
			return i;
	log_err("%s: policy '%.*s' is not off, auto or on: ignored", source, (int)length, text);
	return POLICY_NONE;
}

/* Parse "policy WORD" or "policy = WORD". */
static enum policy policy_from_line(const char *line, const char *path)
{
	size_t length;

	line += strspn(line, " \t");
	length = strcspn(line, "#\r");
	if (!length)
		return POLICY_NONE;
	if (!strncmp(line, "policy", 6) && line[6] && strchr(" \t=", line[6])) {
		line += 6;
		return policy_parse(line + strspn(line, " \t="), path);
	}
	log_err("%s: '%.*s': known are 'policy off', 'policy auto' and 'policy on': ignored", path,
		(int)length, line);
	return POLICY_NONE;
}

static enum policy policy_from_file(const char *folder)
{
	enum policy policy = POLICY_NONE;
	_cleanup_free_ char *path = NULL;
	char text[4096], *line, *rest = text;
	int r;

	if (asprintf(&path, "%s/uroce.conf", folder) < 0) {
		path = NULL;
		return POLICY_NONE;
	}
	r = file_read_text(AT_FDCWD, path, text, sizeof(text));
	if (r < 0) {
		if (r != -ENOENT && r != -ENOTDIR)
			log_err("%s cannot be read: %s: ignored", path, strerror(-r));
		return POLICY_NONE;
	}
	while (policy == POLICY_NONE && (line = strsep(&rest, "\n")))
		policy = policy_from_line(line, path);
	return policy;
}

static enum policy policy_get(void)
{
	const struct disc_paths *paths = disc_paths();
	const char *text = env_get_filled(ENV_UROCE);
	enum policy policy = text ? policy_parse(text, "UROCE") : POLICY_NONE;

	if (policy == POLICY_NONE)
		policy = policy_from_file(paths->config);
	if (policy == POLICY_NONE && paths->vendor)
		policy = policy_from_file(paths->vendor);
	if (policy == POLICY_NONE)
		policy = paths->vendor ? POLICY_OFF : POLICY_AUTO;
	return policy;
}

bool disc_userspace_enabled(bool kernel_devices)
{
	enum policy policy = policy_get();

	return policy == POLICY_ON || (policy == POLICY_AUTO && !kernel_devices);
}

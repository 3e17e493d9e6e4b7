/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/place.h"
#include "util/util.h"

/* Text of the first PID namespace, whose number is fixed in the kernel: PROC_PID_INIT_INO. */
#define FIRST_PID_NAMESPACE "pid:[4026531836]"

static bool mount_parse(const char *line, const char *point, struct place_mount *ret_mount)
{
	const char *type = strstr(line, " - ");
	struct place_mount mount;
	char where[256];

	if (!type || sscanf(line, "%*d %*d %31s %*s %255s", mount.device, where) != 2 ||
	    sscanf(type, " - %31s", mount.type) != 1 || strcmp(where, point))
		return false;
	*ret_mount = mount;
	return true;
}

bool place_mount_read(const char *root, const char *pid, const char *point,
		      struct place_mount *ret_mount)
{
	_cleanup_free_ char *line = NULL, *path = NULL;
	bool found = false;
	size_t size = 0;
	FILE *file;

	/* Allocate text here and below, because the stack of a library's caller may be small. */
	if (asprintf(&path, "%s/proc/%s/mountinfo", root, pid) < 0) {
		path = NULL;
		return false;
	}
	file = fopen(path, "re");
	if (!file)
		return false;
	while (getline(&line, &size, file) > 0)
		found |= mount_parse(line, point, ret_mount);
	fclose(file);
	return found;
}

/*
 * Return whether the process sees the processes of the machine and has the root folder of the first
 * process.
 */
static bool is_the_machine(const char *root)
{
	_cleanup_free_ char *path = NULL;
	struct place_mount own, first;
	char target[64];
	ssize_t n;

	if (asprintf(&path, "%s/proc/self/ns/pid", root) < 0) {
		path = NULL;
		return false;
	}
	n = readlink(path, target, sizeof(target) - 1);
	if (n < 0)
		return false;
	target[n] = '\0';
	return !strcmp(target, FIRST_PID_NAMESPACE) && place_mount_read(root, "self", "/", &own) &&
	       place_mount_read(root, "1", "/", &first) && !strcmp(own.device, first.device);
}

static bool root_has(const char *root, const char *file)
{
	_cleanup_free_ char *path = NULL;

	if (asprintf(&path, "%s%s", root, file) < 0)
		path = NULL;
	return path && !access(path, F_OK);
}

bool place_is_container(const char *root)
{
	static const char *const signs[] = {
		"/.dockerenv",
		"/run/.containerenv",
		"/run/systemd/container",
		"/var/run/secrets/kubernetes.io",
	};

	for (int i = 0; i < ARRAY_SIZE(signs); i++) {
		if (root_has(root, signs[i]))
			return !is_the_machine(root);
	}
	return false;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "util/env.h"
#include "util/file.h"
#include "util/once.h"
#include "util/sysfs.h"
#include "util/util.h"

static char root[128] = "/sys";

static void root_init(void)
{
	const char *path = env_get(ENV_SYSFS_PATH);
	size_t length = path ? strlen(path) : 0;

	while (length && path[length - 1] == '/')
		length--;
	if (!length || length >= sizeof(root))
		return;
	memcpy(root, path, length);
	root[length] = '\0';
}

const char *sysfs_root(void)
{
	static struct once once = ONCE_INIT;

	once_run(&once, root_init);
	return root;
}

int sysfs_read(int dirfd, const char *path, char *buf, size_t size)
{
	int length = file_read_text(dirfd, path, buf, size);

	if (length < 0)
		return length;
	if (length && buf[length - 1] == '\n')
		length--;
	buf[length] = '\0';
	return length;
}

int sysfs_read_u64(int dirfd, const char *path, int base, uint64_t *ret_value)
{
	char text[32], *end;
	uint64_t value;
	int r = sysfs_read(dirfd, path, text, sizeof(text));

	if (r < 0)
		return r;
	value = strtoull(text, &end, base);
	if (end == text)
		return -EINVAL;
	*ret_value = value;
	return 0;
}

int sysfs_parse_guid(const char *text, __be64 *ret_guid)
{
	unsigned int part[4];
	uint64_t guid = 0;

	if (sscanf(text, "%4x:%4x:%4x:%4x", &part[0], &part[1], &part[2], &part[3]) != 4)
		return -EINVAL;
	for (int i = 0; i < 4; i++)
		guid = guid << 16 | part[i];
	*ret_guid = htobe64(guid);
	return 0;
}

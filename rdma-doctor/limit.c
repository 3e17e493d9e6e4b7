/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "rdma-doctor/limit.h"

/* A process, and the number of objects that it needs of a device. */
struct limit_query {
	const struct doctor *doctor;
	const char *device;
	uint64_t objects;
};

/*
 * "mlx5_0 hca_handle=2 hca_object=max" is a line of rdma.max, and of rdma.current with numbers
 * only. Return: the value; UINT64_MAX for "max" and for a missing value.
 */
static uint64_t limit_parse(const char *text, const char *device, const char *resource)
{
	size_t length = strlen(device);
	char name[32];
	const char *end, *value;

	while (*text && (strncmp(text, device, length) || text[length] != ' ')) {
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	end = text + strcspn(text, "\n");
	snprintf(name, sizeof(name), " %s=", resource);
	value = strstr(text, name);
	if (!value || value > end)
		return UINT64_MAX;
	value += strlen(name);
	return *value < '0' || *value > '9' ? UINT64_MAX : strtoull(value, NULL, 10);
}

/* Read the limit of one cgroup. @folder: its folder below the examined root */
static bool limit_read(const struct limit_query *query, const char *folder,
		       struct rdma_limit *ret_limit)
{
	const struct {
		const char *resource;
		uint64_t needed;
	} resources[] = {
		{ "hca_handle", 1 },
		{ "hca_object", query->objects },
	};
	char path[512], limits[4096], usage[4096];

	if (snprintf(path, sizeof(path), "%s/rdma.current", folder) >= (int)sizeof(path))
		return false;
	if (host_read(query->doctor, path, usage, sizeof(usage)) < 0)
		usage[0] = '\0';
	snprintf(path, sizeof(path), "%s/rdma.max", folder);
	if (host_read(query->doctor, path, limits, sizeof(limits)) < 0)
		return false;
	for (int i = 0; i < ARRAY_SIZE(resources); i++) {
		uint64_t max = limit_parse(limits, query->device, resources[i].resource);
		uint64_t used = limit_parse(usage, query->device, resources[i].resource);

		if (used == UINT64_MAX)
			used = 0;
		if (max == UINT64_MAX || (used <= max && max - used >= resources[i].needed))
			continue;
		*ret_limit = (struct rdma_limit){ .resource = resources[i].resource,
						  .max = max,
						  .used = used };
		strcpy(ret_limit->path, path);
		return true;
	}
	return false;
}

/* Check the cgroup and its parents. @base: mount point of the hierarchy */
static bool limit_climb(const struct limit_query *query, const char *base, const char *cgroup,
			struct rdma_limit *ret_limit)
{
	char folder[512];

	if (snprintf(folder, sizeof(folder), "%s%s", base, cgroup) >= (int)sizeof(folder) ||
	    strstr(cgroup, ".."))
		return false;
	for (;;) {
		size_t length = strlen(folder);

		while (length && folder[length - 1] == '/')
			folder[--length] = '\0';
		if (limit_read(query, folder, ret_limit))
			return true;
		if (length <= strlen(base))
			return false;
		*strrchr(folder, '/') = '\0';
	}
}

/* Return whether @name is in the list of names between @text and @end, separated by commas. */
static bool controllers_have(const char *text, const char *end, const char *name)
{
	size_t length;

	for (; text < end; text += length + 1) {
		length = strcspn(text, ",:");
		if (length == strlen(name) && !strncmp(text, name, length))
			return true;
	}
	return false;
}

/*
 * Check a line of /proc/PID/cgroup: "0::/path" of version 2, or "4:rdma,pids:/path" of version 1,
 * whose folder is named after the controllers.
 */
static bool limit_check_line(const struct limit_query *query, const char *line,
			     struct rdma_limit *ret_limit)
{
	const char *controllers = strchr(line, ':');
	const char *path = controllers ? strchr(++controllers, ':') : NULL;
	char base[128];
	int n;

	if (!path)
		return false;
	if (path++ == controllers)
		return limit_climb(query, "/sys/fs/cgroup", path, ret_limit);
	if (!controllers_have(controllers, path - 1, "rdma"))
		return false;
	n = snprintf(base, sizeof(base), "/sys/fs/cgroup/%.*s", (int)(path - 1 - controllers),
		     controllers);
	return n < (int)sizeof(base) && limit_climb(query, base, path, ret_limit);
}

bool rdma_limit_find(const struct doctor *d, const char *device, uint64_t objects,
		     struct rdma_limit *ret_limit)
{
	const struct limit_query query = { .doctor = d, .device = device, .objects = objects };
	char path[64], text[4096], *line, *rest = text;

	snprintf(path, sizeof(path), "/proc/%s/cgroup", d->pid);
	if (host_read(d, path, text, sizeof(text)) < 0)
		return false;
	while ((line = strsep(&rest, "\n")))
		if (limit_check_line(&query, line, ret_limit))
			return true;
	return false;
}

void rdma_limit_explain(const struct rdma_limit *limit, const char *device, struct finding *f)
{
	char line[IBV_SYSFS_NAME_MAX + 32];

	finding_fail(f,
		     "the rdma cgroup permits %s=%" PRIu64 ", of which %" PRIu64 " are used (%s)",
		     limit->resource, limit->max, limit->used, limit->path);
	snprintf(line, sizeof(line), "%s %s=max", device, limit->resource);
	finding_fix(f, "as root, on the host: echo %s > %s", finding_word(line),
		    finding_word(limit->path));
}

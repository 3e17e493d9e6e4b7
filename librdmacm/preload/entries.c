/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The entries of a socket in epolls. A socket that takes the place of another one inherits them.
 */
#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>

#include "librdmacm/preload/preload.h"
#include "librdmacm/rsocket/private.h"

struct entries socket_entries_take(int rs)
{
	struct entries e = { .count = RS(rs_entry_list(rs, NULL, 0)) };

	e.list = e.count ? calloc(e.count, sizeof(*e.list)) : NULL;
	if (e.list)
		e.count = min_of(e.count, RS(rs_entry_list(rs, e.list, e.count)));
	else
		e.count = 0;
	return e;
}

void socket_entries_give(struct entries *e)
{
	for (unsigned int i = 0; i < e->count; i++)
		epoll_ctl(e->list[i].epfd, EPOLL_CTL_ADD, e->list[i].fd, &e->list[i].event);
	free(e->list);
}

/* Add the entry of @fd in the epoll @epfd, if its information in /proc has one. */
static void entry_read(FILE *info, int epfd, int fd, struct entries *e)
{
	struct rs_entry *more;
	uint32_t events;
	uint64_t data;
	char line[256];
	int of;

	while (fgets(line, sizeof(line), info)) {
		if (sscanf(line, "tfd: %d events: %" SCNx32 " data: %" SCNx64, &of, &events,
			   &data) != 3 ||
		    of != fd)
			continue;
		more = realloc(e->list, (e->count + 1) * sizeof(*more));
		if (!more)
			return;
		e->list = more;
		more[e->count++] =
			(struct rs_entry){ epfd, fd, { .events = events, .data.u64 = data } };
		return;
	}
}

/* Read from /proc the entries that the kernel has for a socket. The kernel removes them when the
 * last descriptor of the socket is closed. */
void kernel_entries_take(int fd, struct entries *e)
{
	const char *folder = "/proc/self/fdinfo";
	DIR *all = opendir(folder);
	struct dirent *one;
	char path[64];
	FILE *info;

	while (all && (one = readdir(all))) {
		snprintf(path, sizeof(path), "%s/%.16s", folder, one->d_name);
		info = fopen(path, "re");
		if (!info)
			continue;
		entry_read(info, atoi(one->d_name), fd, e);
		fclose(info);
	}
	if (all)
		closedir(all);
}

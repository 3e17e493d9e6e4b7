/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kind of environment in which a process runs, because advice for a container differs from
 * advice for a machine.
 */
#ifndef UTIL_PLACE_H
#define UTIL_PLACE_H

#include <stdbool.h>

struct place_mount {
	char device[32]; /* "254:0" */
	char type[32];	 /* type of the file system */
};

/*
 * Find the file system that process @pid ("self" or a number) sees mounted at @point. The last
 * mount there counts.
 * @root: the folder that holds the machine's /proc, "" for this machine
 * Return: whether /proc has the answer.
 */
bool place_mount_read(const char *root, const char *pid, const char *point,
		      struct place_mount *ret_mount);

/*
 * Return whether the calling process runs in a container. Files such as /.dockerenv are no proof,
 * because an image that was made from a container keeps them.
 */
bool place_is_container(const char *root);

#endif

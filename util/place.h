/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What kind of place a process runs in: advice differs between a container and the machine. */
#ifndef UTIL_PLACE_H
#define UTIL_PLACE_H

#include <stdbool.h>

struct place_mount {
	char device[32]; /* "254:0" */
	char type[32];	 /* of the file system */
};

/*
 * Find what process @pid ("self" or a number) sees mounted at @point; the last mount there counts.
 * @root: the folder that holds the machine's /proc, "" for this machine
 * Return: whether /proc has the answer.
 */
bool place_mount_read(const char *root, const char *pid, const char *point,
		      struct place_mount *ret_mount);

/*
 * Return whether the calling process runs in a container. Files such as /.dockerenv alone do not
 * prove it: an image that was made from a container keeps them.
 */
bool place_is_container(const char *root);

#endif

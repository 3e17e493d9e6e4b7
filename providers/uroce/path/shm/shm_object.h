/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared memory of the application's, as others can be led to it: a file, or a System V segment. */
#ifndef UROCE_SHM_OBJECT_H
#define UROCE_SHM_OBJECT_H

#include "providers/uroce/path/path.h"

struct shm_object {
	uint64_t device;
	uint64_t inode;
	bool sysv;
	int id; /* System V's */
	int fd; /* a file's, to read and to write; -1: none */
};

/* Whether it is what is mapped there. */
bool shm_object_is(const struct shm_object *object, const struct uroce_mapping *mapping);

/*
 * What is mapped there: by whatever way the system lets this process have a descriptor of it. A
 * file must be of a file system in memory. -ENODATA: by none.
 */
int shm_object_open(const struct uroce_maps *maps, const struct uroce_mapping *mapping,
		    struct shm_object *ret);
void shm_object_close(struct shm_object *object);

/* A file descriptor of memory: a regular file of tmpfs or hugetlbfs that is this one. */
bool shm_object_file_is(int fd, uint64_t device, uint64_t inode);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared memory of the application that other processes can map: a file or a System V segment. */
#ifndef UROCE_SHM_OBJECT_H
#define UROCE_SHM_OBJECT_H

#include "providers/uroce/path/path.h"

struct shm_object {
	uint64_t device;
	uint64_t inode;
	bool sysv;
	int id; /* identifier of the System V segment */
	int fd; /* descriptor of the file, to read and to write; -1: none */
};

/* Return whether the object is the one of @mapping. */
bool shm_object_is(const struct shm_object *object, const struct uroce_mapping *mapping);

/*
 * Open the object of @mapping by any way that the system grants this process. A file must be of a
 * file system in memory. -ENODATA: there is no way.
 */
int shm_object_open(const struct uroce_maps *maps, const struct uroce_mapping *mapping,
		    struct shm_object *ret);
void shm_object_close(struct shm_object *object);

/* Return whether @fd is a regular file of tmpfs or hugetlbfs with this device and inode. */
bool shm_object_file_is(int fd, uint64_t device, uint64_t inode);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "providers/uroce/path/shm/shm_object.h"

#define MAGIC_TMPFS	0x01021994u
#define MAGIC_HUGETLBFS 0x958458f6u
#define SYSV_NAME	"/SYSV"
#define DELETED		" (deleted)"

static bool is_sysv(const struct uroce_mapping *mapping)
{
	return !strncmp(mapping->name, SYSV_NAME, strlen(SYSV_NAME));
}

bool shm_object_is(const struct shm_object *object, const struct uroce_mapping *mapping)
{
	return object->device == mapping->device && object->inode == mapping->inode &&
	       object->sysv == is_sysv(mapping);
}

bool shm_object_file_is(int fd, uint64_t device, uint64_t inode)
{
	struct statfs fs;
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_dev == device &&
	       st.st_ino == inode && !fstatfs(fd, &fs) &&
	       ((uint32_t)fs.f_type == MAGIC_TMPFS || (uint32_t)fs.f_type == MAGIC_HUGETLBFS);
}

/* --- a descriptor --- */

/* Open @path after checking its target, which may be any kind of file. */
static int path_open(const char *path, const struct uroce_mapping *mapping)
{
	_cleanup_close_ int seen = open(path, O_PATH | O_CLOEXEC);
	char self[32];
	int fd;

	if (seen < 0 || !shm_object_file_is(seen, mapping->device, mapping->inode))
		return -ENODATA;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", seen);
	fd = open(self, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? -ENODATA : fd;
}

/* Open the mapping itself. This needs CAP_CHECKPOINT_RESTORE. */
static int mapping_open(const struct uroce_mapping *mapping)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/map_files/%" PRIxPTR "-%" PRIxPTR, mapping->start,
		 mapping->end);
	return path_open(path, mapping);
}

static int name_open(const struct uroce_mapping *mapping)
{
	size_t length = strlen(mapping->name);

	if (mapping->name[0] != '/' || (length >= strlen(DELETED) &&
					!strcmp(mapping->name + length - strlen(DELETED), DELETED)))
		return -ENODATA;
	return path_open(mapping->name, mapping);
}

/* Duplicate a descriptor of the application, which may be the last one of the file. */
static int descriptor_copy(int number, const struct uroce_mapping *mapping)
{
	int fd;

	if (!shm_object_file_is(number, mapping->device, mapping->inode) ||
	    (fcntl(number, F_GETFL) & O_ACCMODE) != O_RDWR)
		return -ENODATA;
	fd = fcntl(number, F_DUPFD_CLOEXEC, 0);
	/* Another thread may have put another file at this number. */
	if (fd >= 0 && !shm_object_file_is(fd, mapping->device, mapping->inode)) {
		close(fd);
		return -ENODATA;
	}
	return fd < 0 ? -ENODATA : fd;
}

static int descriptor_find(const struct uroce_mapping *mapping)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	int fd = -ENODATA;

	while (dir && fd < 0 && (entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]))
			fd = descriptor_copy(atoi(entry->d_name), mapping);
	if (dir)
		closedir(dir);
	return fd;
}

static int file_open(const struct uroce_mapping *mapping)
{
	int fd = mapping_open(mapping);

	if (fd < 0)
		fd = name_open(mapping);
	return fd < 0 ? descriptor_find(mapping) : fd;
}

/* --- System V --- */

/* Check that the inode number is the identifier: attach that segment and compare its mapping. */
static int sysv_check(const struct uroce_maps *maps, const struct uroce_mapping *mapping, int id)
{
	struct uroce_mapping again;
	void *at = shmat(id, NULL, 0);
	int r;

	if (at == (void *)-1)
		return -ENODATA;
	r = uroce_maps_look(maps, (uintptr_t)at, &again);
	shmdt(at);
	return !r && is_sysv(&again) && again.device == mapping->device &&
			       again.inode == mapping->inode
		       ? 0
		       : -ENODATA;
}

int shm_object_open(const struct uroce_maps *maps, const struct uroce_mapping *mapping,
		    struct shm_object *ret)
{
	int r;

	*ret = (struct shm_object){ .device = mapping->device,
				    .inode = mapping->inode,
				    .sysv = is_sysv(mapping),
				    .id = mapping->inode,
				    .fd = -1 };
	if (ret->sysv)
		return mapping->inode <= INT32_MAX ? sysv_check(maps, mapping, ret->id) : -ENODATA;
	r = file_open(mapping);
	if (r < 0)
		return r;
	ret->fd = r;
	return 0;
}

void shm_object_close(struct shm_object *object)
{
	if (object->fd >= 0)
		close(object->fd);
	object->fd = -1;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kind of memory behind an address of this process: private memory, or a file that other
 * processes can map. Ask the kernel each time, because the application may change its mappings.
 */
#ifndef UROCE_MAPPING_H
#define UROCE_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The kernel's files about this process. A forked child cannot use them. */
struct uroce_maps {
	int maps;  /* /proc/self/maps; -1: there is none, and no query is possible */
	int pages; /* /proc/self/pagemap, if the kernel cannot answer for one mapping; or -1 */
};

struct uroce_mapping {
	uintptr_t start;
	uintptr_t end;
	uint64_t offset; /* offset in the file of the start */
	uint64_t device;
	uint64_t inode; /* inode number; for a System V segment, its identifier */
	bool shared;
	bool writable; /* and readable */
	char name[256];
};

void uroce_maps_open(struct uroce_maps *maps);
void uroce_maps_close(struct uroce_maps *maps);

/*
 * Return whether the byte at @address, which was accessed just now, may belong to a shared mapping.
 * This is a cheap test, which excludes most memory.
 */
bool uroce_maps_may_share(const struct uroce_maps *maps, uintptr_t address);

/* Find the mapping of @address. -ENOENT: there is none; -ENODATA: the kernel does not answer. */
int uroce_maps_look(const struct uroce_maps *maps, uintptr_t address, struct uroce_mapping *ret);

/*
 * Map @size bytes of the shared memory at @at a second time, at another address and without a
 * descriptor. NULL: this is not possible.
 */
void *uroce_map_again(const void *at, size_t size);
/*
 * Return whether a second mapping is possible at all. It is impossible in QEMU's user mode, and if
 * seccomp denies the call.
 */
bool uroce_maps_again(void);

/*
 * Extend a file like ftruncate(2), but without ending a process that may not have files of that
 * size. -EFBIG: the limit is exceeded, which is logged.
 */
int uroce_file_grow(int fd, size_t size);

/* Parse a line of /proc/self/maps. -EINVAL: it is not such a line. */
int uroce_mapping_parse(const char *line, struct uroce_mapping *ret);

#endif

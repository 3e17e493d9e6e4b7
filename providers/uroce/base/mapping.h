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

/* The kernel's files about this process; they are of no use in a forked child. */
struct uroce_maps {
	int maps;  /* /proc/self/maps; -1: there is none, and nothing is known */
	int pages; /* /proc/self/pagemap, where the kernel cannot be asked for one mapping; or -1 */
};

struct uroce_mapping {
	uintptr_t start;
	uintptr_t end;
	uint64_t offset; /* of the start, in the file */
	uint64_t device;
	uint64_t inode; /* of a System V segment: its identifier */
	bool shared;
	bool writable; /* and readable */
	char name[256];
};

void uroce_maps_open(struct uroce_maps *maps);
void uroce_maps_close(struct uroce_maps *maps);

/*
 * A cheap question: whether the byte at @address, which was touched just now, may be of a shared
 * mapping. Most memory is not.
 */
bool uroce_maps_may_share(const struct uroce_maps *maps, uintptr_t address);

/* The mapping of @address. -ENOENT: there is none; -ENODATA: the kernel does not tell. */
int uroce_maps_look(const struct uroce_maps *maps, uintptr_t address, struct uroce_mapping *ret);

/*
 * Shared memory at @at once more, @size bytes of its file from there: at another address, and
 * without a descriptor. NULL: not possible.
 */
void *uroce_map_again(const void *at, size_t size);
/* Whether it ever is: not on QEMU's user mode, nor where seccomp denies it. */
bool uroce_maps_again(void);

/* ftruncate(2), which does not end a process that may not have files of that size: -EFBIG, said. */
int uroce_file_grow(int fd, size_t size);

/* A line of /proc/self/maps. -EINVAL: it is none. */
int uroce_mapping_parse(const char *line, struct uroce_mapping *ret);

#endif

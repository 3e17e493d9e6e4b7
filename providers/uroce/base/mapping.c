/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Queries about mappings. Linux 6.11 and later answer for one mapping. On older kernels, the
 * pagemap entry of the page tells whether it belongs to a file, and only then all mappings are
 * read.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "providers/uroce/base/base.h"

/* PROCMAP_QUERY of linux/fs.h, which is missing in older headers. */
struct maps_query {
	uint64_t size; /* bytes of this struct */
	uint64_t flags;
	uint64_t address;
	uint64_t start;
	uint64_t end;
	uint64_t mapping; /* MAPPING_* */
	uint64_t page_size;
	uint64_t offset;
	uint64_t inode;
	uint32_t device_major;
	uint32_t device_minor;
	uint32_t name_size; /* in: room for the name; out: its length */
	uint32_t build_id_size;
	uint64_t name;
	uint64_t build_id;
};
#define MAPS_QUERY _IOWR('f', 17, struct maps_query)

enum {
	MAPPING_READABLE = 1,
	MAPPING_WRITABLE = 2,
	MAPPING_SHARED = 8,
};

/* bit of a pagemap entry: the page belongs to a file, or is shared */
#define PAGE_OF_FILE (1ull << 61)

static int query(const struct uroce_maps *maps, struct maps_query *query, uintptr_t address)
{
	query->size = sizeof(*query);
	query->address = address;
	return ioctl(maps->maps, MAPS_QUERY, query) ? -errno : 0;
}

void uroce_maps_open(struct uroce_maps *maps)
{
	struct maps_query own = {};

	maps->maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	maps->pages = -1;
	if (maps->maps >= 0 && query(maps, &own, (uintptr_t)&own) < 0)
		maps->pages = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
}

void uroce_maps_close(struct uroce_maps *maps)
{
	if (maps->maps >= 0)
		close(maps->maps);
	if (maps->pages >= 0)
		close(maps->pages);
	maps->maps = maps->pages = -1;
}

bool uroce_maps_may_share(const struct uroce_maps *maps, uintptr_t address)
{
	struct maps_query answer = {};
	uint64_t entry;

	if (maps->maps < 0)
		return false;
	if (maps->pages < 0)
		return !query(maps, &answer, address) && (answer.mapping & MAPPING_SHARED);
	return pread(maps->pages, &entry, sizeof(entry),
		     address / sysconf(_SC_PAGESIZE) * sizeof(entry)) == sizeof(entry) &&
	       (entry & PAGE_OF_FILE);
}

static int look_query(const struct uroce_maps *maps, uintptr_t address, struct uroce_mapping *ret)
{
	struct maps_query answer = { .name_size = sizeof(ret->name), .name = (uintptr_t)ret->name };
	const uint64_t both = MAPPING_READABLE | MAPPING_WRITABLE;
	int r = query(maps, &answer, address);

	if (r < 0)
		return r;
	if (!answer.name_size)
		ret->name[0] = '\0';
	ret->start = answer.start;
	ret->end = answer.end;
	ret->offset = answer.offset;
	ret->device = makedev(answer.device_major, answer.device_minor);
	ret->inode = answer.inode;
	ret->shared = answer.mapping & MAPPING_SHARED;
	ret->writable = (answer.mapping & both) == both;
	return 0;
}

/*
 * START-END PERMISSIONS OFFSET MAJOR:MINOR INODE NAME. All numbers are hexadecimal except the
 * inode.
 */
int uroce_mapping_parse(const char *line, struct uroce_mapping *ret)
{
	unsigned int major, minor;
	char permissions[5];
	int name = 0;

	if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %" SCNx64 " %x:%x %" SCNu64 " %n",
		   &ret->start, &ret->end, permissions, &ret->offset, &major, &minor, &ret->inode,
		   &name) != 7 ||
	    strlen(permissions) != 4)
		return -EINVAL;
	ret->device = makedev(major, minor);
	ret->shared = permissions[3] == 's';
	ret->writable = permissions[0] == 'r' && permissions[1] == 'w';
	snprintf(ret->name, sizeof(ret->name), "%.*s", (int)strcspn(line + name, "\n"),
		 line + name);
	return 0;
}

static int look_text(uintptr_t address, struct uroce_mapping *ret)
{
	FILE *file = fopen("/proc/self/maps", "re");
	char *line = NULL;
	size_t size = 0;
	int r = -ENOENT;

	if (!file)
		return -ENODATA;
	while (r < 0 && getline(&line, &size, file) > 0)
		if (!uroce_mapping_parse(line, ret) && address >= ret->start && address < ret->end)
			r = 0;
	free(line);
	fclose(file);
	return r;
}

int uroce_maps_look(const struct uroce_maps *maps, uintptr_t address, struct uroce_mapping *ret)
{
	if (maps->maps < 0)
		return -ENODATA;
	return maps->pages < 0 ? look_query(maps, address, ret) : look_text(address, ret);
}

int uroce_file_grow(int fd, size_t size)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_FSIZE, &limit) && size > limit.rlim_cur) {
		log_err("uroce: memory that peers share takes files of %zu bytes, and RLIMIT_FSIZE allows %llu (ulimit -f)",
			size, (unsigned long long)limit.rlim_cur);
		return -EFBIG;
	}
	return ftruncate(fd, size) ? uroce_call_failed("ftruncate") : 0;
}

/* --- a second mapping --- */

void *uroce_map_again(const void *at, size_t size)
{
	void *again = mremap((void *)at, 0, size, MREMAP_MAYMOVE);

	return again == MAP_FAILED ? NULL : again;
}

static bool again_works(void)
{
	const size_t size = 4096;
	void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	void *again = page == MAP_FAILED ? NULL : uroce_map_again(page, size);

	if (again)
		munmap(again, size);
	if (page != MAP_FAILED)
		munmap(page, size);
	return again;
}

bool uroce_maps_again(void)
{
	enum {
		UNKNOWN,
		WORKS,
		FAILS
	};
	static atomic_int known = UNKNOWN; /* two threads may both test, with the same result */
	int state = atomic_load_explicit(&known, memory_order_relaxed);

	if (state == UNKNOWN) {
		state = again_works() ? WORKS : FAILS;
		atomic_store_explicit(&known, state, memory_order_relaxed);
	}
	return state == WORKS;
}

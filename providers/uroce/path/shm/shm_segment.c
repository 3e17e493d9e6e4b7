/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory of this process that peers can map: its device memory and buffers, and shared memory of
 * the application with registered regions. The board shows the number of a descriptor. A peer opens
 * it through /proc. The kernel permits this to processes that may read the memory of this process.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "providers/uroce/path/shm/shm.h"
#include "providers/uroce/path/shm/shm_hello.h"
#include "providers/uroce/path/shm/shm_object.h"

/* A segment of this process, at the same index as on the board. */
struct own_segment {
	unsigned int refs; /* number of regions, plus 1 for memory of the device; 0: unused */
	struct shm_object object;
	uintptr_t start; /* address of memory of the device; 0: memory of the application */
	size_t size;
};

struct shm_segments {
	struct uroce_maps maps;
	uint64_t made;			      /* number of segments shown so far */
	unsigned int limit;		      /* all entries from this index on are unused */
	uint64_t closed_device, closed_inode; /* the last file that this process could not open */
	struct own_segment segment[SHM_SEGMENTS];
};

/* --- under segments_lock --- */

static struct shm_segments *segments_get(struct uroce_shm *shm)
{
	struct shm_segments *segments = shm->segments;

	if (segments)
		return segments;
	segments = calloc(1, sizeof(*segments));
	if (!segments)
		return NULL;
	for (int i = 0; i < SHM_SEGMENTS; i++)
		segments->segment[i].object.fd = -1;
	uroce_maps_open(&segments->maps);
	shm->segments = segments;
	return segments;
}

static uint64_t segment_id(struct uroce_shm *shm, int index)
{
	return atomic_load_explicit(&shm->board->segments[index].id, memory_order_relaxed);
}

/* Put a segment on the board. Return: its index; -ENOSPC: the board is full. */
static int segment_show(struct uroce_shm *shm, const struct own_segment *new)
{
	struct shm_segments *segments = shm->segments;
	struct shm_segment *entry;
	int index = 0;

	while (index < SHM_SEGMENTS && segments->segment[index].refs)
		index++;
	if (index == SHM_SEGMENTS)
		return -ENOSPC;
	segments->segment[index] = *new;
	segments->limit = max_of(segments->limit, (unsigned int)index + 1);
	entry = &shm->board->segments[index];
	atomic_store_explicit(&entry->device, new->object.device, memory_order_relaxed);
	atomic_store_explicit(&entry->inode, new->object.inode, memory_order_relaxed);
	atomic_store_explicit(&entry->where, new->object.sysv ? new->object.id : new->object.fd,
			      memory_order_relaxed);
	atomic_store_explicit(&entry->kind, new->object.sysv ? SHM_SEGMENT_SYSV : SHM_SEGMENT_FILE,
			      memory_order_relaxed);
	/* Pairs with map_make() in shm_map.c. */
	atomic_store_explicit(&entry->id, ++segments->made * SHM_SEGMENTS + index,
			      memory_order_release);
	return index;
}

/*
 * Send GONE to peers with mappings, so that they unmap the removed segments. A peer that does not
 * run unmaps them when it maps its next segment.
 */
static void peers_tell(struct uroce_shm *shm)
{
	struct hello hello;

	shm_hello_fill(shm, &hello, GONE, 0);
	/* Pairs with uroce_board_wait(): peers in the table from here on keep their lane and
	 * connection. */
	atomic_fetch_add(&shm->key_readers, 1);
	for (int slot = 1; slot < UROCE_FIRST_SLOTS; slot++) {
		const struct shm_peer *peer =
			atomic_load_explicit(&shm->by_slot[slot], memory_order_seq_cst);

		if (peer && !peer->dead && !peer->self &&
		    atomic_load_explicit(&peer->used->maps, memory_order_relaxed))
			shm_hello_send(peer->conn, &hello, NULL, 0);
	}
	atomic_fetch_sub(&shm->key_readers, 1);
}

/* Drop a reference to a segment. Return: whether it was the last one. */
static bool segment_put(struct uroce_shm *shm, int index)
{
	struct own_segment *segment = &shm->segments->segment[index];

	if (--segment->refs)
		return false;
	atomic_store_explicit(&shm->board->segments[index].id, 0, memory_order_seq_cst);
	shm_fd_forget(&segment->object.fd);
	return true;
}

/* --- the device's own memory --- */

/* Map memory at a multiple of @alignment. Return: its descriptor; -1: peers cannot map it;
 * -ENOMEM. */
static int memory_map(size_t size, size_t alignment, void **ret_memory)
{
	void *room = mmap(NULL, size + alignment, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0),
	     *memory = MAP_FAILED;
	uintptr_t at = ((uintptr_t)room + alignment - 1) & ~(alignment - 1);
	int fd;

	if (room == MAP_FAILED)
		return -ENOMEM;
	fd = shm_shared_create("uroce-memory", size, size, false, &memory);
	if (fd < 0)
		memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			      0);
	munmap(room, at - (uintptr_t)room);
	munmap((void *)(at + size), (uintptr_t)room + alignment - at);
	if (memory != MAP_FAILED)
		*ret_memory = mremap(memory, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)at);
	if (memory != MAP_FAILED && *ret_memory == (void *)at)
		return max_of(fd, -1);
	if (fd >= 0)
		close(fd);
	return -ENOMEM;
}

static size_t whole_pages(size_t size)
{
	return ROUND_UP(size, (size_t)sysconf(_SC_PAGESIZE));
}

static void memory_show(struct uroce_shm *shm, int fd, void *memory, size_t size)
{
	struct own_segment segment = { .refs = 1, .start = (uintptr_t)memory, .size = size };
	struct stat st;
	int r = -ENOMEM;

	segment.object = (struct shm_object){ .fd = fd };
	pthread_mutex_lock(&shm->segments_lock);
	if (segments_get(shm) && !fstat(fd, &st)) {
		segment.object.device = st.st_dev;
		segment.object.inode = st.st_ino;
		r = segment_show(shm, &segment);
	}
	pthread_mutex_unlock(&shm->segments_lock);
	if (r < 0)
		close(fd);
}

int uroce_segment_alloc(struct uroce_shm *shm, size_t size, size_t alignment, void **ret_memory)
{
	size_t whole = whole_pages(size), page = sysconf(_SC_PAGESIZE);
	int fd;

	if (whole < size || alignment > SIZE_MAX - whole)
		return -ENOMEM;
	fd = memory_map(whole, max_of(alignment, page), ret_memory);
	if (fd < -1)
		return fd;
	/* The system's setting for shared memory decides whether this call has an effect. */
	madvise(*ret_memory, whole, MADV_HUGEPAGE);
	if (fd >= 0)
		memory_show(shm, fd, *ret_memory, whole);
	return 0;
}

/* Return the index of the device memory that contains the range; -1: none. */
static int segment_around(const struct shm_segments *segments, uintptr_t addr, uint64_t length)
{
	for (unsigned int i = 0; segments && i < segments->limit; i++) {
		const struct own_segment *segment = &segments->segment[i];

		if (segment->refs && segment->start && addr - segment->start < segment->size &&
		    length <= segment->size - (addr - segment->start))
			return i;
	}
	return -1;
}

void uroce_segment_free(struct uroce_shm *shm, void *memory, size_t size)
{
	bool gone = false;
	int index;

	pthread_mutex_lock(&shm->segments_lock);
	index = segment_around(shm->segments, (uintptr_t)memory, size);
	if (index >= 0) {
		shm->segments->segment[index].start = 0;
		gone = segment_put(shm, index);
	}
	pthread_mutex_unlock(&shm->segments_lock);
	munmap(memory, whole_pages(size));
	if (gone)
		peers_tell(shm);
}

/* --- the application's --- */

static int segment_of(const struct shm_segments *segments, const struct uroce_mapping *mapping)
{
	for (unsigned int i = 0; i < segments->limit; i++) {
		const struct own_segment *segment = &segments->segment[i];

		if (segment->refs && shm_object_is(&segment->object, mapping))
			return i;
	}
	return -1;
}

/*
 * Put an object on the board with one reference. -ENODATA: the object cannot be opened, or could
 * not be opened a moment ago.
 */
static int object_show(struct uroce_shm *shm, const struct uroce_mapping *mapping)
{
	struct shm_segments *segments = shm->segments;
	struct own_segment new = { .refs = 1 };
	int r;

	if (mapping->inode && mapping->inode == segments->closed_inode &&
	    mapping->device == segments->closed_device)
		return -ENODATA;
	r = shm_object_open(&segments->maps, mapping, &new.object);
	if (r < 0) {
		segments->closed_device = mapping->device;
		segments->closed_inode = mapping->inode;
		return r;
	}
	r = segment_show(shm, &new);
	if (r < 0)
		shm_object_close(&new.object);
	return r;
}

/* Find or add the segment of a range of the application's memory, and take a reference. */
static int application_share(struct uroce_shm *shm, uintptr_t addr, uint64_t length,
			     uint64_t *ret_place)
{
	struct shm_segments *segments = shm->segments;
	struct uroce_mapping mapping;
	int index;

	if (!uroce_maps_may_share(&segments->maps, addr) ||
	    uroce_maps_look(&segments->maps, addr, &mapping) < 0 || !mapping.shared ||
	    !mapping.writable || length > mapping.end - addr)
		return -ENODATA;
	*ret_place = mapping.offset + (addr - mapping.start);
	index = segment_of(segments, &mapping);
	if (index < 0)
		return object_show(shm, &mapping);
	segments->segment[index].refs++;
	return index;
}

int uroce_segment_share(struct uroce_shm *shm, uint32_t key, const void *addr, uint64_t length)
{
	uint64_t place = 0;
	int index = -ENODATA;

	pthread_mutex_lock(&shm->segments_lock);
	if (segments_get(shm)) {
		index = segment_around(shm->segments, (uintptr_t)addr, length);
		if (index >= 0) {
			place = (uintptr_t)addr - shm->segments->segment[index].start;
			shm->segments->segment[index].refs++;
		} else {
			index = application_share(shm, (uintptr_t)addr, length, &place);
		}
	}
	if (index >= 0)
		uroce_board_key_place(shm, key, segment_id(shm, index), place);
	pthread_mutex_unlock(&shm->segments_lock);
	return index < 0 ? -ENODATA : index;
}

int uroce_segment_open(struct uroce_shm *shm, const void *addr, uint64_t length,
		       uint64_t *ret_place)
{
	bool gone = false, own = false;
	int index = -ENODATA, fd = -1;

	pthread_mutex_lock(&shm->segments_lock);
	if (segments_get(shm)) {
		index = segment_around(shm->segments, (uintptr_t)addr, length);
		own = index >= 0;
		if (own)
			*ret_place = (uintptr_t)addr - shm->segments->segment[index].start;
		else
			index = application_share(shm, (uintptr_t)addr, length, ret_place);
	}
	/* A System V segment has no descriptor to close. */
	if (index >= 0 && shm->segments->segment[index].object.fd >= 0)
		fd = fcntl(shm->segments->segment[index].object.fd, F_DUPFD_CLOEXEC, 0);
	if (index >= 0 && !own)
		gone = segment_put(shm, index);
	pthread_mutex_unlock(&shm->segments_lock);
	if (gone)
		peers_tell(shm);
	return fd < 0 ? -ENODATA : fd;
}

int uroce_segment_map(int fd, uint64_t place, uint64_t length, bool fixed, struct uroce_mapped *ret)
{
	uint64_t start, end, page = sysconf(_SC_PAGESIZE);
	struct stat st;
	int seals;

	if (fd < 0 || !length || place + length < length || fstat(fd, &st) ||
	    !shm_object_file_is(fd, st.st_dev, st.st_ino) || (uint64_t)st.st_size < place + length)
		return -EPROTO;
	seals = fcntl(fd, F_GET_SEALS);
	if (fixed && (seals < 0 || !(seals & F_SEAL_SHRINK)))
		return -EPROTO;
	/* Huge pages must be mapped whole. */
	if ((uint64_t)st.st_blksize > page && !(st.st_blksize & (st.st_blksize - 1)))
		page = st.st_blksize;
	start = place & ~(page - 1);
	end = ROUND_UP(place + length, page);
	if (end < place || end - start > SIZE_MAX)
		return -EPROTO;
	ret->at = mmap(NULL, end - start, PROT_READ | PROT_WRITE, MAP_SHARED, fd, start);
	if (ret->at == MAP_FAILED)
		return -errno;
	ret->size = end - start;
	ret->bytes = (uint8_t *)ret->at + (place - start);
	return 0;
}

void uroce_segment_unshare(struct uroce_shm *shm, int segment)
{
	bool gone;

	pthread_mutex_lock(&shm->segments_lock);
	gone = segment_put(shm, segment);
	pthread_mutex_unlock(&shm->segments_lock);
	if (gone)
		peers_tell(shm);
}

/* --- the end --- */

void shm_segments_free(struct uroce_shm *shm)
{
	if (shm->segments) {
		for (unsigned int i = 0; i < shm->segments->limit; i++)
			shm_object_close(&shm->segments->segment[i].object);
		uroce_maps_close(&shm->segments->maps);
		free(shm->segments);
	}
	pthread_mutex_destroy(&shm->segments_lock);
	pthread_mutex_destroy(&shm->maps_lock);
}

void shm_segments_forked(struct uroce_shm *shm)
{
	for (unsigned int i = 0; shm->segments && i < shm->segments->limit; i++)
		shm_fd_forget(&shm->segments->segment[i].object.fd);
	if (!shm->segments)
		return;
	shm_fd_forget(&shm->segments->maps.maps);
	shm_fd_forget(&shm->segments->maps.pages);
}

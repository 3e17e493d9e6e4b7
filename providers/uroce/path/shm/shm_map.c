/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Mappings of memory of peers. The first operation that could use a segment maps all of it. It is
 * unmapped when its owner announces its end, or at the latest with the peer.
 *
 * A user of a mapping increments its user count, then checks that the mapping still has the same
 * segment. To drop a mapping, clear its id first, then wait until its user count is 0.
 *
 * The memory behind a mapping belongs to the other process, which may truncate it at any time.
 * Therefore all copies are those of copy.h, which survive a fault.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>

#include "providers/uroce/path/shm/shm.h"
#include "providers/uroce/path/shm/shm_hello.h"
#include "providers/uroce/path/shm/shm_object.h"

struct shm_map {
	alignas(SHM_LINE) atomic_ullong id; /* of the segment; 0: none */
	atomic_uint users;
	uint8_t *memory;
	uint64_t size;
	/* Under maps_lock: */
	bool sysv;
	uint64_t refused; /* id of a segment that cannot be mapped: do not try again */
};

struct shm_maps {
	struct shm_map map[SHM_SEGMENTS];
};

/* --- mappings, under maps_lock --- */

static void map_drop(struct shm_map *map)
{
	unsigned int spins = 0;

	if (!atomic_load_explicit(&map->id, memory_order_relaxed))
		return;
	/*
	 * Pairs with map_enter(): the user sees that the segment is gone, or this thread sees the
	 * user's count.
	 */
	atomic_store_explicit(&map->id, 0, memory_order_seq_cst);
	while (atomic_load_explicit(&map->users, memory_order_seq_cst))
		uroce_spin(&spins);
	if (map->sysv)
		shmdt(map->memory);
	else
		munmap(map->memory, map->size);
}

static void sweep(struct shm_peer *peer, struct shm_maps *maps)
{
	const struct shm_board *board =
		uroce_shm_board(peer); /* already mapped, because a key on it was read */

	for (int i = 0; i < SHM_SEGMENTS; i++) {
		const struct shm_segment *entry = &board->segments[i];

		if (atomic_load_explicit(&maps->map[i].id, memory_order_relaxed) !=
		    atomic_load_explicit(&entry->id, memory_order_relaxed))
			map_drop(&maps->map[i]);
	}
}

/* Map a file that the peer has open. Its owner must be this user, so that the peer gets no access
 * to a file that it could not open itself. */
static int file_map(const struct shm_peer *peer, const struct shm_segment *entry,
		    struct shm_map *map)
{
	uint64_t device = atomic_load_explicit(&entry->device, memory_order_relaxed),
		 inode = atomic_load_explicit(&entry->inode, memory_order_relaxed);
	_cleanup_close_ int seen = -1, fd = -1;
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", peer->pid,
		 atomic_load_explicit(&entry->where, memory_order_relaxed));
	seen = open(path, O_PATH | O_CLOEXEC);
	if (seen < 0 || !shm_object_file_is(seen, device, inode) || fstat(seen, &st) ||
	    st.st_uid != peer->shm->uid || st.st_size <= 0)
		return -ENODATA;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", seen);
	fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	map->size = st.st_size;
	map->memory = map->size == (size_t)st.st_size
			      ? mmap(NULL, map->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
			      : MAP_FAILED;
	map->sysv = false;
	return map->memory == MAP_FAILED ? -ENOMEM : 0;
}

/* Return whether both processes use one IPC namespace. An identifier is valid in only one. */
static bool same_ipc(pid_t pid)
{
	struct stat own, other;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/ipc", pid);
	return !stat("/proc/self/ns/ipc", &own) && !stat(path, &other) &&
	       own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

static int sysv_map(const struct shm_peer *peer, const struct shm_segment *entry,
		    struct shm_map *map)
{
	int id = atomic_load_explicit(&entry->where, memory_order_relaxed);
	struct shmid_ds ds;

	if (!same_ipc(peer->pid))
		return -ENODATA;
	map->memory = shmat(id, NULL, 0);
	if (map->memory == (void *)-1)
		return -ENODATA;
	/*
	 * This process has attached the segment, so its identifier cannot be reused from here on.
	 */
	if (shmctl(id, IPC_STAT, &ds) || ds.shm_perm.uid != peer->shm->uid) {
		shmdt(map->memory);
		return -ENODATA;
	}
	map->size = ds.shm_segsz;
	map->sysv = true;
	return 0;
}

/* Map a segment at least up to byte @end. -ESTALE: the segment is gone. */
static int map_make(struct shm_peer *peer, struct shm_map *map, uint64_t id, uint64_t end)
{
	const struct shm_segment *entry = &uroce_shm_board(peer)->segments[id % SHM_SEGMENTS];
	int r;

	/* Pairs with segment_show() in shm_segment.c. */
	if (atomic_load_explicit(&entry->id, memory_order_acquire) != id)
		return -ESTALE;
	r = atomic_load_explicit(&entry->kind, memory_order_relaxed) == SHM_SEGMENT_SYSV
		    ? sysv_map(peer, entry, map)
		    : file_map(peer, entry, map);
	if (r < 0)
		return r;
	/* A forked child does not get the mapping. */
	madvise(map->memory, map->size, MADV_DONTFORK);
	uroce_copy_init();
	log_debug("uroce: memory of process %d is mapped, %llu bytes", peer->pid,
		  (unsigned long long)map->size);
	atomic_store_explicit(&map->id, id, memory_order_seq_cst);
	return end <= map->size ? 0 : -ENODATA;
}

static struct shm_maps *maps_get(struct shm_peer *peer)
{
	struct shm_maps *maps = atomic_load_explicit(&peer->maps, memory_order_relaxed);

	if (maps)
		return maps;
	maps = aligned_alloc(alignof(struct shm_maps), sizeof(*maps));
	if (!maps)
		return NULL;
	memset(maps, 0, sizeof(*maps));
	/* From here on the owner sends GONE when it removes a segment. */
	atomic_store_explicit(&peer->uses->maps, 1, memory_order_relaxed);
	atomic_store_explicit(&peer->maps, maps, memory_order_release);
	return maps;
}

/* Map a segment at least up to @end. A file may have grown since it was mapped. */
static int map_want(struct shm_peer *peer, uint64_t id, uint64_t end)
{
	struct uroce_shm *shm = peer->shm;
	struct shm_maps *maps;
	int r = -ENOMEM;

	pthread_mutex_lock(&shm->maps_lock);
	maps = maps_get(peer);
	if (maps) {
		struct shm_map *map = &maps->map[id % SHM_SEGMENTS];
		bool mapped = atomic_load_explicit(&map->id, memory_order_relaxed) == id;

		r = mapped && end <= map->size ? 0 : map->refused == id ? -ENODATA : 1;
		if (r > 0) {
			sweep(peer, maps);
			map_drop(map);
			r = map_make(peer, map, id, end);
		}
		if (r < 0 && r != -ESTALE)
			map->refused = id;
	}
	pthread_mutex_unlock(&shm->maps_lock);
	return r;
}

void shm_maps_sweep(struct shm_peer *peer)
{
	struct shm_maps *maps;

	pthread_mutex_lock(&peer->shm->maps_lock);
	maps = atomic_load_explicit(&peer->maps, memory_order_relaxed);
	if (maps)
		sweep(peer, maps);
	pthread_mutex_unlock(&peer->shm->maps_lock);
}

void shm_maps_free(struct shm_peer *peer)
{
	struct shm_maps *maps = atomic_load_explicit(&peer->maps, memory_order_relaxed);

	if (!maps)
		return;
	for (int i = 0; i < SHM_SEGMENTS; i++)
		map_drop(&maps->map[i]);
	atomic_store_explicit(&peer->maps, NULL, memory_order_relaxed);
	free(maps);
}

/* --- using them --- */

/* Begin to use a mapping. NULL: the segment is not mapped, or not up to @end. map_leave() ends
 * it. */
static struct shm_map *map_enter(struct shm_peer *peer, uint64_t id, uint64_t end)
{
	struct shm_maps *maps = atomic_load_explicit(&peer->maps, memory_order_acquire);
	struct shm_map *map;

	if (unlikely(!maps))
		return NULL;
	map = &maps->map[id % SHM_SEGMENTS];
	atomic_fetch_add_explicit(&map->users, 1, memory_order_seq_cst);
	if (likely(atomic_load_explicit(&map->id, memory_order_seq_cst) == id && end <= map->size))
		return map;
	atomic_fetch_sub_explicit(&map->users, 1, memory_order_release);
	return NULL;
}

static void map_leave(struct shm_map *map)
{
	/* Pairs with map_drop(): the copy is over. */
	atomic_fetch_sub_explicit(&map->users, 1, memory_order_release);
}

static int pieces_copy(uint8_t *there, const struct uroce_rdma *rdma)
{
	for (int i = 0; i < rdma->iovcnt; i++) {
		const struct iovec *iov = &rdma->iov[i];
		int r = rdma->kind == UROCE_RDMA_WRITE
				? uroce_copy(there, iov->iov_base, iov->iov_len)
				: uroce_copy(iov->iov_base, there, iov->iov_len);

		if (unlikely(r < 0))
			return r;
		there += iov->iov_len;
	}
	return 0;
}

/*
 * Perform an atomic operation and copy the previous value to the pieces. If the memory of the
 * pieces is not accessible, the operation has still been executed, as with packets.
 */
static int word_change(uint8_t *there, const struct uroce_rdma *rdma)
{
	uint64_t orig;
	const uint8_t *from = (const uint8_t *)&orig;
	int r;

	if (((uintptr_t)there & 7) || !uroce_atomics_survive())
		return -EOPNOTSUPP;
	r = rdma->kind == UROCE_RDMA_CMP_SWAP
		    ? uroce_atomic_cmp_swap(there, rdma->compare, rdma->swap_add, &orig)
		    : uroce_atomic_fetch_add(there, rdma->swap_add, &orig);
	if (unlikely(r < 0))
		return -EOPNOTSUPP;
	for (int i = 0; i < rdma->iovcnt; i++) {
		if (unlikely(uroce_copy(rdma->iov[i].iov_base, from, rdma->iov[i].iov_len) < 0))
			return -EFAULT;
		from += rdma->iov[i].iov_len;
	}
	return 0;
}

static int memory_rdma(uint8_t *there, const struct uroce_rdma *rdma)
{
	if (uroce_rdma_atomic(rdma))
		return word_change(there, rdma);
	return pieces_copy(there, rdma) < 0 ? -EOPNOTSUPP : 0;
}

int uroce_map_rdma(struct shm_peer *peer, const struct shm_place *at, const struct uroce_rdma *rdma)
{
	uint64_t end = at->place + rdma->length;
	struct shm_map *map;
	int r;

	if (unlikely(peer->self))
		return memory_rdma((uint8_t *)(uintptr_t)at->base, rdma);
	if (!at->segment || end < at->place)
		return -EOPNOTSUPP;
	map = map_enter(peer, at->segment, end);
	if (unlikely(!map)) {
		if (map_want(peer, at->segment, end) < 0)
			return -EOPNOTSUPP;
		map = map_enter(peer, at->segment, end);
		if (!map)
			return -EOPNOTSUPP;
	}
	r = memory_rdma(map->memory + at->place, rdma);
	map_leave(map);
	return r;
}

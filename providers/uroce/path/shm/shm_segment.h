/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory that two processes have mapped, for operations by plain instructions. Threads: any. */
#ifndef UROCE_SHM_SEGMENT_H
#define UROCE_SHM_SEGMENT_H

#include "providers/uroce/path/shm/shm.h"

/* --- shm_segment.c: memory of this process that peers can map --- */

/*
 * Allocate @size bytes of zeros at a multiple of @alignment, a power of two, that peers can map. If
 * that fails, for example because descriptors are missing, allocate memory that peers cannot map.
 * -ENOMEM: no memory at all.
 */
int uroce_segment_alloc(struct uroce_shm *shm, size_t size, size_t alignment, void **ret_memory);
void uroce_segment_free(struct uroce_shm *shm, void *memory, size_t size);
/*
 * Let peers map the region of a key that is shown, if it lies in memory of uroce_segment_alloc() or
 * in shared memory of the application. Return: the index of the segment, for
 * uroce_segment_unshare(); -ENODATA: peers cannot map it.
 */
int uroce_segment_share(struct uroce_shm *shm, uint32_t key, const void *addr, uint64_t length);
/*
 * Return a new descriptor of the memory that contains the whole range: memory of the device, or
 * shared memory of the application. *@ret_place: offset of the range in it. -ENODATA: the memory is
 * private to this process.
 */
int uroce_segment_open(struct uroce_shm *shm, const void *addr, uint64_t length,
		       uint64_t *ret_place);
/* A mapping of another process's memory: the pages, and the first byte of the range. */
struct uroce_mapped {
	void *at;
	size_t size;
	uint8_t *bytes;
};
/*
 * Check and map a descriptor that came from uroce_segment_open() in another process. @fixed: the
 * memory must be sealed against shrinking, because its reader cannot handle faults. -EPROTO: the
 * descriptor is not memory, or the memory is too short.
 */
int uroce_segment_map(int fd, uint64_t place, uint64_t length, bool fixed,
		      struct uroce_mapped *ret);
/* Drop the segment of a key that has been hidden. When no key needs the segment any more, living
 * peers unmap it. */
void uroce_segment_unshare(struct uroce_shm *shm, int segment);

/* --- shm_map.c: memory of peers that is mapped here --- */

/* The place of a region. */
struct shm_place {
	uint64_t base;	  /* address in its owner */
	uint64_t segment; /* id of the segment; 0: the region cannot be mapped */
	uint64_t place;
};
/*
 * Perform an operation by plain instructions on memory that both processes have mapped. The caller
 * has entered the key into the lane as used (shm_use.c). -EOPNOTSUPP: the memory is not mapped, or
 * not accessible.
 */
int uroce_map_rdma(struct shm_peer *peer, const struct shm_place *at,
		   const struct uroce_rdma *rdma);

#endif

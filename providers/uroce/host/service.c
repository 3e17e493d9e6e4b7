/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Services on boards: the service ids that have a listener in a process. */
#include <string.h>

#include "providers/uroce/host/gsi.h"

static uint32_t service_place(uint64_t id, uint32_t step)
{
	return ((id * 0x9e3779b97f4a7c15ull >> 48) + step) % SHM_SERVICES;
}

/* Copy both halves of the address without conversion. Zeros mean any address. */
static void service_gid(const union ibv_gid *gid, uint64_t ret_half[2])
{
	memset(ret_half, 0, 2 * sizeof(*ret_half));
	if (gid)
		memcpy(ret_half, gid->raw, sizeof(gid->raw));
}

static bool service_is(const struct shm_service *service, uint64_t id, const uint64_t half[2])
{
	return atomic_load_explicit(&service->id, memory_order_acquire) == id &&
	       atomic_load_explicit(&service->gid[0], memory_order_relaxed) == half[0] &&
	       atomic_load_explicit(&service->gid[1], memory_order_relaxed) == half[1];
}

const struct shm_service *uroce_board_service_find(const struct shm_board *board, uint64_t id,
						   const union ibv_gid *gid)
{
	uint64_t half[2];

	service_gid(gid, half);
	for (uint32_t step = 0; board && step < SHM_SERVICES; step++) {
		const struct shm_service *service = &board->services[service_place(id, step)];

		if (service_is(service, id, half))
			return service;
		if (!atomic_load_explicit(&service->id, memory_order_relaxed))
			return NULL;
	}
	return NULL;
}

static int service_add(struct shm_board *board, uint64_t id, const union ibv_gid *gid)
{
	uint64_t half[2];

	service_gid(gid, half);
	for (uint32_t step = 0; step < SHM_SERVICES; step++) {
		struct shm_service *service = &board->services[service_place(id, step)];
		uint64_t old = atomic_load_explicit(&service->id, memory_order_relaxed);

		if (old && old != SHM_SERVICE_GONE)
			continue;
		atomic_store_explicit(&service->gid[0], half[0], memory_order_relaxed);
		atomic_store_explicit(&service->gid[1], half[1], memory_order_relaxed);
		/* Pairs with service_is(). */
		atomic_store_explicit(&service->id, id, memory_order_release);
		return 0;
	}
	return -ENOSPC;
}

/*
 * Remove a service. Searches end at a place that was never used. If the next place was never used,
 * also mark the removed places in front of it as never used.
 */
static void service_remove(struct shm_board *board, uint32_t at)
{
	atomic_store_explicit(&board->services[at].id, SHM_SERVICE_GONE, memory_order_relaxed);
	if (atomic_load_explicit(&board->services[(at + 1) % SHM_SERVICES].id,
				 memory_order_relaxed))
		return;
	for (uint32_t n = 0; n < SHM_SERVICES; n++) {
		struct shm_service *s = &board->services[(at - n) % SHM_SERVICES];

		if (atomic_load_explicit(&s->id, memory_order_relaxed) != SHM_SERVICE_GONE)
			return;
		atomic_store_explicit(&s->id, 0, memory_order_relaxed);
	}
}

static void services_count(struct shm_board *board, int more)
{
	atomic_uint *count = &board->first_page.services;

	/* Pairs with peer_kind(). */
	atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + more,
			      memory_order_release);
}

int uroce_board_service(struct uroce_shm *shm, uint64_t id, const union ibv_gid *gid, bool on)
{
	const struct shm_service *service;
	int r = 0;

	if (!id || id == SHM_SERVICE_GONE)
		return -EINVAL;
	pthread_mutex_lock(&uroce_leaf_locks[UROCE_LEAF_SERVICES]);
	service = uroce_board_service_find(shm->board, id, gid);
	if (on && !service)
		r = service_add(shm->board, id, gid);
	else if (!on && service)
		service_remove(shm->board, service - shm->board->services);
	if (!r && on != (service != NULL))
		services_count(shm->board, on ? 1 : -1);
	pthread_mutex_unlock(&uroce_leaf_locks[UROCE_LEAF_SERVICES]);
	return r;
}

void uroce_board_manager(struct uroce_shm *shm)
{
	atomic_store_explicit(&shm->board->first_page.manager, 1, memory_order_release);
}

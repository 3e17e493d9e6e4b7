/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory keys. Their entries are in the memory of the firmware, where the driver changes some of
 * them itself. A window is an entry without pages: a request binds it to a part of a region.
 */
#include "tests/hosts/vm/pci/mlx4.h"

#include <string.h>
#include "tests/hosts/vm/pci/icm.h"
#include "tests/hosts/vm/pci/play.h"
#include "util/bytes.h"

/* An entry of 64 bytes. */
enum {
	ENTRY = 64,
	FLAGS = 0x0,
	QP = 0x4,
	KEY = 0x8,
	PD = 0xc,
	START = 0x10,
	LENGTH = 0x18,
	REGION_KEY = 0x20, /* offset in a window's entry */
	WINDOWS = 0x24,	   /* that are bound to a region */
	TABLE = 0x2c,	   /* of a window: where it begins in the region */
	LOG_PAGE = 0x38,
};
/* Flags. */
enum {
	STATUS_SHIFT = 28,
	STATUS_FREE = 3,
	STATUS_SOFTWARE = 0xf,
	PHYSICAL = 1 << 9,
	REGION = 1 << 8,
	RIGHTS_SHIFT = 10, /* five bits, in the order of LOOP_LOCAL_READ */
	RIGHTS = 0x1f,
	TYPE_2 = 1 << 7, /* of the word of the queue pair */
	PD_MASK = 0x1ffff,
};

static struct {
	uint64_t at;
	uint32_t log;
	bool placed;
} keys;

static uint32_t index_of(uint32_t key)
{
	return key >> 8 | key << 24;
}

static uint8_t *entry_at(uint32_t index)
{
	return keys.placed
		       ? icm_memory(keys.at + (uint64_t)(index & ((1u << keys.log) - 1)) * ENTRY)
		       : NULL;
}

static void disown(uint64_t at, uint8_t *page)
{
	(void)at;
	for (int i = 0; i < ICM_PAGE; i += ENTRY)
		page[i] = STATUS_SOFTWARE << 4;
}

void hca_new_page(uint64_t at)
{
	if (keys.placed && at >= keys.at && at < keys.at + ((uint64_t)ENTRY << keys.log))
		disown(at, icm_memory(at));
}

void hca_place_keys(uint64_t at, uint32_t log_keys)
{
	keys.at = at;
	keys.log = log_keys;
	keys.placed = log_keys;
	if (keys.placed)
		icm_each(at, at + ((uint64_t)ENTRY << log_keys), disown);
}

static uint32_t status_of(const uint8_t *entry)
{
	return get32(entry + FLAGS) >> STATUS_SHIFT;
}

static void set_status(uint8_t *entry, uint32_t status)
{
	put32(entry + FLAGS,
	      (get32(entry + FLAGS) & ((1u << STATUS_SHIFT) - 1)) | status << STATUS_SHIFT);
}

/* Return the entry that a key names, or NULL. */
static uint8_t *find(uint32_t key, uint32_t pd)
{
	uint8_t *entry = entry_at(index_of(key));

	if (!entry || status_of(entry) || get32(entry + KEY) != index_of(key) ||
	    (get32(entry + PD) & PD_MASK) != pd)
		return NULL;
	return entry;
}

static unsigned rights_of(const uint8_t *entry)
{
	return get32(entry + FLAGS) >> RIGHTS_SHIFT & RIGHTS;
}

static bool is_region(const uint8_t *entry)
{
	return get32(entry + FLAGS) & REGION;
}

static bool is_type_2(const uint8_t *entry)
{
	return get32(entry + QP) & TYPE_2;
}

enum hcr_status hca_create_key(struct hcr_call *call)
{
	uint8_t *entry = entry_at(call->modifier);

	if (!entry)
		return HCR_ICM_ERROR;
	memcpy(entry, hcr_in(call), ENTRY);
	put32(entry + WINDOWS, 0);
	if (status_of(entry) == STATUS_SOFTWARE)
		set_status(entry, 0);
	PLAY_LOG("key 0x%x: flags 0x%x, 0x%llx, %llu bytes, pages of 2^%u bytes\n", call->modifier,
		 get32(entry + FLAGS), (unsigned long long)get64(entry + START),
		 (unsigned long long)get64(entry + LENGTH), get32(entry + LOG_PAGE));
	return HCR_OK;
}

/* A bound window keeps its region. */
static void release(uint8_t *window)
{
	uint8_t *region = entry_at(index_of(get32(window + REGION_KEY)));

	if (get64(window + LENGTH) && region && get32(region + WINDOWS))
		put32(region + WINDOWS, get32(region + WINDOWS) - 1);
	put64(window + LENGTH, 0);
}

enum hcr_status hca_destroy_key(struct hcr_call *call)
{
	uint8_t *entry = entry_at(call->modifier);

	if (!entry || status_of(entry) == STATUS_SOFTWARE)
		return HCR_BAD_RESOURCE_STATE;
	if (is_region(entry) && get32(entry + WINDOWS))
		return HCR_REGION_BOUND;
	if (!is_region(entry))
		release(entry);
	set_status(entry, STATUS_SOFTWARE);
	return HCR_OK;
}

static bool has(const uint8_t *entry, uint64_t at, uint64_t length)
{
	uint64_t start = get64(entry + START), size = get64(entry + LENGTH);

	return at >= start && at - start <= size && length <= size - (at - start);
}

static uint8_t *region_memory(const uint8_t *region, uint64_t at, size_t *ret_together)
{
	uint64_t start = get64(region + START), offset, page;
	uint32_t shift = get32(region + LOG_PAGE) & 0x3f;
	uint64_t mask = (1ull << shift) - 1;

	if (!(get32(region + FLAGS) & PHYSICAL)) {
		offset = at - start + (start & mask);
		page = icm_page(get64(region + TABLE), offset >> shift);
		if (!page)
			return NULL;
		at = page + (offset & mask);
	}
	*ret_together = PLAY_PAGE - at % PLAY_PAGE;
	return play_memory(at);
}

uint8_t *hca_memory(uint32_t key, uint32_t pd, uint32_t qp, uint64_t at, uint64_t length,
		    unsigned access, size_t *ret_together)
{
	const uint8_t *entry = find(key, pd);

	if (!entry || !has(entry, at, length) || (rights_of(entry) & access) != access)
		return NULL;
	if (is_region(entry))
		return region_memory(entry, at, ret_together);
	if (is_type_2(entry) && (get32(entry + QP) & ~0xffu) != qp << 8)
		return NULL;
	at = get64(entry + TABLE) + (at - get64(entry + START));
	entry = find(get32(entry + REGION_KEY), pd);
	return entry ? region_memory(entry, at, ret_together) : NULL;
}

/* A window is no region for other windows. A peer writes only where the process itself may. */
static bool fits(const uint8_t *region, const struct work *work)
{
	enum {
		BIND = 1 << 15,
	};
	bool writes = work->bind.access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC);

	return region && is_region(region) && get32(region + FLAGS) & BIND &&
	       !(writes && !(rights_of(region) & LOOP_LOCAL_WRITE)) &&
	       has(region, work->bind.address, work->bind.length);
}

static uint32_t window_flags(unsigned verbs)
{
	uint32_t rights = (verbs & IBV_ACCESS_REMOTE_READ ? LOOP_REMOTE_READ : 0) |
			  (verbs & IBV_ACCESS_REMOTE_WRITE ? LOOP_REMOTE_WRITE : 0) |
			  (verbs & IBV_ACCESS_REMOTE_ATOMIC ? LOOP_REMOTE_ATOMIC : 0);

	return rights << RIGHTS_SHIFT;
}

static void open_window(uint8_t *window, uint8_t *region, const struct work *work, uint32_t qp)
{
	bool from_zero = work->bind.access & IBV_ACCESS_ZERO_BASED;

	put32(region + WINDOWS, get32(region + WINDOWS) + 1);
	put32(window + FLAGS, window_flags(work->bind.access));
	put32(window + QP, qp << 8 | (get32(window + QP) & 0xff));
	put64(window + START, from_zero ? 0 : work->bind.address);
	put64(window + LENGTH, work->bind.length);
	put32(window + REGION_KEY, work->bind.mr_lkey);
	put64(window + TABLE, work->bind.address);
}

enum ibv_wc_status hca_bind(const struct loop_qp *qp, const struct work *work)
{
	uint8_t *window = entry_at(index_of(work->bind.mw_rkey));
	uint8_t *region = find(work->bind.mr_lkey, qp->pd);

	if (!window || is_region(window) || status_of(window) == STATUS_SOFTWARE ||
	    (get32(window + PD) & PD_MASK) != qp->pd)
		return IBV_WC_MW_BIND_ERR;
	if (is_type_2(window) ? status_of(window) != STATUS_FREE || !work->bind.length : false)
		return IBV_WC_MW_BIND_ERR;
	if (work->bind.length && !fits(region, work))
		return IBV_WC_MW_BIND_ERR;
	release(window);
	put32(window + KEY, index_of(work->bind.new_rkey));
	if (work->bind.length)
		open_window(window, region, work, qp->object.number);
	return IBV_WC_SUCCESS;
}

bool hca_invalidate(const struct loop_qp *qp, uint32_t key)
{
	uint8_t *window = find(key, qp->pd);

	if (!window || is_region(window) || !is_type_2(window) ||
	    (get32(window + QP) & ~0xffu) != qp->object.number << 8)
		return false;
	release(window);
	set_status(window, STATUS_FREE);
	return true;
}

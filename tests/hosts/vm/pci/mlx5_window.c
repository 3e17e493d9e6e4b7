/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory windows: keys without pages. A request binds such a key to a part of a region. */
#include "tests/hosts/vm/pci/mlx5.h"

static struct hca_key *key_of(uint32_t key, uint32_t pd)
{
	struct hca_key *k = key >> 8 < HCA_KEYS ? &hca.keys[key >> 8] : NULL;

	return k && k->used && k->low == (key & 0xff) && k->pd == pd ? k : NULL;
}

static struct hca_key *window_of(uint32_t key, uint32_t pd)
{
	struct hca_key *window = key_of(key, pd);

	return window && window->window ? window : NULL;
}

static uint8_t access_of(unsigned verbs)
{
	return (verbs & IBV_ACCESS_REMOTE_READ ? HCA_REMOTE_READ : 0) |
	       (verbs & IBV_ACCESS_REMOTE_WRITE ? HCA_REMOTE_WRITE : 0) |
	       (verbs & IBV_ACCESS_REMOTE_ATOMIC ? HCA_REMOTE_ATOMIC : 0);
}

/* A window is no region for other windows. A peer writes only where the process itself may. */
static bool fits(const struct hca_key *region, const struct work *work)
{
	uint64_t at = work->bind.address, length = work->bind.length;
	bool writes = work->bind.access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC);

	if (!region || region->window || region->free ||
	    (writes && !(region->access & HCA_LOCAL_WRITE)))
		return false;
	return hca_key_has(region, at, length);
}

enum ibv_wc_status hca_bind_window(const struct hca_qp *qp, const struct work *work)
{
	struct hca_key *window = window_of(work->bind.mw_rkey, qp->pd);

	if (!window)
		return IBV_WC_MW_BIND_ERR;
	if (!work->bind.length) {
		window->free = true;
		window->low = work->bind.new_rkey;
		return IBV_WC_SUCCESS;
	}
	if ((window->type_2 && !window->free) || !fits(key_of(work->bind.mr_lkey, qp->pd), work))
		return IBV_WC_MW_BIND_ERR;
	window->free = false;
	window->low = work->bind.new_rkey;
	window->access = access_of(work->bind.access);
	window->qp = work->bind.qp;
	window->start = work->bind.start;
	window->length = work->bind.length;
	window->region = work->bind.mr_lkey;
	window->region_at = work->bind.address;
	return IBV_WC_SUCCESS;
}

bool hca_invalidate_window(const struct hca_qp *qp, uint32_t key)
{
	struct hca_key *window = window_of(key, qp->pd);

	if (!window || !window->type_2 || window->free || window->qp != qp->object.number)
		return false;
	window->free = true;
	return true;
}

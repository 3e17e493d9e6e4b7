/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Regions and windows of the process are those of the backend, because it lives in the same
 * process. */
#include "tests/adapters/lab/model/model.h"

#include <errno.h>

enum {
	KEYS_TO_TRY = 1 << 14
};

int model_alloc_pd(struct object *pd)
{
	if (!model_on())
		return 0;
	pd->backend.pd = ibv_alloc_pd(model_context());
	return pd->backend.pd ? 0 : errno;
}

int model_reg_mr(struct object *mr, const struct ib_uverbs_reg_mr *q)
{
	struct ibv_mr *backend;

	if (!model_on())
		return 0;
	backend = ibv_reg_mr_iova(mr->pd->backend.pd, (void *)(uintptr_t)q->start, q->length,
				  q->hca_va, q->access_flags);
	if (!backend)
		return errno;
	mr->backend.mr = backend;
	mr->number = backend->lkey;
	mr->rkey = backend->rkey;
	mr->iova = q->hca_va;
	mr->access = q->access_flags;
	return 0;
}

/* The backend chooses a key's lowest byte at random: register until the byte matches. */
int model_alias_mr(struct object *mr, const struct object *of, uint64_t iova, unsigned access,
		   uint8_t lowest)
{
	const struct ibv_mr *origin = of->backend.mr;
	struct ibv_mr *backend;

	if (!model_on())
		return 0;
	for (int i = 0; i < KEYS_TO_TRY; i++) {
		backend = ibv_reg_mr_iova(mr->pd->backend.pd, origin->addr, origin->length, iova,
					  access);
		if (!backend)
			return errno;
		if ((backend->rkey & 0xff) == lowest) {
			mr->backend.mr = backend;
			mr->number = mr->rkey = backend->rkey;
			mr->iova = iova;
			return 0;
		}
		ibv_dereg_mr(backend);
	}
	return ENOMEM;
}

int model_rereg_mr(struct object *mr, struct object *pd, const struct ib_uverbs_rereg_mr *q)
{
	if (!model_on())
		return 0;
	if (ibv_rereg_mr(mr->backend.mr, q->flags, pd->backend.pd, (void *)(uintptr_t)q->start,
			 q->length, q->access_flags))
		return errno ? errno : EINVAL;
	mr->number = mr->backend.mr->lkey;
	mr->rkey = mr->backend.mr->rkey;
	if (q->flags & IBV_REREG_MR_CHANGE_TRANSLATION)
		mr->iova = q->hca_va;
	return 0;
}

int model_alloc_mw(struct object *mw, enum ibv_mw_type type)
{
	struct ibv_mw *backend;

	if (!model_on())
		return 0;
	backend = ibv_alloc_mw(mw->pd->backend.pd, type);
	if (!backend)
		return errno;
	mw->backend.mw = backend;
	mw->rkey = mw->number = backend->rkey;
	return 0;
}

struct ibv_mr *model_open_region(struct object *pd, void *at, size_t length)
{
	return ibv_reg_mr(pd->backend.pd, at, length,
			  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
				  IBV_ACCESS_MW_BIND);
}

void model_close_region(struct ibv_mr *mr)
{
	ibv_dereg_mr(mr);
}

struct ibv_mr *model_find_mr(uint32_t lkey)
{
	struct object *mr = object_by_number(OBJECT_MR, lkey);

	return mr ? mr->backend.mr : NULL;
}

uint32_t model_ring_key(struct object *qp, void *ring, size_t length)
{
	if (!qp->ring_region)
		qp->ring_region = ibv_reg_mr(qp->pd->backend.pd, ring, length, 0);
	return qp->ring_region ? qp->ring_region->lkey : 0;
}

/* Find a window by its key without the lowest byte, which changes with each binding. */
struct ibv_mw *model_find_mw(uint32_t rkey)
{
	for (uint32_t i = 0; i < object_count(OBJECT_MW); i++) {
		struct object *mw = object_at(OBJECT_MW, i);

		if (mw && mw->backend.mw && mw->number >> 8 == rkey >> 8)
			return mw->backend.mw;
	}
	return NULL;
}

/* Register the process's mapping of device memory, whose addresses count from 0. */
int model_reg_dm_mr(struct object *mr, uint64_t offset, uint64_t length, unsigned access)
{
	struct ibv_mr *backend;

	if (!model_on())
		return 0;
	if (!mr->dm->rq.base)
		return EINVAL;
	backend = ibv_reg_mr_iova(mr->pd->backend.pd, mr->dm->rq.base + offset, length, 0,
				  access & ~(unsigned)IBV_ACCESS_ZERO_BASED);
	if (!backend)
		return errno;
	mr->backend.mr = backend;
	mr->number = backend->lkey;
	mr->rkey = backend->rkey;
	return 0;
}

int model_advise_mr(struct object *pd, unsigned advice, unsigned flags,
		    const struct ib_uverbs_sge *list, unsigned count)
{
	struct ibv_sge ranges[WORK_SGES];

	if (!model_on())
		return 0;
	if (count > WORK_SGES)
		return ENOMEM;
	for (unsigned i = 0; i < count; i++)
		ranges[i] = (struct ibv_sge){ list[i].addr, list[i].length, list[i].lkey };
	return ibv_advise_mr(pd->backend.pd, advice, flags, ranges, count);
}

uint32_t model_null_lkey(struct object *pd)
{
	if (!pd->null_mr && pd->backend.pd)
		pd->null_mr = ibv_alloc_null_mr(pd->backend.pd);
	return pd->null_mr ? pd->null_mr->lkey : 0;
}

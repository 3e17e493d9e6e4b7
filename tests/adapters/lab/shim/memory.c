/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Protection domains, memory regions and windows, address handles; and the destruction of
 * objects. */
#include "tests/adapters/lab/shim/handlers.h"

#include <errno.h>
#include <string.h>
#include "tests/adapters/lab/model/model.h"
#include "tests/adapters/lab/shim/trace.h"

int handle_alloc_pd(struct command *c)
{
	struct object *pd = object_new(OBJECT_PD);
	struct ib_uverbs_alloc_pd_resp response;
	int r;

	if (!pd)
		return ENOMEM;
	response = (struct ib_uverbs_alloc_pd_resp){ .pd_handle = pd->handle };
	trace_line("ALLOC_PD -> %s", object_name(OBJECT_PD, pd->handle));
	r = model_alloc_pd(pd);
	if (!r)
		r = device->alloc_pd(pd, c);
	if (r) {
		model_destroy(pd);
		object_free(pd);
		return r;
	}
	command_answer(c, &response, sizeof(response));
	return 0;
}

int handle_reg_mr(struct command *c)
{
	const struct ib_uverbs_reg_mr *q = c->in;
	struct object *pd = object_find(OBJECT_PD, q->pd_handle), *mr;
	struct ib_uverbs_reg_mr_resp response;
	int r;

	if (!pd)
		return EINVAL;
	mr = object_new(OBJECT_MR);
	if (!mr)
		return ENOMEM;
	mr->pd = pd;
	mr->length = q->length;
	r = model_reg_mr(mr, q);
	trace_line("REG_MR %s start=%s length=0x%llx iova=%s access=0x%x -> %s lkey=0x%x rkey=0x%x",
		   object_name(OBJECT_PD, q->pd_handle), trace_pointer(q->start),
		   (unsigned long long)q->length, trace_pointer(q->hca_va), q->access_flags,
		   object_name(OBJECT_MR, mr->handle), mr->number, mr->rkey);
	command_trace(REQUEST_REGION, c);
	if (!r && device->reg_mr)
		r = device->reg_mr(mr, q, c);
	if (r) {
		model_destroy(mr);
		object_free(mr);
		return r;
	}
	response = (struct ib_uverbs_reg_mr_resp){ mr->handle, mr->number, mr->rkey };
	command_answer(c, &response, sizeof(response));
	return 0;
}

int handle_rereg_mr(struct command *c)
{
	const struct ib_uverbs_rereg_mr *q = c->in;
	struct object *mr = object_find(OBJECT_MR, q->mr_handle), *pd;
	struct ib_uverbs_rereg_mr_resp response;
	int r;

	if (!mr)
		return EINVAL;
	pd = q->flags & IBV_REREG_MR_CHANGE_PD ? object_find(OBJECT_PD, q->pd_handle) : mr->pd;
	if (!pd)
		return EINVAL;
	trace_line("REREG_MR %s flags=0x%x", object_name(OBJECT_MR, q->mr_handle), q->flags);
	r = model_rereg_mr(mr, pd, q);
	if (!r)
		mr->pd = pd;
	if (!r && q->flags & IBV_REREG_MR_CHANGE_TRANSLATION)
		mr->length = q->length;
	response = (struct ib_uverbs_rereg_mr_resp){ mr->number, mr->rkey };
	command_answer(c, &response, sizeof(response));
	return r;
}

int handle_alloc_mw(struct command *c)
{
	const struct ib_uverbs_alloc_mw *q = c->in;
	struct object *pd = object_find(OBJECT_PD, q->pd_handle), *mw;
	struct ib_uverbs_alloc_mw_resp response;
	int r;

	if (!pd)
		return EINVAL;
	mw = object_new(OBJECT_MW);
	if (!mw)
		return ENOMEM;
	mw->pd = pd;
	r = model_alloc_mw(mw, q->mw_type);
	trace_line("ALLOC_MW %s type=%u -> %s", object_name(OBJECT_PD, q->pd_handle), q->mw_type,
		   object_name(OBJECT_MW, mw->handle));
	if (r) {
		object_free(mw);
		return r;
	}
	response = (struct ib_uverbs_alloc_mw_resp){ .mw_handle = mw->handle, .rkey = mw->rkey };
	command_answer(c, &response, sizeof(response));
	return 0;
}

static void address_of(const struct ib_uverbs_ah_attr *q, struct ibv_ah_attr *ret)
{
	*ret = (struct ibv_ah_attr){
		.grh = { .flow_label = q->grh.flow_label,
			 .sgid_index = device->gid_base + q->grh.sgid_index,
			 .hop_limit = q->grh.hop_limit,
			 .traffic_class = q->grh.traffic_class },
		.dlid = q->dlid,
		.sl = q->sl,
		.src_path_bits = q->src_path_bits,
		.static_rate = q->static_rate,
		.is_global = q->is_global,
		.port_num = q->port_num,
	};
	memcpy(ret->grh.dgid.raw, q->grh.dgid, sizeof(q->grh.dgid));
}

int handle_create_ah(struct command *c)
{
	const struct ib_uverbs_create_ah *q = c->in;
	struct object *pd = object_find(OBJECT_PD, q->pd_handle), *ah;
	struct ib_uverbs_create_ah_resp response;
	int r;

	if (!pd || q->attr.port_num != 1)
		return EINVAL;
	ah = object_new(OBJECT_AH);
	if (!ah)
		return ENOMEM;
	ah->pd = pd;
	address_of(&q->attr, &ah->address);
	trace_line("CREATE_AH %s global=%u sgid=%u hops=%u sl=%u -> %s",
		   object_name(OBJECT_PD, q->pd_handle), q->attr.is_global, q->attr.grh.sgid_index,
		   q->attr.grh.hop_limit, q->attr.sl, object_name(OBJECT_AH, ah->handle));
	r = device->create_ah ? device->create_ah(ah, &q->attr, c) : EOPNOTSUPP;
	if (r) {
		object_free(ah);
		return r;
	}
	response = (struct ib_uverbs_create_ah_resp){ .ah_handle = ah->handle };
	command_answer(c, &response, sizeof(response));
	return 0;
}

int object_destroy(enum object_type type, uint32_t handle, uint32_t ret_events[2])
{
	struct object *object = object_find(type, handle);
	int r;

	trace_line("DESTROY %s", object_name(type, handle));
	if (!object)
		return EINVAL;
	r = object_in_use(object) ? EBUSY : model_destroy(object);
	if (r)
		return r;
	trace_unwatch(object);
	if (device->destroy)
		device->destroy(object);
	event_withdraw(object);
	if (ret_events)
		memcpy(ret_events, object->event_count, sizeof(object->event_count));
	object_free(object);
	return 0;
}

#define DESTROY(verb, noun, type)                                    \
	int handle_##verb##_##noun(struct command *c)                \
	{                                                            \
		const struct ib_uverbs_##verb##_##noun *q = c->in;   \
                                                                     \
		return object_destroy(type, q->noun##_handle, NULL); \
	}
DESTROY(dealloc, pd, OBJECT_PD)
DESTROY(dereg, mr, OBJECT_MR)
DESTROY(dealloc, mw, OBJECT_MW)
DESTROY(destroy, ah, OBJECT_AH)

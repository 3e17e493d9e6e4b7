/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Completion counters. The device counts in memory, and programs read this memory without a
 * command.
 */
#include "libibverbs/uverbs/cmd.h"
#include "providers/efa/efa.h"

#define KNOWN_FLAGS \
	(EFADV_COMP_CNTR_INIT_WITH_COMP_EXTERNAL_MEM | EFADV_COMP_CNTR_INIT_WITH_ERR_EXTERNAL_MEM)

static int refuse(struct ibv_context *ctx, const char *what, unsigned long long value)
{
	verbs_err(ctx, "efadv_create_comp_cntr: %s 0x%llx: not supported by efa", what, value);
	return -EOPNOTSUPP;
}

static int cntr_check(struct ibv_context *ctx, const struct ibv_comp_cntr_init_attr *attr,
		      const struct efadv_comp_cntr_init_attr *dv)
{
	if (attr->type != IBV_COMP_CNTR_TYPE_WRS)
		return refuse(ctx, "type", attr->type);
	if (dv->comp_mask)
		return refuse(ctx, "comp_mask", dv->comp_mask);
	if (dv->flags & ~KNOWN_FLAGS)
		return refuse(ctx, "flags", dv->flags);
	if (dv->comp_cntr_ext_mem.type > EFADV_MEMORY_LOCATION_DMABUF)
		return refuse(ctx, "type of memory", dv->comp_cntr_ext_mem.type);
	if (dv->err_cntr_ext_mem.type > EFADV_MEMORY_LOCATION_DMABUF)
		return refuse(ctx, "type of memory", dv->err_cntr_ext_mem.type);
	return 0;
}

/* Describe the memory of a counter to the kernel. A counter in a dma-buf can be read here only if
 * the program passes its mapping. @external: NULL: the memory is @own */
static struct ib_uverbs_buffer_desc word_place(const struct efadv_memory_location *external,
					       const uint64_t *own, const uint64_t **ret_word)
{
	struct ib_uverbs_buffer_desc desc = {
		.type = IB_UVERBS_BUFFER_TYPE_VA,
		.length = sizeof(*own),
	};

	*ret_word = external ? (const uint64_t *)external->ptr : own;
	desc.addr = (uintptr_t)*ret_word;
	if (external && external->type == EFADV_MEMORY_LOCATION_DMABUF) {
		desc.type = IB_UVERBS_BUFFER_TYPE_DMABUF;
		desc.fd = external->dmabuf.fd;
		desc.addr = external->dmabuf.offset;
	}
	return desc;
}

static int cntr_create(struct efa_comp_cntr *cntr, const struct verbs_create_comp_cntr *in,
		       const struct efadv_comp_cntr_init_attr *dv)
{
	const bool done_external = dv->flags & EFADV_COMP_CNTR_INIT_WITH_COMP_EXTERNAL_MEM;
	const bool failed_external = dv->flags & EFADV_COMP_CNTR_INIT_WITH_ERR_EXTERNAL_MEM;
	const uint64_t *own = cntr->memory.base;
	const struct ib_uverbs_buffer_desc done =
		word_place(done_external ? &dv->comp_cntr_ext_mem : NULL, own,
			   &cntr->words[VERBS_COMP_CNTR_DONE]);
	const struct ib_uverbs_buffer_desc failed =
		word_place(failed_external ? &dv->err_cntr_ext_mem : NULL, own ? own + 1 : NULL,
			   &cntr->words[VERBS_COMP_CNTR_FAILED]);
	const struct uverbs_attr attrs[] = {
		uverbs_in(EFA_IB_ATTR_CREATE_COMP_CNTR_COMP_BUFFER, &done, sizeof(done)),
		uverbs_in(EFA_IB_ATTR_CREATE_COMP_CNTR_ERR_BUFFER, &failed, sizeof(failed)),
	};
	struct verbs_udata udata = { .attr_count = ARRAY_SIZE(attrs), .attrs = attrs };
	struct verbs_create_comp_cntr request = { .attr = in->attr, .udata = &udata };

	return uverbs_create_comp_cntr(&cntr->cntr, &request);
}

int efa_create_comp_cntr(struct ibv_comp_cntr *ibcntr, const struct verbs_create_comp_cntr *in)
{
	static const struct efadv_comp_cntr_init_attr plain;
	const struct efadv_comp_cntr_init_attr *dv = in->dv ? in->dv : &plain;
	struct efa_comp_cntr *cntr = (struct efa_comp_cntr *)ibcntr;
	int r = cntr_check(ibcntr->context, in->attr, dv);

	/* Use a separate page, because a fork must not separate it from the device. */
	if (!r && dv->flags != KNOWN_FLAGS)
		r = kit_buf_alloc(&cntr->memory, 2 * sizeof(uint64_t));
	if (r < 0)
		return r;
	r = cntr_create(cntr, in, dv);
	if (r < 0)
		kit_buf_free(&cntr->memory);
	return r;
}

int efa_destroy_comp_cntr(struct ibv_comp_cntr *ibcntr)
{
	int r = uverbs_destroy_comp_cntr(ibcntr);

	if (!r)
		kit_buf_free(&((struct efa_comp_cntr *)ibcntr)->memory);
	return r;
}

int efa_read_comp_cntr(struct ibv_comp_cntr *ibcntr, enum verbs_comp_cntr_entry entry,
		       uint64_t *ret_value)
{
	const uint64_t *word = ((struct efa_comp_cntr *)ibcntr)->words[entry];

	if (!word) {
		verbs_err(ibcntr->context,
			  "comp_cntr %u: it is in a dma-buf whose mapping the program did not name",
			  ibcntr->handle);
		return -EOPNOTSUPP;
	}
	*ret_value = *(const volatile uint64_t *)word;
	return 0;
}

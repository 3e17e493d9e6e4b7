/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The layout of additions after version 44, as in the releases that added them: compiling is the
 * test. Slots of a context are measured from its public part, as programs do. */
#include <infiniband/verbs.h>

#define SLOT(member, pointers)                                                   \
	_Static_assert(offsetof(struct verbs_context, context) -                 \
				       offsetof(struct verbs_context, member) == \
			       (pointers) * sizeof(void *) + SLOT_SKEW,          \
		       #member)
/* A counter of 8 bytes lies between the slots and the public part. */
#define SLOT_SKEW (8 - sizeof(void *))

SLOT(query_port, 40);
SLOT(alloc_dmah, 41);
SLOT(dealloc_dmah, 42);
SLOT(reg_mr_ex, 43);
SLOT(dm_export_dmabuf_fd, 44);
SLOT(alloc_buf, 45);
SLOT(free_buf, 46);

#define AT(type, member, place) \
	_Static_assert(offsetof(struct type, member) == (place), #type "." #member)

#if UINTPTR_MAX == UINT64_MAX
AT(ibv_mr_init_attr, access, 8);
AT(ibv_mr_init_attr, comp_mask, 16);
AT(ibv_mr_init_attr, iova, 24);
AT(ibv_mr_init_attr, addr, 32);
AT(ibv_mr_init_attr, fd, 40);
AT(ibv_mr_init_attr, fd_offset, 48);
AT(ibv_mr_init_attr, dmah, 56);
AT(ibv_mr_init_attr, buf, 64);
_Static_assert(sizeof(struct ibv_mr_init_attr) == 72, "ibv_mr_init_attr");
#endif
AT(ibv_fd_arr, count, sizeof(int *));
AT(ibv_dmah_init_attr, cpu_id, 4);
AT(ibv_dmah_init_attr, ph, 8);
AT(ibv_dmah_init_attr, tph_mem_type, 9);
AT(ibv_comp_cntr, handle, sizeof(void *));
AT(ibv_comp_cntr_init_attr, type, 4);
AT(ibv_comp_cntr_init_attr, flags, 8);
AT(ibv_comp_cntr_caps, max_counters, 8);
AT(ibv_comp_cntr_caps, supported_qp_attach_ops, 12);
AT(ibv_qp_attach_comp_cntr_attr, op_mask, 4);
_Static_assert(IBV_EVENT_DEVICE_SPEED_CHANGE == 20 && IBV_DEVICE_CC_DMA_BOUNCE == 1ull << 41 &&
		       IBV_QUERY_QP_DATA_IN_ORDER_DEVICE_ONLY == 2,
	       "values");
_Static_assert(IBV_REG_MR_MASK_BUF == 32 && IBV_COMP_CNTR_TYPE_BYTES == 1 &&
		       IBV_TPH_MEM_TYPE_PM == 1 && IBV_DMAH_INIT_ATTR_MASK_TPH_MEM_TYPE == 4 &&
		       IBV_PARENT_DOMAIN_INIT_ATTR_ALLOW_CC_UNPROTECTED_ALLOC == 4,
	       "values");

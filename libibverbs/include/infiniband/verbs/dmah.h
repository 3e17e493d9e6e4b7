/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* DMA handles: how the memory of a region is to be reached. */
#ifndef INFINIBAND_VERBS_DMAH_H
#define INFINIBAND_VERBS_DMAH_H

#include <infiniband/verbs/types.h>
#include <infiniband/verbs/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The type of memory of a TLP processing hint (PCI Express). */
enum ibv_tph_mem_type {
	IBV_TPH_MEM_TYPE_VM, /* volatile */
	IBV_TPH_MEM_TYPE_PM, /* persistent */
};

enum ibv_dmah_init_attr_mask {
	IBV_DMAH_INIT_ATTR_MASK_CPU_ID = 1 << 0,
	IBV_DMAH_INIT_ATTR_MASK_PH = 1 << 1,
	IBV_DMAH_INIT_ATTR_MASK_TPH_MEM_TYPE = 1 << 2,
};

/**
 * struct ibv_dmah_init_attr - what the device is to tell the system with each access
 * @comp_mask: which of the rest count
 * @cpu_id: the processor that will look at the data next
 * @ph: processing hint, 2 bits
 * @tph_mem_type: enum ibv_tph_mem_type
 */
struct ibv_dmah_init_attr {
	uint32_t comp_mask; /* enum ibv_dmah_init_attr_mask */
	uint32_t cpu_id;
	uint8_t ph;
	uint8_t tph_mem_type;
};

struct ibv_dmah {
	struct ibv_context *context;
};

/**
 * ibv_alloc_dmah() - make a DMA handle, for ibv_reg_mr_ex()
 *
 * Return: the handle; NULL with errno EOPNOTSUPP where device or kernel have none.
 */
struct ibv_dmah *ibv_alloc_dmah(struct ibv_context *context, struct ibv_dmah_init_attr *attr);

/* Return: 0, or a positive errno: EBUSY, regions are registered with it. */
int ibv_dealloc_dmah(struct ibv_dmah *dmah);

#ifdef __cplusplus
}
#endif

#endif

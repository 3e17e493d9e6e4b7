/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Direct verbs of Kunpeng's adapters: congestion control of a queue pair. Functions report
 * EOPNOTSUPP if hns does not serve the device.
 */
#ifndef __HNSDV_H__
#define __HNSDV_H__

#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Algorithms of congestion control. */
enum hnsdv_qp_congest_ctrl_type {
	HNSDV_QP_CREATE_ENABLE_DCQCN = 1 << 0,
	HNSDV_QP_CREATE_ENABLE_LDCP = 1 << 1,
	HNSDV_QP_CREATE_ENABLE_HC3 = 1 << 2,
	HNSDV_QP_CREATE_ENABLE_DIP = 1 << 3,
};

enum hnsdv_qp_init_attr_mask {
	HNSDV_QP_INIT_ATTR_MASK_QP_CONGEST_TYPE = 1 << 1,
};

/*
 * Attributes of a queue pair.
 * @comp_mask: valid members, of enum hnsdv_qp_init_attr_mask
 * @create_flags: 0
 * @congest_type: one of enum hnsdv_qp_congest_ctrl_type
 */
struct hnsdv_qp_init_attr {
	uint64_t comp_mask;
	uint32_t create_flags;
	uint8_t congest_type;
	uint8_t reserved[3];
};

enum hnsdv_query_context_comp_mask {
	HNSDV_CONTEXT_MASK_CONGEST_TYPE = 1 << 0,
};

/*
 * Properties of a device.
 * @comp_mask: valid members, of enum hnsdv_query_context_comp_mask
 * @flags: 0
 * @congest_type: bits of enum hnsdv_qp_congest_ctrl_type
 */
struct hnsdv_context {
	uint64_t comp_mask;
	uint64_t flags;
	uint8_t congest_type;
	uint8_t reserved[7];
};

/* Return whether hns serves the device. */
bool hnsdv_is_supported(struct ibv_device *device);
/* Return: 0 or a positive errno. */
int hnsdv_query_device(struct ibv_context *ctx_in, struct hnsdv_context *attrs_out);
/* Create a queue pair by ibv_create_qp_ex() with attributes of this device. Return: NULL with errno
 * on failure. */
struct ibv_qp *hnsdv_create_qp(struct ibv_context *context, struct ibv_qp_init_attr_ex *qp_attr,
			       struct hnsdv_qp_init_attr *hns_qp_attr);

#ifdef __cplusplus
}
#endif

#endif

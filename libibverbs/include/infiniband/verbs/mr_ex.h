/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Regions of any type of memory, and memory that a device prefers. */
#ifndef INFINIBAND_VERBS_MR_EX_H
#define INFINIBAND_VERBS_MR_EX_H

#include <infiniband/verbs/types.h>
#include <infiniband/verbs/dmah.h>
#include <infiniband/verbs/mr.h>

#ifdef __cplusplus
extern "C" {
#endif

enum ibv_mr_init_attr_mask {
	IBV_REG_MR_MASK_IOVA = 1 << 0,
	IBV_REG_MR_MASK_ADDR = 1 << 1,
	IBV_REG_MR_MASK_FD = 1 << 2,
	IBV_REG_MR_MASK_FD_OFFSET = 1 << 3,
	IBV_REG_MR_MASK_DMAH = 1 << 4,
	IBV_REG_MR_MASK_BUF = 1 << 5,
};

/**
 * struct ibv_mr_init_attr - what to register
 * @length: bytes
 * @access: OR of enum ibv_access_flags
 * @comp_mask: enum ibv_mr_init_attr_mask: which of the rest count
 * @iova: the address work requests will name the first byte by; without it @addr
 * @addr: memory of the process; or
 * @fd, @fd_offset: a dma-buf and the place in it, which need @iova
 * @dmah: how the device reaches it
 * @buf: the buffer that @addr lies in
 */
struct ibv_mr_init_attr {
	size_t length;
	int access;
	uint64_t comp_mask;
	uint64_t iova;
	void *addr;
	int fd;
	uint64_t fd_offset;
	struct ibv_dmah *dmah;
	struct ibv_buf *buf;
};

/**
 * ibv_reg_mr_ex() - ibv_reg_mr(), ibv_reg_mr_iova() and ibv_reg_dmabuf_mr() in one
 *
 * Return: the region; NULL with errno: EINVAL (attributes that do not go together, a range outside
 * of the buffer), EOPNOTSUPP (a bit of comp_mask that is not known, a DMA handle where there is
 * none), or as the other three.
 */
struct ibv_mr *ibv_reg_mr_ex(struct ibv_pd *pd, struct ibv_mr_init_attr *mr_init_attr);

/**
 * ibv_alloc_buf() - memory of the kind that the device reaches best
 * @size: bytes
 * @buf: the buffer, for the functions below
 *
 * Return: its address, aligned to a page; NULL with errno ENOMEM.
 */
void *ibv_alloc_buf(struct ibv_pd *pd, size_t size, struct ibv_buf **buf);
void ibv_free_buf(struct ibv_buf *buf);

/**
 * ibv_reg_buf_mr() - register [addr, addr + length) of a buffer
 *
 * Return: the region; NULL with errno EINVAL: not all of it lies in the buffer, or the buffer is of
 * another protection domain.
 */
struct ibv_mr *ibv_reg_buf_mr(struct ibv_pd *pd, struct ibv_buf *buf, void *addr, size_t length,
			      int access);

/* Return: a descriptor of the dma-buf behind the buffer; -1 with errno ENODATA: there is none. */
int ibv_export_buf_dmabuf_fd(struct ibv_buf *buf);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ConnectX: work requests and completions travel through rings in the memory of this process, which
 * the adapter reads and writes. Doorbell records in memory and registers of the adapter announce
 * new requests. Formats are in infiniband/mlx5/wqe.h and cqe.h.
 *
 * Locks, in the order in which they are taken:
 *
 * - mlx_cq.lock protects the consumer index, and the state of queue pairs and SRQs that completions
 *   change.
 *
 * - mlx_srq.lock protects the list of free requests.
 *
 * - mlx5_tags.lock protects the list of receives with tags, and the ring that changes it.
 *
 * - mlx5_sq.lock protects the send ring. It is held from ibv_wr_start() to ibv_wr_complete().
 *
 * - mlx_rq.lock protects the receive ring.
 *
 * - mlx5_bfreg.lock protects the choice of the next half of a register. Only registers that several
 *   queue pairs share use it.
 *
 * - mlx5_context.uar_lock protects the lists of registers and the capabilities of the firmware.
 *
 * - mlx5_context.sig_lock protects the signatures of keys.
 *
 * No other lock of this provider is taken while one of the last three is held.
 *
 * Do not trust data that the adapter wrote: mask or check an index, and find an object through a
 * table. The adapter can write to the rings. Therefore values that decide where this process writes
 * are kept outside of them.
 */
#ifndef MLX5_H
#define MLX5_H

#include <infiniband/mlx5dv.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/mlx5-abi.h>

#include "libibverbs/provider.h"
#include "libibverbs/uverbs/uverbs.h"
#include "providers/kit/idtable.h"
#include "providers/kit/page.h"
#include "providers/mlx/mlx.h"
#include "providers/mlx5/uar.h"

enum {
	MLX5_PORTS_KNOWN = 2, /* number of ports whose facts are read at open */
};

/* Resource types that are passed to the allocator of a parent domain. */
#define MLX5_MEMORY(n)	((uint64_t)RDMA_DRIVER_MLX5 << 32 | (n))
#define MLX5_MEMORY_QP	MLX5_MEMORY(1)
#define MLX5_MEMORY_RWQ MLX5_MEMORY(2)
#define MLX5_MEMORY_DBR MLX5_MEMORY(3)
#define MLX5_MEMORY_SRQ MLX5_MEMORY(4)
#define MLX5_MEMORY_CQ	MLX5_MEMORY(5)

/* Groups of firmware capabilities. */
enum mlx5_fw_caps {
	MLX5_FW_CAPS_GENERAL,
	MLX5_FW_CAPS_ODP,
	MLX5_FW_CAPS_QOS,
	MLX5_FW_CAPS_CRYPTO,
	MLX5_FW_CAPS_GENERAL_2,
	MLX5_FW_CAPS_ROCE,
	MLX5_FW_CAPS_NIC_TABLES,
	MLX5_FW_CAPS_SWITCH_TABLES,
	MLX5_FW_CAPS_MEMORY,
	MLX5_FW_CAPS_COUNT,
};

struct mlx5_context {
	struct verbs_context vctx;
	struct mlx5_ib_alloc_ucontext_resp info; /* the checked answer of the kernel */
	struct mlx5_ib_query_device_resp caps;	 /* 0 in fields that the kernel does not report */
	uint32_t page_size;
	uint32_t cqe_count_max; /* exclusive */
	uint32_t uars_per_page;
	uint32_t total_bfregs;
	uint32_t low_latency_bfregs;
	bool no_requests_in_registers; /* MLX5_SHUT_UP_BF */
	bool inline_in_registers; /* only requests with inline data: MLX5_POST_SEND_PREFER_BF is 0
				   */
	bool single_threaded;	  /* MLX5_SINGLE_THREADED: registers have no locks */
	bool atomics;
	bool raw_csum; /* the adapter computes checksums of raw packets */
	/* the adapter computes checksums of queue pairs with IBV_QP_CREATE_SOURCE_QPN */
	bool ud_csum;
	uint8_t link_layer[MLX5_PORTS_KNOWN];
	uint8_t port_flags[MLX5_PORTS_KNOWN];

	/* Registers: the kernel chooses them by index, or makes them on demand. */
	struct mlx5_bfreg *bfregs; /* NULL: on demand */
	char **pages;		   /* pages of the registers */
	unsigned int page_count, bfreg_count;
	pthread_mutex_t uar_lock; /* protects the lists below, uncached and fw_caps */
	LIST_HEAD(, mlx5_uar_page) uar_pages;
	struct mlx5_bfreg_list dedicated, shared, of_threads,
		doorbells; /* uncached registers for programs that ask for one */
	struct mlx5_bfreg
		/* list for users that got no other register; only of pages made on demand */
		uncached;
	bool uncached_used;
	unsigned int legacy_pages;
	unsigned int dedicated_count, shared_count;
	char *cq_uar;		/* page of the doorbells of completion queues */
	int64_t cq_uar_page_id; /* -1: the kernel knows the page */
	uint64_t cq_uar_offset; /* mmap offset of that page */

	struct kit_page clock,
		clock_info; /* written by the adapter and by the kernel; empty if missing */

	struct dbrec_pool records;
	struct kit_allocator allocator;	       /* set by mlx5dv_set_context_attr() */
	uint32_t *fw_caps[MLX5_FW_CAPS_COUNT]; /* answers of the firmware; NULL until queried */
	pthread_mutex_t qpn_lock;	       /* protects qpn_blocks and crypto_login */
	LIST_HEAD(, mlx5_qpn_block) qpn_blocks;
	struct mlx5dv_devx_obj *crypto_login; /* NULL: none */
	struct idtable users;		      /* queue pairs, by the number in their completions */
	pthread_mutex_t sig_lock;
	LIST_HEAD(, mlx5_sig_errors) sigs; /* signatures of keys; completions report their errors */
};

_Static_assert(sizeof(struct mlx_data_seg) == sizeof(struct mlx5_wqe_data_seg) &&
		       sizeof(struct mlx_srq_next_seg) == sizeof(struct mlx5_wqe_srq_next_seg),
	       "segments of receives, as the public header has them");

static inline struct mlx5_context *to_mctx(struct ibv_context *ctx)
{
	return (struct mlx5_context *)to_vctx(ctx);
}

/* context.c */
int mlx5_open_context(struct verbs_context *vctx, const struct verbs_open_context *in);
void mlx5_close_context(struct verbs_context *vctx);
int mlx5_query_device(struct ibv_context *ctx, const struct verbs_query_device *in,
		      struct ibv_device_attr_ex *ret_attr);
#endif

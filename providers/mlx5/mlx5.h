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

enum {
	MLX5_UAR_SIZE = 4096,	  /* bytes; a page of the system holds one or several */
	MLX5_BFREG_FIRST = 0x800, /* offset in a UAR, bytes */
	MLX5_BFREGS_MAX = 512,	  /* of a context */
	MLX5_PORTS_KNOWN = 2,	  /* number of ports whose facts are read at open */
	MLX5_CQE_SIZE_DEFAULT = 64,
	MLX5_ECE_ASK =
		0x10000000, /* request for the enhanced connection options of a new queue pair */
};

/* Resource types that are passed to the allocator of a parent domain. */
#define MLX5_MEMORY(n)	((uint64_t)RDMA_DRIVER_MLX5 << 32 | (n))
#define MLX5_MEMORY_QP	MLX5_MEMORY(1)
#define MLX5_MEMORY_RWQ MLX5_MEMORY(2)
#define MLX5_MEMORY_DBR MLX5_MEMORY(3)
#define MLX5_MEMORY_SRQ MLX5_MEMORY(4)
#define MLX5_MEMORY_CQ	MLX5_MEMORY(5)

/*
 * A register for the doorbells of send queues: two halves, used in turn. @size: bytes of a half; 0:
 * the register has only one half, which takes doorbells but no requests
 */
struct mlx5_bfreg {
	char *reg;
	uint32_t size;
	uint32_t offset; /* offset of the next half: 0 or size */
	uint32_t bf_ds;	 /* largest request that can be written into it, in units of 16 bytes */
	uint32_t bf_inline_ds; /* the same for a request with inline data, used if bf_ds is 0 */
	bool of_several;       /* several queue pairs use it */
	bool shared;	       /* several threads use it: lock is needed */
	bool blueflame;	       /* requests can be written into it */
	bool legacy;	       /* made on demand by a kernel that otherwise chooses the registers */
	/* the kernel's number of its page, or of the register if the kernel chooses */
	uint32_t index;
	unsigned int users;
	uint64_t mmap_offset; /* of its page */
	struct spinlock lock;
	SLIST_ENTRY(mlx5_bfreg) entry;
};
SLIST_HEAD(mlx5_bfreg_list, mlx5_bfreg);

/* A page of registers that the kernel made on demand. */
struct mlx5_uar_page {
	LIST_ENTRY(mlx5_uar_page) entry;
	char *base;
	size_t length;
	uint64_t mmap_offset;
	uint32_t handle;
	bool legacy; /* made without a handle */
	uint32_t page_id;
	struct mlx5_bfreg *bfregs;
};

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
	char **pages;		   /* of bfregs */
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
	LIST_HEAD(, mlx5_sig) sigs; /* signatures of keys; completions report their errors */
};

/* A thread domain: its threads run one at a time and have a separate register. */
struct mlx5_td {
	struct verbs_td vtd;
	struct mlx5_bfreg *bfreg;
};

/* Memory of the adapter, mapped. */
struct mlx5_dm {
	struct verbs_dm vdm;
	struct kit_page page;
	char *bytes;
	uint64_t mmap_offset;
	uint64_t remote_va; /* address of its beginning in the adapter */
	struct kit_page
		*op_pages; /* pages in which stores are operations: mlx5dv_dm_map_op_addr() */
	unsigned int op_count;
};

/* @opaque: memory that memcpy requests need; @copiers: number of queue pairs with such requests */
struct mlx5_pd {
	struct verbs_pd vpd;
	uint32_t pdn;
	pthread_mutex_t lock; /* protects the rest */
	struct ibv_mr *opaque;
	unsigned int copiers;
};

/* direct/sig.c. Record the error of a completion with opcode MLX5_CQE_SIG_ERR. Return: whether the
 * key belongs to this context */
bool mlx5_sig_error_take(struct mlx5_context *ctx, const void *cqe);

/* The state of a request that configures a key: direct/umr.c. */
struct mlx5_umr {
	struct mlx5dv_mkey *mkey; /* NULL: none */
	struct mlx5_wqe_umr_ctrl_seg *ctrl;
	struct mlx5_wqe_mkey_context_seg *key;
	unsigned int missing; /* number of setters still to be called */
	unsigned int list_bytes;
	bool has_access, has_layout, has_cipher, has_sig;
	bool resets_sig; /* discards earlier signatures */
};

/* A send request, at its first basic block. */
struct mlx5_sq_slot {
	uint64_t wr_id;
	uint32_t head;	 /* number of requests posted before it */
	uint32_t opcode; /* IBV_WC_: used if the completion's own opcode is ambiguous */
};

/*
 * A raw packet. @sges: its data; @csum: the device computes the checksums; @header: header that is
 * put in front of each segment of @mss bytes, or NULL
 */
struct mlx5_raw {
	const struct ibv_sge *sges;
	size_t num_sge;
	const void *header;
	uint16_t header_size, mss;
	bool csum, inlined;
};

struct mlx5_sq {
	struct spinlock lock;
	uint8_t fence;	   /* fence of the next request; MLX5_WQE_CTRL_ */
	uint8_t signal;	   /* of every request */
	uint32_t ops;	   /* bit n: IBV_WR_n is possible, and its request fits */
	bool raw;	   /* the program posts requests that it builds itself */
	uint32_t plain;	   /* bit n: IBV_WR_n can be a plain request; 0 if max_sge is below 1 */
	int max_sge;	   /* -1 in states without sending */
	uint32_t mask;	   /* number of basic blocks, minus 1 */
	uint32_t cur_post; /* basic blocks posted */
	uint32_t head;	   /* requests posted */
	uint32_t max_post;
	uint32_t max_inline;
	uint32_t max_tso_header;
	uint32_t address_size; /* bytes of the address behind the control segment */
	char *ring, *end;
	struct mlx5_sq_slot *slots;
	__be32 *record;
	struct mlx5_bfreg *bfreg;
	/* The batch between ibv_wr_start() and ibv_wr_complete(). */
	struct mlx5_batch {
		uint32_t cur_post, nreq;
		uint8_t fence;
		int error; /* first error, positive */
		/* control segment of the request being built; NULL: none */
		struct mlx5_wqe_ctrl_seg *ctrl;
		const struct mlx5_wqe_ctrl_seg *last; /* last complete request */
		unsigned int last_ds;
		char *seg; /* position of its data */
		unsigned int ds;
		unsigned int missing; /* number of setters still to be called */
		struct mlx5_raw raw;  /* header and flags, known before the data */
	} batch;
	atomic_uint tail; /* requests completed; written by the polling thread */
	atomic_uint said; /* enum kit_fault bits already explained in the log */
};

/* Reasons why completions of a queue pair need more work than those of most queue pairs. */
enum mlx5_extras {
	MLX5_EXTRA_CSUM = 1 << 0, /* of receives: they report correct checksums */
	MLX5_EXTRA_TAGS = 1 << 1, /* its SRQ matches tags */
	MLX5_EXTRA_SRQ = 1 << 2,  /* it is the mlx5_user of an SRQ: entries have the QPN */
};

struct mlx5_qp {
	struct verbs_qp vqp;
	struct mlx5_sq sq;
	struct mlx_rq rq;
	struct mlx_cq *send_cq, *recv_cq;
	struct mlx_srq *srq;
	uint32_t uidx;
	uint32_t ece;	   /* options that the kernel has granted */
	uint32_t ece_next; /* options to request with the next transition */
	bool ece_pending;
	bool bfreg_lent;    /* bfreg belongs to the thread domain */
	bool rss;	    /* receives through a table, so it has no rings */
	uint32_t sqn, tisn; /* numbers of a raw packet queue pair */
	/* numbers of a raw packet queue pair, or of one that receives through a table */
	uint32_t rqn, tirn;
	uint64_t tir_icm_addr;
	bool underlay; /* IBV_QP_CREATE_SOURCE_QPN: sends IPoIB packets as another queue pair */
	bool split;    /* raw packets, or underlay: its rings are two objects of the adapter */
	bool computes_csum;	/* the adapter computes the checksums of its packets */
	uint8_t extras;		/* enum mlx5_extras; 0 of most */
	struct mlx5_pd *copies; /* domain with the memory that memcpy requests need; or NULL */
	bool stops_at_sig_errors;
	bool ooo;	       /* MLX5DV_QP_CREATE_OOO_DP: data may arrive out of order */
	bool dct;	       /* a DC target: it has no rings, and a number from RTR on */
	struct kit_buf sq_buf; /* used if split */
	__be32 *record;
	__be32 withheld[2]; /* doorbell record in use until the adapter may take receives */
	struct kit_buf buf;
	struct mlx5dv_qp_ex dv;
	struct mlx5_umr umr;
	uint32_t wqe_bytes; /* largest size of a send request */
};

/*
 * The stand-in for a queue pair in completions of a work queue, or of an SRQ that is not basic.
 * Such completions do not name a queue pair. The one send slot keeps a faulty send completion from
 * reaching invalid memory.
 */
struct mlx5_user {
	struct mlx5_qp qp;
	struct mlx5_sq_slot slot;
};

struct mlx5_srq {
	struct mlx_srq srq;
	struct mlx5_user *user; /* NULL: basic */
	struct mlx5_tags *tags; /* only of IBV_SRQT_TM: tag.h */
};

struct mlx5_wq {
	struct verbs_wq vwq;
	struct mlx5_user user; /* has the ring */
};

/* @lock: protects the other members; @flows: number of flows that use it. The list of counters
 * cannot change while a flow uses it. */
struct mlx5_counters {
	struct verbs_counters vcounters;
	pthread_mutex_t lock;
	struct mlx5_ib_flow_counters_desc *descs;
	uint32_t count;
	uint32_t flows;
};

struct mlx5_flow {
	struct ibv_flow flow;
	struct mlx5_counters *counters; /* or NULL */
};

struct mlx5_ah {
	struct ibv_ah ah;
	struct mlx5_wqe_av av;
	bool in_kernel, is_global;
	_Atomic(struct mlx5dv_devx_obj *) mapping; /* made by mlx5dv_map_ah_to_qp(), or NULL */
};

_Static_assert(sizeof(struct mlx_data_seg) == sizeof(struct mlx5_wqe_data_seg) &&
		       sizeof(struct mlx_srq_next_seg) == sizeof(struct mlx5_wqe_srq_next_seg),
	       "segments of receives, as the public header has them");

static inline struct mlx5_context *to_mctx(struct ibv_context *ctx)
{
	return (struct mlx5_context *)to_vctx(ctx);
}

static inline struct mlx5_qp *to_mqp(struct ibv_qp *qp)
{
	return (struct mlx5_qp *)qp;
}

static inline struct mlx5_ah *to_mah(struct ibv_ah *ah)
{
	return (struct mlx5_ah *)ah;
}

/* context.c */
int mlx5_open_context(struct verbs_context *vctx, const struct verbs_open_context *in);
void mlx5_close_context(struct verbs_context *vctx);
int mlx5_query_device(struct ibv_context *ctx, const struct verbs_query_device *in,
		      struct ibv_device_attr_ex *ret_attr);
int mlx5_alloc_pd(struct ibv_pd *pd, struct verbs_udata *udata);
int mlx5_dealloc_pd(struct ibv_pd *pd);

/* direct/reserve.c */
void mlx5_qpn_blocks_free(struct mlx5_context *ctx);
/* direct/crypto.c, devx.c: objects that a program left in the firmware */
int mlx5_fw_destroy(struct mlx5dv_devx_obj *obj);

/* uar.c: registers of the context, and of one QP. NULL: no register is available. */
int mlx5_uar_open(struct mlx5_context *ctx);
void mlx5_uar_close(struct mlx5_context *ctx);
struct mlx5_bfreg *mlx5_bfreg_get(struct mlx5_context *ctx);
void mlx5_bfreg_put(struct mlx5_context *ctx, struct mlx5_bfreg *bfreg);
/* Return a register for the exclusive use of the program. NULL with errno. */
struct mlx5_bfreg *mlx5_bfreg_get_alone(struct mlx5_context *ctx);
/*
 * Return a register for a thread domain. NULL: the kernel chooses registers for its queue pairs as
 * for all others.
 */
struct mlx5_bfreg *mlx5_bfreg_get_for_thread(struct mlx5_context *ctx);
void mlx5_bfreg_put_alone(struct mlx5_context *ctx, struct mlx5_bfreg *bfreg);
/* Return an uncached register for the exclusive use of the program. Only for a kernel that makes
 * pages on demand. NULL with errno, which is logged. */
struct mlx5_bfreg *mlx5_doorbell_get(struct mlx5_context *ctx);
void mlx5_doorbell_put(struct mlx5_context *ctx, struct mlx5_bfreg *bfreg);

/* clock.c */
void mlx5_clock_open(struct mlx5_context *ctx);
int mlx5_query_rt_values(struct ibv_context *ibctx, struct ibv_values_ex *values);
/*
 * Read the clock page. -EOPNOTSUPP: the kernel has no such page; -EBUSY: an update of the page does
 * not end.
 */
int mlx5_clock_info_read(const struct mlx5_context *ctx, struct mlx5dv_clock_info *ret_info);
/* Return the nanoseconds for which a reading is valid. The context must have the page. */
uint64_t mlx5_clock_info_period(const struct mlx5_context *ctx);

/* domain.c */
int mlx5_alloc_td(struct ibv_td *td, const struct ibv_td_init_attr *attr);
int mlx5_dealloc_td(struct ibv_td *td);
int mlx5_alloc_parent_domain(struct verbs_pd *pd);

/* mr.c, dm.c */
int mlx5_alloc_null_mr(struct verbs_mr *mr);
int mlx5_dereg_mr(struct verbs_mr *mr);
int mlx5_alloc_dm(struct verbs_dm *vdm, const struct verbs_alloc_dm *in);
int mlx5_free_dm(struct verbs_dm *vdm);
int mlx5_dm_export_dmabuf_fd(struct verbs_dm *vdm);
/* Map the pages that hold the memory, from @page_index on. */
int mlx5_dm_map(struct mlx5_dm *dm, uint64_t start, uint16_t page_index, size_t length);
void mlx5_dm_unmap(struct mlx5_dm *dm);

/* import.c: objects of another process */
int mlx5_context_import(struct mlx5_context *ctx, const struct verbs_open_context *in);
int mlx5_import_pd(struct ibv_pd *pd, uint32_t handle);
void mlx5_unimport_pd(struct ibv_pd *pd);
int mlx5_import_dm(struct verbs_dm *vdm, uint32_t handle);
int mlx5_unimport_dm(struct verbs_dm *vdm);

/* cq.c */
int mlx5_create_cq(struct verbs_cq *vcq, const struct verbs_create_cq *in);
int mlx5_resize_cq(struct verbs_cq *vcq, const struct verbs_resize_cq *in);
int mlx5_req_notify_cq(struct ibv_cq *ibcq, int solicited_only);
void mlx5_cq_event(struct verbs_cq *vcq);
/* Compute the values for arming from the number and the event count of the completion queue. */
void mlx5_cq_arm_set(struct mlx_cq *cq);
/* Remove the completions of a queue pair from both its queues. @gone: also remove it from the
 * table, so that polling no longer finds it. */
void mlx5_cqs_clean(struct mlx5_qp *qp, bool gone);

/* Return the bytes of an entry. */
static inline uint32_t mlx5_cq_dv_size(const struct mlx5dv_cq_init_attr *dv)
{
	return dv && dv->comp_mask & MLX5DV_CQ_INIT_ATTR_MASK_CQE_SIZE ? dv->cqe_size
								       : MLX5_CQE_SIZE_DEFAULT;
}

/* settings.c: environment variables for the memory of queues and for the size of completions.
 * -EINVAL: the size does not exist. */
struct kit_memory mlx5_memory(uint64_t type);
int mlx5_cq_size(struct ibv_context *ctx, const struct mlx5dv_cq_init_attr *dv, uint32_t *ret_size);

/* Return whether MLX5_SCATTER_TO_CQE allows the adapter to write received data into completions. */
bool mlx5_setting_scatters(void);
/* Set the number and the use of doorbell registers by MLX5_TOTAL_UUARS and related variables. */
int mlx5_setting_registers(struct mlx5_context *ctx);

/* poll.c, cq_ex.c */
int mlx5_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc);
extern const uint64_t mlx5_cq_ex_wc_flags;
/* Return whether the completions have the time of day. */
bool mlx5_cq_is_real_time(const struct mlx_cq *cq, uint64_t wc_flags);
void mlx5_cq_ex_set_slots(struct mlx_cq *cq, uint64_t wc_flags);

/* qp.c, qp_modify.c, qp_size.c */
/* Ring address of a queue without entries, because NULL + 0 is undefined. */
extern char mlx5_no_queue[];
int mlx5_create_qp(struct verbs_qp *vqp, const struct verbs_create_qp *in);
/* Store the numbers of the firmware in the answer of the kernel. */
void mlx5_qp_numbers(struct mlx5_qp *qp, const struct mlx5_ib_create_qp_resp *resp);
/* Return the flags for the kernel, including those of mlx5dv_create_qp(), which has checked them.
 */
uint32_t mlx5_qp_flags(const struct verbs_create_qp *in);
int mlx5_open_qp(struct verbs_qp *vqp, const struct verbs_open_qp *in);
int mlx5_destroy_qp(struct verbs_qp *vqp);
int mlx5_query_qp(struct verbs_qp *vqp, const struct verbs_query_qp *in);
int mlx5_modify_qp(struct verbs_qp *vqp, const struct verbs_modify_qp *in);
/* Return the mask of the driver's request for a transition. */
uint32_t mlx5_modify_mask(const struct mlx5_qp *qp, const struct verbs_modify_qp *in);
int mlx5_modify_qp_rate_limit(struct verbs_qp *vqp, const struct ibv_qp_rate_limit_attr *attr);
int mlx5_set_ece(struct verbs_qp *vqp, const struct ibv_ece *ece);
int mlx5_query_ece(struct verbs_qp *vqp, struct ibv_ece *ret_ece);

/*
 * direct/support.c: return the largest number of receives of queue pairs whose data may arrive out
 * of order
 */
struct mlx5dv_ooo_recv_wrs_caps mlx5_ooo_caps(struct mlx5_context *ctx);
/* Return whether receives are in a ring and not in a list. */
static inline bool mlx5_is_cyclic(enum ibv_qp_type type)
{
	return type == IBV_QPT_RC || type == IBV_QPT_UC || type == IBV_QPT_UD;
}

/* dc.c */
static inline const struct mlx5dv_dc_init_attr *mlx5_dc_of(const struct mlx5dv_qp_init_attr *dv)
{
	return dv && dv->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_DC ? &dv->dc_init_attr : NULL;
}
/* Check the attributes of mlx5dv_create_qp(), with or without DC. */
int mlx5_dc_check(struct mlx5_context *ctx, const struct ibv_qp_init_attr_ex *attr,
		  const struct mlx5dv_qp_init_attr *dv);
void mlx5_dci_request(const struct mlx5dv_qp_init_attr *dv, struct mlx5_ib_create_qp *cmd);
int mlx5_create_dct(struct mlx5_qp *qp, const struct verbs_create_qp *in);
int mlx5_modify_dct(struct mlx5_qp *qp, const struct verbs_modify_qp *in);
int mlx5_destroy_dct(struct mlx5_qp *qp);

/* Sizes of the rings of a QP. */
struct mlx5_qp_size {
	uint32_t wqe_bytes; /* largest size of a send request */
	uint32_t sq_bytes, sq_blocks, sq_max_post, max_inline;
	uint32_t sq_ops, address_size, max_tso_header; /* as in mlx5_sq */
	uint32_t rq_bytes, rq_count, rq_shift, rq_max_sge;
	uint32_t rq_max_post; /* receives that the program may post */
};
/* @umr: requests may configure keys */
int mlx5_qp_size(struct mlx5_context *ctx, const struct ibv_qp_init_attr_ex *attr, bool umr,
		 struct mlx5_qp_size *ret_size);

static inline bool mlx5_is_underlay(const struct ibv_qp_init_attr_ex *attr)
{
	return attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS &&
	       attr->create_flags & IBV_QP_CREATE_SOURCE_QPN;
}

/* send.c, wr.c, recv.c */
int mlx5_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int mlx5_wr_check(struct ibv_context *ctx, const struct ibv_qp_init_attr_ex *attr);
void mlx5_wr_set_slots(struct mlx5_qp *qp, uint64_t send_ops);
/* Begin a request for builders of direct verbs. @wc_opcode: of the completion. NULL: the batch has
 * failed. */
struct mlx5_batch *mlx5_wr_begin(struct mlx5_qp *qp, uint8_t opcode, uint8_t opmod, __be32 imm,
				 uint32_t wc_opcode);
void mlx5_wr_finish(struct mlx5_qp *qp);
/* Finish a request of @ds units whose control segment is complete. */
void mlx5_wr_finish_as_is(struct mlx5_qp *qp, unsigned int ds);
/* Log an error and end the batch, unless an earlier error has ended it. */
void mlx5_wr_fail(struct mlx5_qp *qp, int error, const char *what, const char *why);
/* Set the destination of a request of a DC initiator. On failure the batch ends. */
void mlx5_wr_set_dc(struct mlx5_qp *qp, const struct ibv_ah *ah, uint32_t dctn, uint64_t key,
		    uint16_t stream);
/* direct/copy.c: memory that memcpy requests need while the queue pair exists */
int mlx5_copies_get(struct mlx5_qp *qp);
void mlx5_copies_put(struct mlx5_qp *qp);
/* Return the maximum bytes of a memcpy request; 0: not supported. */
uint64_t mlx5_copies_most(struct mlx5_context *ctx);
void mlx5_wr_memcpy(struct mlx5dv_qp_ex *dv, uint32_t dest_lkey, uint64_t dest_addr,
		    uint32_t src_lkey, uint64_t src_addr, size_t length);
/* direct/qp.c */
int mlx5_query_qp_data_in_order(struct verbs_qp *vqp, enum ibv_wr_opcode unused);
/* Call in the state INIT. */
int mlx5_qp_enable_copies(struct ibv_qp *qp);
int mlx5_qp_stop_at_sig_errors(struct ibv_qp *qp);
/* direct/umr.c */
int mlx5_wr_dv_check(struct mlx5_context *ctx, const struct ibv_qp_init_attr_ex *attr,
		     uint64_t ops);
void mlx5_wr_set_dv_slots(struct mlx5_qp *qp, uint64_t ops);
/* mw.c: return the access bits of a key for IBV_ACCESS_ flags */
uint8_t mlx5_access_code(unsigned int access);
int mlx5_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
int mlx5_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw, struct ibv_mw_bind *bind);

/* srq.c */
int mlx5_create_srq(struct verbs_srq *vsrq, const struct verbs_create_srq *in);
int mlx5_destroy_srq(struct verbs_srq *vsrq);

/* wq.c */
int mlx5_create_wq(struct verbs_wq *vwq, const struct verbs_create_wq *in);
int mlx5_modify_wq(struct verbs_wq *vwq, const struct verbs_modify_wq *in);
int mlx5_destroy_wq(struct verbs_wq *vwq);
int mlx5_create_rwq_ind_table(struct ibv_rwq_ind_table *table,
			      const struct verbs_create_rwq_ind_table *in);
int mlx5_create_rss_qp(struct mlx5_qp *qp, const struct verbs_create_qp *in);

/* flow.c */
int mlx5_create_flow(struct ibv_flow *ibflow, const struct verbs_create_flow *in);
int mlx5_destroy_flow(struct ibv_flow *ibflow);
int mlx5_create_flow_action_esp(struct verbs_flow_action *action,
				const struct verbs_flow_action_esp *in);
int mlx5_create_counters(struct verbs_counters *vcounters, const struct verbs_create_counters *in);
int mlx5_destroy_counters(struct verbs_counters *vcounters);
int mlx5_attach_counters(struct verbs_counters *vcounters,
			 const struct ibv_counter_attach_attr *attr, struct ibv_flow *flow);

/* ah.c */
int mlx5_create_ah(struct ibv_ah *ibah, const struct verbs_create_ah *in);
int mlx5_destroy_ah(struct ibv_ah *ibah);
/* Return facts of a port: those read at open, or those of a new query. */
int mlx5_port_facts(struct ibv_context *ctx, uint8_t port_num, uint8_t *ret_link_layer,
		    uint8_t *ret_flags);

#endif

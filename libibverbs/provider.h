/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The whole contract between libibverbs and its providers.
 *
 * A provider is one struct verbs_provider: its name, the sizes of its objects and one table of
 * operations. The library owns the memory and the life cycle of every object: it allocates the size
 * the provider declared, zeroed, fills the public base (context, PD, links, mutexes), calls the op,
 * and releases the memory when the op fails or after the destroy op returned 0. A provider only
 * fills in its part. Every provider struct has the library's base as its first member.
 *
 * Return convention: 0 or a negative errno, except the hot slots marked "app-facing", which
 * applications call directly and which keep the public convention.
 * A NULL op means: not supported; the caller sees EOPNOTSUPP.
 *
 * Kernel-backed providers name the uverbs_*() command (uverbs/uverbs.h) itself as the op when they
 * have no private data; otherwise they copy the request, point its udata at their own structs and
 * call it.
 *
 * Library and providers ship together: RDMA_PROVIDER_ABI (buildlib/rdma.cmake) changes when
 * anything here does.
 */
#ifndef LIBIBVERBS_PROVIDER_H
#define LIBIBVERBS_PROVIDER_H

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>
#include <sys/types.h>

#include <infiniband/verbs.h>

#include "libibverbs/objects.h"
#include "util/util.h"
#include "util/log.h"

struct verbs_provider;
struct verbs_ops;

/* Log one line about an object of a device. The macros put the name of the device first. */
#define verbs_err(ctx, fmt, ...)   log_err("%s " fmt, (ctx)->device->name, ##__VA_ARGS__)
#define verbs_warn(ctx, fmt, ...)  log_warn("%s " fmt, (ctx)->device->name, ##__VA_ARGS__)
#define verbs_info(ctx, fmt, ...)  log_info("%s " fmt, (ctx)->device->name, ##__VA_ARGS__)
#define verbs_debug(ctx, fmt, ...) log_debug("%s " fmt, (ctx)->device->name, ##__VA_ARGS__)
#define verbs_data(ctx, fmt, ...)  log_data("%s " fmt, (ctx)->device->name, ##__VA_ARGS__)

/*
 * Log each completion with an error, in debug builds only. Called for each completion that a poll
 * returns.
 */
static inline void verbs_data_wc(const struct ibv_cq *cq, const struct ibv_wc *wc)
{
	if (wc->status)
		verbs_data(cq->context, "cq %u: qp 0x%x wr_id 0x%llx: %s (vendor_err 0x%x)",
			   cq->handle, wc->qp_num, (unsigned long long)wc->wr_id,
			   ibv_wc_status_str(wc->status), wc->vendor_err);
}

/*
 * A kernel or user-space device. Discovery, or list_devices of a user-space provider, fills it in.
 * It is constant afterwards.
 */
struct verbs_device {
	struct ibv_device device; /* public part, first */
	/* Set once, under the lock of the list of devices.
	 * NULL: the provider is not loaded yet, or there is none. */
	_Atomic(const struct verbs_provider *) provider;
	struct disc_driver *driver; /* which loads the provider; NULL: there is none */
	atomic_int refcount;	    /* number of lists and contexts that hold the device */
	LIST_ENTRY(verbs_device) entry;
	/* Facts from discovery; 0 or -1 if the kernel does not report them. */
	int index; /* RDMA device index, for ibv_get_device_index(); -1 unknown */
	uint32_t
		driver_id; /* enum rdma_driver_id; RDMA_DRIVER_UNKNOWN when the kernel is too old */
	uint32_t abi_version;
	uint64_t node_guid;    /* network byte order; 0 unknown */
	dev_t cdev;	       /* character device of uverbsN; 0 for a user-space device */
	char *modalias;	       /* owned; NULL unless the match needed it */
	uint64_t private_data; /* set and used by a user-space provider */
};

/*
 * A MAD on QP1, for the user-space connection manager.
 * @gone: if not 0, this is not a MAD but an event: the process whose communication ids have this
 * prefix has ended
 * @removed: this is not a MAD but an event: the interface of the device is removed
 * @traffic_class: of the packet to send; not valid in received MADs
 * @arrived: for gsi_offer: time of arrival, in ns of CLOCK_MONOTONIC
 */
struct verbs_gsi_mad {
	uint8_t data[256];
	uint16_t gone;
	bool removed;
	uint32_t src_qp;
	uint16_t pkey_index;
	uint8_t port_num;
	uint8_t sgid_index;
	uint8_t traffic_class;
	union ibv_gid local_gid;
	union ibv_gid remote_gid;
	uint64_t arrived;
};

enum {
	VERBS_GSI_PREFIX_BITS = 13, /* of a communication id */
};

/* Any address of one family, for gsi_listen: 0.0.0.0 as an IPv4 GID, and an unused IPv6 GID. */
#define VERBS_GSI_ANY_IPV4               \
	{                                \
		[10] = 0xff, [11] = 0xff \
	}
#define VERBS_GSI_ANY_IPV6 \
	{                  \
		0xff       \
	}

/*
 * The receiver of MADs on QP1. The thread of the device calls @arrived without holding a lock of
 * the device. @arrived reads the MADs by gsi_recv at once and returns true. If it returns false, or
 * if another thread found the MADs, the descriptor of gsi_open becomes readable.
 */
struct verbs_gsi_taker {
	bool (*arrived)(void *arg);
	void *arg;
};

struct verbs_ops {
	/* Context. For a kernel device the library opens cmd_fd before open_context, and closes it
	 * after close_context. */
	int (*open_context)(struct verbs_context *ctx, const struct verbs_open_context *in);
	void (*close_context)(struct verbs_context *ctx);
	int (*query_device)(struct ibv_context *ctx, const struct verbs_query_device *in,
			    struct ibv_device_attr_ex *ret_attr);
	int (*query_port)(struct ibv_context *ctx, uint8_t port_num,
			  struct ibv_port_attr *ret_attr);
	int (*query_gid)(struct ibv_context *ctx, uint8_t port_num, uint32_t index,
			 struct ibv_gid_entry *ret_entry); /* -ENODATA: empty slot */
	/* Return: number of valid entries written, or -errno. */
	ssize_t (*query_gid_table)(struct ibv_context *ctx, struct ibv_gid_entry *ret_entries,
				   size_t max_entries);
	int (*query_pkey)(struct ibv_context *ctx, uint8_t port_num, int index, __be16 *ret_pkey);
	int (*query_port_speed)(struct ibv_context *ctx, uint32_t port_num,
				uint64_t *ret_speed); /* 100 Mbit/s */
	int (*query_rt_values)(struct ibv_context *ctx, struct ibv_values_ex *values);

	/* Events. The op sets channel->fd. Records have the format of the kernel. If the destroy op
	 * is NULL, the library only closes fd. */
	int (*create_comp_channel)(struct ibv_comp_channel *channel);
	void (*destroy_comp_channel)(struct ibv_comp_channel *channel);

	/* Note that an asynchronous event was read: the device may drop its state of the event. */
	void (*async_event)(struct ibv_context *ctx, struct ibv_async_event *event);

	int (*alloc_pd)(struct ibv_pd *pd, struct verbs_udata *udata);
	int (*dealloc_pd)(struct ibv_pd *pd); /* never called with a parent domain */
	/* An imported view may refer to a domain of this process in @of, which may be created for
	 * the view. The library calls unimport_pd when no queue uses the view any more. */
	int (*import_pd)(struct ibv_pd *pd, uint32_t handle);
	void (*unimport_pd)(struct ibv_pd *pd);

	/*
	 * The library implements thread domains and parent domains. The ops add the part of the
	 * provider. A provider with alloc_td only promises to accept thread domains. A provider
	 * with alloc_parent_domain takes the memory of its queues from the allocators of the
	 * domain.
	 */
	int (*alloc_td)(struct ibv_td *td, const struct ibv_td_init_attr *attr);
	int (*dealloc_td)(struct ibv_td *td);
	int (*alloc_parent_domain)(struct verbs_pd *pd);
	void (*dealloc_parent_domain)(struct verbs_pd *pd);

	int (*open_xrcd)(struct verbs_xrcd *xrcd, const struct verbs_open_xrcd *in);
	int (*close_xrcd)(struct verbs_xrcd *xrcd);

	int (*reg_mr)(struct verbs_mr *mr, const struct verbs_reg_mr *in);
	int (*reg_dmabuf_mr)(struct verbs_mr *mr, const struct verbs_reg_dmabuf_mr *in);
	/* Only called with a DMA handle. Without it the two ops above are called. */
	int (*reg_mr_ex)(struct verbs_mr *mr, const struct verbs_reg_mr_ex *in);
	int (*rereg_mr)(struct verbs_mr *mr, const struct verbs_rereg_mr *in);
	int (*dereg_mr)(struct verbs_mr *mr);
	int (*advise_mr)(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
			 struct ibv_sge *sg_list, uint32_t num_sge);

	int (*alloc_null_mr)(struct verbs_mr *mr); /* pd is set; the op fills in lkey */
	int (*reg_dm_mr)(struct verbs_mr *mr, const struct verbs_reg_dm_mr *in);
	/* Import the region with the handle, which another process registered in the same PD. */
	int (*import_mr)(struct verbs_mr *mr, uint32_t handle);
	void (*unimport_mr)(struct verbs_mr *mr); /* NULL: nothing to do */

	int (*alloc_dm)(struct verbs_dm *dm, const struct verbs_alloc_dm *in);
	int (*free_dm)(struct verbs_dm *dm);
	int (*import_dm)(struct verbs_dm *dm, uint32_t handle);
	int (*unimport_dm)(struct verbs_dm *dm);	 /* NULL: nothing to do */
	int (*dm_export_dmabuf_fd)(struct verbs_dm *dm); /* a new descriptor, or -errno */

	int (*alloc_dmah)(struct verbs_dmah *dmah, const struct verbs_alloc_dmah *in);
	int (*dealloc_dmah)(struct verbs_dmah *dmah);

	/* Page-aligned memory for regions. If both are NULL, the library allocates it. */
	int (*alloc_buf)(struct ibv_buf *buf);
	void (*free_buf)(struct ibv_buf *buf);

	int (*alloc_mw)(struct ibv_mw *mw,
			struct verbs_udata *udata); /* type and pd are set; the op fills in rkey */
	int (*dealloc_mw)(struct ibv_mw *mw);

	int (*create_cq)(struct verbs_cq *cq, const struct verbs_create_cq *in);
	int (*resize_cq)(struct verbs_cq *cq, const struct verbs_resize_cq *in);
	int (*modify_cq)(struct verbs_cq *cq, struct ibv_modify_cq_attr *attr);
	int (*destroy_cq)(struct verbs_cq *cq);
	void (*cq_event)(struct verbs_cq *cq); /* a completion event of this CQ was read */

	int (*create_srq)(struct verbs_srq *srq, const struct verbs_create_srq *in);
	int (*modify_srq)(struct verbs_srq *srq, const struct verbs_modify_srq *in);
	int (*query_srq)(struct verbs_srq *srq, struct ibv_srq_attr *ret_attr);
	int (*destroy_srq)(struct verbs_srq *srq);

	int (*create_qp)(struct verbs_qp *qp, const struct verbs_create_qp *in);
	int (*modify_qp)(struct verbs_qp *qp, const struct verbs_modify_qp *in);
	int (*query_qp)(struct verbs_qp *qp, const struct verbs_query_qp *in);
	int (*destroy_qp)(struct verbs_qp *qp);
	/*
	 * return an OR of enum ibv_query_qp_data_in_order_caps: what the device promises, without
	 * the processor
	 */
	int (*query_qp_data_in_order)(struct verbs_qp *qp, enum ibv_wr_opcode op);
	int (*open_qp)(struct verbs_qp *qp, const struct verbs_open_qp *in);
	int (*modify_qp_rate_limit)(struct verbs_qp *qp, const struct ibv_qp_rate_limit_attr *attr);
	int (*query_ece)(struct verbs_qp *qp, struct ibv_ece *ret_ece);
	int (*set_ece)(struct verbs_qp *qp, const struct ibv_ece *ece);

	int (*create_wq)(struct verbs_wq *wq, const struct verbs_create_wq *in);
	int (*modify_wq)(struct verbs_wq *wq, const struct verbs_modify_wq *in);
	int (*destroy_wq)(struct verbs_wq *wq);
	int (*create_rwq_ind_table)(struct ibv_rwq_ind_table *table,
				    const struct verbs_create_rwq_ind_table *in);
	int (*destroy_rwq_ind_table)(struct ibv_rwq_ind_table *table);

	int (*create_flow)(struct ibv_flow *flow, const struct verbs_create_flow *in);
	int (*destroy_flow)(struct ibv_flow *flow);
	int (*create_flow_action_esp)(struct verbs_flow_action *action,
				      const struct verbs_flow_action_esp *in);
	int (*modify_flow_action_esp)(struct verbs_flow_action *action,
				      const struct verbs_flow_action_esp *in);
	int (*destroy_flow_action)(struct verbs_flow_action *action);

	int (*create_counters)(struct verbs_counters *counters,
			       const struct verbs_create_counters *in);
	int (*destroy_counters)(struct verbs_counters *counters);
	int (*attach_counters_point_flow)(struct verbs_counters *counters,
					  const struct ibv_counter_attach_attr *attr,
					  struct ibv_flow *flow);
	int (*read_counters)(struct verbs_counters *counters, uint64_t *ret_values, uint32_t count,
			     uint32_t flags);

	int (*query_comp_cntr_caps)(struct ibv_context *ctx, struct ibv_comp_cntr_caps *ret_caps);
	int (*create_comp_cntr)(struct ibv_comp_cntr *cntr,
				const struct verbs_create_comp_cntr *in);
	int (*destroy_comp_cntr)(struct ibv_comp_cntr *cntr);
	int (*modify_comp_cntr)(struct ibv_comp_cntr *cntr,
				const struct verbs_modify_comp_cntr *in);
	int (*read_comp_cntr)(struct ibv_comp_cntr *cntr, enum verbs_comp_cntr_entry entry,
			      uint64_t *ret_value);
	int (*qp_attach_comp_cntr)(struct verbs_qp *qp, struct ibv_comp_cntr *cntr,
				   const struct ibv_qp_attach_comp_cntr_attr *attr);

	int (*create_ah)(struct ibv_ah *ah, const struct verbs_create_ah *in);
	int (*destroy_ah)(struct ibv_ah *ah);

	int (*attach_mcast)(struct verbs_qp *qp, const union ibv_gid *gid, uint16_t lid);
	int (*detach_mcast)(struct verbs_qp *qp, const union ibv_gid *gid, uint16_t lid);

	/*
	 * QP1 of a user-space device: see gsi.c.
	 *
	 * - gsi_open: *ret_prefix is the prefix of the communication ids of this process. It has
	 *   VERBS_GSI_PREFIX_BITS and distinguishes the processes behind one address. The taker of
	 *   the first caller serves the device, and the context stays open from then on.
	 *
	 * - gsi_listen: start or stop receiving requests for @service_id (host order) that arrive
	 *   for @gid. @gid: NULL for any, or one of VERBS_GSI_ANY_*.
	 *
	 * - gsi_send: -EAGAIN: there is no room, or no connection yet to a process of this host.
	 *
	 * - gsi_recv: -EAGAIN: there is no MAD.
	 */
	int (*gsi_open)(struct ibv_context *ctx, const struct verbs_gsi_taker *taker, int *ret_fd,
			uint16_t *ret_prefix);
	int (*gsi_listen)(struct ibv_context *ctx, uint64_t service_id, const union ibv_gid *gid,
			  bool on);
	int (*gsi_send)(struct ibv_context *ctx, const struct verbs_gsi_mad *mad);
	int (*gsi_recv)(struct ibv_context *ctx, struct verbs_gsi_mad *ret_mad);
	/*
	 * Pass on a received request without a listener to a process that listens now. -ENOENT: no
	 * other process listens. -EAGAIN: the listeners are not known yet, or the known ones were
	 * listed before the request came.
	 */
	int (*gsi_offer)(struct ibv_context *ctx, const struct verbs_gsi_mad *mad);
	/*
	 * Send @mad to another host so that the host reports a closed port: the report arrives in
	 * the error queue (IP_RECVERR) of the socket *@fd. The caller owns the socket and has one
	 * for each of its addresses; a negative *@fd is created here. -ENOENT: @mad is for this
	 * host.
	 */
	int (*gsi_probe)(struct ibv_context *ctx, const struct verbs_gsi_mad *mad, int *fd);
	/*
	 * gsi_poll: receive in the calling thread and pass the MADs to the taker. The caller holds
	 * no lock that its taker needs. gsi_leave: let the thread of the device receive again.
	 */
	void (*gsi_poll)(struct ibv_context *ctx);
	void (*gsi_leave)(struct ibv_context *ctx);
	/*
	 * Let a guardian notify the host of @remote if this process is killed. Call without any
	 * lock, because the guardian is a program that may have to be started. -ENOENT: @remote is
	 * this host, which needs no guardian. -EOPNOTSUPP: no guardian can run, which is logged
	 * once.
	 */
	int (*gsi_guard)(struct ibv_context *ctx, const union ibv_gid *remote);
	/*
	 * Set the message that the guardian sends. @mad replaces the former message of @index, and
	 * NULL removes it. -EMSGSIZE: @mad is too long to be kept.
	 */
	int (*gsi_last_word)(struct ibv_context *ctx, uint16_t index,
			     const struct verbs_gsi_mad *mad);

	/* app-facing: inline functions of verbs.h call these directly. Public return convention. */
	int (*post_send)(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
	/* See verbs_post_write_copy(). If it is NULL, the library copies and calls post_send. */
	int (*post_write_copy)(struct ibv_qp *qp, struct ibv_send_wr *wr, const void *bytes);
	/* See verbs_qp_end_waits(). NULL: no peer copies by itself. */
	bool (*qp_end_waits)(struct ibv_qp *qp);
	int (*post_recv)(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
	int (*post_srq_recv)(struct ibv_srq *srq, struct ibv_recv_wr *wr,
			     struct ibv_recv_wr **bad_wr);
	int (*post_srq_ops)(struct ibv_srq *srq, struct ibv_ops_wr *op, struct ibv_ops_wr **bad_op);
	int (*poll_cq)(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc);
	int (*req_notify_cq)(struct ibv_cq *cq, int solicited_only);
	int (*bind_mw)(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);
};

/* Bytes of each object; 0: the base struct of the library. */
struct verbs_sizes {
	size_t context;
	size_t pd;
	size_t td;
	size_t xrcd;
	size_t mr;
	size_t dm;
	size_t mw;
	size_t cq;
	size_t srq;
	size_t qp;
	size_t wq;
	size_t rwq_ind_table;
	size_t flow;
	size_t flow_action;
	size_t counters;
	size_t dmah;
	size_t comp_cntr;
	size_t ah;
	size_t comp_channel;
};

/* The list to which list_devices() of a user-space provider adds its devices. */
struct verbs_device_list;

/*
 * Functions of a user-space provider around a fork, which take and release its locks. The library
 * calls them from the first list of devices on, with the lock of the list held.
 */
struct verbs_fork {
	void (*begin)(void);
	void (*end)(bool child); /* in the parent or in the child */
	struct verbs_fork *next; /* belongs to the library */
};

struct verbs_provider {
	uint32_t size; /* sizeof(struct verbs_provider) */
	const char *name;
	uint32_t driver_id; /* RDMA_DRIVER_*, which the kernel checks in each command */
	uint32_t min_abi;   /* kernel ABI of the device, inclusive range */
	uint32_t max_abi;
	struct verbs_sizes sizes;
	const struct verbs_ops *ops;
	/* Only for user-space providers: add the devices by verbs_device_add(). */
	int (*list_devices)(struct verbs_device_list *list);
	/* Only for user-space providers that have locks. */
	struct verbs_fork *fork;
	/* Only for user-space providers: return whether the descriptor is the cmd_fd of a context
	 * of this device, in any process. NULL: there are no such descriptors. */
	bool (*owns)(const struct verbs_device *device, int cmd_fd);
	/* Functions for the library of its direct verbs, or NULL. Only the provider and this
	 * library know the type. */
	const void *direct;
};

/* The only symbol that a plug-in exports. */
struct verbs_provider_entry {
	uint32_t abi; /* RDMA_PROVIDER_ABI at the time of its build */
	const struct verbs_provider *provider;
};
#define VERBS_PROVIDER(p)                                              \
	extern const struct verbs_provider_entry verbs_provider_entry; \
	__attribute__((visibility("default")))                         \
	const struct verbs_provider_entry verbs_provider_entry = {     \
		.abi = RDMA_PROVIDER_ABI,                              \
		.provider = &(p),                                      \
	}

/* Helpers of the library for providers: exported. */
#pragma GCC visibility push(default)

/* Return the library's base struct of a public object. */
static inline struct verbs_device *to_vdev(struct ibv_device *device)
{
	return (struct verbs_device *)device;
}

static inline struct verbs_cq *to_vcq(struct ibv_cq *cq)
{
	return (struct verbs_cq *)cq;
}

static inline struct verbs_qp *to_vqp(struct ibv_qp *qp)
{
	return (struct verbs_qp *)qp;
}

static inline struct verbs_srq *to_vsrq(struct ibv_srq *srq)
{
	return (struct verbs_srq *)srq;
}

static inline struct verbs_pd *to_vpd(struct ibv_pd *pd)
{
	return (struct verbs_pd *)pd;
}

/* Return the protection domain of @pd: itself, or the domain behind a parent domain or an imported
 * view. */
static inline struct ibv_pd *verbs_pd_protection(struct ibv_pd *pd)
{
	struct verbs_pd *vpd = to_vpd(pd);

	return vpd && vpd->of ? &vpd->of->pd : pd;
}

static inline struct verbs_td *to_vtd(struct ibv_td *td)
{
	return (struct verbs_td *)td;
}

static inline struct verbs_xrcd *to_vxrcd(struct ibv_xrcd *xrcd)
{
	return (struct verbs_xrcd *)xrcd;
}

static inline struct verbs_wq *to_vwq(struct ibv_wq *wq)
{
	return (struct verbs_wq *)wq;
}

static inline struct verbs_dm *to_vdm(struct ibv_dm *dm)
{
	return (struct verbs_dm *)dm;
}

static inline struct verbs_dmah *to_vdmah(struct ibv_dmah *dmah)
{
	return (struct verbs_dmah *)dmah;
}

static inline struct verbs_flow_action *to_vaction(struct ibv_flow_action *action)
{
	return (struct verbs_flow_action *)action;
}

static inline struct verbs_counters *to_vcounters(struct ibv_counters *counters)
{
	return (struct verbs_counters *)counters;
}

static inline struct verbs_mr *to_vmr(struct ibv_mr *mr)
{
	return (struct verbs_mr *)mr;
}

static inline struct verbs_context *to_vctx(struct ibv_context *ctx)
{
	return container_of(ctx, struct verbs_context, context);
}

/*
 * Check modify_qp of a user-space device as the kernel does for its devices: the transition, the
 * port, the address and the values. -EINVAL: the kernel would refuse them, which is logged with the
 * cause. The device checks values that the kernel passes on.
 */
int verbs_check_modify_qp(struct verbs_qp *qp, const struct verbs_modify_qp *in);

/*
 * Add one user-space device to the list being built.
 * @device: allocated with calloc by the provider; the library owns it afterwards
 * If the last list has a device of the same name, that device is kept, so that pointers stay valid.
 */
void verbs_device_add(struct verbs_device_list *list, struct verbs_device *device);

/* Replace the operations of the provider by @ops, for this context. Called by open_context. */
void verbs_context_set_ops(struct verbs_context *ctx, const struct verbs_ops *ops);
/*
 * Replace the operations of this context that @overlay sets, and keep the others. Used for features
 * that only some devices of a provider have. Called by open_context. Return: 0 or -ENOMEM.
 */
int verbs_context_overlay_ops(struct verbs_context *ctx, const struct verbs_ops *overlay);

/* Return whether the provider of that name serves the device. */
bool verbs_device_is(const struct ibv_device *device, const char *provider);

/*
 * For the library of a provider's direct verbs: do what the public verb does on behalf of a direct
 * verb. Messages name the direct verb, and the op finds its attributes in dv of @in. All functions
 * return 0 or a negative errno, and log the cause.
 */
int verbs_context_open(struct ibv_device *device, const void *dv, struct ibv_context **ret_ctx);
int verbs_cq_create(struct ibv_context *ctx, const char *verb, const struct verbs_create_cq *in,
		    struct verbs_cq **ret_cq);
int verbs_qp_create(struct ibv_context *ctx, const char *verb, const struct verbs_create_qp *in,
		    struct ibv_qp **ret_qp);
int verbs_wq_create(struct ibv_context *ctx, const struct verbs_create_wq *in,
		    struct verbs_wq **ret_wq);
int verbs_dm_alloc(struct ibv_context *ctx, const struct verbs_alloc_dm *in,
		   struct verbs_dm **ret_dm);
int verbs_comp_cntr_create(struct ibv_context *ctx, const char *verb,
			   const struct verbs_create_comp_cntr *in,
			   struct ibv_comp_cntr **ret_cntr);
int verbs_mr_register_dmabuf(const char *verb, const struct verbs_reg_dmabuf_mr *in,
			     struct ibv_mr **ret_mr);
int verbs_flow_create(const struct verbs_create_flow *in, struct ibv_flow **ret_flow);
int verbs_flow_action_create(struct ibv_context *ctx, const struct verbs_flow_action_esp *in,
			     struct verbs_flow_action **ret_action);
/* Allocate zeroed memory for an object that the provider creates itself. free() frees it. */
void *verbs_object_alloc(size_t base, size_t declared);

/* For the library of a provider's direct verbs: return verbs_provider.direct of the context's
 * provider. NULL: the provider has no direct verbs, or has another name than @provider. */
const void *verbs_provider_direct(struct ibv_context *ctx, const char *provider);

/* Initialise the members that public destroy functions need in a CQ that the provider created
 * itself. */
void verbs_cq_init(struct verbs_cq *cq, struct ibv_context *ctx, struct ibv_comp_channel *channel,
		   void *cq_context);

/*
 * Wait, before a destroy returns, until the application has acknowledged all events it got.
 * @comp, @async: total number of completion and asynchronous events that the object reported
 */
void verbs_cq_wait_events(struct verbs_cq *cq, uint32_t comp, uint32_t async);
void verbs_qp_wait_events(struct verbs_qp *qp, uint32_t async);
void verbs_srq_wait_events(struct verbs_srq *srq, uint32_t async);
void verbs_wq_wait_events(struct verbs_wq *wq, uint32_t async);

/*
 * QP1 of a user-space device, for librdmacm: call the operations of the same names. -EOPNOTSUPP:
 * the device does not use this library to establish connections.
 */
int verbs_gsi_open(struct ibv_context *ctx, const struct verbs_gsi_taker *taker, int *ret_fd,
		   uint16_t *ret_prefix);
int verbs_gsi_listen(struct ibv_context *ctx, uint64_t service_id, const union ibv_gid *gid,
		     bool on);
int verbs_gsi_send(struct ibv_context *ctx, const struct verbs_gsi_mad *mad);
int verbs_gsi_recv(struct ibv_context *ctx, struct verbs_gsi_mad *ret_mad);
int verbs_gsi_offer(struct ibv_context *ctx, const struct verbs_gsi_mad *mad);
int verbs_gsi_probe(struct ibv_context *ctx, const struct verbs_gsi_mad *mad, int *fd);
void verbs_gsi_poll(struct ibv_context *ctx);
void verbs_gsi_leave(struct ibv_context *ctx);
int verbs_gsi_guard(struct ibv_context *ctx, const union ibv_gid *remote);
int verbs_gsi_last_word(struct ibv_context *ctx, uint16_t index, const struct verbs_gsi_mad *mad);

/*
 * For librdmacm: post one write of one SGE, not inline, whose data are still at @bytes. The data
 * are copied into the memory of the SGE, or by the device directly to their target if it can do so
 * at once. Return: 0 or a positive errno.
 */
int verbs_post_write_copy(struct ibv_qp *qp, struct ibv_send_wr *wr, const void *bytes);
/*
 * For librdmacm: let peers begin no more copies to or from memory of the QP, which ends next.
 * Return whether its end waits for a copy that a peer has begun. A peer that is stopped delays the
 * end until it continues or ends.
 */
bool verbs_qp_end_waits(struct ibv_qp *qp);

/* Return the folder of programs that providers start. It is in the build tree if plug-ins are
 * loaded from there. */
const char *verbs_program_folder(void);

/*
 * Return whether the kernel's last neighbour request for the next hop from @sgid to @dgid failed;
 * false if this is unknown. The function itself causes no request.
 */
bool verbs_neigh_failed(const union ibv_gid *sgid, const union ibv_gid *dgid);

/* Resolve the L2 address and VLAN of the destination of @attr on RoCE. -EHOSTUNREACH or another
 * errno if it was not found. */
int verbs_resolve_eth_l2(struct ibv_context *ctx, const struct ibv_ah_attr *attr,
			 uint8_t ret_mac[6], uint16_t *ret_vlan);

/*
 * Protect memory that the provider shares with a device: fork() does not copy pages of the range
 * into children. Pairs of calls nest. Without ibv_fork_init() the functions have no effect, but the
 * name of the first caller is kept for the message about a late ibv_fork_init().
 */
#define verbs_dontfork_range(base, size) verbs_dontfork_range_by(__func__, base, size)
int verbs_dontfork_range_by(const char *who, void *base, size_t size);
int verbs_dofork_range(void *base, size_t size);

#pragma GCC visibility pop

#endif

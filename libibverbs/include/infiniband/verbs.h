/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The verbs API, ordered by object:
 *
 *   addresses, devices, contexts, asynchronous events, device and port attributes,
 *   PD, MR, MW, DM, work completions, completion channels and CQ, AH, work requests, SRQ, XRC,
 *   QP, ibv_wr_* builders, multicast, WQ, flow steering, counters, fork, names of values
 *
 * What holds for every function unless its comment says otherwise:
 *
 *   Return: a function that returns a pointer returns NULL and sets errno when it fails; one that
 *   returns int returns 0 or a positive errno value. EOPNOTSUPP says that the device, or this
 *   library for it, does not do that.
 *   Ownership: what a create, alloc, open, reg or import function returns belongs to the caller
 *   until the function that undoes it succeeded. Attribute structs are only read and written
 *   during the call.
 *   Threads: any number of threads may call any function on any object at once, except that an
 *   object must not be used by others while it is being destroyed.
 *   Structs: a struct with a comp_mask may grow at its end; only members whose bit is set are
 *   looked at, unknown bits are refused.
 */
#ifndef INFINIBAND_VERBS_H
#define INFINIBAND_VERBS_H

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <sys/types.h>
#include <linux/types.h>
#include <infiniband/verbs_api.h>

#ifdef __cplusplus
#include <limits>
extern "C" {
#endif

struct ibv_ah;
struct ibv_alloc_dm_attr;
struct ibv_comp_channel;
struct ibv_context;
struct ibv_counter_attach_attr;
struct ibv_counters;
struct ibv_counters_init_attr;
struct ibv_cq;
struct ibv_cq_ex;
struct ibv_cq_init_attr_ex;
struct ibv_device;
struct ibv_device_attr;
struct ibv_device_attr_ex;
struct ibv_dm;
struct ibv_flow;
struct ibv_flow_action;
struct ibv_flow_action_esp_attr;
struct ibv_flow_attr;
struct ibv_modify_cq_attr;
struct ibv_mr;
struct ibv_mw;
struct ibv_mw_bind;
struct ibv_ops_wr;
struct ibv_parent_domain_init_attr;
struct ibv_pd;
struct ibv_port_attr;
struct ibv_qp;
struct ibv_qp_init_attr_ex;
struct ibv_qp_open_attr;
struct ibv_qp_rate_limit_attr;
struct ibv_query_device_ex_input;
struct ibv_recv_wr;
struct ibv_rwq_ind_table;
struct ibv_rwq_ind_table_init_attr;
struct ibv_send_wr;
struct ibv_sge;
struct ibv_srq;
struct ibv_srq_init_attr_ex;
struct ibv_td;
struct ibv_td_init_attr;
struct ibv_values_ex;
struct ibv_wc;
struct ibv_wq;
struct ibv_wq_attr;
struct ibv_wq_init_attr;
struct ibv_xrcd;
struct ibv_xrcd_init_attr;

/* Does a struct of which the other side knows only the first @sz bytes have this member? */
#define vext_field_avail(type, fld, sz) (offsetof(type, fld) < (sz))

/* ------------------------------------------------------------------ addresses */

/**
 * union ibv_gid - the 128-bit address of a port
 *
 * Network order. On RoCE an IPv6 address, or an IPv4 address as ::ffff:a.b.c.d.
 * Source: IBTA vol. 1, addressing (chapter 4); RoCEv2: annex A17.
 */
union ibv_gid {
	uint8_t raw[16];
	struct {
		__be64 subnet_prefix;
		__be64 interface_id;
	} global;
};

/* What an entry of a port's GID table means on the wire. */
enum ibv_gid_type {
	IBV_GID_TYPE_IB,      /* InfiniBand */
	IBV_GID_TYPE_ROCE_V1, /* Ethernet, own ethertype */
	IBV_GID_TYPE_ROCE_V2, /* UDP over IPv4 or IPv6 */
};

/* ------------------------------------------------------------------ devices */

/* What kind of node a device is; the order follows the kernel's. */
enum ibv_node_type {
	IBV_NODE_UNKNOWN = -1,
	IBV_NODE_CA = 1,
	IBV_NODE_SWITCH,
	IBV_NODE_ROUTER,
	IBV_NODE_RNIC,
	IBV_NODE_USNIC,
	IBV_NODE_USNIC_UDP,
	IBV_NODE_UNSPECIFIED,
};

enum ibv_transport_type {
	IBV_TRANSPORT_UNKNOWN = -1,
	IBV_TRANSPORT_IB = 0, /* InfiniBand and RoCE: the link layer of the port tells them apart */
	IBV_TRANSPORT_IWARP,
	IBV_TRANSPORT_USNIC,
	IBV_TRANSPORT_USNIC_UDP,
	IBV_TRANSPORT_UNSPECIFIED,
};

/* Sizes of the character arrays of struct ibv_device, with the terminating zero. */
enum {
	IBV_SYSFS_NAME_MAX = 64,
	IBV_SYSFS_PATH_MAX = 256
};

/* Two slots that never had a user; they keep the members behind them in their place. */
struct _ibv_device_ops {
	struct ibv_context *(*_dummy1)(struct ibv_device *device, int cmd_fd);
	void (*_dummy2)(struct ibv_context *context);
};

/**
 * struct ibv_device - a device as ibv_get_device_list() found it
 *
 * Owned by the library; programs only read it. Prefer ibv_get_device_name() to the name member.
 * @name: of the kernel's RDMA device, e.g. "rxe0"
 * @dev_name: of its verbs character device, e.g. "uverbs0"
 * @dev_path: the sysfs directory of the character device
 * @ibdev_path: the sysfs directory of the RDMA device
 */
struct ibv_device {
	struct _ibv_device_ops _ops;
	enum ibv_node_type node_type;
	enum ibv_transport_type transport_type;
	char name[IBV_SYSFS_NAME_MAX];
	char dev_name[IBV_SYSFS_NAME_MAX];
	char dev_path[IBV_SYSFS_PATH_MAX];
	char ibdev_path[IBV_SYSFS_PATH_MAX];
};

/**
 * ibv_get_device_list() - the devices this process could open
 * @num_devices: their number; may be NULL
 *
 * Return: an array of devices that ends with NULL, to be given to ibv_free_device_list(); also
 * when there is none. NULL with errno EPERM (no permission), ENOSYS (no kernel support) or ENOMEM.
 */
struct ibv_device **ibv_get_device_list(int *num_devices);

/**
 * ibv_free_device_list() - give the list back
 *
 * A device of it stays valid only while it is open (or in another list).
 */
void ibv_free_device_list(struct ibv_device **list);

/**
 * Static linking: name the providers the program needs before this header,
 *
 *   #define RDMA_STATIC_PROVIDERS rxe,mlx5
 *
 * and ibv_get_device_list() becomes a function that refers to each of them, so that the linker
 * takes it out of its archive. "all" stands for every provider the library was built with. A
 * program that links the shared library must not do this: it will not link.
 */
#ifdef RDMA_STATIC_PROVIDERS
struct verbs_device_ops;
extern const struct verbs_device_ops verbs_provider_bnxt_re;
extern const struct verbs_device_ops verbs_provider_cxgb4;
extern const struct verbs_device_ops verbs_provider_efa;
extern const struct verbs_device_ops verbs_provider_erdma;
extern const struct verbs_device_ops verbs_provider_hfi1verbs;
extern const struct verbs_device_ops verbs_provider_hns;
extern const struct verbs_device_ops verbs_provider_ionic;
extern const struct verbs_device_ops verbs_provider_ipathverbs;
extern const struct verbs_device_ops verbs_provider_irdma;
extern const struct verbs_device_ops verbs_provider_mana;
extern const struct verbs_device_ops verbs_provider_mlx4;
extern const struct verbs_device_ops verbs_provider_mlx5;
extern const struct verbs_device_ops verbs_provider_mthca;
extern const struct verbs_device_ops verbs_provider_ocrdma;
extern const struct verbs_device_ops verbs_provider_qedr;
extern const struct verbs_device_ops verbs_provider_rxe;
extern const struct verbs_device_ops verbs_provider_siw;
extern const struct verbs_device_ops verbs_provider_uroce;
extern const struct verbs_device_ops verbs_provider_vmw_pvrdma;
extern const struct verbs_device_ops verbs_provider_all;
extern const struct verbs_device_ops verbs_provider_none;

/* Takes the addresses of providers up to a NULL; lives in the static library only. */
void ibv_static_providers(void *unused, ...);

/* The preprocessor cannot loop over a list, so the list is padded with "none" to 19 names. */
#define _RDMA_STATIC_PREFIX(list)                                                              \
	_RDMA_STATIC_PREFIX_(list, none, none, none, none, none, none, none, none, none, none, \
			     none, none, none, none, none, none, none, none)
#define _RDMA_STATIC_PREFIX_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, ...)  \
	&verbs_provider_##a, &verbs_provider_##b, &verbs_provider_##c, &verbs_provider_##d, \
		&verbs_provider_##e, &verbs_provider_##f, &verbs_provider_##g,              \
		&verbs_provider_##h, &verbs_provider_##i, &verbs_provider_##j,              \
		&verbs_provider_##k, &verbs_provider_##l, &verbs_provider_##m,              \
		&verbs_provider_##n, &verbs_provider_##o, &verbs_provider_##p,              \
		&verbs_provider_##q, &verbs_provider_##r, &verbs_provider_##s

static inline struct ibv_device **__ibv_get_device_list(int *num_devices)
{
	ibv_static_providers(NULL, _RDMA_STATIC_PREFIX(RDMA_STATIC_PROVIDERS), NULL);
	return ibv_get_device_list(num_devices);
}
#define ibv_get_device_list(num_devices) __ibv_get_device_list(num_devices)
#endif

/**
 * ibv_get_device_name() - the kernel's name of the device
 *
 * Return: a string that lives as long as the device; NULL for no device.
 */
const char *ibv_get_device_name(struct ibv_device *device);

/**
 * ibv_get_device_index() - the kernel's number of the device; it survives renaming
 *
 * Return: the number; -1 when the kernel does not tell (it has no RDMA netlink, or the device is
 * not the kernel's).
 */
int ibv_get_device_index(struct ibv_device *device);

/**
 * ibv_get_device_guid() - the node GUID
 *
 * Return: the GUID in network order, 0 when it cannot be read.
 */
__be64 ibv_get_device_guid(struct ibv_device *device);

/* ------------------------------------------------------------------ contexts */

/* Named here because the slot table below needs it; see memory windows. */
enum ibv_mw_type {
	IBV_MW_TYPE_1 = 1,
	IBV_MW_TYPE_2 = 2
};

struct _compat_ibv_port_attr;

/**
 * struct ibv_context_ops - the slots the inline functions below jump through
 *
 * Filled by the library. Programs call the functions, never the slots. The _compat_ slots belong
 * to programs built long ago against other versions; their number and order are ABI.
 */
struct ibv_context_ops {
	int (*_compat_query_device)(struct ibv_context *context,
				    struct ibv_device_attr *device_attr);
	int (*_compat_query_port)(struct ibv_context *context, uint8_t port_num,
				  struct _compat_ibv_port_attr *port_attr);
	void *(*_compat_alloc_pd)(void);
	void *(*_compat_dealloc_pd)(void);
	void *(*_compat_reg_mr)(void);
	void *(*_compat_rereg_mr)(void);
	void *(*_compat_dereg_mr)(void);
	struct ibv_mw *(*alloc_mw)(struct ibv_pd *pd, enum ibv_mw_type type);
	int (*bind_mw)(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *mw_bind);
	int (*dealloc_mw)(struct ibv_mw *mw);
	void *(*_compat_create_cq)(void);
	int (*poll_cq)(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc);
	int (*req_notify_cq)(struct ibv_cq *cq, int solicited_only);
	void *(*_compat_cq_event)(void);
	void *(*_compat_resize_cq)(void);
	void *(*_compat_destroy_cq)(void);
	void *(*_compat_create_srq)(void);
	void *(*_compat_modify_srq)(void);
	void *(*_compat_query_srq)(void);
	void *(*_compat_destroy_srq)(void);
	int (*post_srq_recv)(struct ibv_srq *srq, struct ibv_recv_wr *recv_wr,
			     struct ibv_recv_wr **bad_recv_wr);
	void *(*_compat_create_qp)(void);
	void *(*_compat_query_qp)(void);
	void *(*_compat_modify_qp)(void);
	void *(*_compat_destroy_qp)(void);
	int (*post_send)(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
	int (*post_recv)(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
	void *(*_compat_create_ah)(void);
	void *(*_compat_destroy_ah)(void);
	void *(*_compat_attach_mcast)(void);
	void *(*_compat_detach_mcast)(void);
	void *(*_compat_async_event)(void);
};

/**
 * struct ibv_context - a device opened by this process
 *
 * Programs read @device, @async_fd and @num_comp_vectors; the rest is the library's.
 * @async_fd: readable when ibv_get_async_event() would not block; programs may poll it and set it
 * to non-blocking
 * @num_comp_vectors: completion vectors 0 ... num_comp_vectors - 1 exist
 */
struct ibv_context {
	struct ibv_device *device;
	struct ibv_context_ops ops;
	int cmd_fd;
	int async_fd;
	int num_comp_vectors;
	pthread_mutex_t mutex;
	void *abi_compat;
};

/**
 * struct verbs_context - the slots added since, in front of the context
 *
 * It grows at the front, so the distance of a slot from the end never changes; @sz tells how
 * far the library's struct reaches. Programs use verbs_get_ctx_op(), and that only through the
 * inline functions.
 */
struct verbs_context {
	int (*query_port)(struct ibv_context *context, uint8_t port_num,
			  struct ibv_port_attr *port_attr, size_t port_attr_len);
	int (*advise_mr)(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
			 struct ibv_sge *sg_list, uint32_t num_sges);
	struct ibv_mr *(*alloc_null_mr)(struct ibv_pd *pd);
	int (*read_counters)(struct ibv_counters *counters, uint64_t *counters_value,
			     uint32_t ncounters, uint32_t flags);
	int (*attach_counters_point_flow)(struct ibv_counters *counters,
					  struct ibv_counter_attach_attr *attr,
					  struct ibv_flow *flow);
	struct ibv_counters *(*create_counters)(struct ibv_context *context,
						struct ibv_counters_init_attr *init_attr);
	int (*destroy_counters)(struct ibv_counters *counters);
	struct ibv_mr *(*reg_dm_mr)(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t dm_offset,
				    size_t length, unsigned int access);
	struct ibv_dm *(*alloc_dm)(struct ibv_context *context, struct ibv_alloc_dm_attr *attr);
	int (*free_dm)(struct ibv_dm *dm);
	int (*modify_flow_action_esp)(struct ibv_flow_action *action,
				      struct ibv_flow_action_esp_attr *attr);
	int (*destroy_flow_action)(struct ibv_flow_action *action);
	struct ibv_flow_action *(*create_flow_action_esp)(struct ibv_context *context,
							  struct ibv_flow_action_esp_attr *attr);
	int (*modify_qp_rate_limit)(struct ibv_qp *qp, struct ibv_qp_rate_limit_attr *attr);
	struct ibv_pd *(*alloc_parent_domain)(struct ibv_context *context,
					      struct ibv_parent_domain_init_attr *attr);
	int (*dealloc_td)(struct ibv_td *td);
	struct ibv_td *(*alloc_td)(struct ibv_context *context, struct ibv_td_init_attr *init_attr);
	int (*modify_cq)(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);
	int (*post_srq_ops)(struct ibv_srq *srq, struct ibv_ops_wr *op, struct ibv_ops_wr **bad_op);
	int (*destroy_rwq_ind_table)(struct ibv_rwq_ind_table *rwq_ind_table);
	struct ibv_rwq_ind_table *(*create_rwq_ind_table)(
		struct ibv_context *context, struct ibv_rwq_ind_table_init_attr *init_attr);
	int (*destroy_wq)(struct ibv_wq *wq);
	int (*modify_wq)(struct ibv_wq *wq, struct ibv_wq_attr *wq_attr);
	struct ibv_wq *(*create_wq)(struct ibv_context *context,
				    struct ibv_wq_init_attr *wq_init_attr);
	int (*query_rt_values)(struct ibv_context *context, struct ibv_values_ex *values);
	struct ibv_cq_ex *(*create_cq_ex)(struct ibv_context *context,
					  struct ibv_cq_init_attr_ex *init_attr);
	struct verbs_ex_private *priv;
	int (*query_device_ex)(struct ibv_context *context,
			       const struct ibv_query_device_ex_input *input,
			       struct ibv_device_attr_ex *attr, size_t attr_size);
	int (*ibv_destroy_flow)(struct ibv_flow *flow);
	void (*ABI_placeholder2)(void); /* always NULL */
	struct ibv_flow *(*ibv_create_flow)(struct ibv_qp *qp, struct ibv_flow_attr *flow_attr);
	void (*ABI_placeholder1)(void); /* always NULL */
	struct ibv_qp *(*open_qp)(struct ibv_context *context, struct ibv_qp_open_attr *attr);
	struct ibv_qp *(*create_qp_ex)(struct ibv_context *context,
				       struct ibv_qp_init_attr_ex *qp_init_attr_ex);
	int (*get_srq_num)(struct ibv_srq *srq, uint32_t *srq_num);
	struct ibv_srq *(*create_srq_ex)(struct ibv_context *context,
					 struct ibv_srq_init_attr_ex *srq_init_attr_ex);
	struct ibv_xrcd *(*open_xrcd)(struct ibv_context *context,
				      struct ibv_xrcd_init_attr *xrcd_init_attr);
	int (*close_xrcd)(struct ibv_xrcd *xrcd);
	uint64_t _ABI_placeholder3;
	size_t sz;		    /* bytes of the whole struct; stays in front of context */
	struct ibv_context context; /* stays last */
};

/* The value of ibv_context.abi_compat that says: this context is inside a verbs_context. */
#define __VERBS_ABI_IS_EXTENDED ((void *)~(uintptr_t)0)

/**
 * verbs_get_ctx() - the verbs_context around a context
 *
 * Return: NULL when there is none.
 */
static inline struct verbs_context *verbs_get_ctx(struct ibv_context *ctx)
{
	char *inside = (char *)ctx;

	if (ctx->abi_compat != __VERBS_ABI_IS_EXTENDED)
		return NULL;
	return (struct verbs_context *)(void *)(inside - offsetof(struct verbs_context, context));
}

/* The verbs_context, provided it reaches to the slot at @offset and that slot is filled. */
static inline struct verbs_context *__verbs_get_ctx_slot(struct ibv_context *ctx, size_t offset)
{
	struct verbs_context *vctx = verbs_get_ctx(ctx);
	void (*slot)(void);

	if (!vctx || vctx->sz < sizeof(*vctx) - offset)
		return NULL;
	memcpy(&slot, (char *)vctx + offset, sizeof(slot));
	return slot ? vctx : NULL;
}

/**
 * verbs_get_ctx_op() - the verbs_context of @ctx if its slot @op can be called, else NULL
 */
#define verbs_get_ctx_op(ctx, op) __verbs_get_ctx_slot(ctx, offsetof(struct verbs_context, op))

/**
 * ibv_open_device() - open a device for use by this process
 *
 * Return: the context, to be closed with ibv_close_device(); NULL with errno EACCES (no permission
 * on the character device), ENODEV (it is gone), ENOMEM, ...
 */
struct ibv_context *ibv_open_device(struct ibv_device *device);

/**
 * ibv_close_device() - close a device
 *
 * Objects made on the context are not destroyed with it: destroy them first, or their memory leaks.
 * Return: 0, or -1 with errno.
 */
int ibv_close_device(struct ibv_context *context);

/**
 * ibv_import_device() - a context on a device another process opened
 * @cmd_fd: its ibv_context.cmd_fd, e.g. received over a Unix socket; the library takes its own copy
 *
 * Return: the context; NULL with errno EOPNOTSUPP or that of ibv_open_device().
 */
struct ibv_context *ibv_import_device(int cmd_fd);

/* ------------------------------------------------------------------ asynchronous events */

/* What happened, and to which member of ibv_async_event.element. */
enum ibv_event_type {
	IBV_EVENT_CQ_ERR,	       /* cq: overrun or other failure */
	IBV_EVENT_QP_FATAL,	       /* qp: moved to the error state by a local failure */
	IBV_EVENT_QP_REQ_ERR,	       /* qp: a request that may not come */
	IBV_EVENT_QP_ACCESS_ERR,       /* qp: a request without the right to its memory */
	IBV_EVENT_COMM_EST,	       /* qp: a packet arrived in RTR */
	IBV_EVENT_SQ_DRAINED,	       /* qp: send queue empty after RTS -> SQD */
	IBV_EVENT_PATH_MIG,	       /* qp: now on the alternate path */
	IBV_EVENT_PATH_MIG_ERR,	       /* qp: could not migrate */
	IBV_EVENT_DEVICE_FATAL,	       /* the device is unusable: close it */
	IBV_EVENT_PORT_ACTIVE,	       /* port_num */
	IBV_EVENT_PORT_ERR,	       /* port_num: link down */
	IBV_EVENT_LID_CHANGE,	       /* port_num */
	IBV_EVENT_PKEY_CHANGE,	       /* port_num */
	IBV_EVENT_SM_CHANGE,	       /* port_num */
	IBV_EVENT_SRQ_ERR,	       /* srq */
	IBV_EVENT_SRQ_LIMIT_REACHED,   /* srq: fewer receives than srq_limit; disarms the limit */
	IBV_EVENT_QP_LAST_WQE_REACHED, /* qp on an SRQ: takes no more receives */
	IBV_EVENT_CLIENT_REREGISTER,   /* port_num: register again with the subnet administrator */
	IBV_EVENT_GID_CHANGE,	       /* port_num */
	IBV_EVENT_WQ_FATAL,	       /* wq */
};

/**
 * struct ibv_async_event - an event that belongs to no work request
 *
 * Source: IBTA vol. 1, software transport verbs (chapter 11), asynchronous events.
 */
struct ibv_async_event {
	union {
		struct ibv_cq *cq;
		struct ibv_qp *qp;
		struct ibv_srq *srq;
		struct ibv_wq *wq;
		int port_num;
	} element;
	enum ibv_event_type event_type;
};

/**
 * ibv_get_async_event() - wait for the next event of the device
 *
 * Each event got is to be acknowledged: destroying a CQ, QP, SRQ or WQ waits until its events are.
 * Return: 0; -1 with errno, EAGAIN when async_fd is non-blocking and there is none.
 */
int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event);

/**
 * ibv_ack_async_event() - the event has been dealt with
 *
 * Once per event. Not from a thread that destroys the same object in between: it would wait for
 * itself.
 */
void ibv_ack_async_event(struct ibv_async_event *event);

/* ------------------------------------------------------------------ device attributes */

/* Bits of ibv_device_attr.device_cap_flags. */
enum ibv_device_cap_flags {
	IBV_DEVICE_RESIZE_MAX_WR = 1,
	IBV_DEVICE_BAD_PKEY_CNTR = 1 << 1,
	IBV_DEVICE_BAD_QKEY_CNTR = 1 << 2,
	IBV_DEVICE_RAW_MULTI = 1 << 3,
	IBV_DEVICE_AUTO_PATH_MIG = 1 << 4,
	IBV_DEVICE_CHANGE_PHY_PORT = 1 << 5,
	IBV_DEVICE_UD_AV_PORT_ENFORCE = 1 << 6,
	IBV_DEVICE_CURR_QP_STATE_MOD = 1 << 7,
	IBV_DEVICE_SHUTDOWN_PORT = 1 << 8,
	IBV_DEVICE_INIT_TYPE = 1 << 9,
	IBV_DEVICE_PORT_ACTIVE_EVENT = 1 << 10,
	IBV_DEVICE_SYS_IMAGE_GUID = 1 << 11,
	IBV_DEVICE_RC_RNR_NAK_GEN = 1 << 12,
	IBV_DEVICE_SRQ_RESIZE = 1 << 13,
	IBV_DEVICE_N_NOTIFY_CQ = 1 << 14,
	IBV_DEVICE_MEM_WINDOW = 1 << 17,
	IBV_DEVICE_UD_IP_CSUM = 1 << 18,
	IBV_DEVICE_XRC = 1 << 20,
	IBV_DEVICE_MEM_MGT_EXTENSIONS = 1 << 21,
	IBV_DEVICE_MEM_WINDOW_TYPE_2A = 1 << 23,
	IBV_DEVICE_MEM_WINDOW_TYPE_2B = 1 << 24,
	IBV_DEVICE_RC_IP_CSUM = 1 << 25,
	IBV_DEVICE_RAW_IP_CSUM = 1 << 26,
	IBV_DEVICE_MANAGED_FLOW_STEERING = 1 << 29
};

/* Further bits, of ibv_device_attr_ex.device_cap_flags_ex only: too wide for an enumerator. */
#define IBV_DEVICE_RAW_SCATTER_FCS	 (1ULL << 34)
#define IBV_DEVICE_PCI_WRITE_END_PADDING (1ULL << 36)

/* With what atomic operations of the device are atomic. */
enum ibv_atomic_cap {
	IBV_ATOMIC_NONE, /* there are none */
	IBV_ATOMIC_HCA,	 /* with each other */
	IBV_ATOMIC_GLOB	 /* with the CPUs too */
};

/**
 * struct ibv_device_attr - limits and identity of a device
 *
 * The max_ members are counts unless noted. A limit holds for the device, not for one process:
 * creating an object can fail before it is reached.
 * @page_size_cap: mask; bit n is set when pages of 2^n bytes can be registered
 * @device_cap_flags: OR of enum ibv_device_cap_flags
 * @max_sge_rd: scatter/gather entries of an RDMA read
 * @max_res_rd_atom: RDMA reads and atomics as responder, of the whole device
 * @local_ca_ack_delay: the device answers within 4.096 us * 2^value
 * @phys_port_cnt: ports are numbered from 1
 * Source: IBTA vol. 1, software transport verbs (chapter 11), "query HCA".
 */
struct ibv_device_attr {
	char fw_ver[64];
	__be64 node_guid;
	__be64 sys_image_guid;
	uint64_t max_mr_size; /* bytes */
	uint64_t page_size_cap;
	uint32_t vendor_id;
	uint32_t vendor_part_id;
	uint32_t hw_ver;
	int max_qp;
	int max_qp_wr; /* per queue */
	unsigned int device_cap_flags;
	int max_sge; /* per work request */
	int max_sge_rd;
	int max_cq;
	int max_cqe;
	int max_mr;
	int max_pd;
	int max_qp_rd_atom; /* as responder, per QP */
	int max_ee_rd_atom;
	int max_res_rd_atom;
	int max_qp_init_rd_atom; /* as initiator, per QP */
	int max_ee_init_rd_atom;
	enum ibv_atomic_cap atomic_cap;
	int max_ee;
	int max_rdd;
	int max_mw;
	int max_raw_ipv6_qp;
	int max_raw_ethy_qp;
	int max_mcast_grp;
	int max_mcast_qp_attach; /* per group */
	int max_total_mcast_qp_attach;
	int max_ah;
	int max_fmr;
	int max_map_per_fmr;
	int max_srq;
	int max_srq_wr;
	int max_srq_sge;
	uint16_t max_pkeys;
	uint8_t local_ca_ack_delay;
	uint8_t phys_port_cnt;
};

/**
 * ibv_query_device() - limits and identity of a device
 *
 * Return: 0 or an errno value; *@device_attr is written only on success.
 */
int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *device_attr);

/* Nothing can be asked for yet: comp_mask is 0. */
struct ibv_query_device_ex_input {
	uint32_t comp_mask;
};

/* On-demand paging: bits of ibv_odp_caps.general_caps. */
enum ibv_odp_general_caps {
	IBV_ODP_SUPPORT = 1 << 0,
	IBV_ODP_SUPPORT_IMPLICIT = 1 << 1, /* one region for the whole address space */
};

/* Which operations of a transport may touch memory registered with IBV_ACCESS_ON_DEMAND. */
enum ibv_odp_transport_cap_bits {
	IBV_ODP_SUPPORT_SEND = 1 << 0,
	IBV_ODP_SUPPORT_RECV = 1 << 1,
	IBV_ODP_SUPPORT_WRITE = 1 << 2,
	IBV_ODP_SUPPORT_READ = 1 << 3,
	IBV_ODP_SUPPORT_ATOMIC = 1 << 4,
	IBV_ODP_SUPPORT_SRQ_RECV = 1 << 5,
	IBV_ODP_SUPPORT_FLUSH = 1 << 6,
	IBV_ODP_SUPPORT_ATOMIC_WRITE = 1 << 7,
};

struct ibv_odp_caps {
	uint64_t general_caps;
	struct {
		uint32_t rc_odp_caps;
		uint32_t uc_odp_caps;
		uint32_t ud_odp_caps;
	} per_transport_caps;
};

/* TCP segmentation offload. supported_qpts: mask, see ibv_is_qpt_supported(). */
struct ibv_tso_caps {
	uint32_t max_tso; /* bytes of payload in one work request; 0: none */
	uint32_t supported_qpts;
};

enum ibv_rx_hash_function_flags {
	IBV_RX_HASH_FUNC_TOEPLITZ = 1 << 0,
};

/*
 * Header fields that may enter the receive hash. A hash takes either IPv4 or IPv6 and either TCP
 * or UDP; INNER selects the headers inside a tunnel.
 */
__extension__ enum ibv_rx_hash_fields {
	IBV_RX_HASH_SRC_IPV4 = 1 << 0,
	IBV_RX_HASH_DST_IPV4 = 1 << 1,
	IBV_RX_HASH_SRC_IPV6 = 1 << 2,
	IBV_RX_HASH_DST_IPV6 = 1 << 3,
	IBV_RX_HASH_SRC_PORT_TCP = 1 << 4,
	IBV_RX_HASH_DST_PORT_TCP = 1 << 5,
	IBV_RX_HASH_SRC_PORT_UDP = 1 << 6,
	IBV_RX_HASH_DST_PORT_UDP = 1 << 7,
	IBV_RX_HASH_IPSEC_SPI = 1 << 8,
	IBV_RX_HASH_INNER = (1UL << 31),
};

/* Receive-side scaling: limits of RWQ indirection tables and of the hash in front of them. */
struct ibv_rss_caps {
	uint32_t supported_qpts;
	uint32_t max_rwq_indirection_tables;
	uint32_t max_rwq_indirection_table_size; /* entries */
	uint64_t rx_hash_fields_mask;		 /* enum ibv_rx_hash_fields */
	uint8_t rx_hash_function;		 /* enum ibv_rx_hash_function_flags */
};

/* Rates in kbit/s; 0: no pacing. */
struct ibv_packet_pacing_caps {
	uint32_t qp_rate_limit_min;
	uint32_t qp_rate_limit_max;
	uint32_t supported_qpts;
};

enum ibv_raw_packet_caps {
	IBV_RAW_PACKET_CAP_CVLAN_STRIPPING = 1 << 0,
	IBV_RAW_PACKET_CAP_SCATTER_FCS = 1 << 1,
	IBV_RAW_PACKET_CAP_IP_CSUM = 1 << 2,
	IBV_RAW_PACKET_CAP_DELAY_DROP = 1 << 3,
};

enum ibv_tm_cap_flags {
	IBV_TM_CAP_RC = 1 << 0, /* tag matching on RC */
};

/* Tag matching; all 0 when the device has none. */
struct ibv_tm_caps {
	uint32_t max_rndv_hdr_size; /* bytes of a rendezvous request's header */
	uint32_t max_num_tags;	    /* tagged receives in one SRQ's list */
	uint32_t flags;		    /* enum ibv_tm_cap_flags */
	uint32_t max_ops;	    /* list operations in flight */
	uint32_t max_sge;	    /* entries of a tagged receive */
};

/* The largest values ibv_modify_cq() takes; 0: no moderation. */
struct ibv_cq_moderation_caps {
	uint16_t max_cq_count;	/* completions */
	uint16_t max_cq_period; /* microseconds */
};

/* Operand sizes of atomics towards PCI: masks of enum ibv_pci_atomic_op_size. */
enum ibv_pci_atomic_op_size {
	IBV_PCI_ATOMIC_OPERATION_4_BYTE_SIZE_SUP = 1 << 0,
	IBV_PCI_ATOMIC_OPERATION_8_BYTE_SIZE_SUP = 1 << 1,
	IBV_PCI_ATOMIC_OPERATION_16_BYTE_SIZE_SUP = 1 << 2,
};

struct ibv_pci_atomic_caps {
	uint16_t fetch_add;
	uint16_t swap;
	uint16_t compare_swap;
};

/**
 * struct ibv_device_attr_ex - the limits of a device, and what was added later
 *
 * A capability the device does not have, or the kernel does not report, is 0.
 * @completion_timestamp_mask: the bits of a completion timestamp that count
 * @hca_core_clock: kHz of the clock behind it
 * @device_cap_flags_ex: the device_cap_flags and IBV_DEVICE_* wider than 32 bits
 * @raw_packet_caps: OR of enum ibv_raw_packet_caps
 * @max_dm_size: bytes of device memory
 * @xrc_odp_caps: OR of enum ibv_odp_transport_cap_bits
 * @phys_port_cnt_ex: number of ports, also when there are more than 255
 */
struct ibv_device_attr_ex {
	struct ibv_device_attr orig_attr;
	uint32_t comp_mask;
	struct ibv_odp_caps odp_caps;
	uint64_t completion_timestamp_mask;
	uint64_t hca_core_clock;
	uint64_t device_cap_flags_ex;
	struct ibv_tso_caps tso_caps;
	struct ibv_rss_caps rss_caps;
	uint32_t max_wq_type_rq;
	struct ibv_packet_pacing_caps packet_pacing_caps;
	uint32_t raw_packet_caps;
	struct ibv_tm_caps tm_caps;
	struct ibv_cq_moderation_caps cq_mod_caps;
	uint64_t max_dm_size;
	struct ibv_pci_atomic_caps pci_atomic_caps;
	uint32_t xrc_odp_caps;
	uint32_t phys_port_cnt_ex;
};

/**
 * ibv_query_device_ex() - limits and capabilities of a device
 * @input: NULL, or with comp_mask 0
 *
 * A device that has only the old query fills @attr->orig_attr; the rest is 0.
 * Return: 0 or an errno value; EINVAL for an unknown bit in @input->comp_mask.
 */
static inline int ibv_query_device_ex(struct ibv_context *context,
				      const struct ibv_query_device_ex_input *input,
				      struct ibv_device_attr_ex *attr)
{
	struct verbs_context *vctx = verbs_get_ctx_op(context, query_device_ex);
	int ret = EOPNOTSUPP;

	if (input && input->comp_mask)
		return EINVAL;
	if (vctx)
		ret = vctx->query_device_ex(context, input, attr, sizeof(*attr));
	if (ret != EOPNOTSUPP && ret != ENOSYS)
		return ret;

	memset(attr, 0, sizeof(*attr));
	return ibv_query_device(context, &attr->orig_attr);
}

/* What ibv_query_rt_values_ex() is asked for, and then what it filled in. */
enum ibv_values_mask {
	IBV_VALUES_MASK_RAW_CLOCK = 1 << 0,
	IBV_VALUES_MASK_RESERVED = 1 << 1
};

struct ibv_values_ex {
	uint32_t comp_mask;
	struct timespec raw_clock; /* tv_nsec: ticks of hca_core_clock, tv_sec: 0 */
};

/**
 * ibv_query_rt_values_ex() - read values of the device that change all the time
 * @values: comp_mask names them, and says on return which ones were read
 */
static inline int ibv_query_rt_values_ex(struct ibv_context *context, struct ibv_values_ex *values)
{
	struct verbs_context *vctx = verbs_get_ctx_op(context, query_rt_values);

	return vctx ? vctx->query_rt_values(context, values) : EOPNOTSUPP;
}

/* ------------------------------------------------------------------ ports, GIDs, P_Keys */

/* Path MTU: bytes of payload a packet, 128 << value. */
enum ibv_mtu {
	IBV_MTU_256 = 1,
	IBV_MTU_512 = 2,
	IBV_MTU_1024 = 3,
	IBV_MTU_2048 = 4,
	IBV_MTU_4096 = 5
};

enum ibv_port_state {
	IBV_PORT_NOP = 0,
	IBV_PORT_DOWN = 1,
	IBV_PORT_INIT = 2,
	IBV_PORT_ARMED = 3,
	IBV_PORT_ACTIVE = 4,
	IBV_PORT_ACTIVE_DEFER = 5
};

/* ibv_port_attr.link_layer; 0 is what old kernels say of an InfiniBand port. */
enum {
	IBV_LINK_LAYER_UNSPECIFIED,
	IBV_LINK_LAYER_INFINIBAND,
	IBV_LINK_LAYER_ETHERNET,
};

/*
 * Bits of ibv_port_attr.port_cap_flags: the CapabilityMask of the port, in which bit 26 has been
 * given the meaning "GIDs are made from IP addresses".
 */
enum ibv_port_cap_flags {
	IBV_PORT_SM = 1 << 1,
	IBV_PORT_NOTICE_SUP = 1 << 2,
	IBV_PORT_TRAP_SUP = 1 << 3,
	IBV_PORT_OPT_IPD_SUP = 1 << 4,
	IBV_PORT_AUTO_MIGR_SUP = 1 << 5,
	IBV_PORT_SL_MAP_SUP = 1 << 6,
	IBV_PORT_MKEY_NVRAM = 1 << 7,
	IBV_PORT_PKEY_NVRAM = 1 << 8,
	IBV_PORT_LED_INFO_SUP = 1 << 9,
	IBV_PORT_SYS_IMAGE_GUID_SUP = 1 << 11,
	IBV_PORT_PKEY_SW_EXT_PORT_TRAP_SUP = 1 << 12,
	IBV_PORT_EXTENDED_SPEEDS_SUP = 1 << 14,
	IBV_PORT_CAP_MASK2_SUP = 1 << 15, /* port_cap_flags2 is valid */
	IBV_PORT_CM_SUP = 1 << 16,
	IBV_PORT_SNMP_TUNNEL_SUP = 1 << 17,
	IBV_PORT_REINIT_SUP = 1 << 18,
	IBV_PORT_DEVICE_MGMT_SUP = 1 << 19,
	IBV_PORT_VENDOR_CLASS_SUP = 1 << 20,
	IBV_PORT_DR_NOTICE_SUP = 1 << 21,
	IBV_PORT_CAP_MASK_NOTICE_SUP = 1 << 22,
	IBV_PORT_BOOT_MGMT_SUP = 1 << 23,
	IBV_PORT_LINK_LATENCY_SUP = 1 << 24,
	IBV_PORT_CLIENT_REG_SUP = 1 << 25,
	IBV_PORT_IP_BASED_GIDS = 1 << 26
};

/* Bits of ibv_port_attr.port_cap_flags2: CapabilityMask2 of the port. */
enum ibv_port_cap_flags2 {
	IBV_PORT_SET_NODE_DESC_SUP = 1 << 0,
	IBV_PORT_INFO_EXT_SUP = 1 << 1,
	IBV_PORT_VIRT_SUP = 1 << 2,
	IBV_PORT_SWITCH_PORT_STATE_TABLE_SUP = 1 << 3,
	IBV_PORT_LINK_WIDTH_2X_SUP = 1 << 4,
	IBV_PORT_LINK_SPEED_HDR_SUP = 1 << 5,
	IBV_PORT_LINK_SPEED_NDR_SUP = 1 << 10,
	IBV_PORT_LINK_SPEED_XDR_SUP = 1 << 12,
};

/**
 * struct ibv_port_attr - state and limits of a port
 *
 * @max_msg_sz: bytes
 * @subnet_timeout: 4.096 us * 2^value
 * @active_width: 1 1X, 2 4X, 4 8X, 8 12X, 16 2X
 * @active_speed: per lane: 1 2.5, 2 5, 4 and 8 10, 16 14, 32 25, 64 50, 128 100 Gbit/s
 * @phys_state: 1 sleep, 2 polling, 3 disabled, 4 training, 5 link up, 6 recovery, 7 test
 * @link_layer: IBV_LINK_LAYER_*
 * @flags: IBV_QPF_GRH_REQUIRED, every address on this port needs a GRH
 * @active_speed_ex: when not 0, replaces active_speed: 256 means 200 Gbit/s a lane
 *
 * Libraries and programs know different lengths of this struct: see ibv_query_port().
 * Source: IBTA vol. 1, software transport verbs (chapter 11), "query HCA".
 */
struct ibv_port_attr {
	enum ibv_port_state state;
	enum ibv_mtu max_mtu;
	enum ibv_mtu active_mtu;
	int gid_tbl_len;
	uint32_t port_cap_flags;
	uint32_t max_msg_sz;
	uint32_t bad_pkey_cntr;
	uint32_t qkey_viol_cntr;
	uint16_t pkey_tbl_len;
	uint16_t lid;
	uint16_t sm_lid;
	uint8_t lmc;
	uint8_t max_vl_num;
	uint8_t sm_sl;
	uint8_t subnet_timeout;
	uint8_t init_type_reply;
	uint8_t active_width;
	uint8_t active_speed;
	uint8_t phys_state;
	uint8_t link_layer;
	uint8_t flags;
	uint16_t port_cap_flags2;
	uint32_t active_speed_ex;
};

/**
 * ibv_query_port() - state and limits of a port
 * @port_num: from 1
 *
 * The function of the library fills the struct as it was before port_cap_flags2; the macro of the
 * same name passes the length this program was built with and gets all of that.
 * Return: 0 or an errno value; EINVAL when there is no such port.
 */
int ibv_query_port(struct ibv_context *context, uint8_t port_num,
		   struct _compat_ibv_port_attr *port_attr);

static inline int ___ibv_query_port(struct ibv_context *context, uint8_t port_num,
				    struct ibv_port_attr *port_attr)
{
	struct verbs_context *vctx = verbs_get_ctx_op(context, query_port);

	if (vctx)
		return vctx->query_port(context, port_num, port_attr, sizeof(*port_attr));

	memset(port_attr, 0, sizeof(*port_attr));
	return ibv_query_port(context, port_num, (struct _compat_ibv_port_attr *)port_attr);
}

#define ibv_query_port(context, port_num, port_attr) ___ibv_query_port(context, port_num, port_attr)

/**
 * ibv_query_gid() - the GID at an index of a port's table
 *
 * Return: 0; -1 with errno. An unused entry reads as all zero.
 */
int ibv_query_gid(struct ibv_context *context, uint8_t port_num, int index, union ibv_gid *gid);

/**
 * struct ibv_gid_entry - a used entry of a GID table
 *
 * @gid_type: enum ibv_gid_type
 * @ndev_ifindex: the network interface the GID belongs to, 0 for none
 */
struct ibv_gid_entry {
	union ibv_gid gid;
	uint32_t gid_index;
	uint32_t port_num;
	uint32_t gid_type;
	uint32_t ndev_ifindex;
};

/**
 * ibv_query_gid_ex() - an entry of the GID table with its type and interface
 * @flags: 0
 *
 * Return: 0 or an errno value; ENODATA for an unused entry, EINVAL for an index beyond the table.
 */
int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t gid_index,
		      struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size);

static inline int ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num,
				   uint32_t gid_index, struct ibv_gid_entry *entry, uint32_t flags)
{
	return _ibv_query_gid_ex(context, port_num, gid_index, entry, flags, sizeof(*entry));
}

/**
 * ibv_query_gid_table() - the used entries of all ports' GID tables, in one call
 * @entries: room for @max_entries of them
 * @flags: 0
 *
 * Return: how many were written; a negative errno value on failure, -EINVAL when there are more
 * than @max_entries.
 */
ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
			     size_t max_entries, uint32_t flags, size_t entry_size);

static inline ssize_t ibv_query_gid_table(struct ibv_context *context,
					  struct ibv_gid_entry *entries, size_t max_entries,
					  uint32_t flags)
{
	return _ibv_query_gid_table(context, entries, max_entries, flags, sizeof(*entries));
}

/**
 * ibv_query_pkey() - the P_Key at an index of a port's table, in network order
 *
 * Return: 0; -1 with errno.
 */
int ibv_query_pkey(struct ibv_context *context, uint8_t port_num, int index, __be16 *pkey);

/**
 * ibv_get_pkey_index() - where in a port's table a P_Key is
 * @pkey: network order
 *
 * Return: the index; -1 with errno when it is not there.
 */
int ibv_get_pkey_index(struct ibv_context *context, uint8_t port_num, __be16 pkey);

/* ------------------------------------------------------------------ protection domains */

/**
 * struct ibv_pd - what may be used together: a QP reaches only memory and AHs of its own PD
 *
 * Source: IBTA vol. 1, software transport interface (chapter 10), protection domains.
 */
struct ibv_pd {
	struct ibv_context *context;
	uint32_t handle;
};

/**
 * ibv_alloc_pd(), ibv_dealloc_pd() - allocate and free a protection domain
 *
 * Freeing returns EBUSY while anything made in the domain exists.
 */
struct ibv_pd *ibv_alloc_pd(struct ibv_context *context);
int ibv_dealloc_pd(struct ibv_pd *pd);

/**
 * ibv_import_pd(), ibv_unimport_pd() - use a domain another process allocated
 * @pd_handle: its ibv_pd.handle; @context is imported from the same process
 *
 * Unimporting drops this process's object and leaves the domain.
 */
struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t pd_handle);
void ibv_unimport_pd(struct ibv_pd *pd);

/**
 * struct ibv_td - thread domain: its objects are used by one thread at a time
 *
 * The program promises that; the provider may then leave out locks.
 */
struct ibv_td_init_attr {
	uint32_t comp_mask; /* 0 */
};

struct ibv_td {
	struct ibv_context *context;
};

/**
 * ibv_alloc_td(), ibv_dealloc_td() - allocate and free a thread domain
 */
static inline struct ibv_td *ibv_alloc_td(struct ibv_context *context,
					  struct ibv_td_init_attr *init_attr)
{
	struct verbs_context *vctx = verbs_get_ctx_op(context, alloc_td);

	if (!vctx) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	return vctx->alloc_td(context, init_attr);
}

static inline int ibv_dealloc_td(struct ibv_td *td)
{
	struct verbs_context *vctx = verbs_get_ctx_op(td->context, dealloc_td);

	return vctx ? vctx->dealloc_td(td) : EOPNOTSUPP;
}

enum ibv_parent_domain_init_attr_mask {
	IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS = 1 << 0, /* alloc, free */
	IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT = 1 << 1,
};

/* What an alloc callback returns to leave the allocation to the provider. */
#define IBV_ALLOCATOR_USE_DEFAULT ((void *)-1)

/**
 * struct ibv_parent_domain_init_attr - a PD with further properties
 * @pd: the domain to be seen as; required
 * @td: or NULL
 * @alloc: gives @size bytes aligned to @alignment (bytes) for a queue of the provider
 * @free: takes them back
 * @pd_context: handed to both
 *
 * @resource_type is the provider's. The callbacks run in the thread that creates or destroys the
 * object and must not call verbs on it.
 */
struct ibv_parent_domain_init_attr {
	struct ibv_pd *pd;
	struct ibv_td *td;
	uint32_t comp_mask;
	void *(*alloc)(struct ibv_pd *pd, void *pd_context, size_t size, size_t alignment,
		       uint64_t resource_type);
	void (*free)(struct ibv_pd *pd, void *pd_context, void *ptr, uint64_t resource_type);
	void *pd_context;
};

/**
 * ibv_alloc_parent_domain() - make a parent domain
 *
 * Return: a PD, to be used in place of @attr->pd and freed by ibv_dealloc_pd() before @attr->pd and
 * @attr->td are.
 */
static inline struct ibv_pd *ibv_alloc_parent_domain(struct ibv_context *context,
						     struct ibv_parent_domain_init_attr *attr)
{
	struct verbs_context *vctx = verbs_get_ctx_op(context, alloc_parent_domain);

	if (!vctx) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	return vctx->alloc_parent_domain(context, attr);
}

/* ------------------------------------------------------------------ memory regions */

/*
 * What may be done with memory. REMOTE_WRITE and REMOTE_ATOMIC need LOCAL_WRITE; local reading is
 * always allowed. Flags in IBV_ACCESS_OPTIONAL_RANGE are wishes: dropped when the kernel does not
 * know them.
 */
enum ibv_access_flags {
	IBV_ACCESS_LOCAL_WRITE = 1,
	IBV_ACCESS_REMOTE_WRITE = 1 << 1,
	IBV_ACCESS_REMOTE_READ = 1 << 2,
	IBV_ACCESS_REMOTE_ATOMIC = 1 << 3,
	IBV_ACCESS_MW_BIND = 1 << 4,
	IBV_ACCESS_ZERO_BASED = 1 << 5, /* remote addresses count from the start of the region */
	IBV_ACCESS_ON_DEMAND = 1 << 6,	/* pages are not pinned but faulted in */
	IBV_ACCESS_HUGETLB = 1 << 7,	/* with ON_DEMAND: the range is of huge pages */
	IBV_ACCESS_FLUSH_GLOBAL = 1 << 8,
	IBV_ACCESS_FLUSH_PERSISTENT = 1 << 9,
	IBV_ACCESS_RELAXED_ORDERING = IBV_ACCESS_OPTIONAL_FIRST,
};

/**
 * struct ibv_mr - a memory region
 *
 * @addr, @length: as registered
 * @lkey: for ibv_sge
 * @rkey: for the peer's RDMA and atomic requests
 * Source: IBTA vol. 1, software transport interface (chapter 10), memory management.
 */
struct ibv_mr {
	struct ibv_context *context;
	struct ibv_pd *pd;
	void *addr;
	size_t length;
	uint32_t handle;
	uint32_t lkey;
	uint32_t rkey;
};

/**
 * ibv_reg_mr(), ibv_reg_mr_iova() - make [addr, addr + length) usable by work requests of @pd
 * @length: bytes
 * @iova: the address work requests will name the first byte by; ibv_reg_mr() takes @addr
 * @access: OR of enum ibv_access_flags
 *
 * The memory stays the caller's and stays mapped until ibv_dereg_mr(). The macros of the same names
 * call ibv_reg_mr_iova2() when @access has, or cannot be seen at compile time not to have, optional
 * flags.
 * Return: the region; NULL with errno EINVAL (flags, range), EFAULT (not mapped), ENOMEM (more than
 * RLIMIT_MEMLOCK may be pinned, or out of memory), ...
 * Source: IBTA vol. 1, software transport verbs (chapter 11), "register memory region".
 */
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access);
struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
			       int access);

/**
 * ibv_reg_mr_iova2() - register memory, with any access flags
 */
struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				unsigned int access);

/*
 * Always inlined: without optional flags the call of ibv_reg_mr_iova2() disappears, and the program
 * runs with libraries that do not have it.
 */
__attribute__((__always_inline__)) static inline struct ibv_mr *
__ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, unsigned int access, int is_access_const)
{
	if (!is_access_const || (access & IBV_ACCESS_OPTIONAL_RANGE))
		return ibv_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, access);
	return ibv_reg_mr(pd, addr, length, (int)access);
}

#define ibv_reg_mr(pd, addr, length, access)   \
	__ibv_reg_mr(pd, addr, length, access, \
		     __builtin_constant_p((IBV_ACCESS_OPTIONAL_RANGE & (access)) == 0))

__attribute__((__always_inline__)) static inline struct ibv_mr *
__ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access,
		  int is_access_const)
{
	if (!is_access_const || (access & IBV_ACCESS_OPTIONAL_RANGE))
		return ibv_reg_mr_iova2(pd, addr, length, iova, access);
	return ibv_reg_mr_iova(pd, addr, length, iova, (int)access);
}

#define ibv_reg_mr_iova(pd, addr, length, iova, access)   \
	__ibv_reg_mr_iova(pd, addr, length, iova, access, \
			  __builtin_constant_p((IBV_ACCESS_OPTIONAL_RANGE & (access)) == 0))

/**
 * ibv_reg_dmabuf_mr() - register memory of another device, given as a dma-buf
 * @offset: bytes into the dma-buf; the same offset into a page as @iova
 * @fd: the dma-buf; may be closed after the call
 */
struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
				 int fd, int access);

/**
 * ibv_alloc_null_mr() - a region of any address that swallows writes and reads as zero
 */
static inline struct ibv_mr *ibv_alloc_null_mr(struct ibv_pd *pd)
{
	struct verbs_context *vctx = verbs_get_ctx_op(pd->context, alloc_null_mr);

	if (!vctx) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	return vctx->alloc_null_mr(pd);
}

/* What ibv_rereg_mr() is to change; each bit makes the parameters of its name count. */
enum ibv_rereg_mr_flags {
	IBV_REREG_MR_CHANGE_TRANSLATION = 1 << 0, /* addr, length */
	IBV_REREG_MR_CHANGE_PD = 1 << 1,
	IBV_REREG_MR_CHANGE_ACCESS = 1 << 2,
	IBV_REREG_MR_FLAGS_SUPPORTED = (IBV_REREG_MR_CHANGE_ACCESS << 1) - 1
};

/* Why it failed, and what the region is now; errno has the cause. */
enum ibv_rereg_mr_err_code {
	IBV_REREG_MR_ERR_INPUT = -1,	     /* refused; the old region is valid */
	IBV_REREG_MR_ERR_DONT_FORK_NEW = -2, /* new range not protected from fork; old valid */
	IBV_REREG_MR_ERR_DO_FORK_OLD = -3,   /* old range still protected; the new is valid */
	IBV_REREG_MR_ERR_CMD = -4,	     /* the region is not usable */
	IBV_REREG_MR_ERR_CMD_AND_DO_FORK_NEW = -5, /* and the new range is still protected */
};

/**
 * ibv_rereg_mr() - change a region in place
 * @flags: OR of enum ibv_rereg_mr_flags
 *
 * No work request may use the region meanwhile. Its keys may change.
 * Return: 0 or a negative enum ibv_rereg_mr_err_code. After the two ERR_CMD codes only
 * ibv_dereg_mr() is left.
 */
int ibv_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length,
		 int access);

/**
 * ibv_dereg_mr() - give a region up; the memory itself is not touched
 *
 * Return: 0 or an errno value; EBUSY while a memory window is bound to it.
 */
int ibv_dereg_mr(struct ibv_mr *mr);

/**
 * ibv_import_mr(), ibv_unimport_mr() - use a region another process registered
 * @mr_handle: its ibv_mr.handle; @pd is imported from the same process
 *
 * addr and length of the imported object are unknown (NULL, 0). Unimporting drops this process's
 * object and leaves the region.
 */
struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t mr_handle);
void ibv_unimport_mr(struct ibv_mr *mr);

/**
 * ibv_advise_mr() - tell that ranges of on-demand regions are about to be used
 * @advice: IBV_ADVISE_MR_ADVICE_PREFETCH for reading, _PREFETCH_WRITE for writing,
 *	    _PREFETCH_NO_FAULT for what is in memory anyway
 * @flags: IBV_ADVISE_MR_FLAG_FLUSH to wait until it is done, or 0
 * @sg_list: ranges of regions of @pd
 */
static inline int ibv_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
				struct ibv_sge *sg_list, uint32_t num_sge)
{
	struct verbs_context *vctx = verbs_get_ctx_op(pd->context, advise_mr);

	return vctx ? vctx->advise_mr(pd, advice, flags, sg_list, num_sge) : EOPNOTSUPP;
}

/* ------------------------------------------------------------------ memory windows */

/**
 * struct ibv_mw - a key for part of a region, granted and withdrawn by work requests
 *
 * @rkey: of the current binding; belongs to the peer once bound
 * @type: IBV_MW_TYPE_1 is bound by ibv_bind_mw(), IBV_MW_TYPE_2 by an IBV_WR_BIND_MW work request
 * Source: IBTA vol. 1, software transport interface (chapter 10), memory windows.
 */
struct ibv_mw {
	struct ibv_context *context;
	struct ibv_pd *pd;
	uint32_t rkey;
	uint32_t handle;
	enum ibv_mw_type type;
};

/**
 * struct ibv_mw_bind_info - what a window is to open
 *
 * @mr: registered with IBV_ACCESS_MW_BIND
 * @length: bytes; 0 takes the right away
 * @mw_access_flags: OR of the REMOTE_ flags and ZERO_BASED of enum ibv_access_flags
 */
struct ibv_mw_bind_info {
	struct ibv_mr *mr;
	uint64_t addr;
	uint64_t length;
	unsigned int mw_access_flags;
};

/* A bind of a type 1 window; send_flags: OR of enum ibv_send_flags. */
struct ibv_mw_bind {
	uint64_t wr_id;
	unsigned int send_flags;
	struct ibv_mw_bind_info bind_info;
};

/**
 * ibv_alloc_mw(), ibv_dealloc_mw() - allocate and free a memory window
 */
static inline struct ibv_mw *ibv_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	const struct ibv_context_ops *ops = &pd->context->ops;

	if (!ops->alloc_mw) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	return ops->alloc_mw(pd, type);
}

static inline int ibv_dealloc_mw(struct ibv_mw *mw)
{
	return mw->context->ops.dealloc_mw(mw);
}

/**
 * ibv_inc_rkey() - the key with the next tag: how the owner of a type 2 window picks a new one
 *
 * Return: @rkey with its low 8 bits, the part the consumer owns, counted up.
 */
static inline uint32_t ibv_inc_rkey(uint32_t rkey)
{
	return (rkey & 0xffffff00u) | ((rkey + 1) & 0xffu);
}

/**
 * ibv_bind_mw() - post the bind of a type 1 window on @qp's send queue
 *
 * @mw->rkey is the new key when the call returns; it is good once the work request completed.
 * Return: 0 or an errno value; EINVAL for a type 2 window or a range without region, EPERM when
 * window and region are of different PDs.
 */
static inline int ibv_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *mw_bind)
{
	const struct ibv_mw_bind_info *info = &mw_bind->bind_info;

	if (mw->type != IBV_MW_TYPE_1)
		return EINVAL;
	if (info->mr && info->mr->pd != mw->pd)
		return EPERM;
	if (!info->mr && (info->addr || info->length))
		return EINVAL;
	return mw->context->ops.bind_mw(qp, mw, mw_bind);
}

/* ------------------------------------------------------------------ device memory */

enum ibv_dm_mask {
	IBV_DM_MASK_HANDLE = 1 << 0,
};

/**
 * struct ibv_dm - memory on the device, reachable only through it and these two functions
 */
struct ibv_dm {
	struct ibv_context *context;
	int (*memcpy_to_dm)(struct ibv_dm *dm, uint64_t dm_offset, const void *host_addr,
			    size_t length);
	int (*memcpy_from_dm)(void *host_addr, struct ibv_dm *dm, uint64_t dm_offset,
			      size_t length);
	uint32_t comp_mask; /* enum ibv_dm_mask: which members below are valid */
	uint32_t handle;
};

struct ibv_alloc_dm_attr {
	size_t length;		/* bytes */
	uint32_t log_align_req; /* alignment 2^n bytes */
	uint32_t comp_mask;
};

/**
 * ibv_alloc_dm(), ibv_free_dm() - allocate and free device memory
 *
 * Freeing returns EBUSY while a region is registered on it.
 */
static inline struct ibv_dm *ibv_alloc_dm(struct ibv_context *context,
					  struct ibv_alloc_dm_attr *attr)
{
	struct verbs_context *vctx = verbs_get_ctx_op(context, alloc_dm);

	if (!vctx) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	return vctx->alloc_dm(context, attr);
}

static inline int ibv_free_dm(struct ibv_dm *dm)
{
	struct verbs_context *vctx = verbs_get_ctx_op(dm->context, free_dm);

	return vctx ? vctx->free_dm(dm) : EOPNOTSUPP;
}

/**
 * ibv_import_dm(), ibv_unimport_dm() - use device memory another process allocated
 * @dm_handle: its ibv_dm.handle
 */
struct ibv_dm *ibv_import_dm(struct ibv_context *context, uint32_t dm_handle);
void ibv_unimport_dm(struct ibv_dm *dm);

/**
 * ibv_memcpy_to_dm(), ibv_memcpy_from_dm() - the CPU writes and reads device memory
 * @dm_offset, @length: bytes; devices want multiples of 4
 */
static inline int ibv_memcpy_to_dm(struct ibv_dm *dm, uint64_t dm_offset, const void *host_addr,
				   size_t length)
{
	return dm->memcpy_to_dm(dm, dm_offset, host_addr, length);
}

static inline int ibv_memcpy_from_dm(void *host_addr, struct ibv_dm *dm, uint64_t dm_offset,
				     size_t length)
{
	return dm->memcpy_from_dm(host_addr, dm, dm_offset, length);
}

/**
 * ibv_reg_dm_mr() - register part of device memory
 * @access: with IBV_ACCESS_ZERO_BASED, for there is no other address
 */
static inline struct ibv_mr *ibv_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t dm_offset,
					   size_t length, unsigned int access)
{
	struct verbs_context *vctx = verbs_get_ctx_op(pd->context, reg_dm_mr);

	if (!vctx) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	return vctx->reg_dm_mr(pd, dm, dm_offset, length, access);
}

/* ------------------------------------------------------------------ work completions */

/*
 * How a work request ended. The first failure moves the queue pair to the error state (UD keeps
 * receiving in SQE); what was posted behind it ends with IBV_WC_WR_FLUSH_ERR.
 * Source: IBTA vol. 1, software transport verbs (chapter 11), completion return status.
 */
enum ibv_wc_status {
	IBV_WC_SUCCESS,
	IBV_WC_LOC_LEN_ERR,    /* longer than the receive buffer or the device's maximum */
	IBV_WC_LOC_QP_OP_ERR,  /* the QP could not do this */
	IBV_WC_LOC_EEC_OP_ERR, /* RD only, as are the other EE context values */
	IBV_WC_LOC_PROT_ERR,   /* an sge outside a region of the PD */
	IBV_WC_WR_FLUSH_ERR,   /* not executed: the QP is in error */
	IBV_WC_MW_BIND_ERR,
	IBV_WC_BAD_RESP_ERR,	  /* an answer nobody asked for */
	IBV_WC_LOC_ACCESS_ERR,	  /* a receive into memory without LOCAL_WRITE */
	IBV_WC_REM_INV_REQ_ERR,	  /* the responder calls the request malformed */
	IBV_WC_REM_ACCESS_ERR,	  /* no right to the responder's memory */
	IBV_WC_REM_OP_ERR,	  /* the responder failed on its own */
	IBV_WC_RETRY_EXC_ERR,	  /* no answer after retry_cnt tries */
	IBV_WC_RNR_RETRY_EXC_ERR, /* no receive posted there after rnr_retry tries */
	IBV_WC_LOC_RDD_VIOL_ERR,
	IBV_WC_REM_INV_RD_REQ_ERR,
	IBV_WC_REM_ABORT_ERR,
	IBV_WC_INV_EECN_ERR,
	IBV_WC_INV_EEC_STATE_ERR,
	IBV_WC_FATAL_ERR,
	IBV_WC_RESP_TIMEOUT_ERR,
	IBV_WC_GENERAL_ERR,	   /* vendor_err may say more */
	IBV_WC_TM_ERR,		   /* tag matching */
	IBV_WC_TM_RNDV_INCOMPLETE, /* tag matching: the program has to fetch the payload */
};

/* Which operation ended; valid when the status is IBV_WC_SUCCESS. */
enum ibv_wc_opcode {
	IBV_WC_SEND,
	IBV_WC_RDMA_WRITE,
	IBV_WC_RDMA_READ,
	IBV_WC_COMP_SWAP,
	IBV_WC_FETCH_ADD,
	IBV_WC_BIND_MW,
	IBV_WC_LOCAL_INV,
	IBV_WC_TSO,
	IBV_WC_FLUSH,
	IBV_WC_ATOMIC_WRITE = 9,
	/* On the receive side from here: (opcode & IBV_WC_RECV) tells. */
	IBV_WC_RECV = 1 << 7,
	IBV_WC_RECV_RDMA_WITH_IMM,

	IBV_WC_TM_ADD,
	IBV_WC_TM_DEL,
	IBV_WC_TM_SYNC,
	IBV_WC_TM_RECV,
	IBV_WC_TM_NO_TAG,
	IBV_WC_DRIVER1,
	IBV_WC_DRIVER2,
	IBV_WC_DRIVER3,
};

enum {
	IBV_WC_IP_CSUM_OK_SHIFT = 2
};

enum ibv_wc_flags {
	IBV_WC_GRH = 1 << 0,	  /* UD: the buffer begins with 40 bytes GRH */
	IBV_WC_WITH_IMM = 1 << 1, /* imm_data is valid */
	IBV_WC_IP_CSUM_OK = 1 << IBV_WC_IP_CSUM_OK_SHIFT, /* IP and L4 checksums are right */
	IBV_WC_WITH_INV = 1 << 3,			  /* invalidated_rkey is valid */
	IBV_WC_TM_SYNC_REQ = 1 << 4,
	IBV_WC_TM_MATCH = 1 << 5,
	IBV_WC_TM_DATA_VALID = 1 << 6,
};

/**
 * struct ibv_wc - a work completion
 *
 * When @status is not IBV_WC_SUCCESS, only @wr_id, @status, @qp_num and @vendor_err mean something.
 * @byte_len: received, or read by the initiator; on UD with the 40 bytes of the GRH
 * @imm_data: network order
 * @src_qp, @pkey_index, @slid, @sl, @dlid_path_bits: UD receives only
 */
struct ibv_wc {
	uint64_t wr_id;
	enum ibv_wc_status status;
	enum ibv_wc_opcode opcode;
	uint32_t vendor_err;
	uint32_t byte_len;
	__extension__ union {
		__be32 imm_data;
		uint32_t invalidated_rkey;
	};
	uint32_t qp_num;
	uint32_t src_qp;
	unsigned int wc_flags;
	uint16_t pkey_index;
	uint16_t slid;
	uint8_t sl;
	uint8_t dlid_path_bits;
};

/* ------------------------------------------------------------------ completion channels */

/**
 * struct ibv_comp_channel - where CQs announce that they have completions
 *
 * @fd: readable when ibv_get_cq_event() would not block; programs may poll it and set it to
 * non-blocking
 */
struct ibv_comp_channel {
	struct ibv_context *context;
	int fd;
	int refcnt;
};

/**
 * ibv_create_comp_channel(), ibv_destroy_comp_channel() - create and destroy a channel
 *
 * Destroying returns EBUSY while a CQ uses the channel.
 */
struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context);
int ibv_destroy_comp_channel(struct ibv_comp_channel *channel);

/**
 * ibv_get_cq_event() - wait for the next completion event of a channel
 * @cq, @cq_context: which CQ, and what its creator said to hand out
 *
 * Each event got is to be acknowledged, and the CQ armed again by ibv_req_notify_cq() before it is
 * polled empty, lest a completion in between goes unnoticed.
 * Return: 0; -1 with errno, EAGAIN when the fd is non-blocking and there is none.
 */
int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context);

/**
 * ibv_ack_cq_events() - @nevents events of @cq have been dealt with
 *
 * Destroying the CQ waits until all are. Takes a lock: acknowledge many at once.
 */
void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nevents);

/* ------------------------------------------------------------------ completion queues */

/**
 * struct ibv_cq - a completion queue
 *
 * @cqe: completions it holds, at least what was asked for
 */
struct ibv_cq {
	struct ibv_context *context;
	struct ibv_comp_channel *channel;
	void *cq_context;
	uint32_t handle;
	int cqe;

	pthread_mutex_t mutex;
	pthread_cond_t cond;
	uint32_t comp_events_completed;
	uint32_t async_events_completed;
};

/**
 * ibv_create_cq() - create a completion queue
 * @cqe: completions to hold, at least 1
 * @cq_context: the program's, returned with each event
 * @channel: or NULL for no events
 * @comp_vector: 0 ... context->num_comp_vectors - 1, which interrupt
 *
 * Return: the queue; NULL with errno EINVAL (size, vector), ENOMEM, ...
 * Source: IBTA vol. 1, software transport verbs (chapter 11), "create completion queue".
 */
struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
			     struct ibv_comp_channel *channel, int comp_vector);

/**
 * ibv_resize_cq() - change how many completions a CQ holds
 *
 * Completions in it stay. @cq->cqe tells the new size.
 * Return: EINVAL when they would not fit.
 */
int ibv_resize_cq(struct ibv_cq *cq, int cqe);

/**
 * ibv_destroy_cq() - destroy a completion queue
 *
 * Waits until its events are acknowledged.
 * Return: EBUSY while a QP, SRQ or WQ uses it.
 */
int ibv_destroy_cq(struct ibv_cq *cq);

/**
 * ibv_poll_cq() - take completions out of a CQ
 * @wc: room for @num_entries of them
 *
 * Return: how many; fewer than @num_entries means the CQ was empty then. Negative on failure.
 */
static inline int ibv_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc)
{
	return cq->context->ops.poll_cq(cq, num_entries, wc);
}

/**
 * ibv_req_notify_cq() - arm a CQ: its channel gets one event for the next completion
 * @solicited_only: not 0 to wait for one whose sender set IBV_SEND_SOLICITED, or that failed
 */
static inline int ibv_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	return cq->context->ops.req_notify_cq(cq, solicited_only);
}

enum ibv_cq_attr_mask {
	IBV_CQ_ATTR_MODERATE = 1 << 0,
	IBV_CQ_ATTR_RESERVED = 1 << 1,
};

/* One event for this many completions, or after this time, whichever is first. */
struct ibv_moderate_cq {
	uint16_t cq_count;
	uint16_t cq_period; /* microseconds */
};

struct ibv_modify_cq_attr {
	uint32_t attr_mask; /* enum ibv_cq_attr_mask */
	struct ibv_moderate_cq moderate;
};

/**
 * ibv_modify_cq() - change event moderation
 */
static inline int ibv_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr)
{
	struct verbs_context *vctx = verbs_get_ctx_op(cq->context, modify_cq);

	return vctx ? vctx->modify_cq(cq, attr) : EOPNOTSUPP;
}

/* ------------------------------------------------------------------ extended completion queues */

/* What a completion of an extended CQ is to have beyond wr_id, status and opcode. */
enum ibv_create_cq_wc_flags {
	IBV_WC_EX_WITH_BYTE_LEN = 1 << 0,
	IBV_WC_EX_WITH_IMM = 1 << 1,
	IBV_WC_EX_WITH_QP_NUM = 1 << 2,
	IBV_WC_EX_WITH_SRC_QP = 1 << 3,
	IBV_WC_EX_WITH_SLID = 1 << 4,
	IBV_WC_EX_WITH_SL = 1 << 5,
	IBV_WC_EX_WITH_DLID_PATH_BITS = 1 << 6,
	IBV_WC_EX_WITH_COMPLETION_TIMESTAMP = 1 << 7,
	IBV_WC_EX_WITH_CVLAN = 1 << 8,
	IBV_WC_EX_WITH_FLOW_TAG = 1 << 9,
	IBV_WC_EX_WITH_TM_INFO = 1 << 10,
	IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK = 1 << 11,
};

/* What struct ibv_wc has. */
enum {
	IBV_WC_STANDARD_FLAGS = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_IMM |
				IBV_WC_EX_WITH_QP_NUM | IBV_WC_EX_WITH_SRC_QP |
				IBV_WC_EX_WITH_SLID | IBV_WC_EX_WITH_SL |
				IBV_WC_EX_WITH_DLID_PATH_BITS
};

/* What this header knows. */
enum {
	IBV_CREATE_CQ_SUP_WC_FLAGS = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
				     IBV_WC_EX_WITH_CVLAN | IBV_WC_EX_WITH_FLOW_TAG |
				     IBV_WC_EX_WITH_TM_INFO |
				     IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK
};

enum ibv_cq_init_attr_mask {
	IBV_CQ_INIT_ATTR_MASK_FLAGS = 1 << 0,
	IBV_CQ_INIT_ATTR_MASK_PD = 1 << 1, /* parent_domain */
};

enum ibv_create_cq_attr_flags {
	IBV_CREATE_CQ_ATTR_SINGLE_THREADED = 1 << 0, /* the program polls from one thread */
	IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN = 1 << 1,  /* the program never lets it overflow */
};

struct ibv_cq_init_attr_ex {
	uint32_t cqe;
	void *cq_context;
	struct ibv_comp_channel *channel; /* or NULL */
	uint32_t comp_vector;
	uint64_t wc_flags;  /* enum ibv_create_cq_wc_flags */
	uint32_t comp_mask; /* enum ibv_cq_init_attr_mask */
	uint32_t flags;	    /* enum ibv_create_cq_attr_flags */
	struct ibv_pd *parent_domain;
};

/* For ibv_start_poll(); comp_mask is 0. */
struct ibv_poll_cq_attr {
	uint32_t comp_mask;
};

/* From the header of a tag-matching message. */
struct ibv_wc_tm_info {
	uint64_t tag;
	uint32_t priv; /* the sender's app_ctx */
};

/**
 * struct ibv_cq_ex - a completion queue read member by member
 *
 * Begins as struct ibv_cq. @status and @wr_id belong to the completion the last ibv_start_poll() or
 * ibv_next_poll() stopped at; everything else is read through the functions below, and only what
 * wc_flags asked for at creation.
 */
struct ibv_cq_ex {
	struct ibv_context *context;
	struct ibv_comp_channel *channel;
	void *cq_context;
	uint32_t handle;
	int cqe;

	pthread_mutex_t mutex;
	pthread_cond_t cond;
	uint32_t comp_events_completed;
	uint32_t async_events_completed;

	uint32_t comp_mask;
	enum ibv_wc_status status;
	uint64_t wr_id;
	int (*start_poll)(struct ibv_cq_ex *current, struct ibv_poll_cq_attr *attr);
	int (*next_poll)(struct ibv_cq_ex *current);
	void (*end_poll)(struct ibv_cq_ex *current);
	enum ibv_wc_opcode (*read_opcode)(struct ibv_cq_ex *current);
	uint32_t (*read_vendor_err)(struct ibv_cq_ex *current);
	uint32_t (*read_byte_len)(struct ibv_cq_ex *current);
	__be32 (*read_imm_data)(struct ibv_cq_ex *current);
	uint32_t (*read_qp_num)(struct ibv_cq_ex *current);
	uint32_t (*read_src_qp)(struct ibv_cq_ex *current);
	unsigned int (*read_wc_flags)(struct ibv_cq_ex *current);
	uint32_t (*read_slid)(struct ibv_cq_ex *current);
	uint8_t (*read_sl)(struct ibv_cq_ex *current);
	uint8_t (*read_dlid_path_bits)(struct ibv_cq_ex *current);
	uint64_t (*read_completion_ts)(struct ibv_cq_ex *current);
	uint16_t (*read_cvlan)(struct ibv_cq_ex *current);
	uint32_t (*read_flow_tag)(struct ibv_cq_ex *current);
	void (*read_tm_info)(struct ibv_cq_ex *current, struct ibv_wc_tm_info *tm_info);
	uint64_t (*read_completion_wallclock_ns)(struct ibv_cq_ex *current);
};

/**
 * ibv_create_cq_ex() - create an extended completion queue
 *
 * Destroyed, armed, resized and modified as the ibv_cq that ibv_cq_ex_to_cq() returns.
 */
static inline struct ibv_cq_ex *ibv_create_cq_ex(struct ibv_context *context,
						 struct ibv_cq_init_attr_ex *cq_attr)
{
	struct verbs_context *vctx = verbs_get_ctx_op(context, create_cq_ex);

	if (!vctx) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	return vctx->create_cq_ex(context, cq_attr);
}

static inline struct ibv_cq *ibv_cq_ex_to_cq(struct ibv_cq_ex *cq)
{
	return (struct ibv_cq *)(void *)cq;
}

/**
 * ibv_start_poll(), ibv_next_poll(), ibv_end_poll() - walk through the completions of a CQ
 *
 * Start stops at the first one, next at the following; after the last one wanted, end gives them
 * back to the device. End is called exactly when start succeeded.
 * Return: 0; ENOENT when there is none (left); another errno value on failure.
 * Threads: from start to end one thread owns the CQ.
 */
static inline int ibv_start_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
{
	return cq->start_poll(cq, attr);
}

static inline int ibv_next_poll(struct ibv_cq_ex *cq)
{
	return cq->next_poll(cq);
}

static inline void ibv_end_poll(struct ibv_cq_ex *cq)
{
	cq->end_poll(cq);
}

/**
 * ibv_wc_read_*() - a property of the completion the walk has stopped at
 *
 * Units and meaning as in struct ibv_wc. completion_ts is in ticks of hca_core_clock, masked by
 * completion_timestamp_mask; completion_wallclock_ns in nanoseconds since 1970; cvlan is the tag
 * of a received VLAN header; flow_tag the value of the IBV_FLOW_SPEC_ACTION_TAG that matched.
 */
static inline enum ibv_wc_opcode ibv_wc_read_opcode(struct ibv_cq_ex *cq)
{
	return cq->read_opcode(cq);
}

static inline uint32_t ibv_wc_read_vendor_err(struct ibv_cq_ex *cq)
{
	return cq->read_vendor_err(cq);
}

static inline uint32_t ibv_wc_read_byte_len(struct ibv_cq_ex *cq)
{
	return cq->read_byte_len(cq);
}

static inline __be32 ibv_wc_read_imm_data(struct ibv_cq_ex *cq)
{
	return cq->read_imm_data(cq);
}

/* Shares the slot of the immediate, as it shares the member of struct ibv_wc; host order. */
static inline uint32_t ibv_wc_read_invalidated_rkey(struct ibv_cq_ex *cq)
{
#ifdef __CHECKER__
	return (__attribute__((force)) uint32_t)cq->read_imm_data(cq);
#else
	return cq->read_imm_data(cq);
#endif
}

static inline uint32_t ibv_wc_read_qp_num(struct ibv_cq_ex *cq)
{
	return cq->read_qp_num(cq);
}

static inline uint32_t ibv_wc_read_src_qp(struct ibv_cq_ex *cq)
{
	return cq->read_src_qp(cq);
}

static inline unsigned int ibv_wc_read_wc_flags(struct ibv_cq_ex *cq)
{
	return cq->read_wc_flags(cq);
}

static inline uint32_t ibv_wc_read_slid(struct ibv_cq_ex *cq)
{
	return cq->read_slid(cq);
}

static inline uint8_t ibv_wc_read_sl(struct ibv_cq_ex *cq)
{
	return cq->read_sl(cq);
}

static inline uint8_t ibv_wc_read_dlid_path_bits(struct ibv_cq_ex *cq)
{
	return cq->read_dlid_path_bits(cq);
}

static inline uint64_t ibv_wc_read_completion_ts(struct ibv_cq_ex *cq)
{
	return cq->read_completion_ts(cq);
}

static inline uint64_t ibv_wc_read_completion_wallclock_ns(struct ibv_cq_ex *cq)
{
	return cq->read_completion_wallclock_ns(cq);
}

static inline uint16_t ibv_wc_read_cvlan(struct ibv_cq_ex *cq)
{
	return cq->read_cvlan(cq);
}

static inline uint32_t ibv_wc_read_flow_tag(struct ibv_cq_ex *cq)
{
	return cq->read_flow_tag(cq);
}

static inline void ibv_wc_read_tm_info(struct ibv_cq_ex *cq, struct ibv_wc_tm_info *tm_info)
{
	cq->read_tm_info(cq, tm_info);
}

/* ------------------------------------------------------------------ address handles */

/* Static rates; IBV_RATE_MAX is the port's own. Convert with the functions at the end. */
enum ibv_rate {
	IBV_RATE_MAX = 0,
	IBV_RATE_2_5_GBPS = 2,
	IBV_RATE_10_GBPS = 3,
	IBV_RATE_30_GBPS = 4,
	IBV_RATE_5_GBPS = 5,
	IBV_RATE_20_GBPS = 6,
	IBV_RATE_40_GBPS = 7,
	IBV_RATE_60_GBPS = 8,
	IBV_RATE_80_GBPS = 9,
	IBV_RATE_120_GBPS = 10,
	IBV_RATE_14_GBPS = 11,
	IBV_RATE_56_GBPS = 12,
	IBV_RATE_112_GBPS = 13,
	IBV_RATE_168_GBPS = 14,
	IBV_RATE_25_GBPS = 15,
	IBV_RATE_100_GBPS = 16,
	IBV_RATE_200_GBPS = 17,
	IBV_RATE_300_GBPS = 18,
	IBV_RATE_28_GBPS = 19,
	IBV_RATE_50_GBPS = 20,
	IBV_RATE_400_GBPS = 21,
	IBV_RATE_600_GBPS = 22,
	IBV_RATE_800_GBPS = 23,
	IBV_RATE_1200_GBPS = 24,
};

/* What goes into a GRH. flow_label: 20 bits, host order. */
struct ibv_global_route {
	union ibv_gid dgid;
	uint32_t flow_label;
	uint8_t sgid_index;
	uint8_t hop_limit; /* 1: this subnet only */
	uint8_t traffic_class;
};

/**
 * struct ibv_grh - global route header as a UD receive finds it: 40 bytes, network order
 *
 * On RoCEv2 over IPv4 the last 20 bytes are the IPv4 header instead.
 * Source: IBTA vol. 1, network layer (chapter 8); annex A17.
 */
struct ibv_grh {
	__be32 version_tclass_flow; /* 4 version, 8 traffic class, 20 flow label */
	__be16 paylen;
	uint8_t next_hdr;
	uint8_t hop_limit;
	union ibv_gid sgid;
	union ibv_gid dgid;
};

/**
 * struct ibv_ah_attr - the way to a destination
 *
 * @grh: used when @is_global; always on RoCE, never needed on InfiniBand inside a subnet
 * @dlid, @src_path_bits: InfiniBand only
 * @static_rate: enum ibv_rate
 * @is_global: boolean
 */
struct ibv_ah_attr {
	struct ibv_global_route grh;
	uint16_t dlid;
	uint8_t sl;
	uint8_t src_path_bits;
	uint8_t static_rate;
	uint8_t is_global;
	uint8_t port_num;
};

/* An address handle: a destination of UD sends. */
struct ibv_ah {
	struct ibv_context *context;
	struct ibv_pd *pd;
	uint32_t handle;
};

/**
 * ibv_create_ah() - make an address handle
 *
 * On RoCE this finds out the Ethernet address of the destination and may wait for its answer.
 * Return: the handle; NULL with errno EINVAL (port, GID index), EHOSTUNREACH (no answer), ...
 * Source: IBTA vol. 1, software transport verbs (chapter 11), "create address handle".
 */
struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr);

/**
 * ibv_init_ah_from_wc() - address attributes that lead back to the sender of a UD message
 * @grh: the first 40 bytes of the receive buffer; looked at when @wc has IBV_WC_GRH
 * @ah_attr: the result
 *
 * Return: 0; -1 on failure.
 */
int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port_num, struct ibv_wc *wc,
			struct ibv_grh *grh, struct ibv_ah_attr *ah_attr);

/**
 * ibv_create_ah_from_wc() - the two calls above in one
 */
struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh,
				     uint8_t port_num);

/**
 * ibv_destroy_ah() - destroy an address handle
 *
 * Not before the sends that use it completed.
 */
int ibv_destroy_ah(struct ibv_ah *ah);

/* Bytes of an Ethernet address. */
#define ETHERNET_LL_SIZE 6

/**
 * ibv_resolve_eth_l2_from_gid() - Ethernet address and VLAN of a RoCE destination
 * @eth_mac: the result
 * @vid: the VLAN of the interface, 0xffff for none; may be NULL
 *
 * May wait for the neighbour's answer.
 * Return: 0, otherwise not 0.
 */
int ibv_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr,
				uint8_t eth_mac[ETHERNET_LL_SIZE], uint16_t *vid);

/* RoCEv2: the UDP source ports that may be used, and the bits a flow label has. */
#define IB_ROCE_UDP_ENCAP_VALID_PORT_MIN (0xC000)
#define IB_ROCE_UDP_ENCAP_VALID_PORT_MAX (0xFFFF)
#define IB_GRH_FLOWLABEL_MASK		 (0x000FFFFF)

/**
 * ibv_flow_label_to_udp_sport() - the RoCEv2 source port that stands for a flow label
 * @fl: 20 bits, host order
 *
 * Routers spread flows by it. The upper 6 bits of the label are folded into the lower 14.
 * Return: IB_ROCE_UDP_ENCAP_VALID_PORT_MIN ... _MAX, host order.
 * Source: annex A17.
 */
static inline uint16_t ibv_flow_label_to_udp_sport(uint32_t fl)
{
	uint32_t folded = (fl & 0x3fff) ^ ((fl & 0xfc000) >> 14);

	return (uint16_t)(IB_ROCE_UDP_ENCAP_VALID_PORT_MIN | folded);
}

/* ------------------------------------------------------------------ work requests */

/* A piece of registered memory. length: bytes. */
struct ibv_sge {
	uint64_t addr;
	uint32_t length;
	uint32_t lkey;
};

/* A piece of memory that is copied at once and so needs no key. */
struct ibv_data_buf {
	void *addr;
	size_t length;
};

enum ibv_wr_opcode {
	IBV_WR_RDMA_WRITE,
	IBV_WR_RDMA_WRITE_WITH_IMM,
	IBV_WR_SEND,
	IBV_WR_SEND_WITH_IMM,
	IBV_WR_RDMA_READ,
	IBV_WR_ATOMIC_CMP_AND_SWP,
	IBV_WR_ATOMIC_FETCH_AND_ADD,
	IBV_WR_LOCAL_INV,
	IBV_WR_BIND_MW,
	IBV_WR_SEND_WITH_INV,
	IBV_WR_TSO,
	IBV_WR_DRIVER1,
	IBV_WR_FLUSH = 14,
	IBV_WR_ATOMIC_WRITE = 15,
};

enum ibv_send_flags {
	IBV_SEND_FENCE = 1 << 0,     /* begin when earlier reads and atomics are done */
	IBV_SEND_SIGNALED = 1 << 1,  /* give a completion (always, with sq_sig_all) */
	IBV_SEND_SOLICITED = 1 << 2, /* wake a receiver that waits for solicited events */
	IBV_SEND_INLINE = 1 << 3,    /* copy the data now: no lkey, at most max_inline_data */
	IBV_SEND_IP_CSUM = 1 << 4    /* raw packets: fill in IP and L4 checksums */
};

/* What an RDMA flush is to reach, and how much of the region. */
enum ibv_placement_type {
	IBV_FLUSH_GLOBAL = 1 << 0,     /* visible to every reader */
	IBV_FLUSH_PERSISTENT = 1 << 1, /* survives a power failure */
};

enum ibv_selectivity_level {
	IBV_FLUSH_RANGE = 0,
	IBV_FLUSH_MR = 1, /* the whole region, the range is ignored */
};

/**
 * struct ibv_send_wr - a request on a send queue
 *
 * @next: the next request of the list, or NULL
 * @sg_list: the data, gathered (send, write) or scattered (read, atomics)
 * @send_flags: OR of enum ibv_send_flags
 * @imm_data: network order, opcodes _WITH_IMM
 * @invalidate_rkey: opcodes LOCAL_INV and SEND_WITH_INV
 * @wr.rdma: writes and reads, @wr.atomic: 8 bytes at an address that is a multiple of 8,
 * @wr.ud: datagrams
 * @qp_type.xrc: XRC, the peer's SRQ
 * @bind_mw: bind of a type 2 window, @tso: headers to be put before each segment of @mss bytes
 */
struct ibv_send_wr {
	uint64_t wr_id;
	struct ibv_send_wr *next;
	struct ibv_sge *sg_list;
	int num_sge;
	enum ibv_wr_opcode opcode;
	unsigned int send_flags;
	__extension__ union {
		__be32 imm_data;
		uint32_t invalidate_rkey;
	};
	union {
		struct {
			uint64_t remote_addr;
			uint32_t rkey;
		} rdma;
		struct {
			uint64_t remote_addr;
			uint64_t compare_add;
			uint64_t swap;
			uint32_t rkey;
		} atomic;
		struct {
			struct ibv_ah *ah;
			uint32_t remote_qpn;
			uint32_t remote_qkey;
		} ud;
	} wr;
	union {
		struct {
			uint32_t remote_srqn;
		} xrc;
	} qp_type;
	__extension__ union {
		struct {
			struct ibv_mw *mw;
			uint32_t rkey;
			struct ibv_mw_bind_info bind_info;
		} bind_mw;
		struct {
			void *hdr;
			uint16_t hdr_sz; /* bytes */
			uint16_t mss;	 /* bytes */
		} tso;
	};
};

/* A buffer for one message. A UD receive needs 40 bytes more, for the GRH. */
struct ibv_recv_wr {
	uint64_t wr_id;
	struct ibv_recv_wr *next;
	struct ibv_sge *sg_list;
	int num_sge;
};

/* ------------------------------------------------------------------ shared receive queues */

enum ibv_srq_type {
	IBV_SRQT_BASIC,
	IBV_SRQT_XRC,
	IBV_SRQT_TM, /* tag matching */
};

enum ibv_srq_attr_mask {
	IBV_SRQ_MAX_WR = 1 << 0,
	IBV_SRQ_LIMIT = 1 << 1
};

/* srq_limit: fewer receives than this raise IBV_EVENT_SRQ_LIMIT_REACHED once; 0: never. */
struct ibv_srq_attr {
	uint32_t max_wr;
	uint32_t max_sge;
	uint32_t srq_limit;
};

struct ibv_srq_init_attr {
	void *srq_context;
	struct ibv_srq_attr attr;
};

enum ibv_srq_init_attr_mask {
	IBV_SRQ_INIT_ATTR_TYPE = 1 << 0,
	IBV_SRQ_INIT_ATTR_PD = 1 << 1,
	IBV_SRQ_INIT_ATTR_XRCD = 1 << 2,
	IBV_SRQ_INIT_ATTR_CQ = 1 << 3,
	IBV_SRQ_INIT_ATTR_TM = 1 << 4,
	IBV_SRQ_INIT_ATTR_RESERVED = 1 << 5,
};

struct ibv_tm_cap {
	uint32_t max_num_tags;
	uint32_t max_ops;
};

/* Begins as struct ibv_srq_init_attr. */
struct ibv_srq_init_attr_ex {
	void *srq_context;
	struct ibv_srq_attr attr;

	uint32_t comp_mask; /* enum ibv_srq_init_attr_mask */
	enum ibv_srq_type srq_type;
	struct ibv_pd *pd;
	struct ibv_xrcd *xrcd;
	struct ibv_cq *cq; /* XRC and TM: where receives complete */
	struct ibv_tm_cap tm_cap;
};

/**
 * struct ibv_srq - a receive queue that many QPs take their buffers from
 *
 * Source: IBTA vol. 1, software transport interface (chapter 10), shared receive queue.
 */
struct ibv_srq {
	struct ibv_context *context;
	void *srq_context;
	struct ibv_pd *pd;
	uint32_t handle;

	pthread_mutex_t mutex;
	pthread_cond_t cond;
	uint32_t events_completed;
};

/**
 * ibv_create_srq() - create a shared receive queue
 *
 * On success srq_init_attr->attr has the real max_wr and max_sge, no smaller than asked for;
 * srq_limit is ignored.
 */
struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *srq_init_attr);

/**
 * ibv_create_srq_ex() - create a shared receive queue of any type
 *
 * A basic one needs only the PD; without a type in comp_mask it is basic.
 */
static inline struct ibv_srq *ibv_create_srq_ex(struct ibv_context *context,
						struct ibv_srq_init_attr_ex *srq_init_attr_ex)
{
	struct ibv_srq_init_attr_ex *attr = srq_init_attr_ex;
	struct verbs_context *vctx;

	/* As the plain verb has it, go there: it works with every device. */
	if (attr->comp_mask == IBV_SRQ_INIT_ATTR_PD ||
	    (attr->comp_mask == (IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE) &&
	     attr->srq_type == IBV_SRQT_BASIC))
		return ibv_create_srq(attr->pd, (struct ibv_srq_init_attr *)(void *)attr);

	vctx = verbs_get_ctx_op(context, create_srq_ex);
	if (!vctx) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	return vctx->create_srq_ex(context, attr);
}

/**
 * ibv_modify_srq() - resize, or arm the limit
 * @srq_attr_mask: OR of enum ibv_srq_attr_mask
 */
int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *srq_attr, int srq_attr_mask);

/**
 * ibv_query_srq() - sizes and limit; srq_limit 0 means that it is not armed
 */
int ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *srq_attr);

/**
 * ibv_get_srq_num() - the number of an XRC SRQ, by which the peer names it
 */
static inline int ibv_get_srq_num(struct ibv_srq *srq, uint32_t *srq_num)
{
	struct verbs_context *vctx = verbs_get_ctx_op(srq->context, get_srq_num);

	return vctx ? vctx->get_srq_num(srq, srq_num) : EOPNOTSUPP;
}

/**
 * ibv_destroy_srq() - destroy a shared receive queue
 *
 * Waits until its events are acknowledged.
 * Return: EBUSY while a QP uses it.
 */
int ibv_destroy_srq(struct ibv_srq *srq);

/**
 * ibv_post_srq_recv() - post a list of buffers
 * @bad_recv_wr: on failure, the first request that was not posted
 *
 * The requests may be reused at once, the buffers when they complete.
 */
static inline int ibv_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *recv_wr,
				    struct ibv_recv_wr **bad_recv_wr)
{
	return srq->context->ops.post_srq_recv(srq, recv_wr, bad_recv_wr);
}

enum ibv_ops_wr_opcode {
	IBV_WR_TAG_ADD,
	IBV_WR_TAG_DEL,
	IBV_WR_TAG_SYNC,
};

enum ibv_ops_flags {
	IBV_OPS_SIGNALED = 1 << 0,
	IBV_OPS_TM_SYNC = 1 << 1, /* unexpected_cnt is valid */
};

/**
 * struct ibv_ops_wr - a change of the tag list of an IBV_SRQT_TM SRQ
 *
 * @flags: OR of enum ibv_ops_flags
 * @tm.unexpected_cnt: unexpected messages the program has dealt with
 * @tm.handle: of the tag: returned by TAG_ADD, given to TAG_DEL
 * @tm.add: a message matches when (its tag & mask) == tag
 */
struct ibv_ops_wr {
	uint64_t wr_id;
	struct ibv_ops_wr *next;
	enum ibv_ops_wr_opcode opcode;
	int flags;
	struct {
		uint32_t unexpected_cnt;
		uint32_t handle;
		struct {
			uint64_t recv_wr_id;
			struct ibv_sge *sg_list;
			int num_sge;
			uint64_t tag;
			uint64_t mask;
		} add;
	} tm;
};

/**
 * ibv_post_srq_ops() - post a list of tag operations
 * @bad_op: on failure, the first one that was not posted
 */
static inline int ibv_post_srq_ops(struct ibv_srq *srq, struct ibv_ops_wr *op,
				   struct ibv_ops_wr **bad_op)
{
	struct verbs_context *vctx = verbs_get_ctx_op(srq->context, post_srq_ops);

	if (!vctx) {
		*bad_op = op;
		return EOPNOTSUPP;
	}
	return vctx->post_srq_ops(srq, op, bad_op);
}

/* ------------------------------------------------------------------ XRC domains */

enum ibv_xrcd_init_attr_mask {
	IBV_XRCD_INIT_ATTR_FD = 1 << 0,
	IBV_XRCD_INIT_ATTR_OFLAGS = 1 << 1,
	IBV_XRCD_INIT_ATTR_RESERVED = 1 << 2
};

/**
 * struct ibv_xrcd_init_attr - which domain
 *
 * @fd: a file; processes that give the same inode share the domain. -1: a domain of our own
 * @oflags: O_CREAT to make the domain when there is none, O_EXCL to fail when there is
 */
struct ibv_xrcd_init_attr {
	uint32_t comp_mask;
	int fd;
	int oflags;
};

/* XRC SRQs and XRC receive QPs of one domain work together. */
struct ibv_xrcd {
	struct ibv_context *context;
};

/**
 * ibv_open_xrcd(), ibv_close_xrcd() - open and close an XRC domain
 *
 * It lives until the last process closed it. Closing returns EBUSY while this process has objects
 * in it.
 * Source: IBTA vol. 1, annex A14.
 */
static inline struct ibv_xrcd *ibv_open_xrcd(struct ibv_context *context,
					     struct ibv_xrcd_init_attr *xrcd_init_attr)
{
	struct verbs_context *vctx = verbs_get_ctx_op(context, open_xrcd);

	if (!vctx) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	return vctx->open_xrcd(context, xrcd_init_attr);
}

static inline int ibv_close_xrcd(struct ibv_xrcd *xrcd)
{
	struct verbs_context *vctx = verbs_get_ctx_op(xrcd->context, close_xrcd);

	return vctx ? vctx->close_xrcd(xrcd) : EOPNOTSUPP;
}

/* ------------------------------------------------------------------ queue pairs */

enum ibv_qp_type {
	IBV_QPT_RC = 2,
	IBV_QPT_UC,
	IBV_QPT_UD,
	IBV_QPT_RAW_PACKET = 8,
	IBV_QPT_XRC_SEND = 9,
	IBV_QPT_XRC_RECV,
	IBV_QPT_DRIVER = 0xff, /* the device's own */
};

/**
 * ibv_is_qpt_supported() - is a QP type in a supported_qpts mask?
 */
static inline int ibv_is_qpt_supported(uint32_t caps, enum ibv_qp_type qpt)
{
	return (caps & (1u << qpt)) != 0;
}

/* max_inline_data: bytes. */
struct ibv_qp_cap {
	uint32_t max_send_wr;
	uint32_t max_recv_wr;
	uint32_t max_send_sge;
	uint32_t max_recv_sge;
	uint32_t max_inline_data;
};

/**
 * struct ibv_qp_init_attr - what a QP is created with
 *
 * @srq: or NULL; with an SRQ max_recv_wr and max_recv_sge are ignored
 * @cap: wishes; the real values on return
 * @sq_sig_all: not 0: each send gives a completion
 */
struct ibv_qp_init_attr {
	void *qp_context;
	struct ibv_cq *send_cq;
	struct ibv_cq *recv_cq;
	struct ibv_srq *srq;
	struct ibv_qp_cap cap;
	enum ibv_qp_type qp_type;
	int sq_sig_all;
};

enum ibv_qp_init_attr_mask {
	IBV_QP_INIT_ATTR_PD = 1 << 0,
	IBV_QP_INIT_ATTR_XRCD = 1 << 1,
	IBV_QP_INIT_ATTR_CREATE_FLAGS = 1 << 2,
	IBV_QP_INIT_ATTR_MAX_TSO_HEADER = 1 << 3,
	IBV_QP_INIT_ATTR_IND_TABLE = 1 << 4,
	IBV_QP_INIT_ATTR_RX_HASH = 1 << 5,
	IBV_QP_INIT_ATTR_SEND_OPS_FLAGS = 1 << 6,
};

enum ibv_qp_create_flags {
	IBV_QP_CREATE_BLOCK_SELF_MCAST_LB = 1 << 1,
	IBV_QP_CREATE_SCATTER_FCS = 1 << 8,
	IBV_QP_CREATE_CVLAN_STRIPPING = 1 << 9,
	IBV_QP_CREATE_SOURCE_QPN = 1 << 10, /* source_qpn is valid */
	IBV_QP_CREATE_PCI_WRITE_END_PADDING = 1 << 11,
};

/* The ibv_wr_*() operations a QP is to have; with none, it has only ibv_post_send(). */
enum ibv_qp_create_send_ops_flags {
	IBV_QP_EX_WITH_RDMA_WRITE = 1 << 0,
	IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM = 1 << 1,
	IBV_QP_EX_WITH_SEND = 1 << 2,
	IBV_QP_EX_WITH_SEND_WITH_IMM = 1 << 3,
	IBV_QP_EX_WITH_RDMA_READ = 1 << 4,
	IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP = 1 << 5,
	IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD = 1 << 6,
	IBV_QP_EX_WITH_LOCAL_INV = 1 << 7,
	IBV_QP_EX_WITH_BIND_MW = 1 << 8,
	IBV_QP_EX_WITH_SEND_WITH_INV = 1 << 9,
	IBV_QP_EX_WITH_TSO = 1 << 10,
	IBV_QP_EX_WITH_FLUSH = 1 << 11,
	IBV_QP_EX_WITH_ATOMIC_WRITE = 1 << 12,
};

struct ibv_rx_hash_conf {
	uint8_t rx_hash_function; /* enum ibv_rx_hash_function_flags */
	uint8_t rx_hash_key_len;  /* bytes */
	uint8_t *rx_hash_key;
	uint64_t rx_hash_fields_mask; /* enum ibv_rx_hash_fields */
};

/**
 * struct ibv_qp_init_attr_ex - what a QP of any kind is created with
 *
 * Begins as struct ibv_qp_init_attr.
 * @comp_mask: OR of enum ibv_qp_init_attr_mask
 * @create_flags: OR of enum ibv_qp_create_flags
 * @max_tso_header: bytes of headers of a TSO request
 * @source_qpn: UD: the QP number to send with, instead of its own
 * @send_ops_flags: OR of enum ibv_qp_create_send_ops_flags
 */
struct ibv_qp_init_attr_ex {
	void *qp_context;
	struct ibv_cq *send_cq;
	struct ibv_cq *recv_cq;
	struct ibv_srq *srq;
	struct ibv_qp_cap cap;
	enum ibv_qp_type qp_type;
	int sq_sig_all;

	uint32_t comp_mask;
	struct ibv_pd *pd;
	struct ibv_xrcd *xrcd;
	uint32_t create_flags;
	uint16_t max_tso_header;
	struct ibv_rwq_ind_table *rwq_ind_tbl;
	struct ibv_rx_hash_conf rx_hash_conf;
	uint32_t source_qpn;
	uint64_t send_ops_flags;
};

/*
 * Reset, initialised, ready to receive, ready to send, send queue drained, send queue error, error.
 * Source: IBTA vol. 1, software transport interface (chapter 10), QP states.
 */
enum ibv_qp_state {
	IBV_QPS_RESET,
	IBV_QPS_INIT,
	IBV_QPS_RTR,
	IBV_QPS_RTS,
	IBV_QPS_SQD,
	IBV_QPS_SQE,
	IBV_QPS_ERR,
	IBV_QPS_UNKNOWN
};

enum ibv_mig_state {
	IBV_MIG_MIGRATED,
	IBV_MIG_REARM,
	IBV_MIG_ARMED
};

/**
 * struct ibv_qp - a queue pair
 *
 * @qp_num: 24 bits, by which the peer names it
 * @state: as the last successful modify or query left it
 */
struct ibv_qp {
	struct ibv_context *context;
	void *qp_context;
	struct ibv_pd *pd;
	struct ibv_cq *send_cq;
	struct ibv_cq *recv_cq;
	struct ibv_srq *srq;
	uint32_t handle;
	uint32_t qp_num;
	enum ibv_qp_state state;
	enum ibv_qp_type qp_type;

	pthread_mutex_t mutex;
	pthread_cond_t cond;
	uint32_t events_completed;
};

/**
 * ibv_create_qp() - create a queue pair, in state RESET
 *
 * On success qp_init_attr->cap has the real sizes, no smaller than asked for.
 * Return: the QP; NULL with errno EINVAL (sizes, type, CQs), ENOMEM, EOPNOTSUPP (type), ...
 * Source: IBTA vol. 1, software transport verbs (chapter 11), "create queue pair".
 */
struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *qp_init_attr);

/**
 * ibv_create_qp_ex() - create a queue pair with any attribute
 */
static inline struct ibv_qp *ibv_create_qp_ex(struct ibv_context *context,
					      struct ibv_qp_init_attr_ex *qp_init_attr_ex)
{
	struct ibv_qp_init_attr_ex *attr = qp_init_attr_ex;
	struct verbs_context *vctx;

	/* As the plain verb has it, go there: it works with every device. */
	if (attr->comp_mask == IBV_QP_INIT_ATTR_PD)
		return ibv_create_qp(attr->pd, (struct ibv_qp_init_attr *)(void *)attr);

	vctx = verbs_get_ctx_op(context, create_qp_ex);
	if (!vctx) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	return vctx->create_qp_ex(context, attr);
}

enum ibv_qp_open_attr_mask {
	IBV_QP_OPEN_ATTR_NUM = 1 << 0,
	IBV_QP_OPEN_ATTR_XRCD = 1 << 1,
	IBV_QP_OPEN_ATTR_CONTEXT = 1 << 2,
	IBV_QP_OPEN_ATTR_TYPE = 1 << 3,
	IBV_QP_OPEN_ATTR_RESERVED = 1 << 4
};

struct ibv_qp_open_attr {
	uint32_t comp_mask; /* enum ibv_qp_open_attr_mask */
	uint32_t qp_num;
	struct ibv_xrcd *xrcd;
	void *qp_context;
	enum ibv_qp_type qp_type;
};

/**
 * ibv_open_qp() - a second handle on an XRC receive QP of a shared domain
 *
 * Return: given up with ibv_destroy_qp(), as the QP itself is by its last owner.
 */
static inline struct ibv_qp *ibv_open_qp(struct ibv_context *context,
					 struct ibv_qp_open_attr *qp_open_attr)
{
	struct verbs_context *vctx = verbs_get_ctx_op(context, open_qp);

	if (!vctx) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	return vctx->open_qp(context, qp_open_attr);
}

/* Which members of struct ibv_qp_attr count. Bits 21 to 24 belong to the kernel. */
enum ibv_qp_attr_mask {
	IBV_QP_STATE = 1 << 0,
	IBV_QP_CUR_STATE = 1 << 1,
	IBV_QP_EN_SQD_ASYNC_NOTIFY = 1 << 2,
	IBV_QP_ACCESS_FLAGS = 1 << 3,
	IBV_QP_PKEY_INDEX = 1 << 4,
	IBV_QP_PORT = 1 << 5,
	IBV_QP_QKEY = 1 << 6,
	IBV_QP_AV = 1 << 7,
	IBV_QP_PATH_MTU = 1 << 8,
	IBV_QP_TIMEOUT = 1 << 9,
	IBV_QP_RETRY_CNT = 1 << 10,
	IBV_QP_RNR_RETRY = 1 << 11,
	IBV_QP_RQ_PSN = 1 << 12,
	IBV_QP_MAX_QP_RD_ATOMIC = 1 << 13,
	IBV_QP_ALT_PATH = 1 << 14,
	IBV_QP_MIN_RNR_TIMER = 1 << 15,
	IBV_QP_SQ_PSN = 1 << 16,
	IBV_QP_MAX_DEST_RD_ATOMIC = 1 << 17,
	IBV_QP_PATH_MIG_STATE = 1 << 18,
	IBV_QP_CAP = 1 << 19,
	IBV_QP_DEST_QPN = 1 << 20,
	IBV_QP_RATE_LIMIT = 1 << 25,
};

/**
 * struct ibv_qp_attr - attributes of a queue pair
 *
 * @cur_qp_state: what the caller takes the state to be
 * @rq_psn, @sq_psn: 24 bits, the first packet to come and to go
 * @qp_access_flags: OR of the REMOTE_ flags: what the peer may do
 * @max_rd_atomic: RDMA reads and atomics in flight as initiator, @max_dest_rd_atomic as responder
 * @min_rnr_timer: code 0 ... 31 of the wait asked for when there is no receive: 1 is 0.01 ms,
 *		   31 is 491.52 ms, 0 the longest, 655.36 ms
 * @timeout, @alt_timeout: 4.096 us * 2^value until a packet is sent again; 0: never
 * @retry_cnt: 0 ... 7 times
 * @rnr_retry: 0 ... 6 times, 7 for ever
 * @rate_limit: kbit/s, 0 for no limit; raw packet QPs
 * Source: IBTA vol. 1, software transport verbs (chapter 11), "modify queue pair".
 */
struct ibv_qp_attr {
	enum ibv_qp_state qp_state;
	enum ibv_qp_state cur_qp_state;
	enum ibv_mtu path_mtu;
	enum ibv_mig_state path_mig_state;
	uint32_t qkey;
	uint32_t rq_psn;
	uint32_t sq_psn;
	uint32_t dest_qp_num;
	unsigned int qp_access_flags;
	struct ibv_qp_cap cap;
	struct ibv_ah_attr ah_attr;
	struct ibv_ah_attr alt_ah_attr;
	uint16_t pkey_index;
	uint16_t alt_pkey_index;
	uint8_t en_sqd_async_notify; /* boolean */
	uint8_t sq_draining;	     /* boolean, query only */
	uint8_t max_rd_atomic;
	uint8_t max_dest_rd_atomic;
	uint8_t min_rnr_timer;
	uint8_t port_num;
	uint8_t timeout;
	uint8_t retry_cnt;
	uint8_t rnr_retry;
	uint8_t alt_port_num;
	uint8_t alt_timeout;
	uint32_t rate_limit;
};

/**
 * ibv_modify_qp() - change the state and attributes of a queue pair
 * @attr_mask: OR of enum ibv_qp_attr_mask; each transition requires some and allows others
 *
 * Return: 0 or an errno value; EINVAL for a wrong mask, transition or value. The QP is as before
 * then.
 */
int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask);

/**
 * ibv_query_qp() - attributes of a queue pair
 * @attr_mask: what is wanted; the device may return more
 * @init_attr: what it was created with
 */
int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask,
		 struct ibv_qp_init_attr *init_attr);

/**
 * ibv_destroy_qp() - destroy a queue pair
 *
 * What was posted and not completed is lost. Waits until its events are acknowledged.
 * Return: EBUSY while it is attached to a multicast group.
 */
int ibv_destroy_qp(struct ibv_qp *qp);

struct ibv_qp_rate_limit_attr {
	uint32_t rate_limit;	 /* kbit/s, 0: none */
	uint32_t max_burst_sz;	 /* bytes */
	uint16_t typical_pkt_sz; /* bytes */
	uint32_t comp_mask;
};

/**
 * ibv_modify_qp_rate_limit() - pace what a QP sends
 */
static inline int ibv_modify_qp_rate_limit(struct ibv_qp *qp, struct ibv_qp_rate_limit_attr *attr)
{
	struct verbs_context *vctx = verbs_get_ctx_op(qp->context, modify_qp_rate_limit);

	return vctx ? vctx->modify_qp_rate_limit(qp, attr) : EOPNOTSUPP;
}

enum ibv_query_qp_data_in_order_flags {
	IBV_QUERY_QP_DATA_IN_ORDER_RETURN_CAPS = 1 << 0, /* answer with a mask */
	IBV_QUERY_QP_DATA_IN_ORDER_DEVICE_ONLY = 1 << 1, /* leave the CPU out of it */
};

enum ibv_query_qp_data_in_order_caps {
	IBV_QUERY_QP_DATA_IN_ORDER_WHOLE_MSG = 1 << 0,
	IBV_QUERY_QP_DATA_IN_ORDER_ALIGNED_128_BYTES = 1 << 1, /* each aligned block of 128 bytes */
};

/**
 * ibv_query_qp_data_in_order() - may the receiver poll the last byte of the data?
 * @flags: OR of enum ibv_query_qp_data_in_order_flags
 *
 * Return: 1 when data of @op is written first byte first, 0 when that is not known; with
 * RETURN_CAPS an OR of enum ibv_query_qp_data_in_order_caps.
 */
int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags);

/**
 * struct ibv_ece - enhanced connection establishment: what two devices of one vendor agree on
 *
 * @vendor_id: IEEE OUI, 24 bits
 * @options: the vendor's
 */
struct ibv_ece {
	uint32_t vendor_id;
	uint32_t options;
	uint32_t comp_mask; /* 0 */
};

/**
 * ibv_set_ece(), ibv_query_ece() - offer options before INIT -> RTR, read what is accepted
 */
int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece);
int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece);

/**
 * ibv_post_send() - post a list of requests on the send queue
 * @bad_wr: on failure, the first request that was not posted; those before it are
 *
 * The list may be reused at once; the data when its request completed, with IBV_SEND_INLINE at
 * once.
 * Return: 0 or an errno value; ENOMEM when the queue is full, EINVAL for a bad request.
 * Source: IBTA vol. 1, software transport verbs (chapter 11), "post send request".
 */
static inline int ibv_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
				struct ibv_send_wr **bad_wr)
{
	return qp->context->ops.post_send(qp, wr, bad_wr);
}

/**
 * ibv_post_recv() - post a list of buffers on the receive queue
 * @bad_wr: on failure, the first request that was not posted
 *
 * Return: 0 or an errno value, as ibv_post_send(); EINVAL on a QP with an SRQ.
 */
static inline int ibv_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
				struct ibv_recv_wr **bad_wr)
{
	return qp->context->ops.post_recv(qp, wr, bad_wr);
}

/* ------------------------------------------------------------------ building requests in place */

/**
 * struct ibv_qp_ex - a queue pair whose requests are built by function calls
 *
 * Got from ibv_qp_to_qp_ex(). @wr_id and @wr_flags (OR of enum ibv_send_flags) are set by the
 * program before the call that begins a request. The slots of operations that were not named in
 * send_ops_flags must not be called.
 */
struct ibv_qp_ex {
	struct ibv_qp qp_base;
	uint64_t comp_mask;

	uint64_t wr_id;
	unsigned int wr_flags;

	void (*wr_atomic_cmp_swp)(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr,
				  uint64_t compare, uint64_t swap);
	void (*wr_atomic_fetch_add)(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr,
				    uint64_t add);
	void (*wr_bind_mw)(struct ibv_qp_ex *qp, struct ibv_mw *mw, uint32_t rkey,
			   const struct ibv_mw_bind_info *bind_info);
	void (*wr_local_inv)(struct ibv_qp_ex *qp, uint32_t invalidate_rkey);
	void (*wr_rdma_read)(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr);
	void (*wr_rdma_write)(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr);
	void (*wr_rdma_write_imm)(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr,
				  __be32 imm_data);

	void (*wr_send)(struct ibv_qp_ex *qp);
	void (*wr_send_imm)(struct ibv_qp_ex *qp, __be32 imm_data);
	void (*wr_send_inv)(struct ibv_qp_ex *qp, uint32_t invalidate_rkey);
	void (*wr_send_tso)(struct ibv_qp_ex *qp, void *hdr, uint16_t hdr_sz, uint16_t mss);

	void (*wr_set_ud_addr)(struct ibv_qp_ex *qp, struct ibv_ah *ah, uint32_t remote_qpn,
			       uint32_t remote_qkey);
	void (*wr_set_xrc_srqn)(struct ibv_qp_ex *qp, uint32_t remote_srqn);

	void (*wr_set_inline_data)(struct ibv_qp_ex *qp, void *addr, size_t length);
	void (*wr_set_inline_data_list)(struct ibv_qp_ex *qp, size_t num_buf,
					const struct ibv_data_buf *buf_list);
	void (*wr_set_sge)(struct ibv_qp_ex *qp, uint32_t lkey, uint64_t addr, uint32_t length);
	void (*wr_set_sge_list)(struct ibv_qp_ex *qp, size_t num_sge,
				const struct ibv_sge *sg_list);

	void (*wr_start)(struct ibv_qp_ex *qp);
	int (*wr_complete)(struct ibv_qp_ex *qp);
	void (*wr_abort)(struct ibv_qp_ex *qp);

	void (*wr_atomic_write)(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr,
				const void *atomic_wr);
	void (*wr_flush)(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr, size_t len,
			 uint8_t type, uint8_t level);
};

/**
 * ibv_qp_to_qp_ex() - the extended view of a QP created with send_ops_flags
 *
 * Return: NULL for any other QP.
 */
struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp);

/**
 * ibv_wr_start(), ibv_wr_complete(), ibv_wr_abort() - begin a batch of requests, post it, drop it
 *
 * Between start and complete a request is: wr_id and wr_flags, one ibv_wr_<operation>(), then the
 * ibv_wr_set_*() it needs. Complete posts all of them or none.
 * Return: complete: 0 or the errno value of the first mistake in the batch.
 * Threads: the send queue is locked from start to complete or abort.
 */
static inline void ibv_wr_start(struct ibv_qp_ex *qp)
{
	qp->wr_start(qp);
}

static inline int ibv_wr_complete(struct ibv_qp_ex *qp)
{
	return qp->wr_complete(qp);
}

static inline void ibv_wr_abort(struct ibv_qp_ex *qp)
{
	qp->wr_abort(qp);
}

/**
 * ibv_wr_send(), ... - begin a request
 *
 * Parameters as the members of struct ibv_send_wr; @imm_data is in network order.
 */
static inline void ibv_wr_send(struct ibv_qp_ex *qp)
{
	qp->wr_send(qp);
}

static inline void ibv_wr_send_imm(struct ibv_qp_ex *qp, __be32 imm_data)
{
	qp->wr_send_imm(qp, imm_data);
}

static inline void ibv_wr_send_inv(struct ibv_qp_ex *qp, uint32_t invalidate_rkey)
{
	qp->wr_send_inv(qp, invalidate_rkey);
}

static inline void ibv_wr_send_tso(struct ibv_qp_ex *qp, void *hdr, uint16_t hdr_sz, uint16_t mss)
{
	qp->wr_send_tso(qp, hdr, hdr_sz, mss);
}

static inline void ibv_wr_rdma_write(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr)
{
	qp->wr_rdma_write(qp, rkey, remote_addr);
}

static inline void ibv_wr_rdma_write_imm(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr,
					 __be32 imm_data)
{
	qp->wr_rdma_write_imm(qp, rkey, remote_addr, imm_data);
}

static inline void ibv_wr_rdma_read(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr)
{
	qp->wr_rdma_read(qp, rkey, remote_addr);
}

static inline void ibv_wr_atomic_cmp_swp(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr,
					 uint64_t compare, uint64_t swap)
{
	qp->wr_atomic_cmp_swp(qp, rkey, remote_addr, compare, swap);
}

static inline void ibv_wr_atomic_fetch_add(struct ibv_qp_ex *qp, uint32_t rkey,
					   uint64_t remote_addr, uint64_t add)
{
	qp->wr_atomic_fetch_add(qp, rkey, remote_addr, add);
}

/**
 * ibv_wr_atomic_write() - write 8 bytes at once, after everything before it
 * @atomic_wr: the bytes, copied during the call
 */
static inline void ibv_wr_atomic_write(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr,
				       const void *atomic_wr)
{
	qp->wr_atomic_write(qp, rkey, remote_addr, atomic_wr);
}

/**
 * ibv_wr_flush() - complete when what was written before it has reached its place
 * @len: bytes from @remote_addr, for IBV_FLUSH_RANGE
 * @type: OR of enum ibv_placement_type
 * @level: enum ibv_selectivity_level
 */
static inline void ibv_wr_flush(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr,
				size_t len, uint8_t type, uint8_t level)
{
	qp->wr_flush(qp, rkey, remote_addr, len, type, level);
}

static inline void ibv_wr_bind_mw(struct ibv_qp_ex *qp, struct ibv_mw *mw, uint32_t rkey,
				  const struct ibv_mw_bind_info *bind_info)
{
	qp->wr_bind_mw(qp, mw, rkey, bind_info);
}

static inline void ibv_wr_local_inv(struct ibv_qp_ex *qp, uint32_t invalidate_rkey)
{
	qp->wr_local_inv(qp, invalidate_rkey);
}

/**
 * ibv_wr_set_ud_addr(), ibv_wr_set_xrc_srqn() - where the request goes: on UD, and on XRC
 */
static inline void ibv_wr_set_ud_addr(struct ibv_qp_ex *qp, struct ibv_ah *ah, uint32_t remote_qpn,
				      uint32_t remote_qkey)
{
	qp->wr_set_ud_addr(qp, ah, remote_qpn, remote_qkey);
}

static inline void ibv_wr_set_xrc_srqn(struct ibv_qp_ex *qp, uint32_t remote_srqn)
{
	qp->wr_set_xrc_srqn(qp, remote_srqn);
}

/**
 * ibv_wr_set_sge(), ibv_wr_set_inline_data(), ... - the data of the request
 *
 * One of the four a request. The lists are read, and inline data is copied, during the call.
 */
static inline void ibv_wr_set_sge(struct ibv_qp_ex *qp, uint32_t lkey, uint64_t addr,
				  uint32_t length)
{
	qp->wr_set_sge(qp, lkey, addr, length);
}

static inline void ibv_wr_set_sge_list(struct ibv_qp_ex *qp, size_t num_sge,
				       const struct ibv_sge *sg_list)
{
	qp->wr_set_sge_list(qp, num_sge, sg_list);
}

static inline void ibv_wr_set_inline_data(struct ibv_qp_ex *qp, void *addr, size_t length)
{
	qp->wr_set_inline_data(qp, addr, length);
}

static inline void ibv_wr_set_inline_data_list(struct ibv_qp_ex *qp, size_t num_buf,
					       const struct ibv_data_buf *buf_list)
{
	qp->wr_set_inline_data_list(qp, num_buf, buf_list);
}

/* ------------------------------------------------------------------ multicast */

/**
 * ibv_attach_mcast(), ibv_detach_mcast() - let a UD QP receive what is sent to a group
 * @gid: of the group
 * @lid: of the group, host order; 0 on RoCE
 *
 * On InfiniBand the port has to join the group with the subnet administrator first. Attaching twice
 * is attaching once.
 */
int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid);
int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid);

/* ------------------------------------------------------------------ work queues */

enum ibv_wq_type {
	IBV_WQT_RQ
};

enum ibv_wq_state {
	IBV_WQS_RESET,
	IBV_WQS_RDY,
	IBV_WQS_ERR,
	IBV_WQS_UNKNOWN
};

enum ibv_wq_init_attr_mask {
	IBV_WQ_INIT_ATTR_FLAGS = 1 << 0,
	IBV_WQ_INIT_ATTR_RESERVED = 1 << 1,
};

enum ibv_wq_flags {
	IBV_WQ_FLAGS_CVLAN_STRIPPING = 1 << 0,
	IBV_WQ_FLAGS_SCATTER_FCS = 1 << 1,
	IBV_WQ_FLAGS_DELAY_DROP = 1 << 2,
	IBV_WQ_FLAGS_PCI_WRITE_END_PADDING = 1 << 3,
	IBV_WQ_FLAGS_RESERVED = 1 << 4,
};

struct ibv_wq_init_attr {
	void *wq_context;
	enum ibv_wq_type wq_type;
	uint32_t max_wr;
	uint32_t max_sge;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	uint32_t comp_mask;    /* enum ibv_wq_init_attr_mask */
	uint32_t create_flags; /* enum ibv_wq_flags */
};

enum ibv_wq_attr_mask {
	IBV_WQ_ATTR_STATE = 1 << 0,
	IBV_WQ_ATTR_CURR_STATE = 1 << 1,
	IBV_WQ_ATTR_FLAGS = 1 << 2,
	IBV_WQ_ATTR_RESERVED = 1 << 3,
};

struct ibv_wq_attr {
	uint32_t attr_mask; /* enum ibv_wq_attr_mask */
	enum ibv_wq_state wq_state;
	enum ibv_wq_state curr_wq_state; /* what the caller takes it to be */
	uint32_t flags;			 /* enum ibv_wq_flags */
	uint32_t flags_mask;		 /* which of them to change */
};

/**
 * struct ibv_wq - a receive queue without a QP, several of which make an indirection table
 */
struct ibv_wq {
	struct ibv_context *context;
	void *wq_context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	uint32_t wq_num;
	uint32_t handle;
	enum ibv_wq_state state;
	enum ibv_wq_type wq_type;
	int (*post_recv)(struct ibv_wq *current, struct ibv_recv_wr *recv_wr,
			 struct ibv_recv_wr **bad_recv_wr);
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	uint32_t events_completed;
	uint32_t comp_mask;
};

/**
 * ibv_create_wq() - create a work queue, in state RESET
 *
 * On success @wq_init_attr has the real max_wr and max_sge.
 */
static inline struct ibv_wq *ibv_create_wq(struct ibv_context *context,
					   struct ibv_wq_init_attr *wq_init_attr)
{
	struct verbs_context *vctx = verbs_get_ctx_op(context, create_wq);
	struct ibv_wq *wq;

	if (!vctx) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	wq = vctx->create_wq(context, wq_init_attr);
	if (!wq)
		return NULL;

	wq->wq_context = wq_init_attr->wq_context;
	wq->events_completed = 0;
	pthread_mutex_init(&wq->mutex, NULL);
	pthread_cond_init(&wq->cond, NULL);
	return wq;
}

/**
 * ibv_modify_wq() - change state and flags of a work queue
 */
static inline int ibv_modify_wq(struct ibv_wq *wq, struct ibv_wq_attr *wq_attr)
{
	struct verbs_context *vctx = verbs_get_ctx_op(wq->context, modify_wq);

	return vctx ? vctx->modify_wq(wq, wq_attr) : EOPNOTSUPP;
}

/**
 * ibv_destroy_wq() - destroy a work queue
 *
 * Return: EBUSY while it is in an indirection table.
 */
static inline int ibv_destroy_wq(struct ibv_wq *wq)
{
	struct verbs_context *vctx = verbs_get_ctx_op(wq->context, destroy_wq);

	return vctx ? vctx->destroy_wq(wq) : EOPNOTSUPP;
}

/**
 * ibv_post_wq_recv() - post a list of buffers
 * @bad_recv_wr: on failure, the first request that was not posted
 */
static inline int ibv_post_wq_recv(struct ibv_wq *wq, struct ibv_recv_wr *recv_wr,
				   struct ibv_recv_wr **bad_recv_wr)
{
	return wq->post_recv(wq, recv_wr, bad_recv_wr);
}

enum ibv_ind_table_init_attr_mask {
	IBV_CREATE_IND_TABLE_RESERVED = 1 << 0
};

/* ind_tbl: 2^log_ind_tbl_size queues, read during the call. */
struct ibv_rwq_ind_table_init_attr {
	uint32_t log_ind_tbl_size;
	struct ibv_wq **ind_tbl;
	uint32_t comp_mask;
};

/**
 * struct ibv_rwq_ind_table - spreads the packets of a QP over work queues, by their hash
 */
struct ibv_rwq_ind_table {
	struct ibv_context *context;
	int ind_tbl_handle;
	int ind_tbl_num;
	uint32_t comp_mask;
};

/**
 * ibv_create_rwq_ind_table(), ibv_destroy_rwq_ind_table() - create and destroy such a table
 *
 * Destroying returns EBUSY while a QP uses it.
 */
static inline struct ibv_rwq_ind_table *
ibv_create_rwq_ind_table(struct ibv_context *context, struct ibv_rwq_ind_table_init_attr *init_attr)
{
	struct verbs_context *vctx = verbs_get_ctx_op(context, create_rwq_ind_table);

	if (!vctx) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	return vctx->create_rwq_ind_table(context, init_attr);
}

static inline int ibv_destroy_rwq_ind_table(struct ibv_rwq_ind_table *rwq_ind_table)
{
	struct verbs_context *vctx =
		verbs_get_ctx_op(rwq_ind_table->context, destroy_rwq_ind_table);

	return vctx ? vctx->destroy_rwq_ind_table(rwq_ind_table) : EOPNOTSUPP;
}

/* ------------------------------------------------------------------ flow steering */

enum ibv_flow_flags {
	IBV_FLOW_ATTR_FLAGS_DONT_TRAP = 1 << 1, /* let later rules see the packet too */
	IBV_FLOW_ATTR_FLAGS_EGRESS = 1 << 2,
};

enum ibv_flow_attr_type {
	IBV_FLOW_ATTR_NORMAL = 0x0,	 /* what the specs say */
	IBV_FLOW_ATTR_ALL_DEFAULT = 0x1, /* what no other rule takes */
	IBV_FLOW_ATTR_MC_DEFAULT = 0x2,	 /* multicast that no other rule takes */
	IBV_FLOW_ATTR_SNIFFER = 0x3,	 /* a copy of everything on the port */
};

/* What a spec matches, or does; INNER is ORed to match the header inside a tunnel. */
enum ibv_flow_spec_type {
	IBV_FLOW_SPEC_ETH = 0x20,
	IBV_FLOW_SPEC_IPV4 = 0x30,
	IBV_FLOW_SPEC_IPV6 = 0x31,
	IBV_FLOW_SPEC_IPV4_EXT = 0x32,
	IBV_FLOW_SPEC_ESP = 0x34,
	IBV_FLOW_SPEC_TCP = 0x40,
	IBV_FLOW_SPEC_UDP = 0x41,
	IBV_FLOW_SPEC_VXLAN_TUNNEL = 0x50,
	IBV_FLOW_SPEC_GRE = 0x51,
	IBV_FLOW_SPEC_MPLS = 0x60,
	IBV_FLOW_SPEC_INNER = 0x100,
	IBV_FLOW_SPEC_ACTION_TAG = 0x1000,
	IBV_FLOW_SPEC_ACTION_DROP = 0x1001,
	IBV_FLOW_SPEC_ACTION_HANDLE = 0x1002,
	IBV_FLOW_SPEC_ACTION_COUNT = 0x1003,
};

/*
 * Matches: a filter is a piece of a packet header, in network order, and comes as value and mask; a
 * field with mask 0 matches anything. size is the whole spec's, in bytes.
 */
struct ibv_flow_eth_filter {
	uint8_t dst_mac[6];
	uint8_t src_mac[6];
	uint16_t ether_type;
	uint16_t vlan_tag; /* 3 priority, 1 DEI, 12 VLAN id */
};

struct ibv_flow_spec_eth {
	enum ibv_flow_spec_type type;
	uint16_t size;
	struct ibv_flow_eth_filter val;
	struct ibv_flow_eth_filter mask;
};

struct ibv_flow_ipv4_filter {
	uint32_t src_ip;
	uint32_t dst_ip;
};

struct ibv_flow_spec_ipv4 {
	enum ibv_flow_spec_type type;
	uint16_t size;
	struct ibv_flow_ipv4_filter val;
	struct ibv_flow_ipv4_filter mask;
};

struct ibv_flow_ipv4_ext_filter {
	uint32_t src_ip;
	uint32_t dst_ip;
	uint8_t proto;
	uint8_t tos;
	uint8_t ttl;
	uint8_t flags;
};

struct ibv_flow_spec_ipv4_ext {
	enum ibv_flow_spec_type type;
	uint16_t size;
	struct ibv_flow_ipv4_ext_filter val;
	struct ibv_flow_ipv4_ext_filter mask;
};

struct ibv_flow_ipv6_filter {
	uint8_t src_ip[16];
	uint8_t dst_ip[16];
	uint32_t flow_label;
	uint8_t next_hdr;
	uint8_t traffic_class;
	uint8_t hop_limit;
};

struct ibv_flow_spec_ipv6 {
	enum ibv_flow_spec_type type;
	uint16_t size;
	struct ibv_flow_ipv6_filter val;
	struct ibv_flow_ipv6_filter mask;
};

struct ibv_flow_esp_filter {
	uint32_t spi;
	uint32_t seq;
};

struct ibv_flow_spec_esp {
	enum ibv_flow_spec_type type;
	uint16_t size;
	struct ibv_flow_esp_filter val;
	struct ibv_flow_esp_filter mask;
};

struct ibv_flow_tcp_udp_filter {
	uint16_t dst_port;
	uint16_t src_port;
};

struct ibv_flow_spec_tcp_udp {
	enum ibv_flow_spec_type type;
	uint16_t size;
	struct ibv_flow_tcp_udp_filter val;
	struct ibv_flow_tcp_udp_filter mask;
};

struct ibv_flow_gre_filter {
	uint16_t c_ks_res0_ver; /* 1 checksum, 1 -, 1 key, 1 sequence present, 9 -, 3 version */
	uint16_t protocol;
	uint32_t key;
};

struct ibv_flow_spec_gre {
	enum ibv_flow_spec_type type;
	uint16_t size;
	struct ibv_flow_gre_filter val;
	struct ibv_flow_gre_filter mask;
};

struct ibv_flow_mpls_filter {
	uint32_t label; /* the entry: 20 label, 3 traffic class, 1 bottom of stack, 8 TTL */
};

struct ibv_flow_spec_mpls {
	enum ibv_flow_spec_type type;
	uint16_t size;
	struct ibv_flow_mpls_filter val;
	struct ibv_flow_mpls_filter mask;
};

struct ibv_flow_tunnel_filter {
	uint32_t tunnel_id; /* VXLAN network identifier */
};

struct ibv_flow_spec_tunnel {
	enum ibv_flow_spec_type type;
	uint16_t size;
	struct ibv_flow_tunnel_filter val;
	struct ibv_flow_tunnel_filter mask;
};

/* Actions: what happens to a packet that matches. */
struct ibv_flow_spec_action_tag {
	enum ibv_flow_spec_type type;
	uint16_t size;
	uint32_t tag_id; /* see ibv_wc_read_flow_tag() */
};

struct ibv_flow_spec_action_drop {
	enum ibv_flow_spec_type type;
	uint16_t size;
};

struct ibv_flow_spec_action_handle {
	enum ibv_flow_spec_type type;
	uint16_t size;
	const struct ibv_flow_action *action;
};

struct ibv_flow_spec_counter_action {
	enum ibv_flow_spec_type type;
	uint16_t size;
	struct ibv_counters *counters;
};

/* Any spec. */
__extension__ struct ibv_flow_spec {
	__extension__ union {
		struct {
			enum ibv_flow_spec_type type;
			uint16_t size;
		} hdr;
		struct ibv_flow_spec_eth eth;
		struct ibv_flow_spec_ipv4 ipv4;
		struct ibv_flow_spec_tcp_udp tcp_udp;
		struct ibv_flow_spec_ipv4_ext ipv4_ext;
		struct ibv_flow_spec_ipv6 ipv6;
		struct ibv_flow_spec_esp esp;
		struct ibv_flow_spec_tunnel tunnel;
		struct ibv_flow_spec_gre gre;
		struct ibv_flow_spec_mpls mpls;
		struct ibv_flow_spec_action_tag flow_tag;
		struct ibv_flow_spec_action_drop drop;
		struct ibv_flow_spec_action_handle handle;
		struct ibv_flow_spec_counter_action flow_count;
	};
};

/**
 * struct ibv_flow_attr - a rule; its specs follow it in memory without gaps
 *
 * @size: bytes of this struct and all specs
 * @priority: 0 is looked at first
 * @flags: OR of enum ibv_flow_flags
 */
struct ibv_flow_attr {
	uint32_t comp_mask;
	enum ibv_flow_attr_type type;
	uint16_t size;
	uint16_t priority;
	uint8_t num_of_specs;
	uint8_t port;
	uint32_t flags;
};

struct ibv_flow {
	uint32_t comp_mask;
	struct ibv_context *context;
	uint32_t handle;
};

/**
 * ibv_create_flow(), ibv_destroy_flow() - steer packets that match to a raw packet or UD QP
 *
 * Needs CAP_NET_RAW.
 */
static inline struct ibv_flow *ibv_create_flow(struct ibv_qp *qp, struct ibv_flow_attr *flow)
{
	struct verbs_context *vctx = verbs_get_ctx_op(qp->context, ibv_create_flow);

	if (!vctx) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	return vctx->ibv_create_flow(qp, flow);
}

static inline int ibv_destroy_flow(struct ibv_flow *flow_id)
{
	struct verbs_context *vctx = verbs_get_ctx_op(flow_id->context, ibv_destroy_flow);

	return vctx ? vctx->ibv_destroy_flow(flow_id) : EOPNOTSUPP;
}

struct ibv_flow_action {
	struct ibv_context *context;
};

enum ibv_flow_action_esp_mask {
	IBV_FLOW_ACTION_ESP_MASK_ESN = 1UL << 0,
};

/**
 * struct ibv_flow_action_esp_attr - encrypt or decrypt IPsec ESP on the way
 *
 * @keymat_ptr: struct ibv_flow_action_esp_keymat_aes_gcm, @keymat_len bytes
 * @replay_ptr: struct ibv_flow_action_esp_replay_bmp, @replay_len bytes, or NULL
 * @esp_encap: headers to put in front, or NULL
 * @esn: upper half of the extended sequence number
 */
struct ibv_flow_action_esp_attr {
	struct ibv_flow_action_esp *esp_attr;

	enum ibv_flow_action_esp_keymat keymat_proto;
	uint16_t keymat_len;
	void *keymat_ptr;

	enum ibv_flow_action_esp_replay replay_proto;
	uint16_t replay_len;
	void *replay_ptr;

	struct ibv_flow_action_esp_encap *esp_encap;

	uint32_t comp_mask; /* enum ibv_flow_action_esp_mask */
	uint32_t esn;
};

/**
 * ibv_create_flow_action_esp(), ibv_modify_flow_action_esp(), ibv_destroy_flow_action() -
 * an ESP action for IBV_FLOW_SPEC_ACTION_HANDLE
 *
 * Destroying returns EBUSY while a flow uses it.
 */
static inline struct ibv_flow_action *
ibv_create_flow_action_esp(struct ibv_context *ctx, struct ibv_flow_action_esp_attr *esp)
{
	struct verbs_context *vctx = verbs_get_ctx_op(ctx, create_flow_action_esp);

	if (!vctx) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	return vctx->create_flow_action_esp(ctx, esp);
}

static inline int ibv_modify_flow_action_esp(struct ibv_flow_action *action,
					     struct ibv_flow_action_esp_attr *esp)
{
	struct verbs_context *vctx = verbs_get_ctx_op(action->context, modify_flow_action_esp);

	return vctx ? vctx->modify_flow_action_esp(action, esp) : EOPNOTSUPP;
}

static inline int ibv_destroy_flow_action(struct ibv_flow_action *action)
{
	struct verbs_context *vctx = verbs_get_ctx_op(action->context, destroy_flow_action);

	return vctx ? vctx->destroy_flow_action(action) : EOPNOTSUPP;
}

/* ------------------------------------------------------------------ counters */

struct ibv_counters_init_attr {
	uint32_t comp_mask; /* 0 */
};

struct ibv_counters {
	struct ibv_context *context;
};

enum ibv_counter_description {
	IBV_COUNTER_PACKETS,
	IBV_COUNTER_BYTES,
};

/* index: where in the array of ibv_read_counters() the value is to stand. */
struct ibv_counter_attach_attr {
	enum ibv_counter_description counter_desc;
	uint32_t index;
	uint32_t comp_mask;
};

enum ibv_read_counters_flags {
	IBV_READ_COUNTERS_ATTR_PREFER_CACHED = 1 << 0,
};

/**
 * ibv_create_counters(), ibv_destroy_counters() - a set of counters for flows
 *
 * Destroying returns EBUSY while a flow counts on it.
 */
static inline struct ibv_counters *ibv_create_counters(struct ibv_context *context,
						       struct ibv_counters_init_attr *init_attr)
{
	struct verbs_context *vctx = verbs_get_ctx_op(context, create_counters);

	if (!vctx) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	return vctx->create_counters(context, init_attr);
}

static inline int ibv_destroy_counters(struct ibv_counters *counters)
{
	struct verbs_context *vctx = verbs_get_ctx_op(counters->context, destroy_counters);

	return vctx ? vctx->destroy_counters(counters) : EOPNOTSUPP;
}

/**
 * ibv_attach_counters_point_flow() - say what to count, and where
 * @flow: a flow; NULL for the flows still to be created with IBV_FLOW_SPEC_ACTION_COUNT
 */
static inline int ibv_attach_counters_point_flow(struct ibv_counters *counters,
						 struct ibv_counter_attach_attr *attr,
						 struct ibv_flow *flow)
{
	struct verbs_context *vctx =
		verbs_get_ctx_op(counters->context, attach_counters_point_flow);

	return vctx ? vctx->attach_counters_point_flow(counters, attr, flow) : EOPNOTSUPP;
}

/**
 * ibv_read_counters() - read the values
 * @counters_value: room for @ncounters of them
 * @flags: OR of enum ibv_read_counters_flags
 */
static inline int ibv_read_counters(struct ibv_counters *counters, uint64_t *counters_value,
				    uint32_t ncounters, uint32_t flags)
{
	struct verbs_context *vctx = verbs_get_ctx_op(counters->context, read_counters);

	return vctx ? vctx->read_counters(counters, counters_value, ncounters, flags) : EOPNOTSUPP;
}

/* ------------------------------------------------------------------ fork */

enum ibv_fork_status {
	IBV_FORK_DISABLED, /* not asked for: fork() breaks registered memory */
	IBV_FORK_ENABLED,  /* registered memory is kept out of children */
	IBV_FORK_UNNEEDED, /* the kernel copies pinned pages for the child */
};

/**
 * ibv_fork_init() - make fork() safe in a program that has memory registered
 *
 * Before the first registration. The child cannot use the parent's objects; on kernels where this
 * is needed at all it does not even see the memory registered by the parent.
 * Return: 0 or an errno value; EINVAL when memory is registered already, ENOSYS when the kernel
 * cannot do it.
 */
int ibv_fork_init(void);

/**
 * ibv_is_fork_initialized() - is fork() safe?
 */
enum ibv_fork_status ibv_is_fork_initialized(void);

/* ------------------------------------------------------------------ names of values */

/**
 * ibv_wc_status_str(), ... - a value as text for people
 *
 * Return: a constant string, never NULL; the one for a value not in the enum says so.
 */
const char *ibv_wc_status_str(enum ibv_wc_status status);
const char *ibv_node_type_str(enum ibv_node_type node_type);
const char *ibv_port_state_str(enum ibv_port_state port_state);
const char *ibv_event_type_str(enum ibv_event_type event);

/**
 * ibv_rate_to_mult(), mult_to_ibv_rate() - rates as multiples of 2.5 Gbit/s
 *
 * Return: the multiple, -1 for IBV_RATE_MAX and values not in the enum; the rate, IBV_RATE_MAX for
 * multiples that are none.
 */
int __attribute__((const)) ibv_rate_to_mult(enum ibv_rate rate);
enum ibv_rate __attribute__((const)) mult_to_ibv_rate(int mult);

/**
 * ibv_rate_to_mbps(), mbps_to_ibv_rate() - rates in Mbit/s
 *
 * Return: Mbit/s, -1 for IBV_RATE_MAX and values not in the enum; the rate, IBV_RATE_MAX for
 * numbers that are none.
 */
int __attribute__((const)) ibv_rate_to_mbps(enum ibv_rate rate);
enum ibv_rate __attribute__((const)) mbps_to_ibv_rate(int mbps);

#ifdef __cplusplus
}
#endif

#endif

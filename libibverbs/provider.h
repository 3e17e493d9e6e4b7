/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The whole contract between libibverbs and its providers.
 *
 * A provider is one struct verbs_provider: its name, the sizes of its objects and one table of
 * operations. The library owns the memory and the life cycle of every object: it allocates the size
 * the provider declared, zeroed, fills the public base (context, PD, links, mutexes), calls the op,
 * and releases the memory when the op fails or after the destroy op returned 0. A provider only
 * fills. Every provider struct has the library's base as its first member.
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

#include "util/util.h"
#include "util/log.h"

struct verbs_provider;
struct verbs_ops;

/* One line about an object of a device: the device's name comes first by itself. */
#define verbs_err(ctx, fmt, ...)   log_err("%s " fmt, (ctx)->device->name, ##__VA_ARGS__)
#define verbs_warn(ctx, fmt, ...)  log_warn("%s " fmt, (ctx)->device->name, ##__VA_ARGS__)
#define verbs_info(ctx, fmt, ...)  log_info("%s " fmt, (ctx)->device->name, ##__VA_ARGS__)
#define verbs_debug(ctx, fmt, ...) log_debug("%s " fmt, (ctx)->device->name, ##__VA_ARGS__)
#define verbs_data(ctx, fmt, ...)  log_data("%s " fmt, (ctx)->device->name, ##__VA_ARGS__)

/*
 * In a debug build each completion with an error is a line; in any other this is nothing. Called
 * for what a poll hands out.
 */
static inline void verbs_data_wc(const struct ibv_cq *cq, const struct ibv_wc *wc)
{
	if (wc->status)
		verbs_data(cq->context, "cq %u: qp 0x%x wr_id 0x%llx: %s (vendor_err 0x%x)",
			   cq->handle, wc->qp_num, (unsigned long long)wc->wr_id,
			   ibv_wc_status_str(wc->status), wc->vendor_err);
}

/* Bytes of the provider that travel with a kernel command; NULL and 0 when there are none. */
struct verbs_udata {
	const void *in;
	void *out;
	uint16_t in_len;
	uint16_t out_len;
};

/*
 * A device as the system shows it, kernel or user-space. Filled by discovery (or by a user-space
 * provider's list_devices), constant afterwards.
 */
struct verbs_device {
	struct ibv_device device; /* public part, first */
	const struct verbs_provider *provider;
	atomic_int refcount; /* lists and contexts that hold it */
	LIST_ENTRY(verbs_device) entry;
	/* What discovery learned; zero or -1 where a kernel does not say. */
	int index; /* RDMA device index, for ibv_get_device_index(); -1 unknown */
	uint32_t
		driver_id; /* enum rdma_driver_id; RDMA_DRIVER_UNKNOWN when the kernel is too old */
	uint32_t abi_version;
	uint64_t node_guid;    /* network byte order; 0 unknown */
	dev_t cdev;	       /* character device of uverbsN; 0 for a user-space device */
	char *modalias;	       /* owned; NULL unless the match needed it */
	uint64_t private_data; /* of a user-space provider's list_devices() */
};

/* Objects. The public struct is always first, so that a cast is enough in both directions. */

enum verbs_mr_type {
	VERBS_MR_PLAIN,
	VERBS_MR_NULL,
	VERBS_MR_DMABUF,
	VERBS_MR_IMPORTED,
};

struct verbs_mr {
	struct ibv_mr ibv_mr;
	enum verbs_mr_type mr_type;
	int access;
};

struct verbs_cq {
	union {
		struct ibv_cq cq;
		struct ibv_cq_ex cq_ex;
	};
};

enum {
	VERBS_QP_EX = 1 << 0,	      /* qp_ex's ibv_wr_* pointers are filled */
	VERBS_QP_SOURCE_QPN = 1 << 1, /* sends as another QP; only its state is modified */
};

struct verbs_qp {
	union {
		struct ibv_qp qp;
		struct ibv_qp_ex qp_ex;
	};
	uint32_t comp_mask;    /* VERBS_QP_* */
	struct ibv_qp_cap cap; /* as granted */
	const struct qp_rules
		*rules;	  /* of its transitions; NULL: the device's own. The library's */
	uint8_t port_num; /* last one set by modify; 0 unknown */
};

struct verbs_srq {
	struct ibv_srq srq;
	enum ibv_srq_type srq_type;
	uint32_t srq_num;
};

/* Requests: what an op gets besides its object. Kept by nobody after the op returns. */

struct verbs_query_device {
	const struct ibv_query_device_ex_input *input; /* may be NULL */
	uint64_t *
		ret_fw_ver; /* the number behind ret_attr's fw_ver, as the kernel has it; or NULL */
	struct verbs_udata *udata;
};

struct verbs_reg_mr {
	struct ibv_pd *pd;
	void *addr;
	uint64_t length; /* bytes */
	uint64_t iova;
	int access; /* ibv_access_flags the kernel knows */
	struct verbs_udata *udata;
};

struct verbs_reg_dmabuf_mr {
	struct ibv_pd *pd;
	uint64_t offset;
	uint64_t length;
	uint64_t iova;
	int fd;
	int access;
	struct verbs_udata *udata;
};

struct verbs_rereg_mr {
	int flags; /* ibv_rereg_mr_flags; which of the rest counts */
	struct ibv_pd *pd;
	void *addr;
	uint64_t length;
	int access;
	struct verbs_udata *udata;
};

struct verbs_create_cq {
	const struct ibv_cq_init_attr_ex *attr; /* wc_flags and comp_mask as the caller gave them */
	bool extended;				/* the caller wants the ibv_start_poll() family */
	struct verbs_udata *udata;
};

struct verbs_resize_cq {
	int cqe;
	struct verbs_udata *udata;
};

struct verbs_create_srq {
	struct ibv_srq_init_attr_ex *attr; /* attr.attr is updated to what was granted */
	struct verbs_udata *udata;
};

struct verbs_modify_srq {
	struct ibv_srq_attr *attr;
	int mask;
	struct verbs_udata *udata;
};

struct verbs_create_qp {
	struct ibv_qp_init_attr_ex *attr; /* attr.cap is updated to what was granted */
	bool extended;			  /* came through ibv_create_qp_ex() */
	struct verbs_udata *udata;
};

struct verbs_modify_qp {
	struct ibv_qp_attr *attr;
	int mask;
	struct verbs_udata *udata;
};

struct verbs_query_qp {
	int mask;
	struct ibv_qp_attr *ret_attr;
	struct ibv_qp_init_attr *ret_init_attr;
};

struct verbs_create_ah {
	struct ibv_ah_attr *attr;
	struct verbs_udata *udata;
};

struct verbs_open_context {
	struct verbs_udata *udata;
};

/*
 * A MAD on QP1, for the user-space connection manager.
 * @gone: not 0: no MAD at all, but news: the process whose communication ids have this prefix is
 * gone
 * @removed: no MAD either: the device's interface is gone
 */
struct verbs_gsi_mad {
	uint8_t data[256];
	uint8_t gone;
	bool removed;
	uint32_t src_qp;
	uint16_t pkey_index;
	uint8_t port_num;
	uint8_t sgid_index;
	union ibv_gid local_gid;
	union ibv_gid remote_gid;
};

/* Any address of one family, as gsi_listen is told: 0.0.0.0 as an IPv4 GID, and one nobody has. */
#define VERBS_GSI_ANY_IPV4               \
	{                                \
		[10] = 0xff, [11] = 0xff \
	}
#define VERBS_GSI_ANY_IPV6 \
	{                  \
		0xff       \
	}

/*
 * Who takes what comes on QP1. @arrived is called by the device's own thread, without any lock of
 * the device's: it takes the MADs with gsi_recv, there and then, and returns true. When it returns
 * false, and when somebody else's pass found them, the descriptor of gsi_open gets readable.
 */
struct verbs_gsi_taker {
	bool (*arrived)(void *arg);
	void *arg;
};

struct verbs_ops {
	/* Context. For a kernel device cmd_fd is open before, and closed by the library after. */
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
	int (*query_rt_values)(struct ibv_context *ctx, struct ibv_values_ex *values);

	/* Events. The op sets channel->fd; records are the kernel's. NULL destroy: close(fd) is
	 * all. */
	int (*create_comp_channel)(struct ibv_comp_channel *channel);
	void (*destroy_comp_channel)(struct ibv_comp_channel *channel);

	int (*alloc_pd)(struct ibv_pd *pd, struct verbs_udata *udata);
	int (*dealloc_pd)(struct ibv_pd *pd);

	int (*reg_mr)(struct verbs_mr *mr, const struct verbs_reg_mr *in);
	int (*reg_dmabuf_mr)(struct verbs_mr *mr, const struct verbs_reg_dmabuf_mr *in);
	int (*rereg_mr)(struct verbs_mr *mr, const struct verbs_rereg_mr *in);
	int (*dereg_mr)(struct verbs_mr *mr);
	int (*advise_mr)(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
			 struct ibv_sge *sg_list, uint32_t num_sge);

	int (*alloc_mw)(struct ibv_mw *mw,
			struct verbs_udata *udata); /* type, pd set; fills rkey */
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
	int (*query_qp_data_in_order)(struct verbs_qp *qp, enum ibv_wr_opcode op, uint32_t flags);

	int (*create_ah)(struct ibv_ah *ah, const struct verbs_create_ah *in);
	int (*destroy_ah)(struct ibv_ah *ah);

	int (*attach_mcast)(struct verbs_qp *qp, const union ibv_gid *gid, uint16_t lid);
	int (*detach_mcast)(struct verbs_qp *qp, const union ibv_gid *gid, uint16_t lid);

	/*
	 * QP1 of a user-space device: see gsi.c. *ret_prefix is the upper byte of the communication
	 * ids this process shall use: the processes behind one address are told apart by it. The
	 * taker of the first call is the device's, and the context stays open from then on.
	 * gsi_listen: requests for @service_id (host order) that come to @gid (NULL: any; or one of
	 * VERBS_GSI_ANY_*) are for this process, or no longer. gsi_send: -EAGAIN when there is no
	 * room or no way to a process of this host yet. gsi_recv: -EAGAIN: none.
	 */
	int (*gsi_open)(struct ibv_context *ctx, const struct verbs_gsi_taker *taker, int *ret_fd,
			uint8_t *ret_prefix);
	int (*gsi_listen)(struct ibv_context *ctx, uint64_t service_id, const union ibv_gid *gid,
			  bool on);
	int (*gsi_send)(struct ibv_context *ctx, const struct verbs_gsi_mad *mad);
	int (*gsi_recv)(struct ibv_context *ctx, struct verbs_gsi_mad *ret_mad);
	/*
	 * A request that came in, and for which nobody listened: give it to the process that does
	 * by now. -ENOENT: none but this one, perhaps; -EAGAIN: that is not known yet.
	 */
	int (*gsi_offer)(struct ibv_context *ctx, const struct verbs_gsi_mad *mad);
	/*
	 * Send it, to another host, so that a host where nobody receives says so: that is then in
	 * the error queue (IP_RECVERR) of the socket @fd, the caller's, one for each of his
	 * addresses, which is made when it is negative. -ENOENT: it is for this host.
	 */
	int (*gsi_probe)(struct ibv_context *ctx, const struct verbs_gsi_mad *mad, int *fd);
	/*
	 * The caller, who holds no lock that his taker wants, looks himself what came in, which his
	 * taker gets; and leaves that to the device's thread again.
	 */
	void (*gsi_poll)(struct ibv_context *ctx);
	void (*gsi_leave)(struct ibv_context *ctx);

	/* app-facing: called straight from inline functions of verbs.h, public return convention.
	 */
	int (*post_send)(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
	int (*post_recv)(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
	int (*post_srq_recv)(struct ibv_srq *srq, struct ibv_recv_wr *wr,
			     struct ibv_recv_wr **bad_wr);
	int (*poll_cq)(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc);
	int (*req_notify_cq)(struct ibv_cq *cq, int solicited_only);
	int (*bind_mw)(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);
};

/* Bytes of each object; 0: the library's base is enough. */
struct verbs_sizes {
	uint16_t context;
	uint16_t pd;
	uint16_t mr;
	uint16_t mw;
	uint16_t cq;
	uint16_t srq;
	uint16_t qp;
	uint16_t ah;
	uint16_t comp_channel;
};

/* What a user-space provider's list_devices() adds its devices to. */
struct verbs_device_list;

struct verbs_provider {
	uint32_t size; /* sizeof(struct verbs_provider) */
	const char *name;
	uint32_t driver_id; /* RDMA_DRIVER_*, as the kernel checks it in each command */
	uint32_t min_abi;   /* kernel ABI of the device, inclusive range */
	uint32_t max_abi;
	struct verbs_sizes sizes;
	const struct verbs_ops *ops;
	/* Only a user-space provider: add its devices with verbs_device_add(). */
	int (*list_devices)(struct verbs_device_list *list);
	/* What the library of its direct verbs calls: of a type that only these two know; or NULL.
	 */
	const void *direct;
};

/* The one symbol a plug-in exports. */
struct verbs_provider_entry {
	uint32_t abi; /* RDMA_PROVIDER_ABI it was built with */
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

/* Library base of a public object. */
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

static inline struct verbs_mr *to_vmr(struct ibv_mr *mr)
{
	return (struct verbs_mr *)mr;
}

static inline struct verbs_context *to_vctx(struct ibv_context *ctx)
{
	return container_of(ctx, struct verbs_context, context);
}

/*
 * For the modify_qp of a user-space device: what the kernel's core checks for its devices, as far
 * as the transition, the port, the address and the values are concerned. -EINVAL when it would
 * refuse; the library says why. Values that the kernel passes on are the device's to understand.
 */
int verbs_check_modify_qp(struct verbs_qp *qp, const struct verbs_modify_qp *in);

/*
 * Add one user-space device to the list being built.
 * @device: allocated with calloc by the provider; the library owns it afterwards
 * A device of the same name from the last list is kept instead, so pointers stay stable.
 */
void verbs_device_add(struct verbs_device_list *list, struct verbs_device *device);

/* From open_context: this context's operations are @ops instead of the provider's. */
void verbs_context_set_ops(struct verbs_context *ctx, const struct verbs_ops *ops);

/* For the library of a provider's direct verbs: verbs_provider.direct of the context's provider.
 * NULL: it has none, or is not @provider. */
const void *verbs_provider_direct(struct ibv_context *ctx, const char *provider);

/* Initialise what public destroy functions expect of an object the provider created aside. */
void verbs_cq_init(struct verbs_cq *cq, struct ibv_context *ctx, struct ibv_comp_channel *channel,
		   void *cq_context);

/*
 * Before a destroy returns: wait until the application acknowledged every event it was given.
 * @comp, @async: how many completion and asynchronous events the object ever reported
 */
void verbs_cq_wait_events(struct verbs_cq *cq, uint32_t comp, uint32_t async);
void verbs_qp_wait_events(struct verbs_qp *qp, uint32_t async);
void verbs_srq_wait_events(struct verbs_srq *srq, uint32_t async);

/*
 * QP1 of a user-space device, for librdmacm: the operations of the same names. -EOPNOTSUPP: the
 * device's connections are made elsewhere.
 */
int verbs_gsi_open(struct ibv_context *ctx, const struct verbs_gsi_taker *taker, int *ret_fd,
		   uint8_t *ret_prefix);
int verbs_gsi_listen(struct ibv_context *ctx, uint64_t service_id, const union ibv_gid *gid,
		     bool on);
int verbs_gsi_send(struct ibv_context *ctx, const struct verbs_gsi_mad *mad);
int verbs_gsi_recv(struct ibv_context *ctx, struct verbs_gsi_mad *ret_mad);
int verbs_gsi_offer(struct ibv_context *ctx, const struct verbs_gsi_mad *mad);
int verbs_gsi_probe(struct ibv_context *ctx, const struct verbs_gsi_mad *mad, int *fd);
void verbs_gsi_poll(struct ibv_context *ctx);
void verbs_gsi_leave(struct ibv_context *ctx);

/*
 * Whether the kernel has asked for the next hop from @sgid to @dgid in vain. It asks when something
 * is sent; nothing is sent here. What cannot be told is false.
 */
bool verbs_neigh_failed(const union ibv_gid *sgid, const union ibv_gid *dgid);

/* L2 address (and VLAN) of @attr's destination on RoCE. -EHOSTUNREACH etc. when none was found. */
int verbs_resolve_eth_l2(struct ibv_context *ctx, const struct ibv_ah_attr *attr,
			 uint8_t ret_mac[6], uint16_t *ret_vlan);

/*
 * Fork protection of memory the provider shares with a device: pages of the range are not copied
 * into children. Pairs of calls nest. Nothing happens unless the program asked for ibv_fork_init(),
 * but the first caller's name is kept for those who ask too late.
 */
#define verbs_dontfork_range(base, size) verbs_dontfork_range_by(__func__, base, size)
int verbs_dontfork_range_by(const char *who, void *base, size_t size);
int verbs_dofork_range(void *base, size_t size);

#pragma GCC visibility pop

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Private declarations of libibverbs. Providers do not include this header. */
#ifndef LIBIBVERBS_LIBRARY_H
#define LIBIBVERBS_LIBRARY_H

#include "libibverbs/provider.h"

#define VERBS_PORT_CACHE \
	4 /* ports whose attributes a context caches; others are queried each time */

/* Attributes of a port for checks. The struct has 8 bytes, so that accesses are atomic. */
struct verbs_port_facts {
	uint32_t gid_tbl_len;
	uint16_t pkey_tbl_len;
	uint8_t link_layer;
	uint8_t active_mtu; /* 0: never queried */
};
_Static_assert(sizeof(struct verbs_port_facts) == 8, "one atomic word");

/*
 * State of the library for an open device: verbs_context.priv.
 * @lock is held while device_attr is queried. It is taken after ibv_context.mutex, and no other
 * lock is taken while it is held.
 */
struct verbs_ex_private {
	const struct verbs_provider *provider;
	const struct verbs_ops *ops;
	struct verbs_device *device; /* referenced */
	bool imported;		     /* another process opened it in the kernel */
	pthread_mutex_t lock;
	/* NULL until first needed; constant afterwards */
	_Atomic(struct ibv_device_attr_ex *) device_attr;
	_Atomic(struct verbs_port_facts)
		port[VERBS_PORT_CACHE]; /* [port_num - 1]; from the last query */
	struct verbs_ops *own_ops; /* operations of this context if it has an overlay; or NULL */
	atomic_ulong missing; /* bit n: the kernel lacks enum uverbs_feature n (uverbs/uverbs.h) */
};

static inline struct verbs_ex_private *ctx_priv(struct ibv_context *ctx)
{
	return to_vctx(ctx)->priv;
}

static inline const struct verbs_ops *ctx_ops(struct ibv_context *ctx)
{
	return ctx_priv(ctx)->ops;
}

/*
 * Return whether objects of @other are invalid in @ctx, where their handles mean other objects. If
 * one of the contexts is imported, both may be the same context in the kernel. In this case the
 * kernel checks the handle.
 */
static inline bool verbs_is_foreign(struct ibv_context *ctx, struct ibv_context *other)
{
	return unlikely(other != ctx) && (other->device != ctx->device ||
					  (!ctx_priv(ctx)->imported && !ctx_priv(other)->imported));
}

/*
 * Return whether objects need their own event descriptor, because the context is imported. With the
 * struct forms of commands, the process that opened the context would get the events of objects
 * that it does not have. The attribute forms name a descriptor.
 */
static inline bool uverbs_events_are_own(struct ibv_context *ctx)
{
	return ctx_priv(ctx)->imported;
}

/*
 * The public edge. Internal functions return 0 or a negative errno. The last line of a public
 * function is one of these three. ret_int: return a positive errno and set errno. ret_neg1: return
 * -1 and set errno. ret_null: return NULL and set errno.
 */
static inline int ret_int(int r)
{
	if (likely(r >= 0))
		return r;
	errno = -r;
	return -r;
}

static inline int ret_neg1(int r)
{
	if (likely(r >= 0))
		return r;
	errno = -r;
	return -1;
}

static inline void *ret_null(int r)
{
	errno = -r;
	return NULL;
}

/* Public functions that are macros or compatibility names in verbs.h are defined by their plain
 * name. */
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#define VERBS_EXPORT __attribute__((visibility("default")))

/* ops.c */

/* Set every public slot of a new context: the library's template, then the provider's hot
 * functions. */
void verbs_context_set_slots(struct verbs_context *ctx, const struct verbs_ops *ops);

/* Return -EOPNOTSUPP, and log once: "<device> does not support <verb>". */
int verbs_unsupported(struct ibv_context *ctx, const char *verb);

int verbs_destroy_refused(struct ibv_context *ctx, const char *verb, uint32_t handle, int r);

/*
 * Check the result of a destroy op. After device removal (-EIO) the object counts as destroyed if
 * RDMAV_ALLOW_DISASSOC_DESTROY is set. Return: 0 if the memory may be released.
 */
static inline int verbs_destroy_result(struct ibv_context *ctx, const char *verb, uint32_t handle,
				       int r)
{
	return likely(!r) ? 0 : verbs_destroy_refused(ctx, verb, handle, r);
}

/*
 * Initialise the mutex and condition for acknowledgements of events of an object (event.c). They
 * need no destruction, because no thread waits when the object is freed and default ones hold no
 * resources.
 */
static inline void verbs_events_init(pthread_mutex_t *mutex, pthread_cond_t *cond)
{
	*mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	*cond = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
}

/* Return whether the device belongs to the kernel, not to a user-space provider. */
static inline bool verbs_is_kernel(struct ibv_context *ctx)
{
	return to_vdev(ctx->device)->cdev;
}

/* Imported views may also have @of. */
static inline bool verbs_pd_is_parent(const struct verbs_pd *pd)
{
	return pd->of && !pd->imported;
}

/* pd.c: parent domains and imported views count their queues, so that they are not freed while a
 * queue uses them. */

static inline bool verbs_pd_counts_queues(const struct verbs_pd *pd)
{
	return pd->of || pd->imported;
}

static inline void verbs_parent_hold(struct ibv_pd *pd)
{
	if (pd && unlikely(verbs_pd_counts_queues(to_vpd(pd))))
		atomic_fetch_add_explicit(&to_vpd(pd)->users, 1, memory_order_relaxed);
}

/* Drop a user. The last user frees an imported view that is unimported. */
void verbs_pd_release(struct verbs_pd *pd);

static inline void verbs_parent_release(struct ibv_pd *pd)
{
	if (pd && unlikely(verbs_pd_counts_queues(to_vpd(pd))))
		verbs_pd_release(to_vpd(pd));
}

/* context.c */

/* Open @device. The context owns @cmd_fd then. A failure closes it, except that of an import. */
int verbs_context_create(struct verbs_device *device, int cmd_fd,
			 const struct verbs_open_context *in, struct verbs_context **ret_ctx);
void verbs_context_destroy(struct verbs_context *ctx);
/* Check that the device has the port. -EINVAL: the port does not exist, which is logged. */
int verbs_port_check(struct ibv_context *ctx, const char *verb, uint32_t port_num);
int verbs_device_attr(struct ibv_context *ctx, const struct ibv_device_attr_ex **ret_attr);

/* Return the device attributes for checks on fast paths. NULL: the query failed. */
static inline const struct ibv_device_attr *verbs_limits(struct ibv_context *ctx)
{
	const struct ibv_device_attr_ex *attr =
		atomic_load_explicit(&ctx_priv(ctx)->device_attr, memory_order_acquire);

	if (unlikely(!attr) && verbs_device_attr(ctx, &attr) < 0)
		return NULL;
	return &attr->orig_attr;
}
/* Cache the result of a port query for the checks of modify_qp and create_ah. */
void verbs_port_remember(struct ibv_context *ctx, uint8_t port_num,
			 const struct ibv_port_attr *attr);
/* Return the facts of the port's last query without a new one; false before the first query. */
static inline bool verbs_port_recall(struct ibv_context *ctx, uint8_t port_num,
				     struct verbs_port_facts *ret_facts)
{
	unsigned int i = port_num - 1;

	if (unlikely(i >= VERBS_PORT_CACHE))
		return false;
	*ret_facts = atomic_load_explicit(&ctx_priv(ctx)->port[i], memory_order_relaxed);
	return ret_facts->active_mtu;
}
/* Get the attributes of a port for a check. Query the port if they are not cached or if @fresh is
 * set. */
int verbs_port_facts(struct ibv_context *ctx, uint8_t port_num, bool fresh,
		     struct verbs_port_facts *ret_facts);

/* device.c */
void verbs_device_get(struct verbs_device *device);
void verbs_device_put(struct verbs_device *device);
/* Load the provider of the device unless it is loaded. Return: 0; -errno, which is logged. Threads:
 * any. */
int verbs_device_load(struct verbs_device *device);

/* Called once before the first device list: log, fork safety, kernel ABI check. */
int verbs_init(void);

/* fork.c: call ibv_fork_init() if the environment requests it, and log a failure. */
void fork_init_from_env(void);
/* Hold off changes of protected ranges during a fork. */
void fork_guard_hold(bool hold);

/* fork_watch.c: take all locks around each later fork. Called before the first list of devices. */
void verbs_fork_watch(void);
/* Call the provider's functions around each later fork. The lock of the device list is held. */
void verbs_fork_add(struct verbs_fork *fork);
/* device.c: hold off lists of devices. */
void verbs_registry_hold(bool hold);

/* Exported without a public header. */
int ibv_dontfork_range(void *base, size_t size);
int ibv_dofork_range(void *base, size_t size);

/*
 * Copy between a struct of the library and one of a caller, whose release may be older and its
 * struct shorter, or newer and longer: copy the smaller of both sizes, and fill the rest of @dst
 * with zeros. This also reads a caller's struct whose comp_mask announces its size. A test of
 * comp_mask before each member is not enough, because the compiler may read both at once.
 */
void verbs_struct_copy(void *dst, size_t dst_size, const void *src, size_t src_size);

/* The library's functions behind the public slots of ibv_context and verbs_context. */
int verbs_slot_query_port(struct ibv_context *ctx, uint8_t port_num, struct ibv_port_attr *attr,
			  size_t attr_len);
int verbs_slot_query_device_ex(struct ibv_context *ctx,
			       const struct ibv_query_device_ex_input *input,
			       struct ibv_device_attr_ex *attr, size_t attr_size);
int verbs_slot_query_rt_values(struct ibv_context *ctx, struct ibv_values_ex *values);
int verbs_slot_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
			 struct ibv_sge *sg_list, uint32_t num_sge);
struct ibv_mw *verbs_slot_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int verbs_slot_dealloc_mw(struct ibv_mw *mw);
struct ibv_mr *verbs_slot_alloc_null_mr(struct ibv_pd *pd);
struct ibv_mr *verbs_slot_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t offset,
				    size_t length, unsigned int access);
struct ibv_dm *verbs_slot_alloc_dm(struct ibv_context *ctx, struct ibv_alloc_dm_attr *attr);
int verbs_slot_free_dm(struct ibv_dm *dm);
struct ibv_td *verbs_slot_alloc_td(struct ibv_context *ctx, struct ibv_td_init_attr *attr);
int verbs_slot_dealloc_td(struct ibv_td *td);
struct ibv_pd *verbs_slot_alloc_parent_domain(struct ibv_context *ctx,
					      struct ibv_parent_domain_init_attr *attr);
struct ibv_xrcd *verbs_slot_open_xrcd(struct ibv_context *ctx, struct ibv_xrcd_init_attr *attr);
int verbs_slot_close_xrcd(struct ibv_xrcd *xrcd);
struct ibv_qp *verbs_slot_open_qp(struct ibv_context *ctx, struct ibv_qp_open_attr *attr);
int verbs_slot_modify_qp_rate_limit(struct ibv_qp *qp, struct ibv_qp_rate_limit_attr *attr);
struct ibv_wq *verbs_slot_create_wq(struct ibv_context *ctx, struct ibv_wq_init_attr *attr);
int verbs_slot_modify_wq(struct ibv_wq *wq, struct ibv_wq_attr *attr);
int verbs_slot_destroy_wq(struct ibv_wq *wq);
struct ibv_rwq_ind_table *verbs_slot_create_rwq_ind_table(struct ibv_context *ctx,
							  struct ibv_rwq_ind_table_init_attr *attr);
int verbs_slot_destroy_rwq_ind_table(struct ibv_rwq_ind_table *table);
struct ibv_flow *verbs_slot_create_flow(struct ibv_qp *qp, struct ibv_flow_attr *attr);
int verbs_slot_destroy_flow(struct ibv_flow *flow);
struct ibv_flow_action *verbs_slot_create_flow_action_esp(struct ibv_context *ctx,
							  struct ibv_flow_action_esp_attr *attr);
int verbs_slot_modify_flow_action_esp(struct ibv_flow_action *action,
				      struct ibv_flow_action_esp_attr *attr);
int verbs_slot_destroy_flow_action(struct ibv_flow_action *action);
struct ibv_counters *verbs_slot_create_counters(struct ibv_context *ctx,
						struct ibv_counters_init_attr *attr);
int verbs_slot_destroy_counters(struct ibv_counters *counters);
int verbs_slot_attach_counters(struct ibv_counters *counters, struct ibv_counter_attach_attr *attr,
			       struct ibv_flow *flow);
int verbs_slot_read_counters(struct ibv_counters *counters, uint64_t *values, uint32_t count,
			     uint32_t flags);
struct ibv_cq_ex *verbs_slot_create_cq_ex(struct ibv_context *ctx,
					  struct ibv_cq_init_attr_ex *attr);
int verbs_slot_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);
struct ibv_srq *verbs_slot_create_srq_ex(struct ibv_context *ctx,
					 struct ibv_srq_init_attr_ex *attr);
int verbs_slot_get_srq_num(struct ibv_srq *srq, uint32_t *srq_num);
struct ibv_qp *verbs_slot_create_qp_ex(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *attr);

#endif

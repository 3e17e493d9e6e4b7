/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Private to libibverbs: shared by its files, seen by no provider. */
#ifndef LIBIBVERBS_LIBRARY_H
#define LIBIBVERBS_LIBRARY_H

#include "libibverbs/provider.h"

#define VERBS_PORT_CACHE \
	4 /* ports whose attributes a context remembers; more are asked each time */

/* What checks need of a port; 8 bytes, so that it is read and written in one piece. */
struct verbs_port_facts {
	uint32_t gid_tbl_len;
	uint16_t pkey_tbl_len;
	uint8_t link_layer;
	uint8_t active_mtu; /* 0: never asked */
};
_Static_assert(sizeof(struct verbs_port_facts) == 8, "one atomic word");

/*
 * What the library keeps of an open device; verbs_context.priv.
 * @lock is held by the one who asks for device_attr. Order: after ibv_context.mutex; nothing is
 * taken under it.
 */
struct verbs_ex_private {
	const struct verbs_provider *provider;
	const struct verbs_ops *ops;
	struct verbs_device *device; /* referenced */
	bool imported;		     /* another process opened it in the kernel */
	pthread_mutex_t lock;
	/* NULL until first needed; constant afterwards */
	_Atomic(struct ibv_device_attr_ex *) device_attr;
	_Atomic(struct verbs_port_facts) port[VERBS_PORT_CACHE]; /* [port_num - 1]; as last seen */
	struct verbs_ops *own_ops; /* of this context alone, when it has an overlay; or NULL */
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
 * An object of @other is none of @ctx: its handle names some other object there, or nothing. Where
 * one of them was imported both may be one context of one device, which then is left to judge.
 */
static inline bool verbs_is_foreign(struct ibv_context *ctx, struct ibv_context *other)
{
	return unlikely(other != ctx) && (other->device != ctx->device ||
					  (!ctx_priv(ctx)->imported && !ctx_priv(other)->imported));
}

/*
 * Objects of an imported context: the struct forms of commands would have their events told to the
 * process that opened it, which does not know these objects. The attribute forms name a descriptor.
 */
static inline bool uverbs_events_are_own(struct ibv_context *ctx)
{
	return ctx_priv(ctx)->imported;
}

/*
 * The public edge. Inside, functions return 0 or a negative errno; a public function's last line is
 * one of these three. ret_int: positive errno, errno set too. ret_neg1: -1 and errno. ret_null:
 * NULL and errno.
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

/* -EOPNOTSUPP, said once in the log: "<device> does not support <verb>". */
int verbs_unsupported(struct ibv_context *ctx, const char *verb);

int verbs_destroy_refused(struct ibv_context *ctx, const char *verb, uint32_t handle, int r);

/*
 * What a destroy op's result means: after device removal (-EIO) with RDMAV_ALLOW_DISASSOC_DESTROY
 * set, the object counts as destroyed. Return: 0 when the memory may be released.
 */
static inline int verbs_destroy_result(struct ibv_context *ctx, const char *verb, uint32_t handle,
				       int r)
{
	return likely(!r) ? 0 : verbs_destroy_refused(ctx, verb, handle, r);
}

/*
 * What acknowledgements of an object's events are counted under (event.c). Nothing has to be undone
 * when the object goes: nobody waits any more, and default ones hold nothing else.
 */
static inline void verbs_events_init(pthread_mutex_t *mutex, pthread_cond_t *cond)
{
	*mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	*cond = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
}

/* Of the kernel, not of a provider in user space. */
static inline bool verbs_is_kernel(struct ibv_context *ctx)
{
	return to_vdev(ctx->device)->cdev;
}

/* A view of another process's domain may stand for another one, too. */
static inline bool verbs_pd_is_parent(const struct verbs_pd *pd)
{
	return pd->of && !pd->imported;
}

/* pd.c: a queue is made with @pd, and is gone; of parent domains and imported views this is
 * counted: no queue of theirs may find them freed. */

static inline bool verbs_pd_counts_queues(const struct verbs_pd *pd)
{
	return pd->of || pd->imported;
}

static inline void verbs_parent_hold(struct ibv_pd *pd)
{
	if (pd && unlikely(verbs_pd_counts_queues(to_vpd(pd))))
		atomic_fetch_add_explicit(&to_vpd(pd)->users, 1, memory_order_relaxed);
}

/* One user less; an imported view that is given back goes with the last. */
void verbs_pd_release(struct verbs_pd *pd);

static inline void verbs_parent_release(struct ibv_pd *pd)
{
	if (pd && unlikely(verbs_pd_counts_queues(to_vpd(pd))))
		verbs_pd_release(to_vpd(pd));
}

/* context.c */

/* Open @device; @cmd_fd of a kernel device is the context's afterwards, closed on failure too. */
int verbs_context_create(struct verbs_device *device, int cmd_fd,
			 const struct verbs_open_context *in, struct verbs_context **ret_ctx);
void verbs_context_destroy(struct verbs_context *ctx);
/* -EINVAL, said in the log, when the device has no such port. */
int verbs_port_check(struct ibv_context *ctx, const char *verb, uint32_t port_num);
int verbs_device_attr(struct ibv_context *ctx, const struct ibv_device_attr_ex **ret_attr);

/* The same for checks of the good case, in line; NULL when the device does not say. */
static inline const struct ibv_device_attr *verbs_limits(struct ibv_context *ctx)
{
	const struct ibv_device_attr_ex *attr =
		atomic_load_explicit(&ctx_priv(ctx)->device_attr, memory_order_acquire);

	if (unlikely(!attr) && verbs_device_attr(ctx, &attr) < 0)
		return NULL;
	return &attr->orig_attr;
}
/* Remember what a port query said; the checks of modify_qp and create_ah read it. */
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
/* Attributes of a port for a check: cached ones, asked for when there are none or @fresh. */
int verbs_port_facts(struct ibv_context *ctx, uint8_t port_num, bool fresh,
		     struct verbs_port_facts *ret_facts);

/* device.c */
void verbs_device_get(struct verbs_device *device);
void verbs_device_put(struct verbs_device *device);

/* Called once before the first device list: log, fork safety, kernel ABI check. */
int verbs_init(void);

/* fork.c: ibv_fork_init() when the environment asks for it; says so itself when that fails. */
void fork_init_from_env(void);
/* Around a fork: no thread changes what is protected. */
void fork_guard_hold(bool hold);
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

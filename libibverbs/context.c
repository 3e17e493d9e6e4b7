/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An open device: set-up and tear-down, attributes, ports and clock. */
#include <string.h>

#include "libibverbs/library.h"

/* Size of the public struct before port_cap_flags2, which the compatibility symbol fills in. */
#define COMPAT_PORT_ATTR_SIZE offsetof(struct ibv_port_attr, port_cap_flags2)

static int context_alloc(struct verbs_device *device, int cmd_fd, struct verbs_context **ret_ctx)
{
	const struct verbs_provider *provider;
	struct verbs_ex_private *priv;
	struct verbs_context *ctx;
	int r = verbs_device_load(device);

	if (r < 0)
		return r;
	provider = device->provider;
	ctx = verbs_object_alloc(sizeof(*ctx), provider->sizes.context);
	priv = calloc(1, sizeof(*priv));
	if (!ctx || !priv) {
		free(ctx);
		free(priv);
		return -ENOMEM;
	}
	priv->provider = provider;
	priv->ops = provider->ops;
	priv->device = device;
	pthread_mutex_init(&priv->lock, NULL);
	ctx->priv = priv;
	ctx->sz = sizeof(*ctx);
	ctx->context.device = &device->device;
	ctx->context.abi_compat = __VERBS_ABI_IS_EXTENDED;
	ctx->context.cmd_fd = cmd_fd;
	ctx->context.async_fd = -1;
	pthread_mutex_init(&ctx->context.mutex, NULL);
	verbs_device_get(device);
	verbs_context_set_slots(ctx, provider->ops);
	*ret_ctx = ctx;
	return 0;
}

void verbs_context_set_ops(struct verbs_context *ctx, const struct verbs_ops *ops)
{
	ctx->priv->ops = ops;
	verbs_context_set_slots(ctx, ops);
}

int verbs_context_overlay_ops(struct verbs_context *ctx, const struct verbs_ops *overlay)
{
	/* Treat the table as an array of function pointers of any type. */
	enum {
		COUNT = sizeof(*overlay) / sizeof(void (*)(void))
	};
	struct verbs_ex_private *priv = ctx->priv;
	void (*from[COUNT])(void), (*to[COUNT])(void);

	if (!priv->own_ops) {
		priv->own_ops = malloc(sizeof(*priv->own_ops));
		if (!priv->own_ops)
			return -ENOMEM;
	}
	if (priv->ops != priv->own_ops)
		*priv->own_ops = *priv->ops;
	memcpy(from, overlay, sizeof(from));
	memcpy(to, priv->own_ops, sizeof(to));
	for (unsigned int i = 0; i < COUNT; i++)
		if (from[i])
			to[i] = from[i];
	memcpy(priv->own_ops, to, sizeof(to));
	verbs_context_set_ops(ctx, priv->own_ops);
	return 0;
}

static void context_free(struct verbs_context *ctx)
{
	struct verbs_ex_private *priv = ctx->priv;

	if (ctx->context.async_fd >= 0)
		close(ctx->context.async_fd);
	if (ctx->context.cmd_fd >= 0)
		close(ctx->context.cmd_fd);
	pthread_mutex_destroy(&ctx->context.mutex);
	pthread_mutex_destroy(&priv->lock);
	verbs_device_put(priv->device);
	free(priv->own_ops);
	free(priv->device_attr);
	free(priv);
	free(ctx);
}

int verbs_context_create(struct verbs_device *device, int cmd_fd,
			 const struct verbs_open_context *in, struct verbs_context **ret_ctx)
{
	struct verbs_context *ctx;
	int r = context_alloc(device, cmd_fd, &ctx);

	if (r < 0) {
		if (cmd_fd >= 0 && !in->imported)
			close(cmd_fd);
		return r;
	}
	ctx->priv->imported = in->imported;
	r = device->provider->ops->open_context(ctx, in);
	if (r == -EPROTONOSUPPORT)
		r = -EOPNOTSUPP; /* the kernel is too old to import a context */
	if (r < 0) {
		verbs_err(&ctx->context, "%s: %s",
			  in->imported ? "ibv_import_device" : "ibv_open_device", strerror(-r));
		if (in->imported)
			ctx->context.cmd_fd = -1; /* the program keeps this descriptor */
		context_free(ctx);
		return r;
	}
	*ret_ctx = ctx;
	return 0;
}

void verbs_context_destroy(struct verbs_context *ctx)
{
	const struct verbs_ops *ops = ctx_ops(&ctx->context);

	if (ops->close_context)
		ops->close_context(ctx);
	context_free(ctx);
}

/* Clear the limits of objects that this provider cannot create. */
static void limits_clear(const struct verbs_ops *ops, struct ibv_device_attr_ex *attr)
{
	struct ibv_device_attr *plain = &attr->orig_attr;

	if (!ops->alloc_mw)
		plain->max_mw = 0;
	if (!ops->create_srq)
		plain->max_srq = plain->max_srq_wr = plain->max_srq_sge = 0;
	if (!ops->attach_mcast)
		plain->max_mcast_grp = plain->max_mcast_qp_attach =
			plain->max_total_mcast_qp_attach = 0;
	if (!ops->post_srq_ops)
		attr->tm_caps = (struct ibv_tm_caps){};
	if (!ops->create_wq) {
		attr->max_wq_type_rq = 0;
		attr->rss_caps = (struct ibv_rss_caps){};
	}
	if (!ops->modify_cq)
		attr->cq_mod_caps = (struct ibv_cq_moderation_caps){};
	if (!ops->alloc_dm)
		attr->max_dm_size = 0;
}

/* Clear what the kernel's driver can do and this provider cannot, because programs rely on each
 * capability that they read. */
static void capabilities_clear(const struct verbs_ops *ops, struct ibv_device_attr_ex *attr)
{
	unsigned int lacks = 0;

	limits_clear(ops, attr);
	if (!ops->alloc_mw)
		lacks |= IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2A |
			 IBV_DEVICE_MEM_WINDOW_TYPE_2B;
	if (!ops->open_xrcd)
		lacks |= IBV_DEVICE_XRC;
	if (!ops->create_srq)
		lacks |= IBV_DEVICE_SRQ_RESIZE;
	if (!ops->create_flow)
		lacks |= IBV_DEVICE_MANAGED_FLOW_STEERING;
	attr->orig_attr.device_cap_flags &= ~lacks;
	attr->device_cap_flags_ex &= ~(uint64_t)lacks;
}

static int device_query(struct ibv_context *ctx, const struct ibv_query_device_ex_input *input,
			struct ibv_device_attr_ex *attr)
{
	const struct verbs_query_device request = { .input = input };
	int r;

	if (!ctx_ops(ctx)->query_device)
		return verbs_unsupported(ctx, "ibv_query_device");
	r = ctx_ops(ctx)->query_device(ctx, &request, attr);
	if (r < 0) {
		verbs_err(ctx, "ibv_query_device: %s", strerror(-r));
		return r;
	}
	attr->phys_port_cnt_ex = max_of(attr->phys_port_cnt_ex, attr->orig_attr.phys_port_cnt);
	capabilities_clear(ctx_ops(ctx), attr);
	return 0;
}

VERBS_EXPORT int ibv_query_device(struct ibv_context *ctx, struct ibv_device_attr *device_attr)
{
	struct ibv_device_attr_ex full = {};
	int r = device_query(ctx, NULL, &full);

	if (!r)
		*device_attr = full.orig_attr;
	return ret_int(r);
}

int verbs_slot_query_device_ex(struct ibv_context *ctx,
			       const struct ibv_query_device_ex_input *input,
			       struct ibv_device_attr_ex *attr, size_t attr_size)
{
	struct ibv_device_attr_ex full = {};
	int r;

	if (input && !comp_mask_ok(input->comp_mask, 0)) {
		verbs_err(ctx, "ibv_query_device_ex: comp_mask 0x%x: no bit is defined yet",
			  input->comp_mask);
		return ret_int(-EINVAL);
	}
	if (attr_size < sizeof(full.orig_attr)) {
		verbs_err(ctx, "ibv_query_device_ex: %zu bytes are too few: at least %zu",
			  attr_size, sizeof(full.orig_attr));
		return ret_int(-EINVAL);
	}
	r = device_query(ctx, input, &full);
	if (r < 0)
		return ret_int(r);
	verbs_struct_copy(attr, attr_size, &full, sizeof(full));
	return 0;
}

/* The first caller queries the device, and other callers wait for it. */
static int device_attr_ask(struct ibv_context *ctx, const struct ibv_device_attr_ex **ret_attr)
{
	struct verbs_ex_private *priv = ctx_priv(ctx);
	struct ibv_device_attr_ex *attr;
	int r = 0;

	pthread_mutex_lock(&priv->lock);
	attr = atomic_load_explicit(&priv->device_attr, memory_order_relaxed);
	if (!attr) {
		attr = calloc(1, sizeof(*attr));
		r = attr ? device_query(ctx, NULL, attr) : -ENOMEM;
		if (r < 0)
			free(attr);
		else /* release: pairs with verbs_device_attr() */
			atomic_store_explicit(&priv->device_attr, attr, memory_order_release);
	}
	pthread_mutex_unlock(&priv->lock);
	if (!r)
		*ret_attr = attr;
	return r;
}

int verbs_device_attr(struct ibv_context *ctx, const struct ibv_device_attr_ex **ret_attr)
{
	/* acquire: pairs with device_attr_ask() */
	const struct ibv_device_attr_ex *attr =
		atomic_load_explicit(&ctx_priv(ctx)->device_attr, memory_order_acquire);

	if (unlikely(!attr))
		return device_attr_ask(ctx, ret_attr);
	*ret_attr = attr;
	return 0;
}

static struct verbs_port_facts port_facts(const struct ibv_port_attr *attr)
{
	return (struct verbs_port_facts){
		.gid_tbl_len = attr->gid_tbl_len,
		.pkey_tbl_len = attr->pkey_tbl_len,
		.link_layer = attr->link_layer,
		.active_mtu = attr->active_mtu,
	};
}

void verbs_port_remember(struct ibv_context *ctx, uint8_t port_num,
			 const struct ibv_port_attr *attr)
{
	unsigned int i = port_num - 1;

	if (i < VERBS_PORT_CACHE)
		atomic_store_explicit(&ctx_priv(ctx)->port[i], port_facts(attr),
				      memory_order_relaxed);
}

/* Check that the port exists, and log if it does not. */
int verbs_port_check(struct ibv_context *ctx, const char *verb, uint32_t port_num)
{
	const struct ibv_device_attr_ex *attr = NULL;

	if (verbs_device_attr(ctx, &attr) < 0)
		return 0;
	if (port_num && port_num <= attr->phys_port_cnt_ex)
		return 0;
	verbs_err(ctx, "%s: port %u does not exist: the device has ports 1 to %u", verb, port_num,
		  attr->phys_port_cnt_ex);
	return -EINVAL;
}

static int port_query(struct ibv_context *ctx, uint8_t port_num, struct ibv_port_attr *attr)
{
	int r;

	if (!ctx_ops(ctx)->query_port)
		return verbs_unsupported(ctx, "ibv_query_port");
	r = ctx_ops(ctx)->query_port(ctx, port_num, attr);
	if (r < 0) {
		if (r != -EINVAL || !verbs_port_check(ctx, "ibv_query_port", port_num))
			verbs_err(ctx, "ibv_query_port: port %u: %s", port_num, strerror(-r));
		return r;
	}
	verbs_port_remember(ctx, port_num, attr);
	return 0;
}

int verbs_slot_query_port(struct ibv_context *ctx, uint8_t port_num, struct ibv_port_attr *attr,
			  size_t attr_len)
{
	struct ibv_port_attr full = {};
	int r = port_query(ctx, port_num, &full);

	if (r < 0)
		return ret_int(r);
	verbs_struct_copy(attr, attr_len, &full, sizeof(full));
	return 0;
}

VERBS_EXPORT int ibv_query_port(struct ibv_context *ctx, uint8_t port_num,
				struct _compat_ibv_port_attr *port_attr)
{
	return verbs_slot_query_port(ctx, port_num, (struct ibv_port_attr *)port_attr,
				     COMPAT_PORT_ATTR_SIZE);
}

VERBS_EXPORT int ibv_query_port_speed(struct ibv_context *ctx, uint32_t port_num,
				      uint64_t *port_speed)
{
	static const char verb[] = "ibv_query_port_speed";
	int r;

	/*
	 * Programs call this to find out whether the device reports it. Therefore do not log a
	 * missing op.
	 */
	if (!ctx_ops(ctx)->query_port_speed)
		return ret_int(-EOPNOTSUPP);
	r = ctx_ops(ctx)->query_port_speed(ctx, port_num, port_speed);
	if (r < 0 && r != -EOPNOTSUPP && (r != -EINVAL || !verbs_port_check(ctx, verb, port_num)))
		verbs_err(ctx, "%s: port %u: %s", verb, port_num, strerror(-r));
	return ret_int(r);
}

int verbs_port_facts(struct ibv_context *ctx, uint8_t port_num, bool fresh,
		     struct verbs_port_facts *ret_facts)
{
	struct verbs_port_facts facts = {};
	struct ibv_port_attr attr = {};
	unsigned int i = port_num - 1;
	int r;

	if (!fresh && i < VERBS_PORT_CACHE)
		facts = atomic_load_explicit(&ctx_priv(ctx)->port[i], memory_order_relaxed);
	if (!facts.active_mtu) {
		r = port_query(ctx, port_num, &attr);
		if (r < 0)
			return r;
		facts = port_facts(&attr);
	}
	*ret_facts = facts;
	return 0;
}

int verbs_slot_query_rt_values(struct ibv_context *ctx, struct ibv_values_ex *values)
{
	if (!comp_mask_ok(values->comp_mask, IBV_VALUES_MASK_RAW_CLOCK)) {
		verbs_err(ctx, "ibv_query_rt_values_ex: comp_mask 0x%x: only 0x%x is known",
			  values->comp_mask, IBV_VALUES_MASK_RAW_CLOCK);
		return ret_int(-EOPNOTSUPP);
	}
	if (!ctx_ops(ctx)->query_rt_values)
		return ret_int(verbs_unsupported(ctx, "ibv_query_rt_values_ex"));
	return ret_int(ctx_ops(ctx)->query_rt_values(ctx, values));
}

bool verbs_device_is(const struct ibv_device *device, const char *provider)
{
	struct verbs_device *vdev = to_vdev((struct ibv_device *)device);

	return !verbs_device_load(vdev) && !strcmp(vdev->provider->name, provider);
}

const void *verbs_provider_direct(struct ibv_context *ctx, const char *provider)
{
	const struct verbs_provider *p = ctx_priv(ctx)->provider;

	return strcmp(p->name, provider) ? NULL : p->direct;
}

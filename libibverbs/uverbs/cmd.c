/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Every kernel command passes through this file. Therefore attributes are written only once,
 * directly to the memory that the kernel reads.
 */
#include <sys/ioctl.h>

#include "libibverbs/library.h"
#include "libibverbs/uverbs/cmd.h"
#include "libibverbs/uverbs/uverbs.h"

/* Write single members, because the compiler would build a whole struct elsewhere and copy it. */
static inline void attr_put(struct ib_uverbs_attr *attr, uint16_t id, uint16_t len, uint64_t data)
{
	attr->attr_id = id;
	attr->len = len;
	attr->flags = UVERBS_ATTR_F_MANDATORY;
	attr->attr_data.reserved = 0;
	attr->data = data;
}

static inline unsigned int udata_put(struct ib_uverbs_attr *attrs, const struct verbs_udata *udata)
{
	unsigned int n = 0;

	if (!udata)
		return 0;
	if (udata->in_len)
		attr_put(&attrs[n++], UVERBS_ATTR_UHW_IN, udata->in_len,
			 uverbs_in_data(udata->in, udata->in_len));
	if (udata->out_len)
		attr_put(&attrs[n++], UVERBS_ATTR_UHW_OUT, udata->out_len, (uintptr_t)udata->out);
	return n;
}

static inline int cmd_send(struct ibv_context *ctx, struct ib_uverbs_ioctl_hdr *hdr,
			   uint16_t object, uint16_t method, unsigned int count)
{
	*hdr = (struct ib_uverbs_ioctl_hdr){
		.length = sizeof(*hdr) + count * sizeof(struct ib_uverbs_attr),
		.object_id = object,
		.method_id = method,
		.num_attrs = count,
		.driver_id = ctx_priv(ctx)->provider->driver_id,
	};
	if (likely(!ioctl(ctx->cmd_fd, RDMA_VERBS_IOCTL, hdr)))
		return 0;
	return errno == ENOTTY ? -EPROTONOSUPPORT : -errno;
}

static unsigned int driver_attrs_put(struct ib_uverbs_attr *attrs, const struct verbs_udata *udata)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < udata->attr_count; i++)
		if (!udata->attrs[i].skip)
			attrs[n++] = udata->attrs[i].kernel;
	return n;
}

/* Get handles and descriptors that the kernel returned in attributes of the driver. */
static void driver_attrs_get(const struct ib_uverbs_attr *attrs, const struct verbs_udata *udata)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < udata->attr_count; i++) {
		if (udata->attrs[i].skip)
			continue;
		if (udata->attrs[i].store)
			*(uint32_t *)udata->attrs[i].store = attrs[n].data;
		n++;
	}
}

static int cmd_run_driver_attrs(struct ibv_context *ctx, struct uverbs_cmd *cmd, uint16_t object,
				uint16_t method, unsigned int count,
				const struct verbs_udata *udata)
{
	unsigned int added = driver_attrs_put(&cmd->attrs[count], udata);
	unsigned int bytes = udata_put(&cmd->attrs[count + added], udata);
	int r = cmd_send(ctx, &cmd->hdr, object, method, count + added + bytes);

	if (r == 0)
		driver_attrs_get(&cmd->attrs[count], udata);
	return r;
}

int uverbs_cmd_run(struct ibv_context *ctx, struct uverbs_cmd *cmd, uint16_t object,
		   uint16_t method, unsigned int count, const struct verbs_udata *udata)
{
	if (udata && udata->attr_count)
		return cmd_run_driver_attrs(ctx, cmd, object, method, count, udata);
	count += udata_put(&cmd->attrs[count], udata);
	return cmd_send(ctx, &cmd->hdr, object, method, count);
}

int uverbs_invoke_write(struct ibv_context *ctx, uint32_t command, uint64_t in, uint16_t in_len,
			void *out, uint16_t out_len, const struct verbs_udata *udata)
{
	struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr attrs[5];
	} cmd;
	unsigned int n = 2;

	/* This form has no attributes of a driver. */
	if (unlikely(udata && udata->attr_count))
		return -EOPNOTSUPP;
	attr_put(&cmd.attrs[0], UVERBS_ATTR_CORE_IN, in_len, in);
	attr_put(&cmd.attrs[1], UVERBS_ATTR_WRITE_CMD, sizeof(uint64_t), command);
	if (out_len)
		attr_put(&cmd.attrs[n++], UVERBS_ATTR_CORE_OUT, out_len, (uintptr_t)out);
	n += udata_put(&cmd.attrs[n], udata);
	return cmd_send(ctx, &cmd.hdr, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE, n);
}

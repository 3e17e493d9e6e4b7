/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <sys/ioctl.h>

#include "libibverbs/library.h"
#include "libibverbs/uverbs/cmd.h"
#include "libibverbs/uverbs/uverbs.h"

static void attr_fill(struct ib_uverbs_attr *kernel, const struct uverbs_attr *a)
{
	*kernel = (struct ib_uverbs_attr){
		.attr_id = a->id,
		.len = a->len,
		.flags = a->flags,
		.attr_data.enum_data.elem_id = a->elem,
		.data = a->data,
	};
}

static unsigned int attrs_fill(struct ib_uverbs_attr *kernel, const struct uverbs_attr *attrs,
			       unsigned int count)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < count; i++)
		if (!attrs[i].skip)
			attr_fill(&kernel[n++], &attrs[i]);
	return n;
}

/* Handles and descriptors come back in the attribute itself. */
static void attrs_store(const struct ib_uverbs_attr *kernel, const struct uverbs_attr *attrs,
			unsigned int count)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < count; i++) {
		if (attrs[i].skip)
			continue;
		if (attrs[i].store)
			*(uint32_t *)attrs[i].store = kernel[n].data;
		n++;
	}
}

static unsigned int udata_fill(struct ib_uverbs_attr *kernel, const struct verbs_udata *udata)
{
	unsigned int n = 0;

	if (!udata)
		return 0;
	if (udata->in_len) {
		struct uverbs_attr in = uverbs_in(UVERBS_ATTR_UHW_IN, udata->in, udata->in_len);

		attr_fill(&kernel[n++], &in);
	}
	if (udata->out_len) {
		struct uverbs_attr out =
			uverbs_out(UVERBS_ATTR_UHW_OUT, udata->out, udata->out_len);

		attr_fill(&kernel[n++], &out);
	}
	return n;
}

int uverbs_ioctl(struct ibv_context *ctx, uint16_t object, uint16_t method,
		 const struct uverbs_attr *attrs, unsigned int count,
		 const struct verbs_udata *udata)
{
	struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr attrs[UVERBS_ATTR_MAX + 2];
	} cmd;
	unsigned int n;

	if (count > UVERBS_ATTR_MAX)
		return -E2BIG;
	n = attrs_fill(cmd.attrs, attrs, count);
	n += udata_fill(&cmd.attrs[n], udata);
	cmd.hdr = (struct ib_uverbs_ioctl_hdr){
		.length = sizeof(cmd.hdr) + n * sizeof(cmd.attrs[0]),
		.object_id = object,
		.method_id = method,
		.num_attrs = n,
		.driver_id = ctx_priv(ctx)->provider->driver_id,
	};
	if (ioctl(ctx->cmd_fd, RDMA_VERBS_IOCTL, &cmd.hdr))
		return errno == ENOTTY ? -EPROTONOSUPPORT : -errno;
	attrs_store(cmd.attrs, attrs, count);
	return 0;
}

int uverbs_write(struct ibv_context *ctx, uint32_t command, const void *in, uint16_t in_len,
		 void *out, uint16_t out_len, const struct verbs_udata *udata)
{
	struct uverbs_attr a[] = {
		uverbs_in(UVERBS_ATTR_CORE_IN, in, in_len),
		uverbs_when(out_len, uverbs_out(UVERBS_ATTR_CORE_OUT, out, out_len)),
		uverbs_const(UVERBS_ATTR_WRITE_CMD, command),
	};

	return uverbs_ioctl(ctx, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE, a, ARRAY_SIZE(a),
			    udata);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "providers/kit/context.h"

#include <stdio.h>
#include <string.h>

#include "libibverbs/uverbs/uverbs.h"

int kit_context_check(struct verbs_context *vctx, const struct verbs_open_context *in)
{
	if (!in->imported)
		return 0;
	verbs_err(&vctx->context, "importing a context is not supported by %s",
		  to_vdev(vctx->context.device)->provider->name);
	return -EOPNOTSUPP;
}

int kit_context_refused(struct verbs_context *vctx, int r)
{
	if (r == -EPROTONOSUPPORT)
		verbs_err(&vctx->context,
			  "the kernel has no RDMA_VERBS_IOCTL: Linux 5.4 or newer is needed");
	else
		verbs_err(&vctx->context, "the kernel makes no context: %s", strerror(-r));
	return r;
}

int kit_context_open(struct verbs_context *vctx, const struct verbs_open_context *in,
		     struct verbs_udata *udata)
{
	struct verbs_open_context open = *in;
	int r = kit_context_check(vctx, in);

	if (r < 0)
		return r;
	open.udata = udata;
	r = uverbs_open_context(vctx, &open);
	return r < 0 ? kit_context_refused(vctx, r) : 0;
}

int kit_context_port(struct ibv_context *ibctx, unsigned int number, struct ibv_port_attr *ret_attr)
{
	int r = uverbs_query_port(ibctx, number, ret_attr);

	if (r < 0)
		verbs_err(ibctx, "cannot query port %u: %s", number, strerror(-r));
	return r;
}

void kit_context_print_fw(struct ibv_device_attr *attr, uint64_t version, int digits)
{
	snprintf(attr->fw_ver, sizeof(attr->fw_ver), "%u.%u.%0*u",
		 (unsigned int)(version >> 32 & 0xffff), (unsigned int)(version >> 16 & 0xffff),
		 digits, (unsigned int)(version & 0xffff));
}

void kit_context_no_invalidation(struct ibv_device_attr_ex *attr)
{
	attr->orig_attr.device_cap_flags &= ~(unsigned int)IBV_DEVICE_MEM_MGT_EXTENSIONS;
	attr->device_cap_flags_ex &= ~(uint64_t)IBV_DEVICE_MEM_MGT_EXTENSIONS;
}

/* Query a device with the number of the firmware's version. */
static int query(struct ibv_context *ibctx, const struct verbs_query_device *in,
		 struct ibv_device_attr_ex *ret_attr, uint64_t *ret_version)
{
	struct verbs_query_device query = *in;
	int r;

	*ret_version = 0;
	query.ret_fw_ver = ret_version;
	r = uverbs_query_device(ibctx, &query, ret_attr);
	if (!r && in->ret_fw_ver)
		*in->ret_fw_ver = *ret_version;
	return r;
}

int kit_context_query(struct ibv_context *ibctx, const struct verbs_query_device *in,
		      struct ibv_device_attr_ex *ret_attr, int digits)
{
	uint64_t version;
	int r = query(ibctx, in, ret_attr, &version);

	if (!r)
		kit_context_print_fw(&ret_attr->orig_attr, version, digits);
	return r;
}

int kit_context_query_bytes(struct ibv_context *ibctx, const struct verbs_query_device *in,
			    struct ibv_device_attr_ex *ret_attr)
{
	struct ibv_device_attr *attr = &ret_attr->orig_attr;
	uint64_t version;
	int r = query(ibctx, in, ret_attr, &version);

	if (!r)
		snprintf(attr->fw_ver, sizeof(attr->fw_ver), "%u.%u.%u.%u",
			 (unsigned int)(version >> 24 & 0xff), (unsigned int)(version >> 16 & 0xff),
			 (unsigned int)(version >> 8 & 0xff), (unsigned int)(version & 0xff));
	return r;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include <rdma/ib_user_ioctl_verbs.h>

#include "libibverbs/mr.h"

int mr_explain_access(struct ibv_context *ctx, const char *verb, unsigned int access)
{
	struct text names = {};

	explain_access(&names, access);
	if (access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC) &&
	    !(access & IBV_ACCESS_LOCAL_WRITE))
		verbs_err(ctx, "%s: access %s: REMOTE_WRITE and REMOTE_ATOMIC need LOCAL_WRITE",
			  verb, names.chars);
	else
		verbs_err(ctx, "%s: access %s: unknown flag", verb, names.chars);
	return -EINVAL;
}

int mr_explain_range(struct ibv_context *ctx, const char *verb, uint64_t start, uint64_t length)
{
	verbs_err(ctx, "%s: 0x%llx + length %llu goes beyond the end of the address space", verb,
		  (unsigned long long)start, (unsigned long long)length);
	return -EINVAL;
}

int mr_explain_rereg(struct ibv_context *ctx, const char *rule)
{
	verbs_err(ctx, "ibv_rereg_mr: %s", rule);
	return -EINVAL;
}

struct mapping {
	uint64_t start, end;
	bool readable, writable;
	char name[80];
};

static bool mapping_parse(const char *line, struct mapping *ret_mapping)
{
	unsigned long long start, end;
	char mode[5], name[80] = "";

	if (sscanf(line, "%llx-%llx %4s %*s %*s %*s %79[^\n]", &start, &end, mode, name) < 3)
		return false;
	*ret_mapping = (struct mapping){
		.start = start,
		.end = end,
		.readable = mode[0] == 'r',
		.writable = mode[1] == 'w',
	};
	snprintf(ret_mapping->name, sizeof(ret_mapping->name), "%s", name);
	return true;
}

void mr_explain_mapping(struct text *why, const char *maps, uint64_t start, uint64_t length,
			bool write)
{
	uint64_t at = start, end = start + length;
	struct mapping map;

	for (const char *line = maps; line && at < end; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!mapping_parse(line, &map) || map.end <= at)
			continue;
		if (map.start > at)
			break;
		if (!map.readable || (write && !map.writable)) {
			text_add(why, "; 0x%llx is in a mapping that is not %s (%s)",
				 (unsigned long long)at, map.readable ? "writable" : "readable",
				 map.name[0] ? map.name : "anonymous");
			return;
		}
		at = map.end;
	}
	if (at >= end)
		return;
	if (at == start)
		text_add(why, "; nothing is mapped at 0x%llx", (unsigned long long)at);
	else
		text_add(why, "; only the first %llu bytes are mapped",
			 (unsigned long long)(at - start));
}

static void explain_memory(struct text *why, const struct verbs_reg_mr *in)
{
	bool write = in->access & (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND);
	FILE *file = fopen("/proc/self/maps", "re");
	_cleanup_free_ char *maps = NULL;
	size_t size = 0;

	if (!file)
		return;
	if (getdelim(&maps, &size, 0, file) > 0)
		mr_explain_mapping(why, maps, (uintptr_t)in->addr, in->length, write);
	fclose(file);
}

/* Return the bytes of all pages in [start, start + length). */
static uint64_t pinned_bytes(uint64_t start, uint64_t length)
{
	uint64_t page = sysconf(_SC_PAGESIZE);

	return ((start + length + page - 1) & ~(page - 1)) - (start & ~(page - 1));
}

static void explain_device(struct text *why, const struct verbs_reg_mr *in)
{
	const struct ibv_device_attr_ex *device;

	if (verbs_device_attr(in->pd->context, &device) < 0)
		return;
	explain_limit(why, "length", in->length, "max_mr_size", device->orig_attr.max_mr_size);
	if (in->access & IBV_ACCESS_ON_DEMAND && !(device->odp_caps.general_caps & IBV_ODP_SUPPORT))
		text_add(why, "; the device has no on-demand paging");
}

static void explain_arguments(struct text *why, const struct verbs_reg_mr *in)
{
	uint64_t offset_mask = sysconf(_SC_PAGESIZE) - 1;

	if (!in->length)
		text_add(why, "; the length is 0");
	if (((uintptr_t)in->addr ^ in->iova) & offset_mask)
		text_add(why, "; iova 0x%llx and addr differ in their offset within a page",
			 (unsigned long long)in->iova);
}

static void explain_pinning(struct text *why, const char *verb, const struct verbs_reg_mr *in,
			    int r)
{
	if (!(in->access & IBV_ACCESS_ON_DEMAND))
		explain_memlock(why, verb, pinned_bytes((uintptr_t)in->addr, in->length), r);
}

void mr_explain_register(const char *verb, const struct verbs_reg_mr *in, int r)
{
	struct text access = {}, why = {};

	explain_pinning(&why, verb, in, r);
	if (!log_enabled(LOG_LEVEL_ERR))
		return;
	explain_access(&access, in->access);
	if (r == -EINVAL)
		explain_arguments(&why, in);
	if (r == -EINVAL || r == -EFAULT || r == -ENOMEM)
		explain_memory(&why, in);
	if (r == -EINVAL || r == -ENOMEM || r == -EOPNOTSUPP)
		explain_device(&why, in);
	verbs_err(in->pd->context, "%s: addr %p, length %llu, access %s: %s%s", verb, in->addr,
		  (unsigned long long)in->length, access.chars, strerror(-r), why.chars);
}

void mr_explain_dmabuf(const char *verb, const struct verbs_reg_dmabuf_mr *in, int r)
{
	const unsigned int allowed = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
				     IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC |
				     IBV_ACCESS_RELAXED_ORDERING;
	uint64_t offset_mask = sysconf(_SC_PAGESIZE) - 1;
	struct text access = {}, why = {};

	explain_access(&access, in->access);
	if (r == -EPROTONOSUPPORT)
		text_add(&why, "; registering a dma-buf needs Linux 5.12");
	if (r == -EOPNOTSUPP)
		text_add(&why, "; the device's driver cannot register a dma-buf");
	if (r == -EBADF)
		text_add(&why, "; the descriptor is not open");
	if (r == -EINVAL && in->access & ~allowed)
		text_add(&why, "; a dma-buf takes only LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE, "
			       "REMOTE_ATOMIC and RELAXED_ORDERING");
	if (r == -EINVAL && (in->offset ^ in->iova) & offset_mask)
		text_add(&why, "; iova 0x%llx and offset differ in their offset within a page",
			 (unsigned long long)in->iova);
	verbs_err(in->pd->context, "%s: fd %d, offset %llu, length %llu, access %s: %s%s", verb,
		  in->fd, (unsigned long long)in->offset, (unsigned long long)in->length,
		  access.chars, strerror(-r), why.chars);
}

void mr_explain_rereg_command(struct verbs_mr *mr, const struct verbs_rereg_mr *in, int r)
{
	struct text why = {};

	if (in->flags & IBV_REREG_MR_CHANGE_TRANSLATION)
		explain_memlock(&why, "ibv_rereg_mr", pinned_bytes((uintptr_t)in->addr, in->length),
				r);
	text_add(&why, "%s",
		 r == -EOPNOTSUPP
			 ? "; the device's driver cannot re-register; the region is as it was"
			 : "; the region must not be used any more, only deregistered");
	verbs_err(mr->ibv_mr.context, "mr %u: ibv_rereg_mr: flags 0x%x: %s%s", mr->ibv_mr.handle,
		  in->flags, strerror(-r), why.chars);
}

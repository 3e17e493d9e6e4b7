/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Attributes of a method. */
#ifndef DEVICES_ATTRIBUTE_H
#define DEVICES_ATTRIBUTE_H

#include <stdint.h>
#include <string.h>
#include <rdma/rdma_user_ioctl_cmds.h>

/* NULL: the process did not give it. */
static inline struct ib_uverbs_attr *find(struct ib_uverbs_ioctl_hdr *call, uint16_t id)
{
	for (int i = 0; i < call->num_attrs; i++) {
		if (call->attrs[i].attr_id == id)
			return &call->attrs[i];
	}
	return NULL;
}

/* Input of up to eight bytes is in the attribute itself. */
static inline const void *input(const struct ib_uverbs_attr *attr)
{
	if (!attr)
		return NULL;
	return attr->len <= sizeof(attr->data) ? (const void *)&attr->data
					       : (const void *)(uintptr_t)attr->data;
}

static inline uint64_t number(struct ib_uverbs_ioctl_hdr *call, uint16_t id)
{
	const struct ib_uverbs_attr *attr = find(call, id);
	uint64_t value = 0;

	if (attr)
		memcpy(&value, input(attr),
		       attr->len && attr->len < sizeof(value) ? attr->len : sizeof(value));
	return value;
}

static inline void output(struct ib_uverbs_ioctl_hdr *call, uint16_t id, const void *bytes,
			  size_t length)
{
	struct ib_uverbs_attr *attr = find(call, id);

	if (!attr)
		return;
	memcpy((void *)(uintptr_t)attr->data, bytes, length < attr->len ? length : attr->len);
	attr->flags |= UVERBS_ATTR_F_VALID_OUTPUT;
}

static inline void output_handle(struct ib_uverbs_ioctl_hdr *call, uint16_t id, uint32_t handle)
{
	struct ib_uverbs_attr *attr = find(call, id);

	if (attr)
		attr->data = handle;
}

#endif

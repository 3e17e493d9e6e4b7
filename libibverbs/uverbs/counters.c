/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "libibverbs/uverbs/cmd.h"
#include "libibverbs/uverbs/uverbs.h"

int uverbs_create_counters(struct verbs_counters *counters, const struct verbs_create_counters *in)
{
	const struct uverbs_attr a[] = {
		uverbs_new_idr(UVERBS_ATTR_CREATE_COUNTERS_HANDLE, &counters->handle),
	};

	return uverbs_ioctl(counters->counters.context, UVERBS_OBJECT_COUNTERS,
			    UVERBS_METHOD_COUNTERS_CREATE, a, ARRAY_SIZE(a), in->udata);
}

int uverbs_destroy_counters(struct verbs_counters *counters)
{
	const struct uverbs_attr a[] = {
		uverbs_idr(UVERBS_ATTR_DESTROY_COUNTERS_HANDLE, counters->handle),
	};

	return uverbs_ioctl(counters->counters.context, UVERBS_OBJECT_COUNTERS,
			    UVERBS_METHOD_COUNTERS_DESTROY, a, ARRAY_SIZE(a), NULL);
}

int uverbs_read_counters(struct verbs_counters *counters, uint64_t *ret_values, uint32_t count,
			 uint32_t flags)
{
	const struct uverbs_attr a[] = {
		uverbs_idr(UVERBS_ATTR_READ_COUNTERS_HANDLE, counters->handle),
		uverbs_out(UVERBS_ATTR_READ_COUNTERS_BUFF, ret_values, count * sizeof(*ret_values)),
		uverbs_u32(UVERBS_ATTR_READ_COUNTERS_FLAGS, flags),
	};

	/* The length of an attribute has 16 bits. */
	if (count > UINT16_MAX / sizeof(*ret_values))
		return -E2BIG;
	return uverbs_ioctl(counters->counters.context, UVERBS_OBJECT_COUNTERS,
			    UVERBS_METHOD_COUNTERS_READ, a, ARRAY_SIZE(a), NULL);
}

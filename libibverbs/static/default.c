/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "libibverbs/static/static.h"

/*
 * This file is a separate member of the archive. A program that names its providers does not call
 * this function, so the linker leaves this member and all other providers out.
 */
__attribute__((visibility("default"))) struct ibv_device **ibv_get_device_list(int *num_devices)
{
	verbs_static_default(&verbs_provider_all);
	return ibv_static_get_device_list(num_devices);
}

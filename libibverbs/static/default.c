/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "libibverbs/static/static.h"

/*
 * A member of its own: a program that names its providers does not call this, so that the linker
 * leaves it, and with it all the providers nobody asked for, in the archive.
 */
__attribute__((visibility("default"))) struct ibv_device **ibv_get_device_list(int *num_devices)
{
	verbs_static_default(&verbs_provider_all);
	return ibv_static_get_device_list(num_devices);
}

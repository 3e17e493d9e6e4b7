/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "libibverbs/discovery/discovery.h"
#include "libibverbs/static/static.h"

static const struct verbs_device_ops *provider_of(const struct disc_driver *driver)
{
	const struct verbs_device_ops *const *provider = static_providers();

	for (; *provider; provider++)
		if (!strcmp((*provider)->file, driver->file))
			return *provider;
	return NULL;
}

bool disc_load_exists(const struct disc_driver *driver)
{
	return provider_of(driver);
}

bool disc_load_can_wait(const struct disc_driver *driver)
{
	return provider_of(driver);
}

static int entry_load(const struct verbs_device_ops *linked,
		      const struct verbs_provider **ret_provider)
{
	if (!linked)
		return -ENOENT;
	if (linked->entry->abi != RDMA_PROVIDER_ABI) {
		log_notice("libibverbs: Warning: couldn't use driver '%s': its archive was built "
			   "for provider interface %u, this libibverbs.a needs %d: link both from "
			   "the same release\n",
			   linked->file, linked->entry->abi, RDMA_PROVIDER_ABI);
		return -EPROTO;
	}
	*ret_provider = linked->entry->provider;
	return 0;
}

int disc_load(struct disc_driver *driver, const struct verbs_provider **ret_provider)
{
	if (!driver->provider && !driver->load_error)
		driver->load_error = entry_load(provider_of(driver), &driver->provider);
	if (driver->provider)
		*ret_provider = driver->provider;
	return driver->load_error;
}

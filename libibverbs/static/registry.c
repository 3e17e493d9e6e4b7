/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <pthread.h>
#include <stdarg.h>

#include "libibverbs/discovery/discovery.h"
#include "libibverbs/static/static.h"

#define PROVIDERS_MAX 32 /* more than the number of providers */

/*
 * @lock is held while an entry is added. Readers need no lock, because entries are never removed
 * and the array always ends with NULL.
 */
static struct {
	pthread_mutex_t lock;
	const struct verbs_device_ops *providers[PROVIDERS_MAX + 1];
	unsigned int count;
	bool named; /* the program has named its providers */
} registry = { .lock = PTHREAD_MUTEX_INITIALIZER };

__attribute__((visibility("default"))) const struct verbs_device_ops verbs_provider_none = {};

static void provider_add(const struct verbs_device_ops *provider)
{
	for (unsigned int i = 0; i < registry.count; i++)
		if (registry.providers[i] == provider)
			return;
	if (registry.count < PROVIDERS_MAX)
		registry.providers[registry.count++] = provider;
}

static void provider_register(const struct verbs_device_ops *provider)
{
	if (provider->entry)
		provider_add(provider);
	for (unsigned int i = 0; provider->all && provider->all[i]; i++)
		provider_add(provider->all[i]);
}

void ibv_static_providers(void *unused, ...)
{
	const struct verbs_device_ops *provider;
	va_list providers;

	va_start(providers, unused);
	pthread_mutex_lock(&registry.lock);
	registry.named = true;
	while ((provider = va_arg(providers, const struct verbs_device_ops *)))
		provider_register(provider);
	pthread_mutex_unlock(&registry.lock);
	va_end(providers);
}

void verbs_static_default(const struct verbs_device_ops *provider)
{
	pthread_mutex_lock(&registry.lock);
	if (!registry.named)
		provider_register(provider);
	pthread_mutex_unlock(&registry.lock);
}

const struct verbs_device_ops *const *static_providers(void)
{
	return registry.providers;
}

void disc_linked_hold(bool hold)
{
	if (hold)
		pthread_mutex_lock(&registry.lock);
	else
		pthread_mutex_unlock(&registry.lock);
}

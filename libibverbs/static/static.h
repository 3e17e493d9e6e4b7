/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The parts that only libibverbs.a has. A program with this library contains its
 * providers and driver files, and reads neither from the file system.
 *
 *   registry.c    the providers that a program names by RDMA_STATIC_PROVIDERS
 *   linked.c      the driver files of these
 *   load.c        replaces shared/load.c: find a provider in the registry
 *   build_tree.c  replaces shared/build_tree.c: there is no build tree
 *   default.c     ibv_get_device_list() of a program without RDMA_STATIC_PROVIDERS
 *   all.c.in      "all": every provider of this build
 *   provider.c.in the part of a provider's archive beside the provider
 */
#ifndef LIBIBVERBS_STATIC_H
#define LIBIBVERBS_STATIC_H

#include "libibverbs/provider.h"

/* Programs only know the name of the struct: verbs_provider_<name> of verbs.h. */
struct verbs_device_ops {
	const struct verbs_provider_entry *entry; /* entry of a single provider ... */
	const char *file;			  /* the name of its driver file */
	const char *text;			  /* text of the driver file */
	/* ... or a list of several providers, which ends with NULL */
	const struct verbs_device_ops *const *all;
};

extern const struct verbs_device_ops verbs_provider_all;

#pragma GCC visibility push(default)

/* The public functions. See infiniband/verbs/device.h. */
void ibv_static_providers(void *unused, ...);
struct ibv_device **ibv_static_get_device_list(int *num_devices);

/* Use @provider unless the program has named others. */
void verbs_static_default(const struct verbs_device_ops *provider);

#pragma GCC visibility pop

/* Return the providers to use, up to a NULL. */
const struct verbs_device_ops *const *static_providers(void);

#endif

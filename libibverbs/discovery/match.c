/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "libibverbs/discovery/discovery.h"
#include "libibverbs/library.h"
#include "util/sysfs.h"

/*
 * The file that usually has the match line of a kernel driver. It is read first, so that the others
 * need not be read. A wrong or missing row only costs time.
 */
static const char *const usual_file[] = {
	[RDMA_DRIVER_MLX5] = "mlx5",	   [RDMA_DRIVER_MLX4] = "mlx4",
	[RDMA_DRIVER_CXGB4] = "cxgb4",	   [RDMA_DRIVER_MTHCA] = "mthca",
	[RDMA_DRIVER_BNXT_RE] = "bnxt_re", [RDMA_DRIVER_OCRDMA] = "ocrdma",
	[RDMA_DRIVER_IRDMA] = "irdma",	   [RDMA_DRIVER_VMW_PVRDMA] = "vmw_pvrdma",
	[RDMA_DRIVER_QEDR] = "qedr",	   [RDMA_DRIVER_HNS] = "hns",
	[RDMA_DRIVER_RXE] = "rxe",	   [RDMA_DRIVER_HFI1] = "hfi1verbs",
	[RDMA_DRIVER_QIB] = "ipathverbs",  [RDMA_DRIVER_EFA] = "efa",
	[RDMA_DRIVER_SIW] = "siw",	   [RDMA_DRIVER_ERDMA] = "erdma",
	[RDMA_DRIVER_MANA] = "mana",	   [RDMA_DRIVER_IONIC] = "ionic",
};

static struct disc_driver *driver_usual(const struct verbs_device *device)
{
	if (device->driver_id >= ARRAY_SIZE(usual_file) || !usual_file[device->driver_id])
		return NULL;
	return disc_driver_file(usual_file[device->driver_id]);
}

/* Return the modalias of the parent device, e.g. its PCI function; empty without a parent. It is
 * read once. */
static const char *device_modalias(struct verbs_device *device)
{
	char path[320], text[1024] = "";

	if (!device->modalias) {
		snprintf(path, sizeof(path), "%s/device/modalias", device->device.ibdev_path);
		sysfs_read(AT_FDCWD, path, text, sizeof(text));
		device->modalias = strdup(text);
	}
	return device->modalias ?: "";
}

static bool match_one(const struct disc_match *match, struct verbs_device *device)
{
	switch (match->kind) {
	case DISC_MATCH_DRIVER_ID:
		return match->driver_id == device->driver_id;
	case DISC_MATCH_MODALIAS:
		return !fnmatch(match->pattern, device_modalias(device), 0);
	case DISC_MATCH_NAME:
		return !fnmatch(match->pattern, device->device.name, 0);
	case DISC_MATCH_USERSPACE:
		return false;
	}
	return false;
}

static bool driver_matches(const struct disc_driver *driver, enum disc_match_kind kind,
			   struct verbs_device *device)
{
	const struct disc_match *match;

	STAILQ_FOREACH(match, &driver->matches, entry) {
		if (match->kind == kind && match_one(match, device))
			return true;
	}
	return false;
}

static struct disc_driver *driver_choose(const struct disc_driver_list *drivers,
					 struct verbs_device *device)
{
	struct disc_driver *driver;

	for (enum disc_match_kind kind = DISC_MATCH_DRIVER_ID; kind <= DISC_MATCH_NAME; kind++) {
		STAILQ_FOREACH(driver, drivers, entry) {
			if (driver_matches(driver, kind, device))
				return driver;
		}
	}
	return NULL;
}

static bool driver_asks(struct disc_driver *driver, const struct verbs_device *device)
{
	const struct verbs_provider *provider;

	return driver->name && STAILQ_EMPTY(&driver->matches) && !disc_load(driver, &provider) &&
	       provider->driver_id == device->driver_id;
}

static struct disc_driver *driver_ask_named(const struct verbs_device *device)
{
	struct disc_driver *driver;

	STAILQ_FOREACH(driver, disc_driver_named(), entry) {
		if (driver_asks(driver, device))
			return driver;
	}
	return NULL;
}

/*
 * Ask the providers of files without match lines, which older packages have. Only the provider
 * itself knows which driver it serves. A missing library is only logged if it was the likely one.
 */
static struct disc_driver *driver_ask(const struct disc_driver_list *drivers,
				      struct disc_driver *usual, const struct verbs_device *device)
{
	struct disc_driver *driver;

	if (usual && driver_asks(usual, device))
		return usual;
	STAILQ_FOREACH(driver, drivers, entry) {
		if (driver->name && disc_load_exists(driver) && driver_asks(driver, device))
			return driver;
	}
	return NULL;
}

struct disc_driver *disc_match_device(struct verbs_device *device)
{
	struct disc_driver *driver = driver_ask_named(device), *usual;
	const struct disc_driver_list *drivers;

	if (driver)
		return driver;
	usual = driver_usual(device);
	if (usual && driver_matches(usual, DISC_MATCH_DRIVER_ID, device))
		return usual;
	drivers = disc_driver_files();
	return driver_choose(drivers, device) ?: driver_ask(drivers, usual, device);
}

static void userspace_add(struct verbs_device_list *list, const struct verbs_provider *provider)
{
	struct verbs_device *device = list->last;
	int r;

	if (!provider->list_devices)
		return;
	if (provider->fork)
		verbs_fork_add(provider->fork);
	r = provider->list_devices(list);
	if (r < 0)
		log_warn("provider %s cannot list its devices: %s", provider->name, strerror(-r));
	for (device = device ? LIST_NEXT(device, entry) : LIST_FIRST(&list->devices); device;
	     device = LIST_NEXT(device, entry))
		device->provider = provider;
}

static bool driver_is_userspace(const struct disc_driver *driver)
{
	const struct disc_match *match;

	STAILQ_FOREACH(match, &driver->matches, entry) {
		if (match->kind == DISC_MATCH_USERSPACE)
			return true;
	}
	return false;
}

/* Return whether the environment names the same provider, which has then listed its devices
 * already. */
static bool driver_is_named(const struct disc_driver *driver)
{
	struct disc_driver *other;

	STAILQ_FOREACH(other, disc_driver_named(), entry) {
		if (!strcmp(other->name, driver->name))
			return true;
	}
	return false;
}

bool disc_userspace_exists(void)
{
	struct disc_driver *driver;

	STAILQ_FOREACH(driver, disc_driver_files(), entry) {
		if (driver_is_userspace(driver) && disc_load_exists(driver))
			return true;
	}
	return false;
}

int disc_userspace_list(struct verbs_device_list *list)
{
	const struct verbs_provider *provider;
	struct disc_driver *driver;

	STAILQ_FOREACH(driver, disc_driver_named(), entry) {
		if (!disc_load(driver, &provider))
			userspace_add(list, provider);
	}
	STAILQ_FOREACH(driver, disc_driver_files(), entry) {
		if (driver_is_userspace(driver) && !driver_is_named(driver) &&
		    !disc_load(driver, &provider))
			userspace_add(list, provider);
	}
	return 0;
}

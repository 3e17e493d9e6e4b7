/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The device list, and the facts of a device that need no open context. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <rdma/ib_user_verbs.h>

#include "libibverbs/discovery/discovery.h"
#include "libibverbs/explain.h"
#include "libibverbs/library.h"
#include "util/cancel.h"
#include "util/cdev.h"
#include "util/env.h"
#include "util/once.h"
#include "util/sysfs.h"

/*
 * All devices of the last list, with or without a provider. Each has one reference, so that the
 * next list returns the same pointers for the same devices. @lock is held while a list is made.
 */
static struct {
	pthread_mutex_t lock;
	struct verbs_device_list known;
} registry = { .lock = PTHREAD_MUTEX_INITIALIZER };

void verbs_device_get(struct verbs_device *device)
{
	atomic_fetch_add_explicit(&device->refcount, 1, memory_order_relaxed);
}

void verbs_device_put(struct verbs_device *device)
{
	/* acq_rel: the last holder sees the stores of the others. */
	if (atomic_fetch_sub_explicit(&device->refcount, 1, memory_order_acq_rel) > 1)
		return;
	free(device->modalias);
	free(device);
}

static bool device_same(const struct verbs_device *a, const struct verbs_device *b)
{
	if (strcmp(a->device.name, b->device.name))
		return false;
	if (!a->cdev)
		return !b->cdev && a->provider == b->provider;
	return a->cdev == b->cdev && a->index == b->index && a->driver_id == b->driver_id &&
	       a->abi_version == b->abi_version && (!a->node_guid || a->node_guid == b->node_guid);
}

/* Take the known object of the same device out of the registry. */
static struct verbs_device *known_take(const struct verbs_device *device)
{
	struct verbs_device *known;

	LIST_FOREACH(known, &registry.known.devices, entry) {
		if (!device_same(known, device))
			continue;
		disc_list_remove(&registry.known, known);
		return known;
	}
	return NULL;
}

static bool abi_in_range(const struct verbs_provider *provider, const struct verbs_device *device)
{
	if (device->abi_version >= provider->min_abi && device->abi_version <= provider->max_abi)
		return true;
	log_notice("libibverbs: Warning: Driver %s does not support the kernel ABI of %u (supports "
		   "%u to %u) for device %s: install a provider package that fits the kernel\n",
		   provider->name, device->abi_version, provider->min_abi, provider->max_abi,
		   device->device.name);
	return false;
}

/* Load the provider of a device that has a driver. The caller holds the lock. */
static int provider_load(struct verbs_device *device)
{
	const struct verbs_provider *provider;
	int r = disc_load(device->driver, &provider);

	if (r < 0)
		return r;
	if (!abi_in_range(provider, device))
		return -ENOSYS;
	/* release: pairs with the acquire in verbs_device_load() */
	atomic_store_explicit(&device->provider, provider, memory_order_release);
	return 0;
}

/*
 * Find the driver. Its provider is loaded when it is needed, because many programs only list
 * devices. A provider that is not installed is loaded at once, which fails and logs the cause.
 */
static void device_match(struct verbs_device *device)
{
	const struct disc_driver *driver = device->driver = disc_match_device(device);

	if (driver && !driver->provider && !driver->load_error && disc_load_can_wait(driver))
		return;
	if (driver && provider_load(device) < 0)
		device->driver = NULL;
}

/* Return whether the device has a provider, which need not be loaded yet. */
static bool device_usable(const struct verbs_device *device)
{
	return device->provider || device->driver;
}

_cold_ static int provider_load_late(struct verbs_device *device)
{
	_cleanup_cancel_ int cancel = cancel_off();
	int r = 0;

	pthread_mutex_lock(&registry.lock);
	if (!device->provider)
		r = device->driver ? provider_load(device) : -ENOSYS;
	pthread_mutex_unlock(&registry.lock);
	if (r < 0)
		log_err("%s: its provider cannot be loaded: %s: the first attempt logged what to install",
			device->device.name, strerror(-r));
	return r;
}

int verbs_device_load(struct verbs_device *device)
{
	/* acquire: pairs with the release in provider_load() */
	if (likely(atomic_load_explicit(&device->provider, memory_order_acquire)))
		return 0;
	return provider_load_late(device);
}

/* Hide a device whose node was not passed into this container. */
static bool device_visible(const struct verbs_device *device)
{
	if (!device->cdev || cdev_exists(device->device.dev_name))
		return true;
	log_err("%s: " CDEV_DIR "/%s does not exist: not listed; a container needs the node passed "
		"in ('--device=" CDEV_DIR "/%s'), a host needs udev",
		device->device.name, device->device.dev_name, device->device.dev_name);
	return false;
}

static void device_adopt(struct verbs_device *device)
{
	atomic_init(&device->refcount, 1);
	if (!device->provider)
		device_match(device);
}

/* Replace the registry's content by @found: keep known objects, and drop the references to devices
 * that are gone. */
static void registry_update(struct verbs_device_list *found)
{
	struct verbs_device_list now = {};
	struct verbs_device *device, *known;

	while ((device = LIST_FIRST(&found->devices))) {
		if (!device_visible(device)) {
			disc_device_drop(found, device);
			continue;
		}
		known = known_take(device);
		if (known) {
			disc_device_drop(found, device);
		} else {
			disc_list_remove(found, device);
			device_adopt(device);
			known = device;
		}
		verbs_device_add(&now, known);
	}
	while ((device = LIST_FIRST(&registry.known.devices))) {
		disc_list_remove(&registry.known, device);
		verbs_device_put(device);
	}
	while ((device = LIST_FIRST(&now.devices))) {
		disc_list_remove(&now, device);
		verbs_device_add(&registry.known, device);
	}
}

static void say_unmatched(const struct verbs_device *device)
{
	const struct ibv_device *d = &device->device;

	if (disc_linked_only())
		log_notice("libibverbs: Warning: no userspace device-specific driver found for %s "
			   "(device %s, kernel driver id %u): this program was linked without its "
			   "provider: name that in RDMA_STATIC_PROVIDERS\n",
			   d->dev_path, d->name, device->driver_id);
	else
		log_notice("libibverbs: Warning: no userspace device-specific driver found for %s "
			   "(device %s, kernel driver id %u): install the package with its "
			   "provider; driver files are in '%s'\n",
			   d->dev_path, d->name, device->driver_id, disc_paths()->config);
}

/* Log once that devices have no provider: if no device is usable, or on request. */
static void warn_unmatched(bool others_work)
{
	const struct verbs_device *device;
	static bool said;

	if (said || (others_work && !env_is_set(ENV_IBV_SHOW_WARNINGS)))
		return;
	said = true;
	LIST_FOREACH(device, &registry.known.devices, entry) {
		if (!device_usable(device))
			say_unmatched(device);
	}
}

static int kernel_abi_check(void)
{
	static atomic_bool good;
	_cleanup_free_ char *path = NULL;
	uint64_t version;
	int r;

	if (atomic_load_explicit(&good, memory_order_relaxed))
		return 0;
	if (asprintf(&path, "%s/class/infiniband_verbs/abi_version", sysfs_root()) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	r = sysfs_read_u64(AT_FDCWD, path, 10, &version);
	if (r < 0) {
		log_notice("libibverbs: Fatal: couldn't read uverbs abi version from '%s': %s: "
			   "mount sysfs and load the module ib_uverbs\n",
			   path, strerror(-r));
		return -ENOSYS;
	}
	if (version != IB_USER_VERBS_ABI_VERSION) {
		log_notice(
			"libibverbs: Fatal: kernel ABI version %lu doesn't match library version "
			"%d: install a libibverbs made for this kernel\n",
			(unsigned long)version, IB_USER_VERBS_ABI_VERSION);
		return -ENOSYS;
	}
	atomic_store_explicit(&good, true, memory_order_relaxed);
	return 0;
}

/* Netlink gives each kernel device an index and needs no sysfs, which a container may not have. */
static bool comes_from_sysfs(const struct verbs_device_list *list)
{
	const struct verbs_device *device;

	LIST_FOREACH(device, &list->devices, entry) {
		if (device->cdev && device->index < 0)
			return true;
	}
	return false;
}

/* The caller holds the lock. */
static int registry_refresh(void)
{
	struct verbs_device_list found = {};
	int r = disc_list(&found);

	if (!r && comes_from_sysfs(&found))
		r = kernel_abi_check();
	if (r < 0) {
		disc_list_clear(&found);
		return r;
	}
	registry_update(&found);
	return 0;
}

/* Make the array of usable devices for applications, with a reference to each. */
static int registry_export(struct ibv_device ***ret_devices, int *ret_count)
{
	struct ibv_device **array = calloc(registry.known.count + 1, sizeof(*array));
	struct verbs_device *device;
	int n = 0;

	if (!array)
		return -ENOMEM;
	LIST_FOREACH(device, &registry.known.devices, entry) {
		if (!device_usable(device))
			continue;
		verbs_device_get(device);
		array[n++] = &device->device;
	}
	if (n < registry.known.count)
		warn_unmatched(n);
	*ret_devices = array;
	*ret_count = n;
	return 0;
}

void verbs_registry_hold(bool hold)
{
	if (hold)
		pthread_mutex_lock(&registry.lock);
	else
		pthread_mutex_unlock(&registry.lock);
}

static void init_once(void)
{
	verbs_fork_watch();
	log_init();
	fork_init_from_env();
}

int verbs_init(void)
{
	static struct once once = ONCE_INIT;

	once_run(&once, init_once);
	return 0;
}

VERBS_EXPORT struct ibv_device **ibv_get_device_list(int *num_devices)
{
	_cleanup_cancel_ int cancel = cancel_off();
	struct ibv_device **devices = NULL;
	int count = 0, r;

	verbs_init();
	pthread_mutex_lock(&registry.lock);
	r = registry_refresh();
	if (!r)
		r = registry_export(&devices, &count);
	pthread_mutex_unlock(&registry.lock);
	if (num_devices)
		*num_devices = count;
	return r < 0 ? ret_null(r) : devices;
}

VERBS_EXPORT void ibv_free_device_list(struct ibv_device **list)
{
	if (!list)
		return;
	for (int i = 0; list[i]; i++)
		verbs_device_put(to_vdev(list[i]));
	free(list);
}

VERBS_EXPORT const char *ibv_get_device_name(struct ibv_device *device)
{
	return device ? device->name : NULL;
}

VERBS_EXPORT int ibv_get_device_index(struct ibv_device *device)
{
	return to_vdev(device)->index;
}

VERBS_EXPORT __be64 ibv_get_device_guid(struct ibv_device *device)
{
	char path[320], text[32];
	__be64 guid = to_vdev(device)->node_guid;

	if (guid || !to_vdev(device)->cdev)
		return guid;
	/* The GUID was not set when the device was found, for example on an SR-IOV function. It may
	 * be set now. */
	snprintf(path, sizeof(path), "%s/node_guid", device->ibdev_path);
	if (sysfs_read(AT_FDCWD, path, text, sizeof(text)) > 0)
		sysfs_parse_guid(text, &guid);
	return guid;
}

/* These functions are exported but not in a public header. Programs declare them. */
VERBS_EXPORT const char *ibv_get_sysfs_path(void);
VERBS_EXPORT int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size);

VERBS_EXPORT const char *ibv_get_sysfs_path(void)
{
	return sysfs_root();
}

VERBS_EXPORT int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size)
{
	_cleanup_free_ char *path = NULL;

	if (!size || asprintf(&path, "%s/%s", dir, file) < 0) {
		path = NULL;
		return ret_neg1(size ? -ENOMEM : -EINVAL);
	}
	return ret_neg1(sysfs_read(AT_FDCWD, path, buf, size));
}

static const char *open_advice(int r)
{
	switch (r) {
	case -ENOENT:
		return "the node is missing: is udev running? a container needs it passed in "
		       "(--device)";
	case -EACCES:
		return "this user may not: add it to the node's group or give the node to it with "
		       "a udev rule";
	case -EPERM:
		return "the device cgroup does not allow it: pass the device into the container "
		       "(--device)";
	case -ENXIO:
	case -ENODEV:
		return "the node does not belong to this device, or the device is gone: list the "
		       "devices again";
	case -EMFILE:
	case -ENFILE:
		return "too many open files: raise the limit (ulimit -n)";
	}
	return "the kernel refuses it; see the kernel log";
}

static int device_open_cdev(struct verbs_device *device)
{
	int fd = cdev_open(device->device.dev_name, device->cdev);

	if (fd < 0)
		log_err("%s ibv_open_device: cannot open " CDEV_DIR "/%s: %s: %s",
			device->device.name, device->device.dev_name, strerror(-fd),
			open_advice(fd));
	return fd;
}

int verbs_context_open(struct ibv_device *device, const void *dv, struct ibv_context **ret_ctx)
{
	const struct verbs_open_context in = { .dv = dv };
	struct verbs_device *vdev = to_vdev(device);
	struct verbs_context *ctx;
	int fd = -1, r;

	if (unlikely(!device))
		return explain_null("ibv_open_device", "device");
	if (vdev->cdev) {
		fd = device_open_cdev(vdev);
		if (fd < 0)
			return fd;
		memlock_warn_low();
	}
	r = verbs_context_create(vdev, fd, &in, &ctx);
	if (r == 0)
		*ret_ctx = &ctx->context;
	return r;
}

VERBS_EXPORT struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	_cleanup_cancel_ int cancel = cancel_off();
	struct ibv_context *ctx = NULL;
	int r = verbs_context_open(device, NULL, &ctx);

	return r < 0 ? ret_null(r) : ctx;
}

VERBS_EXPORT int ibv_close_device(struct ibv_context *ctx)
{
	_cleanup_cancel_ int cancel = cancel_off();

	verbs_context_destroy(to_vctx(ctx));
	return 0;
}

/* Return whether the descriptor belongs to the device: to the node of a kernel device, or by the
 * answer of a user-space provider. */
static bool device_has(const struct verbs_device *device, int cmd_fd, const struct stat *st)
{
	if (device->cdev)
		return S_ISCHR(st->st_mode) && device->cdev == st->st_rdev;
	return S_ISSOCK(st->st_mode) && device->provider && device->provider->owns &&
	       device->provider->owns(device, cmd_fd);
}

/* Find the device of the context with this descriptor. */
static int device_of_descriptor(int cmd_fd, struct verbs_device **ret_device)
{
	struct ibv_device **list;
	struct stat st;

	if (fstat(cmd_fd, &st) < 0 || !(S_ISCHR(st.st_mode) || S_ISSOCK(st.st_mode)))
		return -EINVAL;
	list = ibv_get_device_list(NULL);
	if (!list)
		return -errno;
	for (int i = 0; list[i] && !*ret_device; i++)
		if (device_has(to_vdev(list[i]), cmd_fd, &st))
			*ret_device = to_vdev(list[i]);
	if (*ret_device)
		verbs_device_get(*ret_device);
	ibv_free_device_list(list);
	return *ret_device ? 0 : -ENODEV;
}

static int device_import(int cmd_fd, struct verbs_context **ret_ctx)
{
	const struct verbs_open_context in = { .imported = true };
	struct verbs_device *device = NULL;
	int r = device_of_descriptor(cmd_fd, &device);

	if (r < 0) {
		log_err("libibverbs ibv_import_device: descriptor %d: %s%s", cmd_fd, strerror(-r),
			r == -EINVAL   ? "; it is not the cmd_fd of an RDMA device's context"
			: r == -ENODEV ? "; no device that is seen here has it"
				       : "");
		return r;
	}
	r = verbs_context_create(device, cmd_fd, &in, ret_ctx);
	verbs_device_put(device);
	return r;
}

VERBS_EXPORT struct ibv_context *ibv_import_device(int cmd_fd)
{
	_cleanup_cancel_ int cancel = cancel_off();
	struct verbs_context *ctx;
	int r = device_import(cmd_fd, &ctx);

	return r < 0 ? ret_null(r) : &ctx->context;
}

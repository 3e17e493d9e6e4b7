/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which RDMA devices there are, and which provider serves each. Nothing here opens a device.
 *
 *   list.c         the whole list: the kernel's devices, then the user-space ones
 *   nldev.c        devices and their character devices by RDMA netlink
 *   sysfs.c        the same facts from sysfs, on kernels or in containers without it
 *   driver_file.c  <name>.driver files: which provider serves which device
 *   named.c        the providers that the environment names
 *   match.c        the choice: driver id, then modalias, then name
 *   ../shared/load.c        dlopen of exactly that one provider; ../static/load.c: of none
 *   policy.c       whether user-space devices are offered
 *   paths.c        where driver files and providers are
 *   ../shared/build_tree.c  the same for a shared library that was not installed; ../static has
 * none
 */
#ifndef LIBIBVERBS_DISCOVERY_H
#define LIBIBVERBS_DISCOVERY_H

#include <rdma/ib_user_ioctl_verbs.h>

#include "libibverbs/provider.h"

LIST_HEAD(verbs_device_head, verbs_device);

struct verbs_device_list {
	struct verbs_device_head devices;
	struct verbs_device *last; /* new ones follow it: the order is the kernel's */
	unsigned int count;
};

/*
 * Every device of this system, in the order of the kernel, then user-space devices when the policy
 * offers them. Kernel devices are unmatched (provider NULL).
 * Return: 0; -ENOSYS: no user-space device and no RDMA subsystem in the kernel; another -errno.
 */
int disc_list(struct verbs_device_list *list);
/* Drop what is still in the list. */
void disc_list_clear(struct verbs_device_list *list);

/* A new device at the end of the list; NULL: no memory. */
struct verbs_device *disc_device_new(struct verbs_device_list *list, size_t size);
/* Take it out of the list; drop: and release it. */
void disc_list_remove(struct verbs_device_list *list, struct verbs_device *device);
void disc_device_drop(struct verbs_device_list *list, struct verbs_device *device);
/*
 * Name the device and derive its sysfs paths. The names come from outside: one that is no file name
 * is refused with -EINVAL.
 */
int disc_device_name(struct verbs_device *device, const char *name);
int disc_device_cdev_name(struct verbs_device *device, const char *name);
/* @type: RDMA_NODE_*; the transport follows from it. */
void disc_device_type(struct verbs_device *device, unsigned int type);

/* Add the devices of providers that serve no kernel device, and load those providers. */
int disc_userspace_list(struct verbs_device_list *list);

/*
 * Whether they are wanted: off, auto (without kernel devices) or on. The first of these that has a
 * policy decides: UROCE, the administrator's uroce.conf, the package's uroce.conf. The default is
 * auto in a build tree and off elsewhere: a host opens a port on the network only on request.
 */
bool disc_userspace_enabled(bool kernel_devices);
/* Whether a provider of such devices is installed. */
bool disc_userspace_exists(void);

/*
 * The folders of driver files and providers: the installed ones, or those of the build tree if the
 * library was loaded from there. Constant.
 */
struct disc_paths {
	const char *config; /* *.driver files, and the administrator's uroce.conf */
	const char *vendor; /* the same, of packages; NULL in a build tree */
	const char *providers;
	const char *programs; /* that providers start */
};
const struct disc_paths *disc_paths(void);
/*
 * The folders of the build tree that the library with @symbol was loaded from; allocated, for ever.
 * Only the shared library has this function.
 * Return: 0; -ENOENT if the library is installed or @symbol belongs to the program; -EPERM if other
 * users may write to the folder; another -errno.
 */
int disc_build_tree(const void *symbol, struct disc_paths *ret_paths);

/*
 * Ask the kernel by RDMA netlink for every device that has a uverbs character device.
 * Devices are added unmatched (provider NULL). Return: 0; -EOPNOTSUPP or another -errno when
 * netlink cannot answer and sysfs should be asked.
 */
int disc_nldev_list(struct verbs_device_list *list);

/* The same from <sysfs>/class/infiniband_verbs. -ENOENT: the class is missing (no uverbs module).
 */
int disc_sysfs_list(struct verbs_device_list *list);

enum disc_match_kind {
	DISC_MATCH_DRIVER_ID,
	DISC_MATCH_MODALIAS,
	DISC_MATCH_NAME,
	DISC_MATCH_USERSPACE,
};

struct disc_match {
	STAILQ_ENTRY(disc_match) entry;
	enum disc_match_kind kind;
	uint32_t driver_id;
	char *pattern; /* modalias or name, as for fnmatch(3); owned */
};

/* One <name>.driver file, or a provider that the environment names. */
struct disc_driver {
	STAILQ_ENTRY(disc_driver) entry;
	char *file; /* name of the file; owned */
	char *name; /* of the provider, or the absolute path prefix of its library */
	bool named; /* by the environment: it may be in any folder of the dynamic linker's, too */
	STAILQ_HEAD(, disc_match) matches;
	const struct verbs_provider *provider; /* once loaded */
	int load_error; /* -errno of a failed load: tried once, reported once */
};
STAILQ_HEAD(disc_driver_list, disc_driver);

/*
 * Parse one file's text. Unknown lines are refused with a message naming file and line, the rest
 * counts. -EINVAL: no driver line.
 */
int disc_driver_parse(const char *file, const char *text, struct disc_driver **ret_driver);
/* Every *.driver of the configuration folder, by name, then those of the vendor's, read once. */
const struct disc_driver_list *disc_driver_files(void);
/* <name>.driver alone, read once; NULL: there is none. */
struct disc_driver *disc_driver_file(const char *name);
/* Providers of RDMAV_DRIVERS or IBV_DRIVERS, in their order, read once. */
const struct disc_driver_list *disc_driver_named(void);
void disc_driver_free(struct disc_driver *driver);

/*
 * The provider of one device, loaded. Return: 0; -ENOENT: no driver file matches; -errno of the
 * load.
 */
int disc_match_device(struct verbs_device *device, const struct verbs_provider **ret_provider);

/* Load one driver's provider (once) and check its ABI number. */
/* Whether its library is there at all. */
bool disc_load_exists(const struct disc_driver *driver);
int disc_load(struct disc_driver *driver, const struct verbs_provider **ret_provider);

/*
 * Whether providers are parts of the program, linked in from archives, and none comes from a file.
 * The program then contains the driver files as well. disc_linked_file() returns the name of the
 * @i'th, or NULL behind the last. disc_linked_text() returns the text of a file, or NULL.
 */
bool disc_linked_only(void);
const char *disc_linked_file(unsigned int i);
const char *disc_linked_text(const char *file);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Discovery of RDMA devices and of the provider for each. Discovery opens no device.
 *
 *   list.c         the whole list: the kernel's devices, then the user-space ones
 *   nldev.c        devices and their character devices by RDMA netlink
 *   sysfs.c        the same facts from sysfs, on kernels or in containers without it
 *   driver_file.c  <name>.driver files: which provider serves which device
 *   named.c        the providers that the environment names
 *   match.c        the choice: driver id, then modalias, then name
 *   policy.c       the policy for user-space devices
 *   paths.c        the folders of driver files and providers
 *
 * ../shared/load.c loads exactly the chosen provider, when a program opens its device, and
 * ../static/load.c finds it in the program.
 * ../shared/build_tree.c has the folders of a library that was not installed.
 */
#ifndef LIBIBVERBS_DISCOVERY_H
#define LIBIBVERBS_DISCOVERY_H

#include <rdma/ib_user_ioctl_verbs.h>

#include "libibverbs/provider.h"

LIST_HEAD(verbs_device_head, verbs_device);

struct verbs_device_list {
	struct verbs_device_head devices;
	struct verbs_device *last; /* new devices follow it: the order is that of the kernel */
	unsigned int count;
};

/*
 * Every device of this system, in the order of the kernel, then user-space devices when the policy
 * offers them. Kernel devices are unmatched (provider NULL).
 * Return: 0; -ENOSYS: no user-space device and no RDMA subsystem in the kernel; another -errno.
 */
int disc_list(struct verbs_device_list *list);
/* Drop all devices of the list. */
void disc_list_clear(struct verbs_device_list *list);

/* Add a new device at the end of the list. NULL: no memory. */
struct verbs_device *disc_device_new(struct verbs_device_list *list, size_t size);
/* Remove a device from the list; drop: also release it. */
void disc_list_remove(struct verbs_device_list *list, struct verbs_device *device);
void disc_device_drop(struct verbs_device_list *list, struct verbs_device *device);
/*
 * Name the device and derive its sysfs paths. -EINVAL: the name, which comes from outside, is not a
 * file name.
 */
int disc_device_name(struct verbs_device *device, const char *name);
int disc_device_cdev_name(struct verbs_device *device, const char *name);
/* Set the type and the transport that follows from it. @type: RDMA_NODE_* */
void disc_device_type(struct verbs_device *device, unsigned int type);

/* Add the devices of providers that serve no kernel device, and load those providers. */
int disc_userspace_list(struct verbs_device_list *list);

/*
 * Return whether user-space devices are enabled: off, auto (without kernel devices) or on. The
 * first policy found decides: UROCE, the administrator's uroce.conf, the package's uroce.conf. The
 * default is auto in a build tree. Elsewhere it is off, because a host must open network ports only
 * on request.
 */
bool disc_userspace_enabled(bool kernel_devices);
/* Return whether a provider of such devices is installed. */
bool disc_userspace_exists(void);

/*
 * The folders of driver files and providers: the installed ones, or those of the build tree if the
 * library was loaded from there. Constant.
 */
struct disc_paths {
	const char *config; /* folder of *.driver files and of the administrator's uroce.conf */
	const char *vendor; /* the same for packages; NULL in a build tree */
	const char *providers;
	const char *programs; /* folder of programs that providers start */
};
const struct disc_paths *disc_paths(void);
/*
 * Get the folders of the build tree from which the library with @symbol was loaded. They are never
 * freed. Only the shared library has this function.
 * Return: 0; -ENOENT if the library is installed or @symbol belongs to the program; -EPERM if other
 * users may write to the folder; another -errno.
 */
int disc_build_tree(const void *symbol, struct disc_paths *ret_paths);

/*
 * Ask the kernel by RDMA netlink for every device that has a uverbs character device.
 * Devices are added unmatched (provider NULL). Return: 0; -EOPNOTSUPP or another -errno:
 * netlink has no answer, so ask sysfs.
 */
int disc_nldev_list(struct verbs_device_list *list);

/* List the devices of <sysfs>/class/infiniband_verbs. -ENOENT: the class is missing (no uverbs
 * module). */
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
	char *name; /* name of the provider, or absolute path prefix of its library */
	bool named; /* named by the environment: may be in the dynamic linker's folders, too */
	STAILQ_HEAD(, disc_match) matches;
	const struct verbs_provider *provider; /* once loaded */
	/* -errno of a failed load, which is tried and logged once; never an error of
	 * disc_is_lack() */
	int load_error;
};
STAILQ_HEAD(disc_driver_list, disc_driver);

/* Return whether a later try may succeed, because memory or descriptors were lacking or a signal
 * interrupted the call. */
bool disc_is_lack(int r);
/*
 * Parse the text of one file. Log unknown lines with file and line, and use the others. -EINVAL: no
 * driver line.
 */
int disc_driver_parse(const char *file, const char *text, struct disc_driver **ret_driver);
/* Return all *.driver files of the configuration folder by name, then those of the vendor folder.
 * They are read once, unless something was lacking: disc_is_lack(). */
const struct disc_driver_list *disc_driver_files(void);
/* Return <name>.driver, which is read once. NULL: there is none. */
struct disc_driver *disc_driver_file(const char *name);
/* Return the providers of RDMAV_DRIVERS or IBV_DRIVERS in their order. They are read once. */
const struct disc_driver_list *disc_driver_named(void);
void disc_driver_free(struct disc_driver *driver);

/*
 * Find the driver of one device, which is never freed. NULL: no driver file matches. Its provider
 * is loaded only if no file has a match line, because then only the provider knows what it serves.
 */
struct disc_driver *disc_match_device(struct verbs_device *device);

/* Return whether the library of the provider exists, and whether it is a file that is not empty, so
 * that a failure to load it is unlikely. */
bool disc_load_exists(const struct disc_driver *driver);
bool disc_load_can_wait(const struct disc_driver *driver);
/* Load the provider of one driver, once, and check its ABI number. */
int disc_load(struct disc_driver *driver, const struct verbs_provider **ret_provider);

/*
 * disc_linked_only() returns whether all providers are linked into the program from archives. The
 * program then contains the driver files as well. disc_linked_file() returns the name of number @i,
 * or NULL behind the last. disc_linked_text() returns the text of a file, or NULL.
 */
bool disc_linked_only(void);
const char *disc_linked_file(unsigned int i);
const char *disc_linked_text(const char *file);
/* Hold off changes of the providers that the program names, during a fork. */
void disc_linked_hold(bool hold);

#endif

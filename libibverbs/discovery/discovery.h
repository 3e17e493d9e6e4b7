/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which RDMA devices there are, and which provider serves each. Nothing here opens a device.
 *
 *   nldev.c        devices and their character devices by RDMA netlink
 *   sysfs.c        the same facts from sysfs, on kernels or in containers without it
 *   driver_file.c  <name>.driver files: which provider serves which device
 *   match.c        the choice: driver id, then modalias, then name
 *   load.c         dlopen of exactly that one provider
 */
#ifndef LIBIBVERBS_DISCOVERY_H
#define LIBIBVERBS_DISCOVERY_H

#include "libibverbs/provider.h"

LIST_HEAD(verbs_device_head, verbs_device);

struct verbs_device_list {
	struct verbs_device_head devices;
	unsigned int count;
};

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

/* One <name>.driver file. */
struct disc_driver {
	STAILQ_ENTRY(disc_driver) entry;
	char *name; /* of the provider, or the absolute path prefix of its library */
	STAILQ_HEAD(, disc_match) matches;
	const struct verbs_provider *provider; /* once loaded */
	int load_error; /* -errno of a failed load: tried once, reported once */
};
STAILQ_HEAD(disc_driver_list, disc_driver);

/* Parse one file's text; unknown lines are refused with a message naming file and line, the rest
 * counts. */
int disc_driver_parse(const char *file, const char *text, struct disc_driver **ret_driver);
/* Every *.driver of the configuration directory, read once. */
const struct disc_driver_list *disc_driver_files(void);
void disc_driver_free(struct disc_driver *driver);

/*
 * The provider of one device, loaded. Return: 0; -ENOENT: no driver file matches; -errno of the
 * load.
 */
int disc_match_device(struct verbs_device *device, const struct verbs_provider **ret_provider);

/* Load one driver's provider (once) and check its ABI number. */
int disc_load(struct disc_driver *driver, const struct verbs_provider **ret_provider);

#endif

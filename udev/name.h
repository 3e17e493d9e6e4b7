/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Names of RDMA devices that do not depend on the order in which drivers found them: what kind of
 * link, then where the device sits, or its GUID. They are the names today's systems have.
 */
#ifndef UDEV_NAME_H
#define UDEV_NAME_H

#include <stdbool.h>
#include <stdint.h>

#define NAME_SIZE 64 /* the kernel's limit, the zero byte included */

enum name_policy {
	NAME_KERNEL,  /* as it is */
	NAME_ONBOARD, /* o<index the firmware gives> */
	NAME_PCI,   /* [P<domain>]p<bus>s<device>[f<function>][v<virtual function>][S<sub-function>]
		     */
	NAME_GUID,  /* x<node GUID> */
	NAME_FIXED, /* what the caller says */
	NAME_FALLBACK, /* the first that works: onboard, PCI, kernel */
	NAME_POLICIES,
};

struct name_device {
	const char *name;   /* today's */
	const char *prefix; /* "ib", "roce", "iw", "opa", "usnic"; "" for the name of no protocol */
	bool user_named;    /* the user chose its name: only NAME_FIXED gives another one */
	uint64_t node_guid; /* host byte order; 0: none */
	int folder;	    /* of the device in sysfs */
	const char *fixed;  /* for NAME_FIXED; else NULL */
};

/* @text: "NAME_PCI", ... or "pci", ... Return: the policy, -EINVAL. */
int name_policy_parse(const char *text);

/* Return: 0; -EOPNOTSUPP if no property of the device can make its name; another -errno. */
int name_make(enum name_policy policy, const struct name_device *device, char ret_name[NAME_SIZE]);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "rdma-doctor/doctor.h"

/*
 * From the bottom up. A new rung is a row here and one function. Exit codes are for scripts. They
 * never change, and rungs do not use 0 to 9.
 */
const struct rung rungs[] = {
	{ "kernel", 10, "modules of the RDMA subsystem", .check = kernel_check },
	{ "netlink", 11, "RDMA netlink answers", .check = netlink_check },
	{ "namespace", 12, "devices are in this network namespace", .check = namespace_check },
	{ "device", 13, "the kernel has an RDMA device", .check = device_check },
	{ "node", 14, "the character device is there", .check_device = node_check },
	{ "permission", 15, "it may be opened", .check_device = permission_check },
	{ "provider", 16, "its provider is installed and loads", .check_device = provider_check },
	{ "abi", 17, "kernel, library and provider fit together", .check_device = abi_check },
	{ "port", 18, "a port is active", .check_device = port_check },
	{ "gid", 19, "the port has an address", .check_device = gid_check },
	{ "memlock", 20, "memory may be pinned", .check = memlock_check },
	{ "fork", 21, "fork() is safe", .check = fork_check },
	{ "rdma_cm", 22, "connection management", .check = rdma_cm_check },
	{ "uroce", 23, "the device in user space", .check = uroce_check },
	{ "verbs", 24, "the library opens the device and makes objects",
	  .check_device = verbs_check },
	{ "require", 25, "the devices that have to work here", .check = require_check },
};

const unsigned int rung_count = ARRAY_SIZE(rungs);

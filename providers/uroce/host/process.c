/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* This process: its network namespace, and whether its parent opened the host. */
#include <sys/stat.h>

#include "providers/uroce/host/process.h"

int uroce_host_inherited(const struct uroce_host *host)
{
	static _Atomic pid_t logged;
	pid_t pid = getpid();

	if (atomic_exchange(&logged, pid) != pid)
		log_err("uroce: opened in process %d, used in its child %d: open the device again after fork(), "
			"see rdma-symptoms(7)",
			host->pid, pid);
	return -EIO;
}

ino_t uroce_net_namespace(void)
{
	struct stat net;

	return stat("/proc/thread-self/ns/net", &net) ? 0 : net.st_ino;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Fork: what becomes of registered memory in a child. */
#ifndef INFINIBAND_VERBS_FORK_H
#define INFINIBAND_VERBS_FORK_H

#ifdef __cplusplus
extern "C" {
#endif

enum ibv_fork_status {
	IBV_FORK_DISABLED, /* not asked for: fork() breaks registered memory */
	IBV_FORK_ENABLED,  /* registered memory is kept out of children */
	IBV_FORK_UNNEEDED, /* the kernel copies pinned pages for the child */
};

/**
 * ibv_fork_init() - make fork() safe in a program that has memory registered
 *
 * Call it before the first registration. The child cannot use the parent's objects. On kernels that
 * need this call, the child does not see the registered memory of the parent either.
 * Return: 0 or an errno value; EINVAL when memory is registered already, ENOSYS when the kernel
 * cannot do it.
 */
int ibv_fork_init(void);

/**
 * ibv_is_fork_initialized() - is fork() safe?
 */
enum ibv_fork_status ibv_is_fork_initialized(void);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Trials of the library, by the calls of a usual program. */
#ifndef RDMA_DOCTOR_VERBS_H
#define RDMA_DOCTOR_VERBS_H

#include <net/if.h>

#include "rdma-doctor/doctor.h"

#define TRIAL_PROCESS "a process that tries the library"
#define TRIAL_DEVICES 1024 /* maximum devices of the library's list to check */

/* Result of a trial. */
struct trial {
	int error;	   /* 0, or -errno of @verb */
	const char *verb;  /* failed verb */
	int signal;	   /* signal that ended the trial process, or 0 */
	char said[512];	   /* the first line the library logged; "" */
	char gid[64];	   /* a GID as text, or "" */
	unsigned int gids; /* number of GIDs of the device */
	unsigned int port, gid_index;
	char netdev[IFNAMSIZ];	   /* interface of that GID, or "" */
	unsigned int netdev_flags; /* IFF_UP and others */
};

/* A user-space device and its trial. */
struct doctor_userspace {
	char name[IBV_SYSFS_NAME_MAX];
	struct trial trial;
};

/* A kernel or user-space device of the library's list. */
struct trial_device {
	char name[IBV_SYSFS_NAME_MAX];
	bool userspace;
};

/*
 * system_list(): get the devices of ibv_get_device_list(). Return: their number or -errno.
 * system_try(): open the device, create a PD, a CQ, an MR and a QP, and destroy all.
 * Both run in a child process, so that a provider that crashes or hangs becomes a finding.
 */
int system_list(struct trial_device devices[TRIAL_DEVICES], struct trial *ret_trial);
void system_try(const char *name, struct trial *ret_trial);

/* Return 0, or -errno if the process may not open some more files. Discovery needs these, and
 * otherwise reports ENODEV. */
int trial_files_check(void);

/* Find the device of the list, or return NULL and set errno. */
struct ibv_device *device_named(struct ibv_device **list, const char *name);
/* Record in @trial how the child ended. @r: result of child_run(). The names of verbs are
 * constants with the same address in both processes. */
void trial_check_child(struct trial *trial, int r, int signal);

/* verbs.c: append the failure of the trial and its cause to the text of @f. */
void trial_say(const struct trial *trial, struct finding *f);
/* Return whether the error itself names the remedy, which is then in @f. */
bool trial_fix(const struct trial *trial, struct finding *f);

/* uroce.c: call system_try() once for each device. The result is valid as long as the devices of
 * @d. */
const struct trial *userspace_try(struct doctor *d, const char *name);

#endif

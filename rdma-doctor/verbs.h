/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The library itself, tried: the same calls as a program's. */
#ifndef RDMA_DOCTOR_VERBS_H
#define RDMA_DOCTOR_VERBS_H

#include <net/if.h>

#include "rdma-doctor/doctor.h"

#define TRIAL_DEVICES 64 /* of the library's list, that many are looked at */

/* How far a trial came. */
struct trial {
	int error;	   /* 0, or -errno of @verb */
	const char *verb;  /* the one that failed */
	int signal;	   /* what ended the process that tried; 0: nothing did */
	char said[512];	   /* the first line the library logged; "" */
	char gid[64];	   /* a GID as text; "" when there is none */
	unsigned int gids; /* of the device */
	unsigned int port, gid_index;
	char netdev[IFNAMSIZ];	   /* of that GID; "" when it is not told */
	unsigned int netdev_flags; /* IFF_UP and others */
};

/* A device of user space that was tried. */
struct doctor_userspace {
	char name[IBV_SYSFS_NAME_MAX];
	struct trial trial;
};

/* A device of the library's list, whether it is the kernel's or of user space. */
struct trial_device {
	char name[IBV_SYSFS_NAME_MAX];
	bool userspace;
};

/*
 * system_list(): what ibv_get_device_list() gives. Return: how many; -errno.
 * system_try(): open the device, make a PD, a CQ, an MR and a QP, and destroy them all.
 * Both in a child process: a provider that crashes or hangs is a finding.
 */
int system_list(struct trial_device devices[TRIAL_DEVICES], struct trial *ret_trial);
void system_try(const char *name, struct trial *ret_trial);

/* verbs.c: what failed in the trial and why, for the words of @f. */
void trial_say(const struct trial *trial, struct finding *f);

/* uroce.c: system_try(), once for each device. Return: lives as long as @d's devices. */
const struct trial *userspace_try(struct doctor *d, const char *name);

#endif

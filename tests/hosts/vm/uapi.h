/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The program uapi calls verbs and prints what the kernel's driver answers to their commands. It
 * has the function ioctl() of its own. Therefore it sees each command that the library and its
 * provider send, and sends variations of it: without an attribute, longer and shorter, with other
 * bits. One thread.
 */
#ifndef VM_UAPI_H
#define VM_UAPI_H

#include <rdma/rdma_user_ioctl_cmds.h>

enum {
	UAPI_MOST_ATTRS = 24,
	UAPI_DRIVER_IN = 0x1000, /* attributes: from the provider to the driver, and back */
	UAPI_DRIVER_OUT = 0x1001,
};

/* A command as it was sent, with room for one attribute more. */
struct uapi_command {
	struct ib_uverbs_ioctl_hdr hdr;
	struct ib_uverbs_attr attrs[UAPI_MOST_ATTRS + 1];
};

/* Name the verb whose commands are printed from now on. NULL: print none. */
void uapi_step(const char *verb);

/* Return an attribute UAPI_DRIVER_*, or NULL. Methods of a driver use these numbers for other
 * attributes. */
const struct ib_uverbs_attr *uapi_driver_attr(const struct ib_uverbs_ioctl_hdr *hdr,
					      unsigned int id);

/* Return the number of a legacy command in this envelope, or 0. */
unsigned int uapi_legacy_command(const struct ib_uverbs_ioctl_hdr *hdr);

/* Send a command and return 0 or an errno. */
int uapi_send(int fd, struct uapi_command *command);

const char *uapi_answer_name(int error);

/* Print the answers to all variations of a command. @fresh: send each one on a file of its own,
 * because the command makes the context of the file. Return -1 if the core of the kernel accepts a
 * command that it must refuse. */
int uapi_vary(int fd, const struct uapi_command *command, int fresh);

#endif

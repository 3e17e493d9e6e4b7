/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * uroce-run: run a program that sees the files of user-space devices. The kernel has no such files.
 *
 *   uroce_run.c  options and choice of the method
 *   files.c      the files, from queries of the verbs library
 *   view.c       the method with a mount namespace
 *   preload.c    the method with a preloaded library
 *   interpose.c  the preloaded library
 */
#ifndef UROCE_RUN_H
#define UROCE_RUN_H

#include "util/text.h"
#include "util/util.h"

#define IB_FOLDER    "/sys/class/infiniband"
#define VERBS_FOLDER "/sys/class/infiniband_verbs"
#define NODE_FOLDER  "/dev/infiniband"

enum {
	EXIT_LAUNCHER = 125, /* as in env(1) and nohup(1) */
	EXIT_NOT_RUN = 126,
	EXIT_NOT_FOUND = 127,
};

/* Print a message on standard error, behind the name of this program, if -v is set. */
void say(const char *fmt, ...) _printf_(1, 2);

/* Print an error message. */
void complain(const char *fmt, ...) _printf_(1, 2);

/*
 * Write the files of all devices that have none in @root/sys/class/infiniband yet. The three
 * folders must exist. @root: "" in a mount namespace, else the folder that contains these three
 * folders.
 * Return: the number of devices, or -errno, which is printed.
 */
int files_write(const char *root);

/* Return whether an uroce-run that runs this one shows all devices already. */
bool files_are_shown(void);

/* Return whether this process can have folders of its own. @user_allowed: in a user namespace if it
 * cannot without; @why: the reason if it cannot */
bool view_possible(bool user_allowed, struct text *why);

/* Give this process folders of its own. Return: 1 in a user namespace, 0 without one, or -errno and
 * @why. */
int view_enter(bool user_allowed, struct text *why);

/* Run the program with the preloaded library. Return: exit code for uroce-run */
int preload_run(char **argv);

/* Call execvp(3). Return: exit code for its failure */
int program_exec(char **argv);

#endif

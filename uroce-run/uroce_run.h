/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * uroce-run: the files of devices that the kernel does not know, shown to one program.
 *
 *   uroce_run.c  the options, and which way is taken
 *   files.c      the files, from the answers of the library of verbs
 *   view.c       the way by a mount namespace
 *   preload.c    the way by a library that stands between the program and the C library
 *   interpose.c  that library
 */
#ifndef UROCE_RUN_H
#define UROCE_RUN_H

#include "util/text.h"
#include "util/util.h"

#define IB_FOLDER    "/sys/class/infiniband"
#define VERBS_FOLDER "/sys/class/infiniband_verbs"
#define NODE_FOLDER  "/dev/infiniband"

enum {
	EXIT_LAUNCHER = 125, /* as env(1) and nohup(1) have them */
	EXIT_NOT_RUN = 126,
	EXIT_NOT_FOUND = 127,
};

/* With -v; on standard error, after the program's name. */
void say(const char *fmt, ...) _printf_(1, 2);

/* Why it does not work, always. */
void complain(const char *fmt, ...) _printf_(1, 2);

/*
 * Write the files of all devices that have none in @root/sys/class/infiniband yet; the three
 * folders are there. @root: "" where they are the program's own, else a folder that stands for
 * them. Return: the number of devices; -errno, which was said.
 */
int files_write(const char *root);

/* Return: whether this process could have folders of its own; if not, @why says why. */
bool view_possible(struct text *why);

/* Give this process its own. Return: 0; -errno and why. */
int view_enter(struct text *why);

/* Run the program with the library in front. Return: the exit code of this program. */
int preload_run(char **argv);

/* execvp(3), or what its failure means. */
int program_exec(char **argv);

#endif

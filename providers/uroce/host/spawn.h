/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef UROCE_SPAWN_H
#define UROCE_SPAWN_H

/*
 * Start a program that is not a child of this process, so that neither wait() nor SIGCHLD report
 * its end. The program gets an empty environment, all signals blocked, and @files as its
 * descriptors 0 to @count - 1. All @files must be numbers of at least @count. All other descriptors
 * are closed. Before Linux 5.9 the program has to close those without close-on-exec itself.
 *
 * Return: 0; -errno of the call that failed.
 */
int uroce_spawn(const char *path, char *const arguments[], const int *files, unsigned int count);

#endif

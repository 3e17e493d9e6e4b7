/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef UROCE_SPAWN_H
#define UROCE_SPAWN_H

/*
 * Start a program that is no child of this process's: neither wait() nor SIGCHLD tell of it. It
 * starts with an empty environment, all signals blocked, and @files as its descriptors 0 to @count
 * - 1, which lie above those here; others that do not close by themselves are its own to close.
 * Return: 0; -errno of what failed.
 */
int uroce_spawn(const char *path, char *const arguments[], const int *files, unsigned int count);

#endif

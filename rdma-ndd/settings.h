/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RDMA_NDD_ND_FORMAT: from the environment, else from a line of /etc/rdma/rdma.conf, else the
 * default. The file is read again on request; the environment of a process stays what it was.
 */
#ifndef RDMA_NDD_SETTINGS_H
#define RDMA_NDD_SETTINGS_H

#define SETTINGS_FORMAT_SIZE 256

struct settings {
	char format[SETTINGS_FORMAT_SIZE];
};

/*
 * Take what the lines NAME=VALUE of @text say; the last line of a name wins. A value may stand in
 * single or double quotes. Other names, empty lines and those that start with # are not for us.
 * @file: for messages
 */
void settings_parse(const char *file, const char *text, struct settings *settings);

/* @path: NULL for the installed one. A file that is not there is no error. */
void settings_load(const char *path, struct settings *ret_settings);

#endif

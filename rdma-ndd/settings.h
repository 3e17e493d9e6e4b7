/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RDMA_NDD_ND_FORMAT: from the environment, else from a line of /etc/rdma/rdma.conf, else the
 * default. The file is read again on request. The environment of the process does not change.
 */
#ifndef RDMA_NDD_SETTINGS_H
#define RDMA_NDD_SETTINGS_H

#define SETTINGS_FORMAT_SIZE 256

struct settings {
	char format[SETTINGS_FORMAT_SIZE];
};

/*
 * Take the settings of the lines NAME=VALUE in @text. The last line with a name counts. A value may
 * be in single or double quotes. Lines with other names, empty lines and comments are ignored.
 * @file: for messages
 */
void settings_parse(const char *file, const char *text, struct settings *settings);

/* Read the settings. @path: NULL: the installed file. A missing file is no error. */
void settings_load(const char *path, struct settings *ret_settings);

#endif

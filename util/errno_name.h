/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef UTIL_ERRNO_NAME_H
#define UTIL_ERRNO_NAME_H

/* Return the name of an errno, such as "ENOMEM"; NULL: it has no name. */
const char *errno_name(int error);

#endif

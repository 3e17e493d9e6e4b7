/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lines on a terminal that is too narrow for them. */
#ifndef UTIL_PROGRAM_COLUMNS_H
#define UTIL_PROGRAM_COLUMNS_H

/* From now on, break long lines of standard output at words if standard output is a terminal. To
 * be called before the first output. */
void columns_begin(void);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* High numbers for descriptors. */
#ifndef LIBRDMACM_PRELOAD_NUMBER_H
#define LIBRDMACM_PRELOAD_NUMBER_H

/* Move a descriptor above the program's numbers, if possible. Return: its number. */
int number_raise(int fd);

#endif

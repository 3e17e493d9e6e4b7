/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The handler for faults of leaves. */
#ifndef UROCE_COPY_SIGNAL_H
#define UROCE_COPY_SIGNAL_H

/*
 * Install the handler in front of the present handlers of SIGSEGV and SIGBUS. It passes faults
 * outside of leaves on to them. Return: 0, or a negative errno, which is logged: faults of a leaf
 * would then reach another handler.
 */
int copy_handlers_install(void);

#endif

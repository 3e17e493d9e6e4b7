/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Who handles the faults of leaves. */
#ifndef UROCE_COPY_SIGNAL_H
#define UROCE_COPY_SIGNAL_H

/*
 * Our handler is in front of whoever handles SIGSEGV and SIGBUS now, and passes on to them what is
 * no leaf's. Return: 0, or a negative errno when it is not, which the log says: a fault of a leaf
 * would then be somebody else's.
 */
int copy_handlers_install(void);

#endif

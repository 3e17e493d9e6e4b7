/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Streams of the C library. */
#ifndef LIBRDMACM_PRELOAD_STREAM_H
#define LIBRDMACM_PRELOAD_STREAM_H

/*
 * @fd is a socket from now on. Replace the standard stream of that number, if there is
 * one.
 */
void stream_standard(int fd);

#endif

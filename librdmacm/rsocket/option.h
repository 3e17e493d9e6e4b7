/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The options that a program has set. */
#ifndef LIBRDMACM_RSOCKET_OPTION_H
#define LIBRDMACM_RSOCKET_OPTION_H

#include "librdmacm/rsocket/socket.h"

/*
 * Let an accepted socket have the options that the program has set on its listener.
 * Return: 0 or -ENOMEM.
 */
int rs_options_inherit(struct rs_socket *child, const struct rs_socket *listener);
void rs_options_free(struct rs_socket *s);

#endif

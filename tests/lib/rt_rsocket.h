/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Streams over RDMA between the two ends of a test. */
#ifndef TESTS_LIB_RT_RSOCKET_H
#define TESTS_LIB_RT_RSOCKET_H

#include <stdint.h>
#include <sys/socket.h>

socklen_t rt_rs_size(const struct sockaddr_storage *address);
/* Open a listener at the device's address and return its port. */
int rt_rs_listener(uint16_t *ret_port);
/* Open a socket that is connected to that port. */
int rt_rs_client(uint16_t port);

#endif

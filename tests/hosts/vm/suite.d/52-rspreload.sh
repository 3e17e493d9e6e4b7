#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Run programs that do not know RDMA on the kernel's device.

ADDRESS=192.0.2.1 exec "$SUITE/../../programs/rspreload" "$BUILD/lib/rsocket/librspreload.so" \
    nc.openbsd nc.traditional curl iperf3 redis-benchmark memcached

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Check that the machine itself works: the distribution's own programs and library find rxe0 and
# transfer data. Ping-pongs of the items have few messages, because processes that poll take the emulated processors
# from the kernel.

unset LD_LIBRARY_PATH
ldd /usr/bin/ibv_devices | grep libibverbs.so.1
/usr/bin/ibv_devices | grep -w "$RT_DEVICE" || exit
ITERS=20 "$SUITE/pingpong" /usr/bin/ibv_rc_pingpong -g 1

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The machine itself is sound: the distribution's own programs and library see rxe0 and move data.

unset LD_LIBRARY_PATH
ldd /usr/bin/ibv_devices | grep libibverbs.so.1
/usr/bin/ibv_devices | grep -w "$RT_DEVICE" || exit
"$SUITE/pingpong" /usr/bin/ibv_rc_pingpong -g 1

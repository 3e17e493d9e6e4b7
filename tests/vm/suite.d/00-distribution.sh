#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The machine itself is sound: the distribution's own programs and library see rxe0 and move data.

unset LD_LIBRARY_PATH
export PATH=/usr/bin:/bin
if [ ! -x /usr/bin/ibv_rc_pingpong ]; then
    echo "the distribution's ibverbs-utils are not installed"
    exit 77
fi
ibv_devices | grep -w rxe0 || exit
ibv_rc_pingpong -d rxe0 -g 1 -n 100 &
sleep 1
ibv_rc_pingpong -d rxe0 -g 1 -n 100 127.0.0.1 && wait $!

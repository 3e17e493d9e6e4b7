#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Messages through the kernel's driver mlx4_ib: each transport, with events, long messages, both
# libraries.

. "$SUITE/played.sh"
export ITERS=20
check()
{
    "$SUITE/pingpong" "$@" >result || { fail "$*:"; cat result; }
}

for kind in rc uc ud srq; do
    check ibv_${kind}_pingpong -c -e
    with theirs check /usr/bin/ibv_${kind}_pingpong -e
done
check ibv_rc_pingpong -c -s 200000
for library in ours theirs; do
    with $library "$SUITE/../../adapters/lab/pair" 18515 -- -- ibv_xsrq_pingpong -d "$RT_DEVICE" -e >result 2>&1 ||
        { fail "$library, ibv_xsrq_pingpong:"; cat result; }
done
[ ! -s /run/play_mlx4.log ] || { fail "the adapter says:"; cat /run/play_mlx4.log; }
exit $failed

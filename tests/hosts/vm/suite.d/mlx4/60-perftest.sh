#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Writes, reads and atomics of perftest through the kernel's driver mlx4_ib, with both libraries.

. "$SUITE/played.sh"
# perftest ours|theirs PROGRAM [OPTION...]
perftest()
{
    with "$1" "$SUITE/../../adapters/lab/pair" 18515 -- -- "${@:2}" -d "$RT_DEVICE" -n 20 -F >result 2>&1 || { fail "$*:"; cat result; }
}

for library in ours theirs; do
    perftest $library ib_write_bw -s 65536
    perftest $library ib_read_lat
    perftest $library ib_atomic_lat -A FETCH_AND_ADD
done
[ ! -s /run/play_mlx4.log ] || { fail "the adapter says:"; cat /run/play_mlx4.log; }
exit $failed

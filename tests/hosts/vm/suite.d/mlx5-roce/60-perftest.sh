#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# perftest on an Ethernet port, with and without events, with both libraries. perftest has no events for writes. Its
# latency programs post more requests than their queue has room for if an event is early.

. "$SUITE/played.sh"
perftest()
{
    with "$1" "$SUITE/../../adapters/lab/pair" 18515 -- -- "${@:2}" -d "$RT_DEVICE" -n 20 -F >result 2>&1 || { fail "$*:"; cat result; }
}

export UROCE=off
for library in ours theirs; do
    perftest $library ib_write_bw -x 3 -s 65536
    perftest $library ib_send_bw -x 3 -s 4096 -e
    perftest $library ib_read_bw -x 3 -e
    perftest $library ib_atomic_lat -x 3 -A CMP_AND_SWAP
done
[ ! -s /run/play_mlx5.log ] || { fail "the adapter says:"; cat /run/play_mlx5.log; }
exit $failed

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# UCX on the kernel's driver with both libraries: its transport that writes mlx5's rings itself, and its transport
# that uses verbs.

type -P ucx_perftest >/dev/null || { echo "ucx_perftest is not installed"; exit 77; }
. "$SUITE/played.sh"
export UROCE=off UCX_NET_DEVICES=$RT_DEVICE:1
for library in ours theirs; do
    for transport in rc_v rc_x ud_v ud_x; do
        UCX_TLS=$transport,self with $library "$SUITE/../../adapters/lab/pair" 13337 -- -- ucx_perftest -t tag_lat -n 50 -w 5 >result 2>&1 ||
            { fail "$library, $transport:"; cat result; }
    done
done
[ ! -s /run/play_mlx5.log ] || { fail "the adapter says:"; cat /run/play_mlx5.log; }
exit $failed

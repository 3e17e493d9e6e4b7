#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Run the distribution's unmodified programs on this tree's libraries.

failed=0
check()
{
    "$@" >program.out 2>&1 && return
    failed=1
    echo "FAILED: $*"
    cat program.out
}

check sh -c 'ldd /usr/bin/ibv_devices | grep "libibverbs.so.1 => $BUILD/lib/"'
check sh -c '/usr/bin/ibv_devices | grep -w "$RT_DEVICE"'
check sh -c '/usr/bin/ibv_devinfo -v | grep PORT_ACTIVE'
for kind in rc uc ud srq; do
    check "$SUITE/pingpong" "/usr/bin/ibv_${kind}_pingpong" -g 1
    check "$SUITE/pingpong" "/usr/bin/ibv_${kind}_pingpong" -g 1 -e
done

qperf &
server=$!
until ss -Hltn sport = 19765 | grep -q .; do
    sleep 0.1
done
for test in rc_lat rc_bw rc_bi_bw rc_rdma_read_lat rc_rdma_write_lat rc_fetch_add_mr; do
    check timeout 100 qperf -cm 1 -t 1 192.0.2.1 $test
    grep -q '=' program.out || { echo "FAILED: qperf $test measured nothing"; failed=1; }
done
kill $server
exit $failed

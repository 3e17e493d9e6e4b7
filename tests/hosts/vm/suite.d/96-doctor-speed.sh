#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The second ladder of rdma-doctor on a real kernel: --transfer and --watch on rxe, on a sound machine and
# with faults.

export UROCE=off
failed=0

fail()
{
    failed=1
    echo "FAILED: $*"
    cut -c 1-300 report
}

# A transfer through the device: each rung has a result.
rdma-doctor --transfer rxe0 --strict >report 2>&1 || fail "--transfer: exit code $?"
for line in "26 rc *ok *rxe0: a SEND, an RDMA write and an RDMA read of 65536 bytes arrived" "27 ud *ok *rxe0: 32 of 32 datagrams" \
    "28 latency *ok *rxe0: an RDMA write of 8 bytes" "29 rate *ok *rxe0: large RDMA writes move"; do
    grep -q "^$line" report || fail "--transfer: no line '$line'"
done

# watch CODE WORDS COMMAND...: run COMMAND, which changes the counters, while they are watched.
watch()
{
    local code=$1 words=$2 rc
    shift 2
    rdma-doctor --watch 600 --device rxe0 --strict >report 2>errors &
    until grep -q watching errors; do
        kill -0 $! || break
        sleep 0.1
    done
    "$@" >said 2>&1 || { fail "$*"; cat said; }
    kill -INT $!
    wait $!
    rc=$?
    if [ $rc != "$code" ] || ! grep -q "$words" report; then
        fail "--watch: exit code $rc, not $code, or not '$words': $*"
    fi
}
lesson()
{
    RT_CASE=$1 "$BUILD/tests/device/any/lessons_transfers"
}
cable_out()
{
    ip link set vm1 down && ip link set vm1 up
    until grep -q ACTIVE /sys/class/infiniband/rxe0/ports/1/state; do
        sleep 0.1
    done
}
watch 0 "^No fault found" lesson imm_order
watch 30 "vm0 carrier_changes  *2  the link went down" cable_out
watch 33 "^receivers (exit code 33): rxe0 port 1" lesson no_receive
watch 32 "^losses (exit code 32): rxe0 port 1" lesson qpn_wrong

exit $failed

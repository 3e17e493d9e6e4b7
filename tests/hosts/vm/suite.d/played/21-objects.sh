#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What the kernel shows of a device and its objects: the objects of a program with its name and number, their end, and
# the counters of the device. A rename while a program has the device open.

. "$SUITE/played.sh"
case $device in
efa) program="$BUILD/tests/adapters/lab/efa_pingpong srd 40 100" ;;
*) program="ibv_rc_pingpong -c -e" ;;
esac

# start NAME: start a server of the program, which makes all its objects and waits.
start()
{
    local options=
    [ $device = efa ] || options="-d $1"
    # shellcheck disable=SC2086 # words
    $program $options >server.out 2>&1 &
    server=$!
    until ss -Hltn 'sport = 18515' | grep -q .; do
        kill -0 $server 2>/dev/null || { fail "the program has ended:"; cat server.out; return 1; }
        sleep 0.05
    done
}

stop()
{
    kill $server
    wait $server
}

# objects NAME: print the objects of processes.
objects()
{
    local kind
    for kind in pd cq qp mr; do
        rdma resource show $kind dev "$1" 2>&1 | grep -w "pid $server" | sed "s/^/$kind: /"
    done
    rdma resource show qp link "$1/1" 2>&1 | grep -w "pid $server" | sed "s/^/qp: /"
}

counters()
{
    cat "/sys/class/infiniband/$RT_DEVICE/ports/1/hw_counters/$1"
}

start "$RT_DEVICE"
objects "$RT_DEVICE" >shown
for kind in pd cq qp mr; do
    grep -q "^$kind: .*pingpong" shown || { fail "no $kind of process $server:"; cat shown; }
done
stop
objects "$RT_DEVICE" >shown
[ ! -s shown ] || { fail "objects of a program that has ended:"; cat shown; }

statistic=$(rdma statistic show link "$RT_DEVICE/1") || fail "rdma statistic: $?"
[ "$(wc -w <<<"$statistic")" -gt 8 ] || fail "rdma statistic shows no counters: $statistic"
while IFS=: read -r file value; do
    case "${file##*/} $statistic " in
    lifespan* | *" ${file##*/} $value "*) ;;
    *) fail "rdma statistic does not show ${file##*/} $value" ;;
    esac
done < <(grep -H . "/sys/class/infiniband/$RT_DEVICE/ports/1/hw_counters"/*)
if [ $device = efa ]; then
    before=$(counters send_wrs)
    pingpong ours srd 8 1000
    [ "$(counters send_wrs)" -ge $((before + 8)) ] || fail "send_wrs was $before and is $(counters send_wrs)"
fi

start "$RT_DEVICE"
rdma dev set "$RT_DEVICE" name renamed0 || fail "rename: $?"
ibv_devinfo -d "$RT_DEVICE" >result 2>&1 && fail "the old name is still there"
ibv_devinfo -d renamed0 >result 2>&1 || { fail "the new name:"; cat result; }
rdma resource show qp link renamed0/1 | grep -q -w "pid $server" || fail "the program has lost its queue pair"
if [ $device = efa ]; then
    $program localhost >client.out 2>&1
else
    $program -d renamed0 localhost >client.out 2>&1
fi || { fail "a client with the new name:"; cat client.out; kill $server; }
wait $server || { fail "a server that had the device open before the rename:"; cat server.out; }
rdma dev set renamed0 name "$RT_DEVICE" || fail "rename back: $?"
wait_device
exit $failed

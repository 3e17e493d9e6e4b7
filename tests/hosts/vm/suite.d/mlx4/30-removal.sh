#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Remove the device: by sysfs with a rescan of the buses, and by unbinding the driver under a program with traffic,
# which loses its connection and ends.

. "$SUITE/played.sh"
check()
{
    ITERS=20 "$SUITE/pingpong" "$@" >result || { fail "$*:"; cat result; }
}

echo 1 >"/sys/bus/pci/devices/$(function_of)/remove"
wait_gone
ibv_devinfo -d "$RT_DEVICE" >result 2>&1 && { fail "ibv_devinfo finds the device after the removal:"; cat result; }
echo 1 >/sys/bus/pci/rescan
wait_device
check ibv_rc_pingpong -c

ibv_rc_pingpong -d "$RT_DEVICE" -n 100000000 >server.out 2>&1 &
server=$!
until ss -Hltn 'sport = 18515' | grep -q .; do
    sleep 0.05
done
ibv_rc_pingpong -d "$RT_DEVICE" -n 100000000 localhost >client.out 2>&1 &
client=$!
until rdma resource show qp link "$RT_DEVICE/1" 2>/dev/null | grep -q 'state RTS'; do
    sleep 0.05
done
sleep 0.2
function_of >"/sys/bus/pci/drivers/$driver/unbind" || fail "unbind: $?"
wait_gone
kill $server $client 2>/dev/null
wait $server $client
bind_all
wait_device
check ibv_rc_pingpong -c -e
exit $failed

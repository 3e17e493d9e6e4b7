#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Remove the device: by sysfs with a rescan of the buses, by a reset of the function, and by unbinding the driver
# under a program. The driver cannot take the device from a program: it waits until the program has closed it.

. "$SUITE/played.sh"
echo 1 >"/sys/bus/pci/devices/$(function_of)/remove"
wait_gone
ibv_devinfo -d efa_0 >result 2>&1 && { fail "ibv_devinfo finds the device after the removal:"; cat result; }
echo 1 >/sys/bus/pci/rescan
wait_device
pingpong ours srd 8 1000

function_of >/sys/bus/pci/drivers/efa/unbind
wait_gone
echo 1 >"/sys/bus/pci/devices/$(function_of)/reset" || fail "no reset of the function"
bind_all
wait_device
pingpong ours ud 8 1000

# A server that waits for its client has created all its objects.
"$BUILD/tests/adapters/lab/efa_pingpong" srd 40 100 >server.out 2>&1 &
server=$!
until ss -Hltn 'sport = 18515' | grep -q .; do
    sleep 0.05
done
function_of >/sys/bus/pci/drivers/efa/unbind &
unbind=$!
until dmesg | tail -n 1 | grep -q 'Unregister ib device'; do
    sleep 0.05
done
kill -0 $unbind || fail "the driver has left a program that has the device open"
kill $server
wait $server
wait $unbind || fail "unbind: $?"
wait_gone
bind_all
wait_device
pingpong ours srd 8 1000
exit $failed

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The module of the driver while a program has the device open. The kernel refuses to remove a driver that cannot take
# the device from programs. The other drivers leave, and the program gets the event of a fatal error.

. "$SUITE/played.sh"
ibv_asyncwatch -d "$RT_DEVICE" >events 2>&1 &
watch=$!
until grep -q 'async event FD' events; do
    sleep 0.05
done
case $device in
efa) module=efa ;;
*) module=mlx5_ib ;;
esac
# The file of a module that the distribution does not have.
path=$(sed -n "s/^driver='\(.*\)'$/\1/p" /.vm/settings)
rmmod $module >result 2>&1
code=$?
if [ $module = efa ]; then
    [ $code != 0 ] && grep -q 'in use' result || { fail "rmmod: $code"; cat result; }
    kill -0 $watch || fail "the program has ended"
    kill $watch
    wait $watch
    rmmod $module || fail "rmmod without programs: $?"
    wait_gone
    insmod "$path" || fail "insmod: $?"
else
    [ $code = 0 ] || { fail "rmmod: $code"; cat result; }
    wait_gone
    until grep -q 'event_type.*(8)' events; do
        kill -0 $watch 2>/dev/null || { fail "no event of a fatal error:"; cat events; break; }
        sleep 0.05
    done
    kill $watch 2>/dev/null
    wait $watch
    modprobe $module || fail "modprobe: $?"
fi
wait_device
if [ $module = efa ]; then
    pingpong ours srd 8 1000
else
    ITERS=20 "$SUITE/pingpong" ibv_rc_pingpong -c -e >result || { fail "with the new module:"; cat result; }
fi
exit $failed

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The adapter stops for a while and goes on. Then its firmware reports a fatal error: the driver takes the device from
# programs, resets the adapter and registers the device again.

. "$SUITE/played.sh"
check()
{
    ITERS=20 "$SUITE/pingpong" ibv_rc_pingpong -c -e >result || { fail "$1:"; cat result; }
}

# Wait for the kernel to report that it has read the counter of a stopped adapter.
kill -STOP "$plays"
ibv_devinfo -d "$RT_DEVICE" -v >result 2>&1 &
program=$!
until dmesg | grep -q "mlx5_core.*device's health compromised"; do
    sleep 0.2
done
kill -CONT "$plays"
wait $program || { fail "a program on an adapter that stopped for a while: $?"; cat result; }
check "after the stop"

ibv_asyncwatch -d "$RT_DEVICE" >events 2>&1 &
watch=$!
until grep -q 'async event FD' events; do
    sleep 0.05
done
fault fatal
until grep -q 'event_type.*(8)' events; do
    kill -0 $watch 2>/dev/null || { fail "no event of a fatal error:"; cat events; break; }
    sleep 0.05
done
kill $watch 2>/dev/null
wait $watch
until dmesg | grep -q 'mlx5_core.*health recovery succeeded'; do
    sleep 0.2
done
wait_device
check "after the recovery"
exit $failed

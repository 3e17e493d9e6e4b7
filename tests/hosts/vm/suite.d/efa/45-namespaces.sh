#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Network namespaces that do not share devices. The device stays in its namespace, because its driver cannot take it from
# programs.

. "$SUITE/played.sh"
inside()
{
    ip netns exec other "$@"
}

ibv_devinfo -d "$RT_DEVICE" >result 2>&1 || fail "no device"
rdma system set netns exclusive || fail "exclusive: $?"
rdma system show | grep -q 'netns exclusive' || fail "the mode is not exclusive"
ip netns add other
inside ibv_devinfo -d "$RT_DEVICE" >result 2>&1 && { fail "a device of another namespace:"; cat result; }
rdma dev set "$RT_DEVICE" netns other >result 2>&1 && fail "$RT_DEVICE moved"
grep -q 'Operation not supported' result || { fail "the refused move:"; cat result; }
inside ls /sys/class/infiniband | grep -q . && fail "the other namespace shows a device"
ip netns delete other
# The kernel frees a namespace later, and refuses the mode until then.
for ((n = 0; n < 1200; n++)); do
    ! rdma system set netns shared 2>result || break
    sleep 0.1
done
rdma system show | grep -q 'netns shared' || { fail "not shared again:"; cat result; }
ibv_devinfo -d "$RT_DEVICE" >result 2>&1 || { fail "at the end:"; cat result; }
exit $failed

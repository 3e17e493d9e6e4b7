#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Ethernet addresses of GIDs on a kernel that has VLAN interfaces, and the events that ibv_asyncwatch
# prints when a link goes down.

modprobe 8021q || exit
"$BUILD/tests/unit/test_neigh" 2>&1 | tee result
[ "${PIPESTATUS[0]}" = 0 ] || exit 1
grep -q 'OK.*test_vlan' result || { echo "the VLAN interfaces were not tried"; exit 1; }

ip link add dev link0 type veth peer name link1 && ip link set link1 up && ip link set link0 up &&
    rdma link add rxe_link type rxe netdev link0 || exit
ibv_asyncwatch -d rxe_link >events &
watch=$!
until grep -q 'async event FD' events; do
    kill -0 $watch || exit
    sleep 0.1
done
ip link set link0 down
for attempt in $(seq 600); do
    grep -q 'event_type port error (10), port 1' events && break
    sleep 0.1
done
kill $watch
rdma link delete rxe_link
ip link delete link0
grep 'event_type port error (10), port 1' events || { echo "no event:"; cat events; exit 1; }

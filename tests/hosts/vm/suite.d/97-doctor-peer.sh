#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# rdma-doctor --peer between two rxe devices: over a path without a fault, over paths with one fault each, and to a server
# that gets no processor time.
#
# Both devices are in the guest, because rxe sends only in the first network namespace. The ends of the veth pair vm0 and vm1
# carry them. Rules put the traffic between the two addresses on this cable, although both are local.

set -e
export UROCE=off INSIDE=env HERE=192.0.2.1 HERE6=2001:db8::1 HERE_DEV=vm0 THERE=192.0.2.2 THERE6=2001:db8::2 THERE_DEV=vm1
export HERE_DEVICE=rxe0 THERE_DEVICE=rxe1
modprobe -a nf_tables nft_numgen nft_limit

# cable ADDRESS DEVICE: packets to ADDRESS leave by DEVICE.
table=20
cable()
{
    local family=-4
    [[ $1 != *:* ]] || family=-6
    ip $family route add "$1" dev "$2" table $table
    ip $family rule add pref $table to "$1" lookup $table
    table=$((table + 1))
}

ip addr add $THERE/24 dev vm1
ip addr add $THERE6/64 dev vm1 nodad
for setting in accept_local=1 rp_filter=0 arp_ignore=1; do
    for device in all vm0 vm1; do
        echo ${setting#*=} >/proc/sys/net/ipv4/conf/$device/${setting%=*}
    done
done
for family in -4 -6; do
    ip $family rule add pref 10 iif vm0 lookup local
    ip $family rule add pref 11 iif vm1 lookup local
    ip $family rule add pref 100 lookup local
    ip $family rule del pref 0
done
cable $THERE vm0
cable $HERE vm1
# The second pair is that of the test.
for address in $THERE6 2001:db8::4500:2; do
    cable $address vm0
done
for address in $HERE6 2001:db8::4500:1; do
    cable $address vm1
done
rdma link add rxe1 type rxe netdev vm1
until grep -q ACTIVE /sys/class/infiniband/rxe1/ports/1/state; do
    sleep 0.1
done

# What depends on the rate of the devices is not in them: a switch that does not mark.
for case in well faults slow; do
    echo "--- $case"
    "$SUITE/../../programs/doctor/test_peer.py" $case "$(type -P rdma-doctor)" "1 % loss" "path MTU black hole" "wrong DSCP" \
        "a firewall"
done

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Run rdma-doctor --peer between two rxe devices: over a path without a fault, and over paths with one fault each. A server
# without processor time is not among the faults, because the kernel receives the data.
#
# rxe sends only in the first network namespace. Therefore both devices are in it, one at each end of the veth pair vm0 and vm1.
# Routing rules put the packets between the two addresses on this cable, although both addresses are local.

set -e
export UROCE=off INSIDE=env HERE=192.0.2.1 HERE6=2001:db8::1 HERE_DEV=vm0 THERE=192.0.2.2 THERE6=2001:db8::2 THERE_DEV=vm1
modprobe -a nf_tables nft_numgen nft_limit

# cable PREFERENCE ADDRESS DEVICE: send packets to ADDRESS by DEVICE. The rule and its table have the number PREFERENCE.
cable()
{
    local family=-4
    [[ $2 != *:* ]] || family=-6
    ip $family route add "$2" dev "$3" table "$1"
    ip $family rule add pref "$1" to "$2" lookup "$1"
}

# Restore the machine for later items. After each step packets still have a route.
cable_remove()
{
    local family preference
    nft flush ruleset
    rdma link delete rxe1
    for family in -4 -6; do
        ip $family rule add pref 0 lookup local
        for preference in 10 11 100 $(seq 20 25); do
            ip $family rule del pref "$preference" 2>/dev/null
        done
    done
    ip addr flush dev vm1 scope global
    ip addr del 2001:db8::4500:1/64 dev vm0
}
trap 'set +e; cable_remove' EXIT

ip addr add $THERE/24 dev vm1
ip addr add $THERE6/64 dev vm1 nodad
for setting in accept_local=1 rp_filter=0 arp_ignore=1; do
    for device in all vm0 vm1; do
        echo ${setting#*=} >/proc/sys/net/ipv4/conf/$device/${setting%=*}
    done
done
# The source of a packet is an address of the device by which it leaves.
for device in vm0 vm1; do
    echo 1 >/proc/sys/net/ipv6/conf/$device/use_oif_addrs_only
done
# The table "local" comes first for packets that arrive, and last for packets that leave.
for family in -4 -6; do
    ip $family rule add pref 10 iif vm0 lookup local
    ip $family rule add pref 11 iif vm1 lookup local
    ip $family rule add pref 100 lookup local
    ip $family rule del pref 0
done
cable 20 $THERE vm0
cable 21 $HERE vm1
cable 22 $THERE6 vm0
cable 23 $HERE6 vm1
# The test adds these two addresses.
cable 24 2001:db8::4500:2 vm0
cable 25 2001:db8::4500:1 vm1
rdma link add rxe1 type rxe netdev vm1
until grep -q ACTIVE /sys/class/infiniband/rxe1/ports/1/state; do
    sleep 0.1
done

# Whether a switch drops under load depends on the rate of the devices. Therefore this item leaves out the
# fault "a switch that does not mark".
doctor=$(type -P rdma-doctor)
for case in well faults; do
    echo "--- $case"
    "$SUITE/../../programs/doctor/test_peer.py" $case "$doctor" "1 % loss" "30 % loss" "path MTU black hole" \
        "path MTU black hole back" "wrong DSCP" "wrong DSCP back" "a firewall"
done

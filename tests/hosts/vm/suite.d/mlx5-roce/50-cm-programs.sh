#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Connections of librdmacm through the kernel's connection manager on a played adapter with an Ethernet port: this tree's
# programs among themselves, and with the distribution's.

. "$SUITE/played.sh"
address=198.51.100.1
theirs='env -u LD_LIBRARY_PATH stdbuf -oL /usr/bin/'
# Switch off uroce, so that all connections use the adapter.
export UROCE=off

pair()
{
    "$SUITE/../../programs/cm-pair" "$@" >result 2>&1 || { fail "$*:"; cat result; }
}

ip route add 239.0.0.0/8 dev hca0
pair rping -s -a $address -C 3 -V -v -- rping -c -a $address -C 3 -V -v
pair rping -s -a 2001:db8:1::1 -C 3 -V -S 4000 -- rping -c -a 2001:db8:1::1 -C 3 -V -S 4000
pair udaddy -b $address -- udaddy -s $address
pair -d 1 ucmatose -b $address -c 4 -C 20 -- ucmatose -s $address -b $address -c 4 -C 20
pair rstream -S 1000 -C 20 -b $address -- rstream -S 1000 -C 20 -s $address
pair -w joined mckey -m 239.1.2.3 -b $address -- mckey -m 239.1.2.3 -b $address -s
# shellcheck disable=SC2086
for program in "rping -a $address -C 3 -V"; do
    pair ${theirs}${program/rping/rping -s} -- ${program/rping/rping -c}
    pair ${program/rping/rping -s} -- ${theirs}${program/rping/rping -c}
    pair ${theirs}${program/rping/rping -s} -- ${theirs}${program/rping/rping -c}
done
# shellcheck disable=SC2086
pair ${theirs}udaddy -b $address -- ${theirs}udaddy -s $address
[ ! -s /run/play_mlx5.log ] || { fail "the adapter says:"; cat /run/play_mlx5.log; }
exit $failed

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The distribution's connection programs, unmodified, on this tree's librdmacm and the kernel's connection
# manager.

failed=0
addr=192.0.2.1
pair()
{
    "$SUITE/cm-pair" "$@" || failed=1
}

ldd /usr/bin/rping | grep -q "librdmacm.so.1 => $BUILD/lib/" || { echo "not this tree's library"; exit 1; }

pair "/usr/bin/rping -s -a $addr -C 5 -V" "/usr/bin/rping -c -a $addr -C 5 -V"
pair "/usr/bin/rping -s -a 2001:db8::1 -C 5 -V -S 4000" "/usr/bin/rping -c -a 2001:db8::1 -C 5 -V -S 4000"
pair "/usr/bin/rping -s -a 0.0.0.0 -C 2" "/usr/bin/rping -c -a $addr -I $addr -C 2"
printf '/usr/bin/rping -c -a %s -C 3 -V\n' $addr $addr $addr >three
pair -k "/usr/bin/rping -s -P -a $addr" "sh -e three"
pair "/usr/bin/ucmatose -b $addr -c 8" "/usr/bin/ucmatose -s $addr -b $addr -c 8"
pair "/usr/bin/ucmatose -c 2 -m" "/usr/bin/ucmatose -s $addr -c 2 -m"
pair "/usr/bin/udaddy -b $addr -c 2" "/usr/bin/udaddy -s $addr -b $addr -c 2"
pair -u "joined dgid" "/usr/bin/mckey -m 224.0.0.55 -b $addr" "$SUITE/../tools/slowly /usr/bin/mckey -m 224.0.0.55 -b $addr -s"
pair -k "/usr/bin/cmtime -b $addr -c 100" "/usr/bin/cmtime -s $addr -b $addr -c 100"
pair "/usr/bin/rdma_server" "/usr/bin/rdma_client -s $addr"
pair "/usr/bin/rdma_xserver -c r" "/usr/bin/rdma_xclient -s $addr -c r"
exit $failed

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Run the distribution's unmodified connection programs on this tree's librdmacm and the kernel's
# connection manager.

failed=0
addr=192.0.2.1
theirs=/usr/bin

# pair [OPTIONS-OF-CM-PAIR] SERVER -- CLIENT
pair()
{
    "$SUITE/../../programs/cm-pair" "$@" || failed=1
}

ldd $theirs/rping | grep -q "librdmacm.so.1 => $BUILD/lib/" || { echo "not this tree's library"; exit 1; }

pair $theirs/rping -s -a $addr -C 5 -V -- $theirs/rping -c -a $addr -C 5 -V
pair $theirs/rping -s -a 2001:db8::1 -C 5 -V -S 4000 -- $theirs/rping -c -a 2001:db8::1 -C 5 -V -S 4000
pair $theirs/rping -s -a 0.0.0.0 -C 2 -- $theirs/rping -c -a $addr -I $addr -C 2
cat >three <<END
source $SUITE/../../programs/ended-well
for client in 1 2 3; do
    output=\$($theirs/rping -c -a $addr -C 3 -V 2>&1)
    ended_well \$? "\$output" "$theirs/rping " || { echo "client \$client: \$output"; exit 1; }
done
END
pair -k $theirs/rping -s -P -a $addr -- bash three
pair -d 3 $theirs/ucmatose -b $addr -c 8 -- $theirs/ucmatose -s $addr -b $addr -c 8
pair -d 2 $theirs/ucmatose -c 2 -m -- $theirs/ucmatose -s $addr -c 2 -m
pair -d 2 $theirs/udaddy -b $addr -c 2 -- $theirs/udaddy -s $addr -b $addr -c 2
pair -w "joined dgid" stdbuf -oL $theirs/mckey -m 224.0.0.55 -b $addr -- \
    "$SUITE/../../programs/slowly" $theirs/mckey -m 224.0.0.55 -b $addr -s
# Do not run this on Linux 5.10, where its accept fails on a busy machine, with the distribution's
# library as well.
[[ $(uname -r) == 5.* ]] || pair -k -d 2 $theirs/cmtime -b $addr -c 100 -- $theirs/cmtime -s $addr -b $addr -c 100
pair $theirs/rdma_server -- $theirs/rdma_client -s $addr
pair $theirs/rdma_xserver -c r -- $theirs/rdma_xclient -s $addr -c r
exit $failed

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Connections on soft iWARP: this tree's programs of librdmacm at both ends, the distribution's programs and
# libraries at both ends, and one of each.

failed=0
addr=192.0.2.1
tools=$SUITE/../../programs
theirs='env -u LD_LIBRARY_PATH stdbuf -oL /usr/bin/'

# pair [OPTIONS-OF-CM-PAIR] SERVER -- CLIENT
pair()
{
    echo "$*"
    "$tools/cm-pair" "$@" || failed=1
}

pair rping -s -a $addr -C 5 -V -v -- rping -c -a $addr -C 5 -V -v
grep -q 'ping data: rdma-ping-4' client.out || { cat client.out; failed=1; }
pair rping -s -a 2001:db8::1 -C 5 -V -S 4000 -- rping -c -a 2001:db8::1 -C 5 -V -S 4000
pair rping -s -a 0.0.0.0 -C 2 -- rping -c -a $addr -I $addr -C 2
pair -d 1 ucmatose -b $addr -c 8 -C 20 -- ucmatose -s $addr -b $addr -c 8 -C 20
pair -k -d 1 cmtime -b $addr -c 100 -- cmtime -s $addr -b $addr -c 100
pair rdma_server -- rdma_client -s $addr
if [ -x /usr/bin/rping ]; then
    # shellcheck disable=SC2086
    pair rping -s -a $addr -C 5 -V -- ${theirs}rping -c -a $addr -C 5 -V
    # shellcheck disable=SC2086
    pair ${theirs}rping -s -a $addr -C 5 -V -- rping -c -a $addr -C 5 -V
fi
exit $failed

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A failed connection must print its reason, and a reject must reach the client with its reason.

failed=0
says()
{
    local text=$1
    shift
    VERBS_LOG_LEVEL=3 timeout 60 "$@" >program.out 2>&1
    [ $? != 124 ] || { echo "FAILED: $* hangs"; failed=1; }
    grep -q -- "$text" program.out && return
    failed=1
    echo "FAILED: '$text' is not in the output of $*:"
    cat program.out
}

says "nobody listens on that port" /usr/bin/rping -c -a 192.0.2.1 -p 9 -C 1
says "RDMA devices: rxe0 has .*192.0.2.1" /usr/bin/rping -c -a 127.0.0.1 -C 1
says "192.0.2.77:0 cannot be used: .*rxe0 has .*192.0.2.1" /usr/bin/rping -c -a 192.0.2.1 -I 192.0.2.77 -C 1
says "cannot be used" /usr/bin/rping -s -a 192.0.2.77 -C 1
exit $failed

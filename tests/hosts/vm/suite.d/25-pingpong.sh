#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Run this tree's ping-pong programs: each transport with every byte checked, with polling and with
# events, without a named GID.

failed=0
check()
{
    "$SUITE/pingpong" "$@" >result || { failed=1; cat result; }
}

export ITERS=20
for kind in rc uc ud srq; do
    check ibv_${kind}_pingpong -c
done
check ibv_rc_pingpong -c -e
check ibv_srq_pingpong -c -e
check ibv_rc_pingpong -c -N
check ibv_rc_pingpong -c -s 20000 -r 1
# The kernel's device takes an MTU above the link's, and so does the library.
check ibv_rc_pingpong -c -m 4096

# A failure prints the errno and the library's explanation, and the exit code is 1.
refuse()
{
    local words=$1
    shift
    "$@" >refused 2>&1
    [ $? = 1 ] && grep -q "$words" refused && return
    failed=1
    echo "FAILED: '$words' is not what was said by: $*"
    cat refused
}
refuse 'IB device nope not found' ibv_rc_pingpong -d nope
refuse 'port 9 does not exist' ibv_rc_pingpong -d "$RT_DEVICE" -i 9
refuse 'no GID there' ibv_rc_pingpong -d "$RT_DEVICE" -g 200
refuse "isn't completion timestamp capable" ibv_rc_pingpong -d "$RT_DEVICE" -t
refuse 'larger than port MTU' ibv_ud_pingpong -d "$RT_DEVICE" -s 9000
refuse 'Connection refused' ibv_rc_pingpong -d "$RT_DEVICE" -p 1 127.0.0.1
exit $failed

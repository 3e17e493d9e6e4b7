#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Run each ping-pong on a device of rdmavt with this tree's libraries, with the distribution's, and between both. Both
# libraries print the properties of the device.

failed=0
check()
{
    "$SUITE/pingpong" "$@" >result || { failed=1; cat result; }
}

export ITERS=50
for kind in rc uc ud srq; do
    check ibv_${kind}_pingpong -c
    check ibv_${kind}_pingpong -c -e
    LD_LIBRARY_PATH= check /usr/bin/ibv_${kind}_pingpong -e
done
check ibv_rc_pingpong -c -s 100000 -r 20
ibv_devinfo -v >ours && LD_LIBRARY_PATH= /usr/bin/ibv_devinfo -v >theirs || failed=1
diff ours theirs || failed=1
exit $failed

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Run this tree's ping-pong program on one side and the distribution's on the other, in both
# directions.

failed=0
check()
{
    "$SUITE/pingpong" "$@" -g 1 -c >result || { failed=1; cat result; }
}

if [ ! -x /usr/bin/ibv_rc_pingpong ]; then
    echo "the distribution's ibverbs-utils are not installed"
    exit 77
fi
export ITERS=20
for kind in rc uc ud srq; do
    CLIENT=/usr/bin/ibv_${kind}_pingpong check ibv_${kind}_pingpong
    CLIENT=ibv_${kind}_pingpong check /usr/bin/ibv_${kind}_pingpong
done
exit $failed

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# uroce on a network with queues: the kernel that runs the tests natively may lack fq_codel and netem. Emulated
# processors are slow, so the narrow link is. How fair it is and how much is sent again depends on how busy the host
# is: tests/bench/congestion measures that. Here no request fails, and marks are told and heard.

# Its hosts are another user's processes, and the tree may lie where only root may enter: here it always does.
if [ -z "${OPEN_BUILD-}" ]; then
    tree=$(readlink -f "$SUITE/../../..")
    exec "$tree/tests/lib/below-closed" "$tree" "$tree/tests/lib/in-the-open" "$BUILD" "$0"
fi
BUILD=$OPEN_BUILD LD_LIBRARY_PATH=$OPEN_BUILD/lib

modprobe -a bridge veth sch_tbf sch_fq_codel sch_netem || exit
congestion=$BUILD/tests/device/uroce/congestion
failed=0

check()
{
    echo "congestion $*"
    timeout 240 "$congestion" "$@" || failed=1
}

# Incast of 16 to a queue that marks, to one that is late as well, and to one that only drops.
check -d -n 16 -t 8 -r 4 -l 4096 -q "fq_codel ecn" -e
check -d -n 16 -t 6 -r 4 -l 4096 -q "netem delay 5ms"
check -d -n 16 -t 6 -r 4 -l 4096
# Pauses of 100 ms, with the buffer size that each user gets.
check -d -n 1 -t 4 -p 100
exit $failed

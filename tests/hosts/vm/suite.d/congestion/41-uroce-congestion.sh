#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Run uroce on a network with queues, because the kernel that runs the native tests may lack fq_codel and netem.
# Emulated processors are slow, and therefore the link is narrow. Fairness and the number of repeated packets depend
# on the load of the host: tests/bench/congestion measures them. Here no request may fail, and marks must be
# reported and obeyed.

# The processes of its hosts belong to another user, and the tree may be in a folder that only root may enter.
# Here it always is.
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

# Incast of 16 senders to a queue that marks, to one that is also late, and to one that only drops.
check -d -n 16 -t 8 -r 4 -l 4096 -q "fq_codel ecn" -e
check -d -n 16 -t 6 -r 4 -l 4096 -q "netem delay 5ms"
check -d -n 16 -t 6 -r 4 -l 4096
# Pauses of 100 ms, with the buffer size of an ordinary user.
check -d -n 1 -t 4 -p 100
exit $failed

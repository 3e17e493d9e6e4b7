#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A device is removed while it has connections, and comes back for the next program. rxe delays its
# removal until no process has it open. Therefore the removal runs beside the program.
failed=0
for round in 1 2; do
    timeout 60 "$BUILD/tests/hosts/vm/cm_removal" 'rdma link delete rxe0 &' || failed=1
    for _ in $(seq 600); do
        rdma link show | grep -q rxe0 || break
        sleep 0.1
    done
    rdma link add rxe0 type rxe netdev vm0 || failed=1
    rping -s -a 192.0.2.1 -C 1 >server 2>&1 &
    sleep 0.5
    timeout 100 rping -c -a 192.0.2.1 -C 1 || { echo "round $round: no connection afterwards"; failed=1; }
    wait
done
exit $failed

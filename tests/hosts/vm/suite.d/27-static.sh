#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Run static programs, which the test static/link makes, on the kernel's device. The plug-ins of this
# tree and of the distribution are installed, and the programs must use neither.

programs=$BUILD/tests/contract/static
[ -x "$programs/ibv_rc_pingpong" ] || { echo "no programs: ctest -R static/link makes them"; exit 1; }
failed=0
for program in ibv_rc_pingpong ibv_rc_pingpong_named; do
    ITERS=20 "$SUITE/pingpong" "$programs/$program" -c || failed=1
done
for choice in :1 _all:1 _rxe:1 _uroce:0 _none:0; do
    program=ibv_devices${choice%:*}
    found=$("$programs/$program" 2>said | grep -c "$RT_DEVICE")
    [ "$found" = "${choice#*:}" ] && continue
    failed=1
    echo "FAILED: $program finds $found devices named $RT_DEVICE"
    cat said
done
# A program without a provider must print the reason.
"$programs/ibv_devices_none" 2>&1 | grep -q 'RDMA_STATIC_PROVIDERS' || { failed=1; echo "FAILED: it says nothing"; }
exit $failed

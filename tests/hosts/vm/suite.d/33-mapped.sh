#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Memory that two processes map. Kernels before 6.11 and since 6.11 report such memory in different ways.

export LD_LIBRARY_PATH=$BUILD/lib UROCE=on:lo RT_DEVICE=uroce_lo
ip link set lo up
"$BUILD/tests/unit/test_uroce_mapping" || exit
for name in data_memfd data_sysv data_tmpfs atomics_dm deregistered_memfd cut_write; do
    echo "$name"
    RT_CASE=$name timeout 60 "$BUILD/tests/device/uroce/mapped" || exit
done

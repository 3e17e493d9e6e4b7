#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# valgrind must report no use of uninitialised memory for data that the kernel has filled in.

memcheck=$SUITE/../../lib/memcheck
"$memcheck" "$BUILD/tests/hosts/vm/kernel_writes" "$RT_DEVICE" || exit
RT_CASE="private data of full length each way" "$memcheck" "$BUILD/tests/device/any/cm_connect"

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The part of the benchmarks that measures beside the kernel's device runs, and prints what it should; what comes out
# is not looked at.
exec python3 "$SUITE/../../bench/test_bench.py" guest-inside "$BUILD"

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Run the part of the benchmarks that measures beside the kernel's device. It must print its lines. Their values are
# not checked.
exec python3 "$SUITE/../../bench/test_bench.py" guest-inside "$BUILD"

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The library refuses transitions of a queue pair exactly where this kernel does.

exec "$BUILD/tests/vm/qp_rules"

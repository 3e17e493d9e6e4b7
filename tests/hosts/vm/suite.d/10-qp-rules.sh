#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The library must not refuse a transition of a queue pair that this kernel accepts. Its rules must equal the
# kernel's.

exec "$BUILD/tests/hosts/vm/qp_rules"

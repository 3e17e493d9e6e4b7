#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The library refuses no transition of a queue pair that this kernel takes, and knows its rules.

exec "$BUILD/tests/hosts/vm/qp_rules"

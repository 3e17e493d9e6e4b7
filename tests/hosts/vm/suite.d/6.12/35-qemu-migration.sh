#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The distribution's QEMU migrates a machine inside this one.
exec "$SUITE/../../programs/qemu-migration" 192.0.2.1

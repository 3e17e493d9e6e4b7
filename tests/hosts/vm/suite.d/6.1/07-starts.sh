#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A verbs program starts and lists the devices with few instructions and system calls.

exec "$SUITE/../../bench/starts.py" "$BUILD" ibv_devices

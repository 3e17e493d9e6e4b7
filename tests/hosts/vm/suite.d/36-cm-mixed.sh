#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# rxe and uroce in one process, on one channel. rxe has the machine's RoCE port, so that uroce reaches its
# own process only, which it says, and which is no reason for the other to fail.
UROCE=on:lo exec "$BUILD/tests/hosts/vm/cm_mixed"

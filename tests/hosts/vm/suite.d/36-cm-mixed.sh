#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# rxe and uroce in one process, on one channel. rxe has the machine's RoCE port. Therefore uroce reaches
# only its own process, and reports this. The other device must not fail because of that.
UROCE=on:lo exec "$BUILD/tests/hosts/vm/cm_mixed"

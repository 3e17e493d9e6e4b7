#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Run the distribution's libfabric on this tree's libraries and the kernel's connection manager.
exec "$SUITE/../../programs/libfabric" rxe0 192.0.2.1

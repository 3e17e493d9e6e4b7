#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Run the distribution's uDAPL on this tree's libraries and the kernel's connection manager.
exec "$SUITE/../../programs/udapl" 192.0.2.1 vm0

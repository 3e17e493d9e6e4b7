#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The tests of the distribution's pyverbs on a device of rdmavt, with the distribution's libraries and with this tree's.
# Tests that pass with the first have to pass with the second.

export PYVERBS_GID=0
exec "$SUITE/../../programs/pyverbs" --beside "$BUILD/lib" "$RT_DEVICE" env

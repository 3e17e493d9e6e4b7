#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The commands that this tree's library and provider send, and variations of them. The answers of the driver are in a
# file for each driver. A line that begins with "6.1|" or "6.12|" is of that kernel.

. "$SUITE/played.sh"
kernel=$(uname -r | cut -d . -f 1-2)
# An efa has no RC. The driver efa of both kernels warns about its own allocation for a receive ring of 2 GB.
case $device in
efa) kind=ud without="24 4" ;;
*) kind=rc without='' ;;
esac
UAPI_WITHOUT=$without timeout 120 "$BUILD/tests/hosts/vm/uapi" "$RT_DEVICE" $kind >answers || fail "uapi: $?"
sed -e "s/^$kernel|//" -e '/^6\.[0-9]*|/d' -e '/^#/d' "$SUITE/suite.d/played/uapi.$device" >expected
diff expected answers || fail "the driver answers otherwise (<: expected)"
exit $failed

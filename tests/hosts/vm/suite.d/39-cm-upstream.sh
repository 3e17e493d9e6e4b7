#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The end-to-end programs expect the behaviour of the distribution's librdmacm. Therefore they must also pass
# with the distribution's library.
[ -e /usr/bin/rping ] || { echo "the distribution's librdmacm is not installed"; exit 77; }
theirs=$(env -u LD_LIBRARY_PATH ldd /usr/bin/rping | awk '/librdmacm/ { print $3 }')
failed=0
for program in cm_addrinfo cm_sync cm_dlclose; do
    LD_LIBRARY_PATH=${theirs%/*} timeout 60 "$BUILD/tests/device/any/$program" >output 2>&1 && continue
    failed=1
    echo "FAILED: $program with $theirs"
    cat output
done
exit $failed

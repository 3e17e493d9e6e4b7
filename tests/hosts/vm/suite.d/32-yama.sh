#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# With kernel.yama.ptrace_scope=1, processes of one user that share memory can still read each
# other's memory.

# Another user runs the programs, through a folder of his own.
if [ -z "${OPEN_BUILD-}" ]; then
    exec "$SUITE/../../lib/in-the-open" "$BUILD" "$0"
fi
scope=/proc/sys/kernel/yama/ptrace_scope
was=$(cat $scope) || exit
echo 1 >$scope
LD_LIBRARY_PATH=$OPEN_BUILD/lib setpriv --reuid 1000 --regid 1000 --clear-groups \
    "$OPEN_BUILD/tests/unit/test_uroce_shm_ptracer" kernel
rc=$?
echo "$was" >$scope
exit $rc

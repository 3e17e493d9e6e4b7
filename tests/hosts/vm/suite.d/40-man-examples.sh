#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Examples of the manual pages that are whole programs work on a real device and on the user-space device.

failed=0 count=0
for example in "$BUILD"/tests/contract/man/examples/*; do
    # A server and its client run elsewhere: 50-cm-programs.sh, native/uroce_strict.
    [[ $example == *-[0-9] ]] && continue
    # This one reads the files of rxe0.
    [[ $example == */ibv_read_sysfs_file && ! -e /sys/class/infiniband/rxe0 ]] && continue
    # Functions that only the user-space device has: run where there is one.
    [[ $example == */uroce_* ]] && continue
    count=$((count + 1))
    "$example" >output 2>&1
    rc=$?
    [ $rc = 0 ] && continue
    # XRC, which rxe does not support: run on the user-space device.
    [[ $example == */verbs && $rc = 77 ]] && continue
    echo "${example##*/}: exit code $rc"
    cat output
    failed=1
done
[ "$count" -ge 10 ] || { echo "only $count examples were built"; failed=1; }
exit $failed

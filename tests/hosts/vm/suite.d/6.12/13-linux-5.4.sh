#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A newer kernel stands for Linux 5.4, the oldest supported kernel, by refusing later methods. The results must be the
# same, and programs must run.

preload=$BUILD/tests/hosts/vm/linux_5_4.so
old()
{
    LD_PRELOAD=$preload "$@"
}

failed=0
# The library must use the older methods.
VERBS_LOG_LEVEL=4 old ibv_devinfo -v >devinfo.old 2>log || { cat log; failed=1; }
grep -q "the kernel has no GID table query" log || { echo "the older way was not taken:"; cat log; failed=1; }
ibv_devinfo -v >devinfo.new
diff devinfo.old devinfo.new || failed=1
"$BUILD/tests/hosts/vm/verdicts" "$RT_DEVICE" queries >queries.new
old "$BUILD/tests/hosts/vm/verdicts" "$RT_DEVICE" queries >queries.old
diff queries.old queries.new || failed=1
for program in rc_send ud srq cq_ex abi_functions mistakes_object cm_connect; do
    old timeout 120 "$BUILD/tests/device/any/$program" >output 2>&1 || { echo "$program: exit code $?"; cat output; failed=1; }
done
exit $failed

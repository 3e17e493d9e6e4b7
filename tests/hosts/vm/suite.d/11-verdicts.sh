#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# This tree's library must not refuse requests that the distribution's library and this kernel accept. uroce must not
# refuse requests that rxe accepts.

if ! dpkg-query -W ibverbs-providers >/dev/null 2>&1; then
    echo "the distribution's ibverbs-providers are not installed"
    exit 77
fi
failed=0
parts=(queries objects create_qp modify_qp)
case $(uname -r) in
5.*) ;; # its rxe never completes a request that the peer refuses, whatever the library
*) parts+=(posts) ;;
esac
for part in "${parts[@]}"; do
    UROCE=off LD_LIBRARY_PATH=$(dirname "$(ldconfig -p | awk '/libibverbs.so.1/ { print $NF; exit }')") \
        timeout 180 "$BUILD/tests/hosts/vm/verdicts" rxe0 $part >theirs || { echo "$part, theirs: exit code $?"; failed=1; }
    UROCE=off timeout 180 "$BUILD/tests/hosts/vm/verdicts" rxe0 $part >ours || { echo "$part, ours: exit code $?"; failed=1; }
    UROCE=on:vm0 timeout 180 "$BUILD/tests/hosts/vm/verdicts" uroce_vm0 $part >uroce || { echo "$part, uroce: exit code $?"; failed=1; }
    echo "$part, ours and theirs:"
    "$SUITE/compare-verdicts" same theirs ours "$SUITE/verdicts.differences" || failed=1
    echo "$part, uroce and rxe:"
    "$SUITE/compare-verdicts" accepts theirs uroce "$SUITE/verdicts.differences" || failed=1
done
exit $failed

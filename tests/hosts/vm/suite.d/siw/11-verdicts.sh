#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# On soft iWARP this tree's library must not refuse requests that the distribution's library and plug-in
# accept.

if ! dpkg-query -W ibverbs-providers >/dev/null 2>&1; then
    echo "the distribution's ibverbs-providers are not installed"
    exit 77
fi
failed=0
theirs=$(dirname "$(ldconfig -p | awk '/libibverbs.so.1/ { print $NF; exit }')")
# Without a connection there are neither transitions nor work requests.
for part in queries objects create_qp; do
    LD_LIBRARY_PATH=$theirs timeout 180 "$BUILD/tests/hosts/vm/verdicts" "$RT_DEVICE" $part >theirs ||
        { echo "$part, theirs: exit code $?"; failed=1; }
    timeout 180 "$BUILD/tests/hosts/vm/verdicts" "$RT_DEVICE" $part >ours || { echo "$part, ours: exit code $?"; failed=1; }
    echo "$part:"
    "$SUITE/compare-verdicts" same theirs ours "$SUITE/suite.d/siw/verdicts.differences" || failed=1
done
exit $failed

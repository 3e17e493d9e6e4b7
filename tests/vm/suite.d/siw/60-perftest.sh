#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The distribution's perftest on soft iWARP, connected by librdmacm.

type -P ib_send_bw >/dev/null || { echo "perftest is not installed"; exit 77; }
failed=0
for program in "send_bw -e" "send_bw -s 100000 -I 60" "write_bw" "read_bw" "read_lat"; do
    # shellcheck disable=SC2086
    set -- $program
    "$SUITE/../tools/cm-pair" "ib_$1" -R -F -n 50 "${@:2}" -- "ib_$1" -R -F -n 50 "${@:2}" 192.0.2.1 || failed=1
    grep -q '^ *[0-9]\+ \+50 ' client.out || { echo "ib_$* measured nothing"; cat client.out; failed=1; }
done
exit $failed

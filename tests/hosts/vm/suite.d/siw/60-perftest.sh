#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The distribution's perftest on soft iWARP, connected by librdmacm.

# Send an odd number of messages. On iWARP ib_send_bw sends no more messages than the server has posted receives. The
# server writes the number of new receives into the client's memory, and no event reports this write. With -e the
# client sleeps for ever if the write comes too late. With an even number of messages the last message waits for such
# a write, because there are as many receives as messages.
readonly COUNT=51
type -P ib_send_bw >/dev/null || { echo "perftest is not installed"; exit 77; }
failed=0
for program in "send_bw -e" "send_bw -s 100000 -I 60" "write_bw" "read_bw" "read_lat"; do
    # shellcheck disable=SC2086
    set -- $program
    "$SUITE/../../programs/cm-pair" -w 'Waiting for client' stdbuf -oL "ib_$1" -R -F -n "$COUNT" "${@:2}" -- "ib_$1" -R -F -n "$COUNT" "${@:2}" 192.0.2.1 || failed=1
    grep -q '^ *[0-9]\+ \+'"$COUNT"' ' client.out || { echo "ib_$* measured nothing"; cat client.out; failed=1; }
done
exit $failed

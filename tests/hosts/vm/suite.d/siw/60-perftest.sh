#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The distribution's perftest on soft iWARP, connected by librdmacm.

# An odd number of messages: on iWARP ib_send_bw sends no more than the server has posted receives for, until the server's word
# that it posted more is written to its memory, which no event tells of. With -e it sleeps then for ever, if the word came too late.
# The receives are as many as the messages, of which the last must wait so, but an even number.
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

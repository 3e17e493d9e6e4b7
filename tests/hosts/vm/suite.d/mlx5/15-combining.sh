#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Stores that a processor combines. The driver tests an adapter whose firmware announces them, and may find that they
# do not work. Programs then write requests to the page of doorbells, or only doorbells.

. "$SUITE/played.sh"

# copies: print how many requests were written to the page of doorbells since the last call.
copies()
{
    echo copies >/run/play_mlx5
    until grep -q -x 'fault: copies' /run/play_mlx5.log; do
        sleep 0.02
    done
    sed -n 's/^copies: //p' /run/play_mlx5.log
    : >/run/play_mlx5.log
}

# The test takes a tenth of a second, which a busy host may exceed. mlx5_ib then registers no device. Bind it once
# more.
rebind()
{
    local try n
    for try in 1 2 3 4 5 6 7 8; do
        function_of >"/sys/bus/pci/drivers/$driver/unbind" || fail "unbind, try $try: $?"
        wait_gone
        bind_all
        for ((n = 0; n < 100; n++)); do
            [ ! -e "/sys/class/infiniband/$RT_DEVICE/ports/1/state" ] || return 0
            sleep 0.1
        done
    done
    fail "there is no $RT_DEVICE"
}

export ITERS=20
for mode in combine-falsely combine-not combine; do
    fault $mode
    rebind
    copies >/dev/null
    for library in ours theirs; do
        with $library "$SUITE/pingpong" ibv_rc_pingpong >result 2>&1 || { fail "$mode, $library:"; cat result; }
        count=$(copies)
        case $mode:$count in
        combine:0) fail "$library: no request is in the page of doorbells" ;;
        combine:* | *:0) ;;
        *) fail "$mode, $library: $count requests in the page of doorbells" ;;
        esac
    done
done
fault combine-not
rebind
exit $failed

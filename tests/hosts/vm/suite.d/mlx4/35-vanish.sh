#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The adapter vanishes while programs exchange messages. A program that waits for events ends by itself. A program
# that polls continues until it is told to end, and it gets the event of a fatal error. A new adapter works
# afterwards.

. "$SUITE/played.sh"

# Run a server and a client of ibv_rc_pingpong, and wait for their connection.
start_traffic()
{
    with "$1" ibv_rc_pingpong -d "$RT_DEVICE" -n 100000000 "${@:3}" -p "$2" >"server.$2" 2>&1 &
    programs+=($!)
    until ss -Hltn "sport = $2" | grep -q .; do
        sleep 0.05
    done
    with "$1" ibv_rc_pingpong -d "$RT_DEVICE" -n 100000000 "${@:3}" -p "$2" localhost >"client.$2" 2>&1 &
    programs+=($!)
    until [ "$(rdma resource show qp link "$RT_DEVICE/1" 2>/dev/null | grep -c 'state RTS.*pingpong')" -ge ${#programs[@]} ]; do
        sleep 0.05
    done
}

# ended NAME PROCESS: wait for the end of a process for at most half a minute.
ended()
{
    local n
    for ((n = 0; n < 300; n++)); do
        kill -0 "$2" 2>/dev/null || return 0
        sleep 0.1
    done
    fail "$1 has not ended"
    kill -9 "$2"
}

for library in ours theirs; do
    programs=()
    start_traffic $library 18515 -e
    [ $library = theirs ] || start_traffic $library 18516
    with $library ibv_asyncwatch -d "$RT_DEVICE" >events 2>&1 &
    watch=$!
    until grep -q 'async event FD' events; do
        sleep 0.05
    done
    sleep 0.2
    kill -9 "$plays"
    wait_gone
    ended "$library: the server" "${programs[0]}"
    ended "$library: the client" "${programs[1]}"
    for process in "${programs[@]:2}"; do
        kill "$process" || fail "a program that polls has ended: $(cat server.18516 client.18516)"
        ended "a program that polls" "$process"
    done
    kill $watch 2>/dev/null
    ended "$library: ibv_asyncwatch" $watch
    grep -q 'event_type.*(8)' events || { fail "$library: no event of a fatal error:"; cat events; }
    ibv_devinfo -d "$RT_DEVICE" >result 2>&1 && { fail "ibv_devinfo finds the device that has gone:"; cat result; }
    plug_in
    ITERS=20 "$SUITE/pingpong" ibv_rc_pingpong -c -e >result || { fail "$library, with a new adapter:"; cat result; }
done
exit $failed

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Two adapters on the bus. One of them is unplugged without notice, and the other goes on.

. "$SUITE/played.sh"
"$BUILD/tests/hosts/vm/play_efa" /run/play_efa_1 >/run/play_efa_1.log 2>&1 &
second=$!
for ((n = 0; n < 600; n++)); do
    [ ! -e /sys/class/infiniband/efa_1/ports/1/state ] || break
    kill -0 $second || { fail "the second adapter:"; cat /run/play_efa_1.log; break; }
    sleep 0.1
done
ibv_devinfo -l >result 2>&1
[ "$(grep -c -w 'efa_[01]' result)" = 2 ] || { fail "not two devices:"; cat result; }
[ "$(cat /sys/class/infiniband/efa_0/ports/1/gids/0)" != "$(cat /sys/class/infiniband/efa_1/ports/1/gids/0)" ] ||
    fail "both have one GID"
pingpong ours srd 16 1000
kill -9 $second
pingpong ours srd 16 1000
while [ -e /sys/class/infiniband/efa_1 ]; do
    sleep 0.1
done
pingpong ours srd 16 1000
exit $failed

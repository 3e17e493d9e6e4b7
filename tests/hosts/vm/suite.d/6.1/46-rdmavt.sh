#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# hfi1verbs and ipathverbs on the kernel's rdmavt, with the module in MODULE in the place of the two drivers: ping-pongs
# with this tree's libraries and with the distribution's. vm/hfi1 and vm/qib have more, at night.

failed=0

# check ours|theirs KIND [OPTION...]
check()
{
    LD_LIBRARY_PATH=${libraries[$1]} "$SUITE/pingpong" "${folders[$1]}/ibv_$2_pingpong" -e "${@:3}" >result ||
        { failed=1; echo "$1 on $RT_DEVICE:"; cat result; }
}

load()
{
    insmod "$MODULE" as="$1" || exit
    export RT_DEVICE=$2
}

[ -n "$MODULE" ] || { echo "MODULE does not name the module (run-vm --module)"; exit 1; }
declare -A libraries=([ours]=$BUILD/lib [theirs]=) folders=([ours]=$BUILD/bin [theirs]=/usr/bin)
export ITERS=10
modprobe rdmavt || exit
load hfi1 hfi1_0
for kind in rc uc ud srq; do
    check ours $kind
done
check theirs rc
rmmod rdmavt_loop || failed=1
load qib qib0
check ours rc -s 20000
check theirs ud
# Restore the machine, because the later item of rdma-doctor names the loaded drivers.
rmmod rdmavt_loop rdmavt || failed=1
exit $failed

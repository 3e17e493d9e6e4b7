#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The adapter never answers a command. The driver waits for half a minute, and refuses all other commands until it is
# bound again. Programs get its errnos.

. "$SUITE/played.sh"

# refused TEXT
refused()
{
    VERBS_LOG_LEVEL=1 ibv_devinfo -d efa_0 >result 2>&1 && fail "ibv_devinfo succeeded"
    grep -q "^efa_0.*ibv_open_device.*$1" result || { fail "no line with efa_0, ibv_open_device and '$1':"; cat result; }
}

fault never 16 1
refused "Timer expired"
refused "No such device"
function_of >/sys/bus/pci/drivers/efa/unbind
wait_gone
bind_all
wait_device
pingpong ours srd 8 1000

# A device that stops for two seconds and goes on.
kill -STOP "$plays"
timeout 60 ibv_devinfo -d efa_0 >result 2>&1 &
program=$!
sleep 2
kill -CONT "$plays"
wait $program || { fail "ibv_devinfo on a device that stopped for a while: $?"; cat result; }
exit $failed

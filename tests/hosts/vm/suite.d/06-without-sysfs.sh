#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A mount namespace without sysfs, as sandboxes have it: netlink names the devices, and programs work as
# well as the distribution's.

[ -n "$WITHOUT_SYSFS" ] || exec env WITHOUT_SYSFS=1 unshare -m "$0" "$@"

mount -t tmpfs none /sys || exit
ibv_devices | grep -w "$RT_DEVICE" || exit
ibv_devinfo -d "$RT_DEVICE" | grep PORT_ACTIVE || exit
ITERS=20 "$SUITE/pingpong" ibv_rc_pingpong -g 1 || exit
"$SUITE/../../programs/cm-pair" rping -s -a 192.0.2.1 -C 5 -V -- rping -c -a 192.0.2.1 -C 5 -V

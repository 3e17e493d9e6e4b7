#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The kernel's drivers mlx4_core and mlx4_ib on an adapter that a process plays. Both libraries print the properties
# of the device, and the adapter must not have met an unknown command.

. "$SUITE/played.sh"
ibv_devinfo -v >ours 2>messages || fail "ibv_devinfo: $?"
[ ! -s messages ] || { fail "ibv_devinfo -v says:"; cat messages; }
with theirs ibv_devinfo -v >theirs 2>&1 || fail "the distribution's ibv_devinfo: $?"
diff ours theirs || failed=1
grep -q 'state:.*PORT_ACTIVE' ours || fail "no active port"
[ ! -s /run/play_mlx4.log ] || { fail "the adapter says:"; cat /run/play_mlx4.log; }
exit $failed

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Messages through the kernel's driver efa: each transport, inline data, more pages than a command contains, events,
# both libraries.

. "$SUITE/played.sh"
# perftest PROGRAM [OPTION...]
perftest()
{
    "$SUITE/../../adapters/lab/pair" 18515 -- -- "$@" -d efa_0 -x 0 -n 10 -F
}

pingpong ours srd 40 1000
pingpong ours srd 16 8000 events
pingpong ours ud 16 20 events
pingpong theirs srd 16 8000 events
with ours perftest ib_send_lat -c SRD >result 2>&1 || { fail "ib_send_lat -c SRD:"; cat result; }
# -Q 1, because each request of the adapter has a completion.
with theirs perftest ib_send_bw -c UD -Q 1 >result 2>&1 || { fail "the distribution's ib_send_bw -c UD:"; cat result; }
exit $failed

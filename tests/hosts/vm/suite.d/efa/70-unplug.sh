#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The process that plays the adapter ends, so the device is gone without notice, while no program has it open. The
# driver waits half a minute for the answer to its next command, and then gives the device up. Then a new device is
# plugged in.

. "$SUITE/played.sh"
kill -9 "$plays"
wait_gone
plug_in
pingpong ours srd 40 1000
exit $failed

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# libfabric's provider for efa on the kernel's driver: datagrams and reliable messages, with both libraries.

type -P fi_pingpong >/dev/null || { echo "fi_pingpong is not installed"; exit 77; }
. "$SUITE/played.sh"
# fabric ENDPOINT SIZE
fabric()
{
    "$SUITE/../../adapters/lab/pair" 47592 -- -- fi_pingpong -p efa -I 5 -e "$1" -S "$2"
}

for library in ours theirs; do
    for words in "dgram 1024" "rdm 64" "rdm 16384"; do
        # shellcheck disable=SC2086 # two words
        with $library fabric $words >result 2>&1 || { fail "$library, $words:"; cat result; }
    done
done
exit $failed

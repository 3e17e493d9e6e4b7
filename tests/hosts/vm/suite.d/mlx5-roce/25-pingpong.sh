#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Messages through the kernel's driver mlx5_ib on an Ethernet port: each kind of address, each transport, both libraries.

. "$SUITE/played.sh"
export ITERS=20
check()
{
    "$SUITE/pingpong" "$@" >result || { fail "$*:"; cat result; }
}

# index_of GID TYPE
index_of()
{
    local file port=/sys/class/infiniband/$RT_DEVICE/ports/1
    for file in "$port"/gids/*; do
        grep -q -x "$1" "$file" && grep -q -x "$2" "$port/gid_attrs/types/${file##*/}" 2>/dev/null && echo "${file##*/}" && return
    done
    fail "no GID $1 of type $2"
}

ipv4=$(index_of 0000:0000:0000:0000:0000:ffff:c633:6401 'RoCE v2')
ipv6=$(index_of 2001:0db8:0001:0000:0000:0000:0000:0001 'RoCE v2')
first=$(index_of 0000:0000:0000:0000:0000:ffff:c633:6401 'IB/RoCE v1')
for index in "$first" "$ipv4" "$ipv6"; do
    check ibv_rc_pingpong -g "$index" -c -e
done
for kind in rc uc ud srq; do
    check ibv_${kind}_pingpong -c
    with theirs check /usr/bin/ibv_${kind}_pingpong -g "$ipv4" -e
done
check ibv_ud_pingpong -g "$ipv6" -c -e
[ ! -s /run/play_mlx5.log ] || { fail "the adapter says:"; cat /run/play_mlx5.log; }
exit $failed

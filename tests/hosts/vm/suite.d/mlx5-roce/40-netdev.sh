#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The network interface of an adapter with an Ethernet port: frames to a host at the other end of its cable and back, with
# segments and checksums that the adapter makes.

. "$SUITE/played.sh"
ip netns add peer
ip link set wire0 netns peer
ip -n peer addr add 198.51.100.2/24 dev wire0
ip -n peer addr add 2001:db8:1::2/64 dev wire0 nodad
ip -n peer link set wire0 up
head -c 1000000 /dev/urandom >sent
# transfer ADDRESS: send a megabyte to the other end, which sends it back.
transfer()
{
    ip netns exec peer /usr/bin/python3 -c '
import socket, sys
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
with socket.create_server((sys.argv[1], 7777), family=family) as server:
    print("listens", flush=True)
    connection = server.accept()[0]
    data = b""
    while len(data) < 1000000:
        data += connection.recv(1 << 20)
    connection.sendall(data)' "$1" >echoes 2>&1 &
    until grep -q listens echoes; do
        kill -0 $! || break
        sleep 0.05
    done
    timeout 200 /usr/bin/python3 -c '
import socket, sys
connection = socket.create_connection((sys.argv[1], 7777))
connection.sendall(open("sent", "rb").read())
data = b""
while len(data) < 1000000:
    part = connection.recv(1 << 20)
    assert part, f"the end after {len(data)} bytes"
    data += part
open("received", "wb").write(data)' "$1" >result 2>&1 || { fail "$1:"; cat echoes result; }
    wait $!
    cmp sent received || fail "$1: other bytes came back"
}

transfer 198.51.100.2
transfer 2001:db8:1::2
ip -n peer link set wire0 netns 1
ip netns delete peer
[ ! -s /run/play_mlx5.log ] || { fail "the adapter says:"; cat /run/play_mlx5.log; }
exit $failed

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Connect an adapter under the kernel's driver and a host with uroce by one cable: operations in both directions with
# every byte checked, refused operations, and ping-pongs.

. "$SUITE/played.sh"
ip netns add peer
ip link set wire0 netns peer
ip -n peer link set lo up
ip -n peer addr add 198.51.100.2/24 dev wire0
ip -n peer addr add 2001:db8:1::2/64 dev wire0 nodad
ip -n peer link set wire0 up

export UROCE=off ITERS=20
there=(ip netns exec peer env UROCE=on:wire0 RT_DEVICE=uroce_wire0)

# both PORT PROGRAM [OPTION...]: run a server there and a client here.
both()
{
    local server code port=$1
    shift
    "${there[@]}" timeout 300 "${@//mlx5_0/uroce_wire0}" >server.out 2>&1 &
    server=$!
    until ip netns exec peer ss -Hltn "sport = $port" | grep -q . || ! kill -0 $server 2>/dev/null; do
        sleep 0.05
    done
    timeout 300 "$@" 198.51.100.2 >client.out 2>&1
    code=$?
    [ $code = 0 ] || kill $server 2>/dev/null
    wait $server && [ $code = 0 ] && return
    fail "$*: client $code"
    sed 's/^/server: /' server.out | tail -n 20
    sed 's/^/client: /' client.out | tail -n 20
}

# operations [OPTION...]
operations()
{
    local server code
    "${there[@]}" timeout 500 "$BUILD/tests/hosts/interop/interop" server 18000 -s 2 "$@" >server.out 2>&1 &
    server=$!
    until ip netns exec peer ss -Hltn "sport = 18000" | grep -q . || ! kill -0 $server 2>/dev/null; do
        sleep 0.05
    done
    timeout 500 "$BUILD/tests/hosts/interop/interop" client 18000 198.51.100.2 -s 2 "$@" >client.out 2>&1
    code=$?
    [ $code = 0 ] || kill $server 2>/dev/null
    wait $server && [ $code = 0 ] && return
    fail "operations $*: client $code"
    grep -v '^ok' server.out | sed 's/^/server: /'
    grep -v '^ok' client.out | sed 's/^/client: /'
}

for kind in rc ud; do
    both 18515 ibv_${kind}_pingpong -d mlx5_0 -n 20 -c
done
for cases in rc_send rc_write rc_atomics rc_wrong_key rc_out_of_range rc_too_long uc_ ud_; do
    operations -o $cases
done
operations -6 -o rc_read
# rping with two connection managers: the kernel's on this host, and the one of librdmacm on the
# host with uroce.
"$SUITE/../../programs/cm-pair" "${there[@]}" rping -s -a 198.51.100.2 -C 3 -V -v -- rping -c -a 198.51.100.2 -C 3 -V -v >result 2>&1 ||
    { fail "rping to uroce:"; cat result; }
"$SUITE/../../programs/cm-pair" rping -s -a 198.51.100.1 -C 3 -V -v -- "${there[@]}" rping -c -a 198.51.100.1 -C 3 -V -v >result 2>&1 ||
    { fail "rping from uroce:"; cat result; }
ip -n peer link set wire0 netns 1
ip netns delete peer
exit $failed

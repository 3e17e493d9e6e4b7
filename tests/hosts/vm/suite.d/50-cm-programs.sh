#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Run the programs of librdmacm among themselves and with the distribution's programs and library at
# either end, the example of rdma_cm(7), and many connections.

tools=$SUITE/../../programs
address=192.0.2.1
failed=0

check()
{
    echo "$*"
    "$@" || failed=1
}

# For the groups.
ip route add 239.0.0.0/8 dev vm0
# Run every variant once: natively (tools/cm-*), and here on the older kernel. On the other kernel
# the distribution's programs are at one end.
case $(uname -r) in
6.1.*) mixed= ;;
*) mixed=yes SHORT=1 && export SHORT ;;
esac
check "$tools/cm-programs" $address "$BUILD/bin/" "$BUILD/bin/" $address multicast
if [ $mixed ] && [ -x /usr/bin/rping ]; then
    theirs='env -u LD_LIBRARY_PATH stdbuf -oL /usr/bin/'
    check "$tools/cm-programs" $address "$BUILD/bin/" "$theirs" $address multicast
    check "$tools/cm-programs" $address "$theirs" "$BUILD/bin/" $address multicast
fi
check "$tools/cm-pair" "$BUILD/tests/contract/man/examples/rdma_cm-1" -- "$BUILD/tests/contract/man/examples/rdma_cm-2" $address
grep -q -x 'answer: hello' client.out || { cat client.out; failed=1; }
check "$tools/cm-pair" -k cmtime -- cmtime -s $address -c 1000

# refuse EXIT-CODE WORDS COMMAND...: a failure at run time must have the documented exit code.
refuse()
{
    local wanted=$1 words=$2 rc
    shift 2
    "$@" >refused 2>&1
    rc=$?
    [ $rc = "$wanted" ] && grep -q -- "$words" refused && return
    failed=1
    echo "FAILED: exit code $rc and not $wanted, or no '$words': $*"
    cat refused
}
refuse 255 'RDMA_CM_EVENT_REJECTED, error 8' rping -c -a $address -C 1
refuse 255 'rdma_resolve_addr: Network is unreachable' rping -c -a 198.51.100.7 -C 1
refuse 8 'cmatose: event: RDMA_CM_EVENT_REJECTED, error: 8' ucmatose -s $address
refuse 255 'cmatose: failure getting addr: Network is unreachable' ucmatose -s 198.51.100.7
refuse 255 'cmatose: bind address failed: Cannot assign requested address' ucmatose -b 198.51.100.7
refuse 1 'udaddy: event: RDMA_CM_EVENT_UNREACHABLE, error: 1' udaddy -s $address
refuse 255 'mckey: addr bind failure' mckey -m 239.1.1.1 -s -b 198.51.100.7
refuse 255 'larger than active mtu' mckey -m 239.1.1.1 -S 9000 -s -b $address
refuse 255 'mckey: unable to create QP' mckey -m 239.1.1.1 -s -l -b $address
refuse 255 'rdma_connect: Connection refused' rdma_client -s $address
refuse 255 'rdma_create_ep: Cannot assign requested address' rdma_server -s 198.51.100.7
refuse 8 'event: RDMA_CM_EVENT_REJECTED, error: 8' cmtime -s $address -c 2
# A server that offers less room than the client needs reports how much it has. If it ends before the
# kernel has seen the last message of the handshake, the client gets a rejection by the consumer
# (28).
rping -s -S 100 >server 2>&1 &
server=$!
refuse 255 'client DISCONNECT EVENT\|RDMA_CM_EVENT_REJECTED, error 28' sh -c "sleep 1; rping -c -a $address -C 1 -S 300"
wait $server && failed=1
grep -q -- 'a ping of 300 bytes came; the server takes -S 100' server || { cat server; failed=1; }
exit $failed

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Run sockets over RDMA with the distribution's library at either end, because both use the same bytes on the wire.

tools=$SUITE/../../programs
address=192.0.2.1
failed=0

if [ ! -x /usr/bin/rstream ]; then
    echo "the distribution's rstream is not installed"
    exit 77
fi
# Leave out datagrams, because rconnect() of the distribution's udpong fails on rxe with ENOENT, and its server
# answers nobody.
datagrams_too=${STREAMS-yes}
export SHORT=1 STREAMS=1
echo "their server, our client"
HERE_BIN=$BUILD/bin INSIDE='env -u LD_LIBRARY_PATH' "$tools/rsockets" $address || failed=1
echo "our server, their client"
THERE_BIN=$BUILD/bin INSIDE="env LD_LIBRARY_PATH=$LD_LIBRARY_PATH" env -u LD_LIBRARY_PATH "$tools/rsockets" $address ||
    failed=1
echo "ours at both ends; in every mode, where there are datagrams"
[ "$datagrams_too" != yes ] || unset SHORT STREAMS
THERE_BIN=$BUILD/bin HERE_BIN=$BUILD/bin "$tools/rsockets" $address || failed=1
exit $failed

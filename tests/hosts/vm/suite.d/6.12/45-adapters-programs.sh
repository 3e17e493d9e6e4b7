#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Run the distribution's programs that are built on the libraries of adapters (libmlx5, libefa), on this tree's
# libraries and on the kernel's rxe: perftest with TCP and with librdmacm, UCX, Open MPI. 38-libfabric.sh runs
# libfabric. ./dev programs rxe runs such programs with more options.

failed=0 left_out=
address=192.0.2.1
tools=$SUITE/../../programs

# check NAME COMMAND...
check()
{
    local name=$1 rc
    shift
    "$@" >program.out 2>&1
    rc=$?
    case $rc in
    0) echo "ok: $name" ;;
    77) left_out+="${left_out:+; }$name: $(tail -1 program.out)" ;;
    *)
        failed=1
        echo "FAILED: $name: exit code $rc"
        tail -n 20 program.out
        ;;
    esac
}

check "libraries" sh -c 'ldd /usr/bin/ib_send_bw | grep "libmlx5.so.1 => $BUILD/lib/"'
check "ib_send_bw" "$tools/perftest-set" "$RT_DEVICE" "$RT_DEVICE" $address '^ib_send_bw$'
check "ib_write_lat -R" "$tools/perftest-set" "$RT_DEVICE" "$RT_DEVICE" $address '^ib_write_lat -R$'
# This release of UCX does not check which GIDs of an Ethernet port can be routed.
export UCX_IB_GID_INDEX=2
for words in "tag_lat 8" "ucp_put_lat 64"; do
    check "ucx_perftest $words" "$tools/ucx" env $address rc_verbs,ud_verbs:aux $words
done
check "mpirun -n 4" "$tools/openmpi" env
[ $failed = 0 ] || exit 1
[ -z "$left_out" ] || { echo "$left_out"; exit 77; }

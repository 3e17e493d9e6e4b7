#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The adapter answers commands with an error or late. A program gets the driver's errno, the message names device and
# function, and no object is left.

. "$SUITE/played.sh"
program="ibv_rc_pingpong -d $RT_DEVICE -c -e"

# refused OPCODE STATUS FUNCTION TEXT [COMMAND...]: a client without a server makes all its objects.
refused()
{
    local command=${*:5}
    fault error "$1" "1" "$2"
    if VERBS_LOG_LEVEL=1 timeout 60 ${command:-$program localhost} >result 2>&1; then
        fail "opcode $1, status $2: the program took no notice"
    elif ! grep -q "^$RT_DEVICE.*$3.*$4" result; then
        fail "opcode $1: no line with $RT_DEVICE, $3 and '$4':"
        cat result
    fi
}

refused 0x0d 3 ibv_reg_mr "Invalid argument"
refused 0x16 1 ibv_create_cq "Input/output error"
refused 0x19 3 ibv_modify_qp "Invalid argument"
refused 0x19 8 ibv_modify_qp "Cannot allocate memory"
refused 0x35 8 ibv_create_srq "Cannot allocate memory" ibv_srq_pingpong -d "$RT_DEVICE" localhost
fault late 0 20 100
ITERS=20 "$SUITE/pingpong" ibv_rc_pingpong -c -e >result || { fail "late answers:"; cat result; }
for seed in 1 2; do
    fault random 15 $seed
    timeout 60 $program localhost >result 2>&1
    code=$?
    [ $code = 1 ] || { fail "seed $seed: exit code $code"; cat result; }
done
fault none
ITERS=20 "$SUITE/pingpong" ibv_rc_pingpong -c -e >result || { fail "without faults:"; cat result; }
rdma resource show >result
grep -q -w "$RT_DEVICE: pd 1 cq 1 qp 2 cm_id 0 mr 0 ctx 0 srq 0" result || { fail "objects are left:"; cat result; }
exit $failed

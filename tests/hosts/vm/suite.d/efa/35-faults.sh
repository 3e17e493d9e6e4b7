#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The adapter answers commands with an error or late. A program gets the driver's errno, the message names device and
# function, and no object is left.

. "$SUITE/played.sh"
program="$BUILD/tests/adapters/lab/efa_pingpong srd 40 100"

# refused OPCODE STATUS FUNCTION TEXT
refused()
{
    fault error "$1" 1 "$2"
    if VERBS_LOG_LEVEL=1 timeout 60 $program >result 2>&1; then
        fail "opcode $1, status $2: the program took no notice"
    elif ! grep -q "^efa_0.*$3.*$4" result; then
        fail "opcode $1: no line with efa_0, $3 and '$4':"
        cat result
    fi
}

refused 16 1 ibv_open_device "Cannot allocate memory"
refused 14 3 ibv_alloc_pd "Operation not supported"
refused 9 5 ibv_create_cq "Invalid argument"
refused 7 1 ibv_reg_mr "Cannot allocate memory"
refused 1 1 efadv_create_driver_qp "Cannot allocate memory"
refused 2 5 ibv_modify_qp "Invalid argument"
# The first answer to DESTROY_QP is an error; the kernel asks again when the program has ended.
fault error 4 1 5
"$SUITE/../../adapters/lab/pair" 18515 -- -- $program >result 2>&1 && fail "ibv_destroy_qp() took no notice"
fault late 0 20 100
pingpong ours srd 8 1000
# A client without a server makes all its objects, and ends by itself.
for seed in 1 2; do
    fault random 15 $seed
    timeout 60 $program localhost >result 2>&1
    code=$?
    [ $code = 1 ] || { fail "seed $seed: exit code $code"; cat result; }
done
fault none
pingpong ours srd 40 1000
rdma resource show >result
grep -q -w 'pd 0 cq 0 qp 0 cm_id 0 mr 0' result || { fail "objects are left:"; cat result; }
exit $failed

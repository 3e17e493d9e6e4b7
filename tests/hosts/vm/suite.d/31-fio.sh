#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# fio's rdma engine, which has its own code for connections, at both ends. Its other verbs also hang with the
# distribution's library.
type -P fio >/dev/null || { echo "fio is not installed"; exit 77; }

job()
{
    printf '%s\n' '[global]' 'ioengine=rdma' 'port=7600' 'bs=4k' 'size=256k' 'iodepth=4' "$@"
}

job '[recv]' 'rw=read' >server.fio
job 'hostname=192.0.2.1' 'verb=write' '[send]' 'rw=write' >client.fio
"$SUITE/../../programs/cm-pair" -d 3 fio server.fio -- fio client.fio

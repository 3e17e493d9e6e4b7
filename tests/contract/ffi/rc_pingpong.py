#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""usage: rc_pingpong.py [-d DEVICE] [-g INDEX] [-n COUNT] [-p PORT] [-s BYTES] [HOST]

What ibv_rc_pingpong does, and against it, without a line of C: verbs.py has the names of verbs.h. PYTHONPATH says where
it is: libibverbs-ffi(7). Each message is filled with a byte that its number gives; -c says that the other side
fills its messages so as well, and what came is compared.
"""
import argparse
import ctypes
import os
import secrets
import socket
import sys
from ctypes import c_int, c_uint8, c_uint32

from verbs import *  # noqa: F403

RECV, SEND = 1, 2
DEPTH = 100


def made(pointer, what):
    if not pointer:
        sys.exit(f'{what}: {os.strerror(ctypes.get_errno())}')
    return pointer


def done(error, what):
    if error:
        sys.exit(f'{what}: {os.strerror(error)}')


class PingPong:
    def __init__(self, options):
        self.options = options
        self.context = self.open_device(options.device)
        self.port = ibv_port_attr()
        done(ibv_query_port(self.context, 1, self.port), 'ibv_query_port')
        self.index, self.gid = self.choose_gid(options.gid)
        self.pd = made(ibv_alloc_pd(self.context), 'ibv_alloc_pd')
        self.memory = (c_uint8 * (2 * options.size))()
        self.mr = made(ibv_reg_mr(self.pd, ctypes.addressof(self.memory), len(self.memory),
                                  IBV_ACCESS_LOCAL_WRITE), 'ibv_reg_mr')
        self.cq = made(ibv_create_cq(self.context, DEPTH + 1, None, None, 0), 'ibv_create_cq')
        init = ibv_qp_init_attr(send_cq=self.cq, recv_cq=self.cq, qp_type=IBV_QPT_RC,
                                cap=ibv_qp_cap(1, DEPTH, 1, 1, 0))
        self.qp = made(ibv_create_qp(self.pd, init), 'ibv_create_qp')
        self.psn = secrets.randbits(24)
        self.modify(IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, qp_state=IBV_QPS_INIT, port_num=1)

    def open_device(self, name):
        devices = made(ibv_get_device_list(c_int()), 'ibv_get_device_list')
        i = 0
        while devices[i] and name and ibv_get_device_name(devices[i]).decode() != name:
            i += 1
        if not devices[i]:
            sys.exit(f'there is no device {name or ""}')
        context = made(ibv_open_device(devices[i]), 'ibv_open_device')
        ibv_free_device_list(devices)
        return context

    def choose_gid(self, index):
        ethernet = self.port.link_layer == IBV_LINK_LAYER_ETHERNET
        if index is None and ethernet:
            best = c_uint32()
            done(ibv_best_gid(self.context, 1, None, best), 'ibv_best_gid')
            index = best.value
        entry = ibv_gid_entry()
        done(ibv_query_gid_ex(self.context, 1, index or 0, entry, 0), 'ibv_query_gid_ex')
        return entry.gid_index, bytes(entry.gid.raw) if ethernet or index is not None else bytes(16)

    def modify(self, mask, **values):
        done(ibv_modify_qp(self.qp, ibv_qp_attr(**values), mask | IBV_QP_STATE), 'ibv_modify_qp')

    def address(self):
        return f'{self.port.lid:04x}:{self.qp.contents.qp_num:06x}:{self.psn:06x}:{self.gid.hex()}\0'.encode()

    def connect(self, text):
        lid, qpn, psn, gid = text.rstrip(b'\0').decode().split(':')
        ah = ibv_ah_attr(dlid=int(lid, 16), port_num=1)
        if int(gid, 16):
            ah.is_global, ah.grh.hop_limit, ah.grh.sgid_index = 1, 1, self.index
            ah.grh.dgid.raw[:] = bytes.fromhex(gid)
        self.modify(IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
                    IBV_QP_MIN_RNR_TIMER, qp_state=IBV_QPS_RTR, path_mtu=min(IBV_MTU_1024, self.port.active_mtu),
                    dest_qp_num=int(qpn, 16), rq_psn=int(psn, 16), max_dest_rd_atomic=1, min_rnr_timer=12,
                    ah_attr=ah)
        self.modify(IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
                    qp_state=IBV_QPS_RTS, timeout=14, retry_cnt=7, rnr_retry=7, sq_psn=self.psn, max_rd_atomic=1)

    def sge(self, at):
        address = ctypes.addressof(self.memory) + at
        return ctypes.pointer(ibv_sge(address, self.options.size, self.mr.contents.lkey))

    def post_recv(self):
        wr = ibv_recv_wr(wr_id=RECV, sg_list=self.sge(0), num_sge=1)
        done(ibv_post_recv(self.qp, wr, ctypes.pointer(ctypes.pointer(wr))), 'ibv_post_recv')

    def post_send(self, number):
        size = self.options.size
        ctypes.memset(ctypes.addressof(self.memory) + size, number & 0xff, size)
        wr = ibv_send_wr(wr_id=SEND, sg_list=self.sge(size), num_sge=1, opcode=IBV_WR_SEND,
                         send_flags=IBV_SEND_SIGNALED)
        done(ibv_post_send(self.qp, wr, ctypes.pointer(ctypes.pointer(wr))), 'ibv_post_send')

    def wait(self):
        """The wr_id of the next completion, and how many bytes came."""
        wc = ibv_wc()
        while not (count := ibv_poll_cq(self.cq, 1, wc)):
            pass
        if count < 0 or wc.status != IBV_WC_SUCCESS:
            sys.exit(f'failed completion: {ibv_wc_status_str(wc.status).decode()}')
        return wc.wr_id, wc.byte_len

    def check(self, number, length):
        if length != self.options.size:
            sys.exit(f'message {number} has {length} bytes')
        if self.options.check and set(self.memory[:length]) != {number & 0xff}:
            sys.exit(f'message {number} has other bytes than were sent')

    def play(self):
        received = sent = 0
        sending = bool(self.options.host)
        if sending:
            self.post_send(0)
        while received < self.options.count or sent < self.options.count:
            kind, length = self.wait()
            if kind == SEND:
                sent, sending = sent + 1, False
            else:
                self.check(received, length)
                received += 1
                self.post_recv()
            if not sending and received + bool(self.options.host) > sent and sent < self.options.count:
                self.post_send(sent)
                sending = True
        return received

    def close(self):
        done(ibv_destroy_qp(self.qp), 'ibv_destroy_qp')
        done(ibv_destroy_cq(self.cq), 'ibv_destroy_cq')
        done(ibv_dereg_mr(self.mr), 'ibv_dereg_mr')
        done(ibv_dealloc_pd(self.pd), 'ibv_dealloc_pd')
        done(ibv_close_device(self.context), 'ibv_close_device')


def receive(tcp, size):
    data = b''
    while len(data) < size:
        part = tcp.recv(size - len(data))
        if not part:
            sys.exit('the other side gave up')
        data += part
    return data


def exchange(pingpong, options):
    """The client sends its address first; the server answers when it is ready to receive."""
    mine = pingpong.address()
    if options.host:
        tcp = socket.create_connection((options.host, options.port))
        tcp.sendall(mine)
        pingpong.connect(receive(tcp, len(mine)))
        tcp.sendall(b'done\0')
        return tcp
    with socket.create_server(('', options.port)) as listener:
        print('listening', flush=True)
        tcp = listener.accept()[0]
    pingpong.connect(receive(tcp, len(mine)))
    tcp.sendall(mine)
    receive(tcp, len(b'done\0'))
    return tcp


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('host', nargs='?')
    parser.add_argument('-c', dest='check', action='store_true')
    parser.add_argument('-d', dest='device')
    parser.add_argument('-g', dest='gid', type=int)
    parser.add_argument('-n', dest='count', type=int, default=1000)
    parser.add_argument('-p', dest='port', type=int, default=18515)
    parser.add_argument('-s', dest='size', type=int, default=4096)
    options = parser.parse_args()
    pingpong = PingPong(options)
    for _ in range(DEPTH):
        pingpong.post_recv()
    tcp = exchange(pingpong, options)
    received = pingpong.play()
    # The other side may still wait for an acknowledgement.
    tcp.shutdown(socket.SHUT_WR)
    tcp.recv(1)
    pingpong.close()
    print(f'{received} messages of {options.size} bytes came back' if options.host else f'{received} messages came')


if __name__ == '__main__':
    main()

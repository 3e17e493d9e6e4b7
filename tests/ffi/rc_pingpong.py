#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""usage: rc_pingpong.py [-d DEVICE] [-g INDEX] [-n COUNT] [-p PORT] [-s BYTES] [HOST]

What ibv_rc_pingpong does, and against it, by ctypes alone: libibverbs-ffi has the inline functions of verbs.h, and
opens libibverbs with it. Each message is filled with a byte that its number gives; -c says that the other side
fills its messages so as well, and what came is compared.
"""
import argparse
import ctypes
import os
import secrets
import socket
import sys
from ctypes import (POINTER, Structure, Union, c_char, c_char_p, c_int, c_size_t, c_uint, c_uint8, c_uint16,
                    c_uint32, c_uint64, c_void_p)

IBV_QPT_RC = 2
IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS = 1, 2, 3
IBV_QP_STATE, IBV_QP_ACCESS_FLAGS, IBV_QP_PKEY_INDEX, IBV_QP_PORT = 1 << 0, 1 << 3, 1 << 4, 1 << 5
IBV_QP_AV, IBV_QP_PATH_MTU, IBV_QP_TIMEOUT = 1 << 7, 1 << 8, 1 << 9
IBV_QP_RETRY_CNT, IBV_QP_RNR_RETRY, IBV_QP_RQ_PSN = 1 << 10, 1 << 11, 1 << 12
IBV_QP_MAX_QP_RD_ATOMIC, IBV_QP_MIN_RNR_TIMER, IBV_QP_SQ_PSN = 1 << 13, 1 << 15, 1 << 16
IBV_QP_MAX_DEST_RD_ATOMIC, IBV_QP_DEST_QPN = 1 << 17, 1 << 20
IBV_ACCESS_LOCAL_WRITE = 1
IBV_WR_SEND, IBV_SEND_SIGNALED = 2, 1 << 1
IBV_WC_SUCCESS, IBV_WC_RECV = 0, 1 << 7
IBV_MTU_1024 = 3
IBV_LINK_LAYER_ETHERNET = 2
RECV, SEND = 1, 2
DEPTH = 100


def struct(name, *fields):
    return type(name, (Structure,), {'_fields_': [(field, type_) for type_, field in fields]})


class ibv_gid(Union):
    _fields_ = [('raw', c_uint8 * 16), ('word', c_uint64 * 2)]


ibv_gid_entry = struct('ibv_gid_entry', (ibv_gid, 'gid'), (c_uint32, 'gid_index'), (c_uint32, 'port_num'),
                       (c_uint32, 'gid_type'), (c_uint32, 'ndev_ifindex'))
ibv_port_attr = struct(
    'ibv_port_attr', (c_int, 'state'), (c_int, 'max_mtu'), (c_int, 'active_mtu'), (c_int, 'gid_tbl_len'),
    (c_uint32, 'port_cap_flags'), (c_uint32, 'max_msg_sz'), (c_uint32, 'bad_pkey_cntr'),
    (c_uint32, 'qkey_viol_cntr'), (c_uint16, 'pkey_tbl_len'), (c_uint16, 'lid'), (c_uint16, 'sm_lid'),
    (c_uint8, 'lmc'), (c_uint8, 'max_vl_num'), (c_uint8, 'sm_sl'), (c_uint8, 'subnet_timeout'),
    (c_uint8, 'init_type_reply'), (c_uint8, 'active_width'), (c_uint8, 'active_speed'), (c_uint8, 'phys_state'),
    (c_uint8, 'link_layer'), (c_uint8, 'flags'), (c_uint16, 'port_cap_flags2'), (c_uint32, 'active_speed_ex'))
ibv_mr = struct('ibv_mr', (c_void_p, 'context'), (c_void_p, 'pd'), (c_void_p, 'addr'), (c_size_t, 'length'),
                (c_uint32, 'handle'), (c_uint32, 'lkey'), (c_uint32, 'rkey'))
ibv_qp = struct('ibv_qp', (c_void_p, 'context'), (c_void_p, 'qp_context'), (c_void_p, 'pd'), (c_void_p, 'send_cq'),
                (c_void_p, 'recv_cq'), (c_void_p, 'srq'), (c_uint32, 'handle'), (c_uint32, 'qp_num'))
ibv_qp_cap = struct('ibv_qp_cap', (c_uint32, 'max_send_wr'), (c_uint32, 'max_recv_wr'), (c_uint32, 'max_send_sge'),
                    (c_uint32, 'max_recv_sge'), (c_uint32, 'max_inline_data'))
ibv_qp_init_attr = struct('ibv_qp_init_attr', (c_void_p, 'qp_context'), (c_void_p, 'send_cq'),
                          (c_void_p, 'recv_cq'), (c_void_p, 'srq'), (ibv_qp_cap, 'cap'), (c_int, 'qp_type'),
                          (c_int, 'sq_sig_all'))
ibv_global_route = struct('ibv_global_route', (ibv_gid, 'dgid'), (c_uint32, 'flow_label'), (c_uint8, 'sgid_index'),
                          (c_uint8, 'hop_limit'), (c_uint8, 'traffic_class'))
ibv_ah_attr = struct('ibv_ah_attr', (ibv_global_route, 'grh'), (c_uint16, 'dlid'), (c_uint8, 'sl'),
                     (c_uint8, 'src_path_bits'), (c_uint8, 'static_rate'), (c_uint8, 'is_global'),
                     (c_uint8, 'port_num'))
ibv_qp_attr = struct(
    'ibv_qp_attr', (c_int, 'qp_state'), (c_int, 'cur_qp_state'), (c_int, 'path_mtu'), (c_int, 'path_mig_state'),
    (c_uint32, 'qkey'), (c_uint32, 'rq_psn'), (c_uint32, 'sq_psn'), (c_uint32, 'dest_qp_num'),
    (c_uint, 'qp_access_flags'), (ibv_qp_cap, 'cap'), (ibv_ah_attr, 'ah_attr'), (ibv_ah_attr, 'alt_ah_attr'),
    (c_uint16, 'pkey_index'), (c_uint16, 'alt_pkey_index'), (c_uint8, 'en_sqd_async_notify'),
    (c_uint8, 'sq_draining'), (c_uint8, 'max_rd_atomic'), (c_uint8, 'max_dest_rd_atomic'),
    (c_uint8, 'min_rnr_timer'), (c_uint8, 'port_num'), (c_uint8, 'timeout'), (c_uint8, 'retry_cnt'),
    (c_uint8, 'rnr_retry'), (c_uint8, 'alt_port_num'), (c_uint8, 'alt_timeout'), (c_uint32, 'rate_limit'))
ibv_sge = struct('ibv_sge', (c_uint64, 'addr'), (c_uint32, 'length'), (c_uint32, 'lkey'))
ibv_recv_wr = struct('ibv_recv_wr', (c_uint64, 'wr_id'), (c_void_p, 'next'), (POINTER(ibv_sge), 'sg_list'),
                     (c_int, 'num_sge'))
# The rest of it is unions that a send does not look at; the test of this file knows how long it is.
ibv_send_wr = struct('ibv_send_wr', (c_uint64, 'wr_id'), (c_void_p, 'next'), (POINTER(ibv_sge), 'sg_list'),
                     (c_int, 'num_sge'), (c_int, 'opcode'), (c_uint, 'send_flags'), (c_uint32, 'imm_data'),
                     (c_uint64 * 11, 'rest'))
ibv_wc = struct('ibv_wc', (c_uint64, 'wr_id'), (c_int, 'status'), (c_int, 'opcode'), (c_uint32, 'vendor_err'),
                (c_uint32, 'byte_len'), (c_uint32, 'imm_data'), (c_uint32, 'qp_num'), (c_uint32, 'src_qp'),
                (c_uint, 'wc_flags'), (c_uint16, 'pkey_index'), (c_uint16, 'slid'), (c_uint8, 'sl'),
                (c_uint8, 'dlid_path_bits'))

PROTOTYPES = {
    'ibv_get_device_list': (POINTER(c_void_p), POINTER(c_int)),
    'ibv_free_device_list': (None, POINTER(c_void_p)),
    'ibv_get_device_name': (c_char_p, c_void_p),
    'ibv_open_device': (c_void_p, c_void_p),
    'ibv_close_device': (c_int, c_void_p),
    'ibv_alloc_pd': (c_void_p, c_void_p),
    'ibv_dealloc_pd': (c_int, c_void_p),
    'ibv_dereg_mr': (c_int, POINTER(ibv_mr)),
    'ibv_create_cq': (c_void_p, c_void_p, c_int, c_void_p, c_void_p, c_int),
    'ibv_destroy_cq': (c_int, c_void_p),
    'ibv_create_qp': (POINTER(ibv_qp), c_void_p, POINTER(ibv_qp_init_attr)),
    'ibv_modify_qp': (c_int, POINTER(ibv_qp), POINTER(ibv_qp_attr), c_int),
    'ibv_destroy_qp': (c_int, POINTER(ibv_qp)),
    'ibv_wc_status_str': (c_char_p, c_int),
    'ibv_best_gid': (c_int, c_void_p, c_uint32, POINTER(ibv_gid), POINTER(c_uint32)),
    # In C these are inline functions and macros.
    'ibv_query_port': (c_int, c_void_p, c_uint8, POINTER(ibv_port_attr)),
    'ibv_query_gid_ex': (c_int, c_void_p, c_uint32, c_uint32, POINTER(ibv_gid_entry), c_uint32),
    'ibv_reg_mr': (POINTER(ibv_mr), c_void_p, c_void_p, c_size_t, c_int),
    'ibv_post_send': (c_int, POINTER(ibv_qp), POINTER(ibv_send_wr), POINTER(POINTER(ibv_send_wr))),
    'ibv_post_recv': (c_int, POINTER(ibv_qp), POINTER(ibv_recv_wr), POINTER(POINTER(ibv_recv_wr))),
    'ibv_poll_cq': (c_int, c_void_p, c_int, POINTER(ibv_wc)),
}


def load(name='libibverbs-ffi.so.1'):
    library = ctypes.CDLL(name, use_errno=True)
    for function, (result, *arguments) in PROTOTYPES.items():
        getattr(library, function).restype = result
        getattr(library, function).argtypes = arguments
    return library


def made(pointer, what):
    if not pointer:
        sys.exit(f'{what}: {os.strerror(ctypes.get_errno())}')
    return pointer


def done(error, what):
    if error:
        sys.exit(f'{what}: {os.strerror(error)}')


class PingPong:
    def __init__(self, lib, options):
        self.lib, self.options = lib, options
        self.context = self.open_device(options.device)
        self.port = ibv_port_attr()
        done(lib.ibv_query_port(self.context, 1, self.port), 'ibv_query_port')
        self.index, self.gid = self.choose_gid(options.gid)
        self.pd = made(lib.ibv_alloc_pd(self.context), 'ibv_alloc_pd')
        self.memory = (c_uint8 * (2 * options.size))()
        self.mr = made(lib.ibv_reg_mr(self.pd, ctypes.addressof(self.memory), len(self.memory),
                                      IBV_ACCESS_LOCAL_WRITE), 'ibv_reg_mr')
        self.cq = made(lib.ibv_create_cq(self.context, DEPTH + 1, None, None, 0), 'ibv_create_cq')
        init = ibv_qp_init_attr(send_cq=self.cq, recv_cq=self.cq, qp_type=IBV_QPT_RC,
                                cap=ibv_qp_cap(1, DEPTH, 1, 1, 0))
        self.qp = made(lib.ibv_create_qp(self.pd, init), 'ibv_create_qp')
        self.psn = secrets.randbits(24)
        self.modify(IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, qp_state=IBV_QPS_INIT, port_num=1)

    def open_device(self, name):
        devices = made(self.lib.ibv_get_device_list(c_int()), 'ibv_get_device_list')
        i = 0
        while devices[i] and name and self.lib.ibv_get_device_name(devices[i]).decode() != name:
            i += 1
        if not devices[i]:
            sys.exit(f'there is no device {name or ""}')
        context = made(self.lib.ibv_open_device(devices[i]), 'ibv_open_device')
        self.lib.ibv_free_device_list(devices)
        return context

    def choose_gid(self, index):
        ethernet = self.port.link_layer == IBV_LINK_LAYER_ETHERNET
        if index is None and ethernet:
            best = c_uint32()
            done(self.lib.ibv_best_gid(self.context, 1, None, best), 'ibv_best_gid')
            index = best.value
        entry = ibv_gid_entry()
        done(self.lib.ibv_query_gid_ex(self.context, 1, index or 0, entry, 0), 'ibv_query_gid_ex')
        return entry.gid_index, bytes(entry.gid.raw) if ethernet or index is not None else bytes(16)

    def modify(self, mask, **values):
        done(self.lib.ibv_modify_qp(self.qp, ibv_qp_attr(**values), mask | IBV_QP_STATE), 'ibv_modify_qp')

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
        done(self.lib.ibv_post_recv(self.qp, wr, POINTER(ibv_recv_wr)()), 'ibv_post_recv')

    def post_send(self, number):
        size = self.options.size
        ctypes.memset(ctypes.addressof(self.memory) + size, number & 0xff, size)
        wr = ibv_send_wr(wr_id=SEND, sg_list=self.sge(size), num_sge=1, opcode=IBV_WR_SEND,
                         send_flags=IBV_SEND_SIGNALED)
        done(self.lib.ibv_post_send(self.qp, wr, POINTER(ibv_send_wr)()), 'ibv_post_send')

    def wait(self):
        """The wr_id of the next completion, and how many bytes came."""
        wc = ibv_wc()
        while not (count := self.lib.ibv_poll_cq(self.cq, 1, wc)):
            pass
        if count < 0 or wc.status != IBV_WC_SUCCESS:
            sys.exit(f'failed completion: {self.lib.ibv_wc_status_str(wc.status).decode()}')
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
        lib = self.lib
        done(lib.ibv_destroy_qp(self.qp), 'ibv_destroy_qp')
        done(lib.ibv_destroy_cq(self.cq), 'ibv_destroy_cq')
        done(lib.ibv_dereg_mr(self.mr), 'ibv_dereg_mr')
        done(lib.ibv_dealloc_pd(self.pd), 'ibv_dealloc_pd')
        done(lib.ibv_close_device(self.context), 'ibv_close_device')


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
    pingpong = PingPong(load(), options)
    for _ in range(DEPTH):
        pingpong.post_recv()
    tcp = exchange(pingpong, options)
    received = pingpong.play()
    # The other side may still want an acknowledgement.
    tcp.shutdown(socket.SHUT_WR)
    tcp.recv(1)
    pingpong.close()
    print(f'{received} messages of {options.size} bytes came back' if options.host else f'{received} messages came')


if __name__ == '__main__':
    main()

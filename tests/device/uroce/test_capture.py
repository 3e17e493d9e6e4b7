#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""UROCE_CAPTURE: what programs of tests/device/any send is read back, by a reader of this file and by tshark.

usage: test_capture.py BUILD-FOLDER
"""

import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib
from pathlib import Path

BUILD = Path(sys.argv.pop()).resolve()
FLOW_PORTS = range(0x8000, 0xC000)
PROGRAMS = ["rc_send", "rdma_write", "rdma_read", "atomics", "uc", "ud", "invalidate", "srq", "wr_api", "xrc"]
# tshark tries every protocol it knows on the payload. These two fail on data of few or no bytes.
GUESSES = ["--disable-protocol", "rpcordma", "--disable-protocol", "infiniband.eoib"]


class Packet:
    def __init__(self, data, length, outgoing, comment):
        self.data, self.length, self.outgoing, self.comment = data, length, outgoing, comment
        self.ipv4 = data[0] >> 4 == 4
        header = 20 if self.ipv4 else 40
        self.ip, self.udp, self.bth = data[:header], data[header : header + 8], data[header + 8 : -4]
        self.icrc = data[-4:]
        self.port = struct.unpack("!H", self.udp[:2])[0]
        self.opcode = self.bth[0]

    def icrc_right(self):
        """IBTA annex A17, once more: with zlib, from the bytes."""
        ip, udp, bth = bytearray(self.ip), bytearray(self.udp), bytearray(self.bth)
        if self.ipv4:
            ip[1] = ip[8] = ip[10] = ip[11] = 0xFF
        else:
            ip[0] |= 0x0F
            ip[1] = ip[2] = ip[3] = ip[7] = 0xFF
        udp[6] = udp[7] = bth[4] = 0xFF
        crc = zlib.crc32(b"\xff" * 8 + ip + udp + bth)
        # A flush that is sent again has the ICRC that rxe expects: it covers the headers and the
        # payload twice.
        allowed = [crc, zlib.crc32(self.bth, crc)] if self.opcode == 0x1C else [crc]
        return struct.unpack("<I", self.icrc)[0] in allowed

    def checksums_right(self):
        addresses = self.ip[12:] if self.ipv4 else self.ip[8:]
        rest = self.udp + self.bth + self.icrc
        pseudo = addresses + struct.pack("!HH", 17, len(rest))
        return (not self.ipv4 or total(self.ip) == 0xFFFF) and total(pseudo + rest) == 0xFFFF

    def lengths_right(self):
        size = struct.unpack("!H", self.ip[2:4] if self.ipv4 else self.ip[4:6])[0]
        return size + (0 if self.ipv4 else 40) == self.length == len(self.data)


def total(data):
    data += b"\0" * (len(data) % 2)
    value = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while value >> 16:
        value = (value & 0xFFFF) + (value >> 16)
    return value


def read(path):
    """All packets of a pcapng file; whatever is not in order raises."""
    data, at, packets, interfaces = path.read_bytes(), 0, [], 0
    while at < len(data):
        kind, size = struct.unpack_from("=II", data, at)
        body = data[at + 8 : at + size - 4]
        if size % 4 or struct.unpack_from("=I", data, at + size - 4)[0] != size:
            raise ValueError(f"block at {at}: length")
        if kind == 0x0A0D0D0A and struct.unpack_from("=IHH", body) != (0x1A2B3C4D, 1, 0):
            raise ValueError("section header")
        if kind == 1:
            interfaces += 1
            if struct.unpack_from("=H", body)[0] != 101:
                raise ValueError("link type")
        if kind == 6:
            interface, _, _, kept, length = struct.unpack_from("=5I", body)
            if interface >= interfaces:
                raise ValueError("interface")
            options = dict(read_options(body[20 + kept + -kept % 4 :]))
            direction = struct.unpack("=I", options[2])[0]
            packets.append(Packet(body[20 : 20 + kept], length, direction == 2, options.get(1)))
        at += size
    return packets


def read_options(data):
    at = 0
    while struct.unpack_from("=H", data, at)[0]:
        code, size = struct.unpack_from("=HH", data, at)
        yield code, data[at + 4 : at + 4 + size]
        at += 4 + size + -size % 4


def run(program, **environment):
    result = subprocess.run(
        [BUILD / "tests/device/any" / program], capture_output=True, text=True,
        env={**os.environ, "UROCE": "on:lo", "RT_DEVICE": "uroce_lo", "VERBS_LOG_LEVEL": "2", **environment})
    if result.returncode:
        raise AssertionError(f"{program}: {result.stdout}{result.stderr}")
    return result.stderr


class Capture(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def captured(self, *programs, options="", **environment):
        for program in programs:
            run(program, UROCE_CAPTURE=f"{self.folder}/%p{options}", **environment)
        return [packet for file in sorted(self.folder.iterdir()) for packet in read(file)]

    def check_packets(self, packets):
        for number, packet in enumerate(packets):
            for check in packet.lengths_right, packet.checksums_right, packet.icrc_right:
                self.assertTrue(check(), f"packet {number}: {check.__name__}: {packet.data[:60].hex()}")

    def check_operations(self, packets):
        seen = {packet.opcode for packet in packets}
        # RC: sends, writes, reads and their responses, atomics, acknowledgements. Then UC, UD and
        # XRC.
        for opcode in [0x00, 0x01, 0x02, 0x04, 0x05, 0x06, 0x0A, 0x0C, 0x10, 0x11, 0x12, 0x13, 0x14, 0x17, 0x24, 0x64,
                       0xA4, 0xAC, 0xB1, 0xB2, 0xB4]:
            self.assertIn(opcode, seen)
        self.assertTrue(any(packet.outgoing for packet in packets))
        self.assertTrue(any(not packet.outgoing for packet in packets))

    def check_flows(self, packets):
        """RC packets, and no others, sent and received, come from ports of their own."""
        for outgoing in True, False:
            flow = [packet for packet in packets if packet.port in FLOW_PORTS and packet.outgoing == outgoing]
            self.assertTrue(flow)
            self.assertFalse([packet for packet in flow if packet.opcode >> 5])

    def test_shared_memory(self):
        packets = self.captured(*PROGRAMS)
        self.check_packets(packets)
        self.check_operations(packets)
        self.assertTrue(any(b"reference" in (packet.comment or b"") for packet in packets))
        self.assertTrue(any(b"initiator alone" in (packet.comment or b"") for packet in packets))

    def test_network(self):
        packets = self.captured(*PROGRAMS, UROCE_PATH="udp")
        self.check_packets(packets)
        self.check_operations(packets)
        self.assertFalse(any(packet.comment for packet in packets))
        self.check_flows(packets)

    def test_damaged_packets_are_seen(self):
        packets = self.captured("rc_send", UROCE_FAULTS="seed=1;corrupt=5%")
        wrong = [packet for packet in packets if not packet.icrc_right()]
        self.assertTrue(wrong)
        self.assertTrue(any(not packet.outgoing for packet in wrong))

    def test_the_checks_can_fail(self):
        self.captured("rdma_read")
        file = max(self.folder.iterdir(), key=lambda path: path.stat().st_size)
        data = bytearray(file.read_bytes())
        data[-40] ^= 1  # the last packet's payload or ICRC
        file.write_bytes(data)
        last = read(file)[-1]
        self.assertFalse(last.icrc_right() and last.checksums_right())
        file.write_bytes(data[:-3])
        self.assertRaises((ValueError, struct.error), read, file)

    def test_limits(self):
        self.captured("rc_send", options=",size=20K")
        sizes = [path.stat().st_size for path in self.folder.iterdir()]
        self.assertLessEqual(max(sizes), 20 << 10)
        self.assertGreater(max(sizes), 15 << 10)

    def test_snaplen(self):
        packets = self.captured("rc_send", options=",snaplen=64")
        self.assertEqual(max(len(packet.data) for packet in packets), 64)
        self.assertGreater(max(packet.length for packet in packets), 4000)

    def test_one_file_two_processes(self):
        said = run("processes", UROCE_CAPTURE=f"{self.folder}/one")
        self.assertIn("another process writes to it; %p in the name", said)

    def test_no_symbolic_link(self):
        (self.folder / "target").write_text("precious")
        (self.folder / "link").symlink_to("target")
        said = run("uc", UROCE_CAPTURE=f"{self.folder}/link")
        self.assertIn("cannot be written", said)
        self.assertEqual((self.folder / "target").read_text(), "precious")

    def test_no_pipe(self):
        os.mkfifo(self.folder / "pipe")
        for path in self.folder / "pipe", "/dev/null":
            self.assertIn("it is not a regular file", run("uc", UROCE_CAPTURE=str(path)))

    def test_refused(self):
        for text in ["f,size=5", "f,size=", "f,snaplen=10", "f,what=1", "%x"]:
            with self.assertRaises(AssertionError) as caught:
                run("uc", UROCE_CAPTURE=text)
            self.assertIn("uroce: Error: UROCE_CAPTURE: ", str(caught.exception))

    @unittest.skipUnless(shutil.which("tshark"), "tshark is not installed")
    def test_tshark(self):
        def largest(files):
            return sorted(files, key=lambda path: -path.stat().st_size)[:6]

        self.captured(*PROGRAMS)
        by_memory = set(self.folder.iterdir())
        self.captured(*PROGRAMS, UROCE_PATH="udp")
        by_network = set(self.folder.iterdir()) - by_memory
        bad = all_packets = by_flow = xrc = 0
        # tshark takes a moment to start, so only the largest files of both are read.
        for file in largest(by_memory) + largest(by_network):
            rows = subprocess.run(
                ["tshark", "-r", file, "-o", "udp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", *GUESSES,
                 "-T", "fields", "-e", "_ws.malformed", "-e", "udp.checksum.status", "-e", "infiniband.bth.opcode",
                 "-e", "infiniband.invariant.crc", "-e", "udp.srcport"],
                capture_output=True, text=True, check=True).stdout.splitlines()
            fields = [row.split("\t") for row in rows]
            self.assertEqual(len(rows), len(read(file)))
            all_packets += len(rows)
            by_flow += sum(int(row[4]) in FLOW_PORTS for row in fields)
            # tshark knows the opcodes of XRC, but does not decode the rest.
            xrc += sum(int(row[2]) >> 5 == 5 for row in fields if row[2])
            bad += sum(row[0] != "" or row[1] != "1" or row[2] == "" or (row[3] == "" and int(row[2]) >> 5 != 5)
                       for row in fields)
        self.assertGreater(all_packets, 1000)
        self.assertGreater(by_flow, 100)
        self.assertGreater(xrc, 100)
        self.assertEqual(bad, 0)


if __name__ == "__main__":
    unittest.main()

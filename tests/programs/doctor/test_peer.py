#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Run rdma-doctor --peer between two hosts, over a path without a fault and over paths with one fault each.

usage: two-hosts test_peer.py CASE PROGRAM [FAULT]...

FAULT: for the case "faults", run only the faults with these names. Most faults are rules of nftables on the other host. In one
fault the server gets no processor time.
"""

import json
import os
import random
import re
import shlex
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))
import schema  # noqa: E402

INSIDE = shlex.split(os.environ.get("INSIDE", ""))
HERE, THERE, HERE6 = (os.environ.get(name, "") for name in ("HERE", "THERE", "HERE6"))
PORT = 18516
WIRE = 156  # bytes of a message

# Name, rule at the other host ("in": for packets that arrive there), rung of the first finding, words of cause and fix.
FAULTS = [
    ("1 % loss", "in udp dport 4791 numgen random mod 100 < 1 drop", "loss", "datagrams to the peer were lost", "switch port"),
    ("30 % loss", "in udp dport 4791 numgen random mod 100 < 30 drop", "loss", "datagrams to the peer were lost", "switch port"),
    ("path MTU black hole", "in udp dport 4791 meta length > 700 drop", "path_mtu",
     "packets of 1024 bytes to the peer vanish", "MTU of each switch"),
    ("path MTU black hole back", "out udp dport 4791 meta length > 700 drop", "path_mtu", "1024 bytes from the peer vanish", "MTU"),
    ("wrong DSCP", "in udp dport 4791 ip dscp set cs1", "dscp", "DSCP 0 to the peer arrives as 8", "trust DSCP"),
    ("wrong DSCP back", "out udp dport 4791 ip dscp af31 ip dscp set cs0", "dscp", "DSCP 26 from the peer arrives as 0", "trust DSCP"),
    ("a switch that does not mark", "in udp dport 4791 limit rate over 2 mbytes/second burst 1500 kbytes drop", "ecn",
     "dropped under load, and none was marked", "ECN"),
    ("a firewall", "in udp dport 4791 drop", "path", "none arrives, although TCP does", "permit UDP"),
]  # fmt: skip


class Server:
    """rdma-doctor --serve on the other host."""

    def __init__(self, program, *options, environment=(), files=1024):
        limited = ["sh", "-c", f'ulimit -n {files}; exec "$@"', "sh"]
        command = [*INSIDE, *limited, "env", *environment, program, "--serve", *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == f"serving rdma-doctor --peer on TCP port {PORT}\n"

    def __enter__(self):
        return self

    def __exit__(self, *ended):
        self.process.kill()
        self.process.wait()

    def line(self):
        return self.process.stdout.readline()


def rules_set(rule):
    """Replace the rules of the other host. Return whether the kernel has what the rule needs."""
    text = "flush ruleset\ntable inet t {\n"
    # Both ends may be in one network namespace, therefore the address shows the direction.
    for hook, end in (("in", "daddr"), ("out", "saddr")):
        text += f"chain {hook} {{ type filter hook {hook}put priority 0;\n"
        if rule.startswith(hook + " "):
            text += f"ip {end} {THERE} {rule.partition(' ')[2]}\n"
        text += "}\n"
    result = subprocess.run([*INSIDE, "nft", "-f", "-"], input=text + "}\n", text=True, check=False, stderr=subprocess.PIPE)
    if result.returncode:
        print(f"not played here: {rule}: {result.stderr.splitlines()[0]}")
    return not result.returncode


def ask(program, *options, host=THERE):
    result = subprocess.run([program, "--peer", host, "--json", *options], capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode != 2 and not result.stderr, result
    found = schema.parse(result.stdout.encode(), "rdma-doctor")
    assert found["exit_code"] == result.returncode, found
    return found


def ask_patiently(program, **more):
    """Repeat the run if a process was late, for example because the machine is emulated on a busy host."""
    for _ in range(5):
        found = ask(program, **more)
        if found.get("first_failure") != "peer" or not re.search("did not answer in|stopped in a flow|more than a minute", found["cause"]):
            break
    return found


def state_of(found, rung):
    (one,) = [one for one in found["rungs"] if one["rung"] == rung]
    return one["state"], one.get("cause", one.get("found"))


def first_failure(found):
    """Return the first failed rung. On a busy machine it may be the rung that finds late processes."""
    failed = [one for one in found["rungs"] if one["state"] == "failed" and "did not run for" not in one["cause"]]
    return failed[0] if failed else {"rung": None, "cause": "", "fix": ""}


def assert_well(found):
    """A path without a fault. On a busy machine "slow" and "ecn" may report late processes."""
    assert found.get("first_failure") in (None, "slow", "ecn"), found
    assert all(state_of(found, rung)[0] in ("ok", "note") for rung in ("peer", "pair", "path", "path_mtu", "dscp", "loss")), found


def case_well(program):
    with Server(program) as server:
        for host in (THERE, os.environ["THERE6"]):
            found = ask_patiently(program, host=host)
            assert_well(found)
            assert found["peer"]["complete"] and found["peer"]["path"]["arrived_there"] == 16, found["peer"]
            assert "0 routers" in state_of(found, "dscp")[1], found
            address = "::ffff:" + HERE if host == THERE else HERE6
            assert state_of(found, "pair")[1].startswith(address + " (RoCE v2, MTU 1024)"), found
            # For an interface without DCB the report has the unseen rung, the host and the reason.
            state, words = state_of(found, "pfc")
            for where, device in (("this host", os.environ["HERE_DEV"]), (host, os.environ["THERE_DEV"])):
                assert state == "unseen" and f"on {where}: {device}: its driver or the kernel has no DCB" in words, found
            assert server.line().endswith(": served\n")
        # In the place of a GRH these addresses look like an IPv4 header.
        subprocess.run(["ip", "address", "replace", "2001:db8::4500:1/64", "dev", os.environ["HERE_DEV"], "nodad"], check=True)
        subprocess.run([*INSIDE, "ip", "address", "replace", "2001:db8::4500:2/64", "dev", os.environ["THERE_DEV"], "nodad"], check=True)
        found = ask_patiently(program, host="2001:db8::4500:2")
        assert state_of(found, "pair")[1].startswith("2001:db8::4500:1"), found
        assert state_of(found, "dscp")[0] == "ok" and "0 routers" in state_of(found, "dscp")[1], found


def case_named(program):
    """The device has the names that --device permits. Its interface is in a copy of sysfs."""
    with tempfile.TemporaryDirectory() as folder:
        os.makedirs(f"{folder}/class/infiniband/uroce_{os.environ['THERE_DEV']}/device/net/eth7")
        with Server(program, "--device", "eth7", environment=[f"SYSFS_PATH={folder}"]):
            assert_well(ask_patiently(program))


def case_faults(program):
    played = set()
    with Server(program) as server:
        for name, rule, rung, words, fix in FAULTS:
            if (sys.argv[3:] and name not in sys.argv[3:]) or not rules_set(rule):
                continue
            found = ask_patiently(program)
            first = first_failure(found)
            print(name, "->", first["rung"], first["cause"], flush=True)
            assert first["rung"] == rung and words in first["cause"] and fix in first["fix"], (name, found)
            # More datagrams would not change the finding, but each costs time.
            assert name != "30 % loss" or found["peer"]["paced"]["sent_there"] < 1000, found
            played.add(rung)
            server.line()
    if not played:
        print("nft sets none of the rules that play these networks")
        sys.exit(77)


def stopper(process, ended):
    """Let the process and its children run only for a tenth of the time."""
    while not ended.wait(0.05):
        children = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True, check=False).stdout.split()
        for number in children:
            try:
                os.kill(int(number), signal.SIGSTOP)
                ended.wait(0.4)
                os.kill(int(number), signal.SIGCONT)
            except ProcessLookupError:
                pass


def case_slow(program):
    """A server that gets little processor time. nsenter and env execute the server, whose child serves the client."""
    ended = threading.Event()
    with Server(program) as server:
        thread = threading.Thread(target=stopper, args=(server.process, ended))
        thread.start()
        try:
            found = ask(program)
        finally:
            ended.set()
            thread.join()
    print(found.get("first_failure"), found.get("cause"))
    assert found["first_failure"] == "slow" and "did not run" in found["cause"] and "cpu.max" in found["fix"], found


def keep_busy(connection, ended):
    """Ask the server for a datagram repeatedly, because the server drops a silent client."""
    connection.sendall(hello())
    while not ended.wait(1):
        connection.sendall(message(FLOW, 0, 1, 1, 1, 8))


def case_absent(program):
    """No server, a server of another program, a silent server, and a server with another client."""
    with Server(program), socket.create_connection((THERE, PORT)) as connection:
        ended = threading.Event()
        thread = threading.Thread(target=keep_busy, args=(connection, ended))
        thread.start()
        try:
            found = ask(program)
        finally:
            ended.set()
            thread.join()
        assert found["first_failure"] == "peer" and "one client at a time" in found["cause"], found
        assert f"no other client uses {THERE}" in found["fix"], found
    found = ask(program)
    assert found["first_failure"] == "peer" and "Connection refused" in found["cause"] and "--serve" in found["fix"], found
    found = ask(program, host="nowhere.invalid")
    assert found["first_failure"] == "peer" and found["cause"].startswith("nowhere.invalid"), found
    assert "getent hosts nowhere.invalid" in found["fix"], found
    # The report does not claim a fault of this host for the other one.
    with socket.create_server(("127.0.0.1", PORT)):
        result = subprocess.run([program, "--peer", "127.0.0.1", "--json"], env={**os.environ, "UROCE": "off"}, capture_output=True, text=True, check=False)
    state, cause = state_of(json.loads(result.stdout), "peer")
    assert state == "failed" and cause.startswith("127.0.0.1: on this host, "), result
    for answer, words in ((b"HTTP/1.1 400 Bad Request\r\n" * 9, "is not one of rdma-doctor"), (b"RDOC" + b"\0\0\0\7" + b"\x1b[31m" * 40, "?[31m"),
                          (b"", "ended the connection")):  # fmt: skip
        with socket.create_server(("127.0.0.1", PORT)) as listener:
            thread = threading.Thread(target=lambda: answer_once(listener, answer))
            thread.start()
            found = ask(program, host="127.0.0.1")
            thread.join()
        assert found["first_failure"] == "peer" and words in found["cause"], found


def check_process_limit(program):
    """The limit of processes permits the checking process, but not its children, which try the device."""
    command = ["prlimit", "--nproc=2", "setpriv", "--reuid", "64123", "--regid", "64123", "--clear-groups", program]
    if subprocess.run([*command, "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode:
        print("another user cannot run the program here")
        return
    result = subprocess.run([*command, "--peer", THERE, "--json"], stdout=subprocess.PIPE, timeout=300, check=False)
    found = json.loads(result.stdout)
    assert found["first_failure"] == "uroce" and "no process can be made" in found["cause"] and "ulimit -u" in found["fix"], found
    assert "on this host, fork: " in state_of(found, "peer")[1], found


def case_limits(program):
    """The report names the limit of open files, in whatever call it fails. A server ends if its output is lost."""
    for files in (6, 8, 12, 20):
        with Server(program, files=files) as server:
            found = ask(program)
            state, cause = state_of(found, "peer")
            assert state == "failed" and "Too many open files (ulimit -n)" in cause, (files, found)
            assert f"run rdma-doctor on {THERE}" in found["fix"] and "its limits" in found["fix"], found
            assert server.line().endswith(": Too many open files\n")
    with Server(program, files=4) as server:
        ask(program)
        assert server.process.wait(60) == 1 and "(ulimit -n): Too many open files" in server.process.stderr.read()
    with Server(program):
        limited = ["sh", "-c", 'ulimit -n 12; exec "$@"', "sh", program, "--peer", THERE, "--json"]
        result = subprocess.run(limited, capture_output=True, text=True, timeout=300, check=False)
        assert "on this host, ibv_open_device: Too many open files" in state_of(json.loads(result.stdout), "peer")[1], result
        check_process_limit(program)
    with open("/dev/full", "w", encoding="ascii") as full:
        result = subprocess.run([program, "--serve"], stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
    assert result.returncode == 1 and b"could not be written" in result.stderr, result


HELLO, FLOW, READY, SENT, REPORT, BYE, SORRY = range(1, 8)


def message(kind, *words, text=b""):
    return struct.pack(">4sI96s13I", b"RDOC", kind, text, *words, *[0] * (13 - len(words)))


def hello(**changes):
    """Return the HELLO of an invented client, or one that no client sends."""
    words = {"rc": 17, "ud": 18, "mtu": 3, "layer": 2, "lid": 0, "roce": 2, "rkey": 1, "high": 0, "low": 4096, **changes}
    return message(HELLO, *words.values(), *struct.unpack(">4I", bytes(10) + b"\xff\xff" + socket.inet_aton(HERE)))


def hostile_streams(chance):
    """Return messages of a malicious client."""
    noise = [chance.randbytes(chance.randrange(1, 2000)) for _ in range(12)]
    heads = [b"RDOC" + struct.pack(">I", kind) + chance.randbytes(148) for kind in (0, *range(1, 9), 2**32 - 1)]
    wrong = [hello(**{name: value}) for name, value in (("mtu", 0), ("mtu", 6), ("mtu", 2**31), ("layer", 9), ("roce", 3), ("rc", 2**24), ("lid", 2**16))]
    flows = [message(FLOW, *words) for words in ((0, 2, 1, 8, 8), (0, 0, 1, 0, 8), (0, 1, 1, 33, 8), (0, 1, 1, 2**32 - 1, 8), (0, 1, 1, 8, 7),
                                                 (0, 1, 1, 8, 4097), (0, 1, 1, 8, 8, 256), (1, 1), (2, 0, 1, 8, 8))]  # fmt: skip
    # These are valid, and their datagrams go to a queue pair that does not exist.
    valid = [message(FLOW, 0, 1, 1, 32, 4096), message(FLOW, 0, 0, 2, 32, 4096) + message(SENT, 2**32 - 1, 77), message(FLOW, 1) + message(SENT)]
    mangled = []
    for _ in range(12):
        stream = bytearray(hello() + message(FLOW, 0, 0, 1, 8, 64) + message(SENT, 8))
        for _ in range(chance.randrange(1, 6)):
            stream[chance.randrange(len(stream))] = chance.randrange(256)
        mangled.append(bytes(stream))
    return [b"", *noise, *heads, *wrong, *(hello() + flow for flow in flows + valid), *mangled, hello()[:70], hello() + message(BYE)]


def case_hostile(program):
    """A malicious client does not end the server, and the server serves the next client."""
    chance = random.Random(1)
    with Server(program) as server:
        for stream in hostile_streams(chance):
            with socket.create_connection((THERE, PORT), timeout=120) as connection:
                try:
                    connection.sendall(stream)
                    connection.shutdown(socket.SHUT_WR)
                    while connection.recv(4096):
                        pass
                except OSError:
                    pass  # the server has ended the connection
            line = server.line()
            assert line.startswith("::ffff:" + HERE + ": ") and "Bad address" not in line, (stream, line)
            assert server.process.poll() is None
        assert_well(ask(program))


def relay(source, target, change):
    """Forward messages. @change returns the bytes to send for each, or None to end both connections."""
    try:
        while data := source.recv(WIRE, socket.MSG_WAITALL):
            data = change(data) if len(data) == WIRE else data
            if data is None:
                break
            target.sendall(data)
    except OSError:
        pass  # an end has gone
    for connection in (source, target):
        try:
            connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def ask_through(program, listener, change_there, change_back):
    """Connect the client to the server through a relay that changes their messages."""

    def serve():
        client = listener.accept()[0]
        with client, socket.create_connection((THERE, PORT)) as server:
            other = threading.Thread(target=relay, args=(client, server, change_there))
            other.start()
            relay(server, client, change_back)
            other.join()

    thread = threading.Thread(target=serve)
    thread.start()
    found = ask(program, "--device", "uroce_" + os.environ["HERE_DEV"], host="127.0.0.1")
    thread.join()
    assert "crashed" not in json.dumps(found), found
    return found


def words_set(kind, **places):
    """Return a change for all messages of @kind: new values of words, as in word3=7, or a new text."""

    def change(data):
        if int.from_bytes(data[4:8], "big") != kind:
            return data
        data = bytearray(data)
        for place, value in places.items():
            if place == "text":
                data[8:104] = value.ljust(96, b"\0")
            else:
                at = 104 + 4 * int(place[4:])
                data[at : at + 4] = struct.pack(">I", value)
        return bytes(data)

    return change


# Lies of the server, the state of a rung and words of it. None: each report is right.
LIES = [
    (words_set(REPORT, word0=2**32 - 1), "path", "ok", "16 of 16 datagrams to the peer"),
    (words_set(REPORT, word0=0), "path", "failed", "0 of 16 datagrams to the peer"),
    (words_set(REPORT, word3=2**31), "peer", "failed", "is not one of rdma-doctor"),
    (words_set(REPORT, word4=256), "peer", "failed", "is not one of rdma-doctor"),
    (words_set(REPORT, word3=255, word2=1), "dscp", "failed", "arrives as 63"),
    (words_set(REPORT, word5=2**32 - 1, word6=2**32 - 1), "slow", "failed", "did not run for 4294967295 of 4294967295 ms"),
    (words_set(REPORT, word7=2**32 - 1, word9=0), "ecn", "failed", "none was marked"),
    (words_set(REPORT, word8=2**32 - 1), "slow", "failed", "dropped 4294967295 packets"),
    (words_set(REPORT, word10=0x1FF), "pfc", "unseen", "on this host"),
    (words_set(REPORT, word10=0x200), "peer", "failed", "is not one of rdma-doctor"),
    (words_set(REPORT, word11=9), "peer", "failed", "is not one of rdma-doctor"),
    (words_set(REPORT, text=b"\x1b[31m%n%s\xff" * 9), "pfc", "unseen", "?[31m%n%s?"),
    (words_set(SENT, word0=2**32 - 1), None, None, None),
    (words_set(SENT, word1=2**31), None, None, None),
    (words_set(HELLO, text=b"\x1b]0;x\x07" * 16), "peer", "ok", "?]0;x?"),
    (words_set(HELLO, word0=0, word1=0), "path", "failed", "to the peer"),
    (words_set(HELLO, word9=0, word10=0, word11=0, word12=0), None, None, None),
    (words_set(HELLO, word2=6), "peer", "failed", "is not one of rdma-doctor"),
    (words_set(HELLO, word2=5), None, None, None),
    (words_set(HELLO, word6=0), "ecn", "failed", "the transfer over RC failed"),
    (words_set(READY, word0=5), "path", "ok", "16 of 16"),
    (lambda data: data[:4] + b"\0\0\0\4" + data[8:], "peer", "failed", "is not one of rdma-doctor"),
    (lambda data: None, "peer", "failed", "ended the connection"),
    (lambda data: data[:100], "peer", "failed", "did not answer in ten seconds"),
    (lambda data: data * 3, None, None, None),
]  # fmt: skip


def noise_of(chance):
    """Return a change that sometimes spoils a byte, or ends the connection."""

    def change(data):
        if chance.random() < 0.005:
            return None
        if chance.random() > 0.02:
            return data
        data = bytearray(data)
        data[chance.randrange(len(data))] = chance.randrange(256)
        return bytes(data)

    return change


def case_liar(program):
    """A lying server neither crashes the client nor controls its terminal, and a lying relay does not crash the server."""
    chance = random.Random(2)
    with Server(program) as server, socket.create_server(("127.0.0.1", PORT)) as listener:
        # Only this thread reads these lines.
        threading.Thread(target=server.process.stdout.read, daemon=True).start()
        for number, (lie, rung, state, words) in enumerate(LIES):
            found = ask_through(program, listener, bytes, lie)
            if rung:
                seen = state_of(found, rung)
                assert seen[0] == state and words in seen[1], (number, seen, found)
        for _ in range(12):
            ask_through(program, listener, noise_of(chance), noise_of(chance))
        assert server.process.poll() is None
        assert_well(ask(program))


def answer_once(listener, answer):
    connection = listener.accept()[0]
    with connection:
        connection.recv(1)
        connection.sendall(answer)
        connection.shutdown(socket.SHUT_WR)
        try:
            while connection.recv(4096):
                pass
        except ConnectionResetError:
            pass  # the client had unread bytes


def main():
    globals()["case_" + sys.argv[1]](sys.argv[2])


if __name__ == "__main__":
    main()

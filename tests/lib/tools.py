# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The installed programs, and commands by which each of them prints something.

The host is a network namespace with the interface lo, and UROCE=on:lo.
"""

import os
import subprocess

PATIENCE = 120  # seconds for one command
HOST = "127.0.0.1"
DEVICE = ["-d", "uroce_lo"]
PINGPONG = [*DEVICE, "-g", "0", "-n", "20"]
GROUP = ["mckey", "-m", "239.1.1.1", "-b", HOST, "-C", "5"]
STREAM = ["-S", "64", "-I", "10"]


def pair(program, options, *address, server=None, client=()):
    """The commands of a server and of its client."""
    return [server or program, *options], [program, *options, *client, *address]


# (server or None, command)
COMMANDS = [
    (None, ["ibv_devices"]),
    (None, ["ibv_devinfo"]),
    (None, ["ibv_devinfo", "-v"]),
    (None, ["ibv_devinfo", "-l"]),
    (None, ["ibv_devinfo", "--json"]),
    (None, ["show_gids"]),
    (None, ["rdma-conform", "--device", "uroce_lo", "--programs", "5"]),
    (None, ["rdma-conform", "--device", "uroce_lo", "--programs", "5", "--json"]),
    (None, ["rdma-doctor"]),
    (None, ["rdma-doctor", "--json"]),
    (None, ["rdma-doctor", "--transfer", "--watch", "1", "--speed", "--all"]),
    (["rdma-doctor", "--serve"], ["rdma-doctor", "--peer", HOST, "--all"]),
    *(pair(f"ibv_{kind}_pingpong", PINGPONG, HOST) for kind in ("rc", "uc", "ud", "srq")),
    (["ibv_xsrq_pingpong", *PINGPONG, "-c", "1"], ["ibv_xsrq_pingpong", *PINGPONG, HOST]),
    pair("cmtime", ["-c", "2"], "-s", HOST),
    (GROUP, [*GROUP, "-s"]),
    (["rcopy"], ["rcopy", "/etc/passwd", f"{HOST}:copied"]),
    pair("rdma_client", [], "-s", HOST, server="rdma_server"),
    pair("rdma_xclient", [], "-s", HOST, server="rdma_xserver"),
    pair("riostream", STREAM, "-s", HOST),
    pair("rstream", STREAM, "-s", HOST),
    (["rping", "-s", "-v", "-C", "3"], ["rping", "-c", "-v", "-C", "3", "-a", HOST]),
    pair("ucmatose", ["-c", "2"], "-s", HOST),
    pair("udaddy", ["-c", "2"], "-s", HOST),
    pair("udpong", ["-S", "64", "-C", "10"], "-s", HOST),
    (None, ["ibv_asyncwatch", *DEVICE]),
]
# Servers that serve until a signal ends them, also if nobody reads what they print.
ENDLESS_SERVERS = {"cmtime", "rcopy", "rdma-doctor", "udpong"}
# Programs that print only their help here, and the reason.
HELP_ONLY = {
    "rdma-ndd": "--dry-run prints lines of the kernel's devices: native/rdma-ndd",
    "rdma_rename": "it prints the name of a device of the kernel: unit/test_rdma_rename",
    "uroce-run": "the program that it becomes prints",
}


def programs(folder):
    """Return the names of the programs. Each program is in a command, or has a reason why it is in none."""
    found = {path.name for path in folder.iterdir() if path.is_file() and os.access(path, os.X_OK)}
    named = {command[0] for row in COMMANDS for command in row if command}
    assert not named & set(HELP_ONLY), named & set(HELP_ONLY)
    assert found == named | set(HELP_ONLY), f"programs: {sorted(found ^ (named | set(HELP_ONLY)))}"
    return sorted(found)


def serve(process, attempt):
    """Repeat attempt() until the server has ended. Return its code. A server that serves for ever is stopped after attempt() was true.

    A client may have success although its server was not ready: mckey sends to a group.
    """
    try:
        while process.poll() is None and not (attempt() and process.program in ENDLESS_SERVERS):
            try:
                process.wait(0.1)  # it does not listen yet, or it ends now
            except subprocess.TimeoutExpired:
                pass
        return process.poll()
    finally:
        process.kill()
        process.wait()

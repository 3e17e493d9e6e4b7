#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Run rdma-doctor on this machine and on made-up copies of others.

test_doctor.py <case> <program>: a case is a function below, its assertions are the test.
"""

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

NO_RUNG = {0, 1, 2}

DEVICE = "sys/class/infiniband/mlx0"
HEALTHY = {
    f"{DEVICE}/node_type": "1: CA\n",
    f"{DEVICE}/node_guid": "0200:00ff:fe00:0001\n",
    f"{DEVICE}/ports/1/state": "4: ACTIVE\n",
    f"{DEVICE}/ports/1/phys_state": "5: LinkUp\n",
    f"{DEVICE}/ports/1/link_layer": "Ethernet\n",
    f"{DEVICE}/ports/1/gids/0": "fe80:0000:0000:0000:0000:00ff:fe00:0001\n",
    f"{DEVICE}/ports/1/gids/1": "0000:0000:0000:0000:0000:ffff:c000:0201\n",
    f"{DEVICE}/ports/1/gid_attrs/types/1": "RoCE v2\n",
    f"{DEVICE}/ports/1/gid_attrs/ndevs/0": "eth0\n",
    f"{DEVICE}/ports/1/gid_attrs/ndevs/1": "eth0\n",
    "sys/class/infiniband_verbs/abi_version": "6\n",
    "sys/class/infiniband_verbs/uverbs0/ibdev": "mlx0\n",
    "sys/class/infiniband_verbs/uverbs0/dev": "231:192\n",
    "sys/class/infiniband_verbs/uverbs0/abi_version": "1\n",
    "sys/class/misc/rdma_cm/dev": "10:58\n",
    "sys/class/misc/rdma_cm/abi_version": "4\n",
    "sys/class/net/eth0/flags": "0x1003\n",
    "sys/class/net/eth0/carrier": "1\n",
    "dev/infiniband/uverbs0": "",
    "dev/infiniband/rdma_cm": "",
    "proc/sys/kernel/osrelease": "6.99.1\n",
    "proc/self/status": "Name:\tx\nVmPin:\t0 kB\nCapEff:\t0000000000000000\n",
    "proc/self/limits": "Limit  Soft  Hard  Units\nMax locked memory  unlimited  unlimited  bytes\n",
    "proc/self/uid_map": "         0          0 4294967295\n",
    "proc/self/cgroup": "0::/user.slice\n",
    "proc/77/status": "Name:\ty\nVmPin:\t0 kB\nCapEff:\t0000000000000000\n",
    "proc/77/limits": "Limit  Soft  Hard  Units\nMax locked memory  4096  4096  bytes\n",
    "proc/77/cgroup": "0::/system.slice/train.service\n",
}

# (name, files that change (None: removed), options, exit code, cause, fix)
FAULTS = [
    ("healthy", {}, [], 0, "", ""),
    ("no class", {"sys/class/infiniband": None, "sys/class/infiniband_verbs": None}, [], 10, "ib_core", "modprobe"),
    ("no uverbs", {"sys/class/infiniband_verbs": None}, [], 10, "ib_uverbs", "modprobe ib_uverbs"),
    ("no sysfs", {"sys": None}, [], 10, "sysfs", "mount"),
    ("no device", {DEVICE: None, "sys/class/infiniband_verbs/uverbs0": None}, [], 13, "no RDMA device", "rdma link"),
    ("other device", {}, ["--device", "mlx1"], 13, "mlx1 is not one", "mlx1"),
    ("no uverbs0", {"sys/class/infiniband_verbs/uverbs0": None}, [], 14, "no uverbs character device", "modprobe"),
    ("no node", {"dev/infiniband/uverbs0": None}, [], 14, "does not exist", "c 231 192"),
    ("no node, container", {"dev/infiniband": None, ".dockerenv": ""}, [], 14, "does not exist", "--device="),
    ("no driver files", {"CONFIG": None}, [], 16, "no provider is known", "ibverbs-providers"),
    ("other kernel ABI", {"sys/class/infiniband_verbs/abi_version": "7\n"}, [], 17, "ABI 7", "libibverbs"),
    ("port down", {f"{DEVICE}/ports/1/state": "1: DOWN\n"}, [], 18, "port 1 is DOWN", "eth0"),
    ("no carrier", {f"{DEVICE}/ports/1/state": "1: DOWN\n", "sys/class/net/eth0/carrier": "0\n"}, [], 18,
     "no carrier", "cable"),
    ("link-local", {f"{DEVICE}/ports/1/gids/1": None}, [], 19, "link-local", "ip address add"),
    ("no GID", {f"{DEVICE}/ports/1/gids": None}, [], 19, "is empty", "ip address add"),
    ("other namespace", {"sys/class/net/eth0": None}, [], 19, "another network namespace", "netns"),
    ("memlock 0", {"proc/self/limits": "\nMax locked memory 0 0 bytes\n"}, [], 20, "0 bytes", "limits.d"),
    ("memlock of a unit", {}, ["--pid", "77"], 20, "4096 bytes", "systemctl edit train.service"),
    ("no rdma_ucm", {"sys/class/misc/rdma_cm": None}, [], 22, "rdma_ucm", "modprobe rdma_ucm"),
    ("no rdma_cm node", {"dev/infiniband/rdma_cm": None}, [], 22, "does not exist", "c 10 58"),
]  # fmt: skip


def run(options, *arguments, **environment):
    command = [options.program, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, timeout=120, check=False, env={**os.environ, **environment})


def report(options, *arguments, **environment):
    """The JSON, after what holds for every report was checked."""
    result = run(options, "--json", *arguments, **environment)
    assert all(byte == 10 or 32 <= byte < 127 for byte in result.stdout), result.stdout
    assert result.stderr == b"", result.stderr
    found = json.loads(result.stdout)
    codes = {rung["rung"]: rung["exit_code"] for rung in found["rungs"]}
    assert result.returncode == found["exit_code"] and result.returncode in {0, *codes.values()}, result
    failed = [rung for rung in found["rungs"] if rung["state"] == "failed"]
    assert bool(failed) == bool(result.returncode)
    for rung in failed:
        assert rung["cause"] and rung["fix"], rung
    if failed:
        assert codes[found["first_failure"]] == failed[0]["exit_code"] == result.returncode
        assert found["cause"] == failed[0]["cause"] and found["fix"] == failed[0]["fix"]
    assert {device["fell"] for device in found["devices"] if "fell" in device} <= codes.keys()
    return found


def write(root, name, content):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def remove(path):
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def make_copy(options, root, changes):
    write(root, options.config.lstrip("/") + "/mlx.driver", "driver mlx\nmatch driver_id 1\n")
    for name, content in HEALTHY.items():
        write(root, name, content)
    for name, content in changes.items():
        name = name.replace("CONFIG", options.config.lstrip("/"))
        if content is None:
            remove(root / name)
        else:
            write(root, name, content)


def case_full(options):
    """A report that gets lost is no report."""
    with open("/dev/full", "wb") as full:
        result = subprocess.run([options.program], stdout=full, stderr=subprocess.PIPE, timeout=120, check=False)
    assert result.returncode == 1 and b"could not be written: No space left" in result.stderr, result


def case_live(options):
    """Here, whatever the machine is like: the report is sound; without devices uroce works."""
    found = report(options)
    assert [rung["exit_code"] for rung in found["rungs"]] == sorted({rung["exit_code"] for rung in found["rungs"]})
    result = run(options)
    assert result.returncode == found["exit_code"] and b"uroce" in result.stdout
    found = report(options, "--device", "uroce0", UROCE="on:lo")
    assert found["exit_code"] == 0, found
    uroce = [rung for rung in found["rungs"] if rung["rung"] == "uroce"]
    assert uroce[0]["state"] in ("ok", "note") and "works: PD, CQ, MR and QP" in uroce[0]["found"], uroce
    found = report(options, "--device", "uroce0", UROCE="off")
    assert found["first_failure"] == "uroce" and "UROCE=on" in found["fix"], found
    found = report(options, "--device", "uroce0", UROCE="on:nonsense0")
    assert found["first_failure"] == "uroce" and "nonsense0" in found["cause"], found


def case_options(options):
    assert run(options, "--help").stdout.startswith(b"Usage: rdma-doctor")
    assert re.fullmatch(rb"rdma-doctor [\d.]+\n", run(options, "--version").stdout)
    for wrong in (["--pid", "x"], ["--pid", "9999999999"], ["--pid", ""], ["--pid", "../1"], ["--device", "a/b"], ["--device", "."], ["--root", "/nowhere"],
                  ["--root", "/" + "x" * 200], ["--bogus"], ["word"]):  # fmt: skip
        result = run(options, *wrong)
        assert result.returncode == 2 and result.stderr and not result.stdout, (wrong, result)


def case_page(options):
    """The manual page has the rungs and the exit codes of the program."""
    real = {rung["rung"]: rung["exit_code"] for rung in report(options)["rungs"]}
    text = Path(options.page).read_text()
    told = {name: int(code) for code, name in re.findall(r"\| (\d\d) \| (\w+) ", text)}
    assert told == real, (told, real)
    rows = re.findall(r"^\| (\w+) \|[^|]*\|$", text.split("## Rungs")[1].split("# OPTIONS")[0], re.M)
    assert rows == ["rung", *real], rows


def case_copies(options):
    for name, changes, arguments, code, cause, fix in FAULTS:
        with tempfile.TemporaryDirectory() as folder:
            make_copy(options, Path(folder), changes)
            found = report(options, "--root", folder, *arguments, UROCE="off")
            assert found["exit_code"] == code, (name, found)
            assert cause in found.get("cause", ""), (name, found)
            assert fix in found.get("fix", ""), (name, found)
            text = run(options, "--root", folder, *arguments, UROCE="off")
            assert text.returncode == code and cause.encode() in text.stdout, (name, text)
    print(len(FAULTS), "copies")


def noise(chance):
    """What a file might hold: bytes, numbers out of range, long lines, text with strange characters."""
    kinds = [
        lambda: chance.randbytes(chance.randrange(200)),
        lambda: chance.randbytes(20000),
        lambda: str(chance.choice([-1, 0, 1, 2**31, 2**32, 2**64, 2**80])).encode() + b": \xff\n",
        lambda: b"A" * chance.randrange(5000),
        lambda: b'"\\\n\x1b[31m%s%n\x00tail',
        lambda: b"",
    ]
    return chance.choice(kinds)()


def mangled(chance, content):
    """The real content with a few bytes changed."""
    data = bytearray(content.encode())
    for _ in range(chance.randrange(4)):
        if data:
            data[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(data)


def case_noise(options):
    chance = random.Random(options.seed)
    for turn in range(options.turns):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            make_copy(options, root, {})
            for name, content in HEALTHY.items():
                if chance.random() < 0.3:
                    write(root, name, chance.choice([noise(chance), mangled(chance, content)]))
                elif chance.random() < 0.05:
                    remove(root / name)
            name = bytes(chance.choice(b"ab \x01\xff\"\\%-") for _ in range(chance.randrange(1, 80)))
            os.makedirs(os.path.join(folder.encode(), DEVICE.rpartition("/")[0].encode(), name, b"ports", b"1"))
            try:
                report(options, "--root", folder, UROCE=chance.choice(["off", "auto", "on", "\x7f%n"]))
            except Exception:
                print(f"turn {turn} of seed {options.seed}")
                raise
    print(options.turns, "turns")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", choices=[name[len("case_") :] for name in globals() if name.startswith("case_")])
    parser.add_argument("program")
    parser.add_argument("--config", required=True, help="folder of driver files the program was built for")
    parser.add_argument("--page", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--turns", type=int, default=60)
    options = parser.parse_args()
    globals()["case_" + options.case](options)


main()

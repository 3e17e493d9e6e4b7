#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Run rdma-doctor on this machine and on made-up copies of others.

test_doctor.py <case> <program>: a case is a function below, its assertions are the test.
"""

import argparse
import ctypes
import json
import os
import random
import re
import shutil
import struct
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

UVERBS = "sys/class/infiniband_verbs/uverbs0"
CLASSES = {"sys/class/infiniband": None, "sys/class/infiniband_verbs": None}
NO_DEVICE = {DEVICE: None, UVERBS: None}
# uroce takes part: with UROCE=auto it serves where the kernel does not.
UROCE = {"CONFIG/user.driver": "driver user\nmatch userspace\n", "PROVIDER/libuser": ""}
PCI = "sys/bus/pci/devices/0000:3b:00.0"
HCA = {f"{PCI}/class": "0x020700\n", f"{PCI}/vendor": "0x15b3\n", f"{PCI}/device": "0x1017\n"}
OTHER = "sys/class/infiniband/mlx1"
SECOND = {
    **{name.replace(DEVICE, OTHER): text for name, text in HEALTHY.items() if name.startswith(DEVICE)},
    "sys/class/infiniband_verbs/uverbs1/ibdev": "mlx1\n",
    "sys/class/infiniband_verbs/uverbs1/dev": "231:193\n",
    "sys/class/infiniband_verbs/uverbs1/abi_version": "1\n",
    "dev/infiniband/uverbs1": "",
}
UNIT = {"proc/self/cgroup": "0::/system.slice/train.service\n"}
MOUNTS = "27 1 254:0 / / rw - ext4 /dev/vda rw\n24 27 0:6 / /dev rw - devtmpfs devtmpfs rw\n"
PRIVATE_DEV = {"proc/self/mountinfo": MOUNTS + "90 27 0:99 / /dev ro,nosuid - tmpfs tmpfs ro,mode=755\n"}
# Namespaces of the host, and a root that is the first process's too.
ON_THE_HOST = {
    "proc/self/ns/pid": ("link", "pid:[4026531836]"),
    "proc/self/mountinfo": MOUNTS,
    "proc/1/mountinfo": MOUNTS,
}
OVERLAY = "501 400 0:57 / / rw - overlay overlay rw\n24 501 0:6 / /dev rw - tmpfs tmpfs rw\n"

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
    # What was lost is a fault although uroce serves.
    ("uroce serves", {**CLASSES, **UROCE}, [], 0, "", ""),
    ("uroce serves, no device", {**NO_DEVICE, **UROCE, "sys/module/ib_uverbs/holders/rdma_ucm/x": ""}, [], 0, "", ""),
    ("driver without device", {**NO_DEVICE, **UROCE, "sys/module/ib_uverbs/holders/mlx5_ib/x": "",
                               "sys/module/ib_uverbs/holders/rdma_ucm/x": ""}, [], 13,
     "although drivers are loaded (mlx5_ib)", "dmesg"),
    ("adapter, no modules", {**CLASSES, **UROCE, **HCA}, [], 10, "adapter 0000:3b:00.0 (15b3:1017)", "modprobe"),
    ("adapter without device", {**NO_DEVICE, **UROCE, **HCA}, [], 13, "adapter 0000:3b:00.0 (15b3:1017)", "modprobe"),
    ("adapter with a driver", {**NO_DEVICE, **UROCE, **HCA, f"{PCI}/driver": ("link", "../drivers/mlx5_core")}, [], 13,
     "adapter 0000:3b:00.0 (15b3:1017), driver mlx5_core", "modprobe mlx5_ib"),
    ("adapter of a guest", {**NO_DEVICE, **UROCE, **HCA, f"{PCI}/driver": ("link", "../drivers/vfio-pci")}, [], 0, "", ""),
    ("adapter by number", {**CLASSES, **UROCE, f"{PCI}/class": "0x020000\n", f"{PCI}/vendor": "0x1d0f\n",
                           f"{PCI}/device": "0xefa2\n"}, [], 10, "(1d0f:efa2)", "modprobe"),
    ("ConnectX in Ethernet mode", {**CLASSES, **UROCE, **HCA, f"{PCI}/class": "0x020000\n"}, [], 10, "(15b3:1017)", "modprobe"),
    ("ConnectX in Ethernet mode, Ethernet driver", {**NO_DEVICE, **UROCE, **HCA, f"{PCI}/class": "0x020000\n",
     f"{PCI}/driver": ("link", "../drivers/mlx5_core")}, [], 13, "driver mlx5_core", "modprobe mlx5_ib"),
    # Kernels since 5.11 have a device of the auxiliary bus where RDMA was not switched off.
    ("ConnectX without RDMA", {**NO_DEVICE, **UROCE, **HCA, f"{PCI}/class": "0x020000\n", "sys/bus/auxiliary/devices/mlx5_core.eth.0/x": "",
     f"{PCI}/driver": ("link", "../drivers/mlx5_core")}, [], 0, "", ""),
    ("ConnectX, unbound function", {**NO_DEVICE, **UROCE, **HCA, f"{PCI}/class": "0x020000\n", "sys/bus/auxiliary/devices/mlx5_core.rdma.0/x": "",
     f"{PCI}/driver": ("link", "../drivers/mlx5_core")}, [], 13, "mlx5_core.rdma.0 has no driver", "modprobe mlx5_ib"),
    ("MANA, unbound function", {**NO_DEVICE, **UROCE, f"{PCI}/class": "0x020000\n", f"{PCI}/vendor": "0x1414\n",
     f"{PCI}/device": "0x00ba\n", f"{PCI}/driver": ("link", "../drivers/mana"), "sys/bus/auxiliary/devices/mana.rdma.0/x": ""},
     [], 13, "mana.rdma.0 has no driver", "modprobe mana_ib"),
    ("an unbound function", {**NO_DEVICE, **UROCE, "sys/bus/auxiliary/devices/ice.roce.0/x": ""}, [], 13,
     "ice.roce.0 has no driver", "modprobe auxiliary:ice.roce"),
    ("a network card", {**CLASSES, **UROCE, f"{PCI}/class": "0x020000\n", f"{PCI}/vendor": "0x8086\n",
                        f"{PCI}/device": "0x1533\n"}, [], 0, "", ""),
    # A node that is not there.
    ("PrivateDevices", {"dev/infiniband": None, **UNIT, **PRIVATE_DEV}, [], 14, "/dev is private",
     "systemctl edit train.service: [Service] BindPaths=/dev/infiniband"),
    ("a sandbox", {"dev/infiniband": None, **PRIVATE_DEV}, [], 14, "/dev is private", "bind /dev/infiniband"),
    ("devtmpfs", {"dev/infiniband": None, **UNIT, **ON_THE_HOST}, [], 14, "does not exist", "mknod"),
    ("left-over /.dockerenv", {"dev/infiniband": None, ".dockerenv": "", **ON_THE_HOST}, [], 14, "does not exist", "mknod"),
    ("container with the host's processes", {"dev/infiniband": None, ".dockerenv": "", **ON_THE_HOST,
     "proc/self/mountinfo": OVERLAY}, [], 14, "does not exist", "--device="),
    ("container", {"dev/infiniband": None, ".dockerenv": "", **ON_THE_HOST, "proc/self/ns/pid": ("link", "pid:[4026532999]")},
     [], 14, "does not exist", "--device="),
    # Limits of the rdma cgroup.
    ("rdma.max", {**UNIT, "sys/fs/cgroup/system.slice/rdma.max": "mlx9 hca_handle=0 hca_object=0\nmlx0 hca_handle=2 hca_object=max\n",
                  "sys/fs/cgroup/system.slice/rdma.current": "mlx0 hca_handle=2 hca_object=9\n"}, [], 24,
     "hca_handle=2", "sys/fs/cgroup/system.slice/rdma.max"),
    ("rdma.max, objects", {**UNIT, "sys/fs/cgroup/system.slice/train.service/rdma.max": "mlx0 hca_handle=max hca_object=3\n"}, [],
     24, "hca_object=3", "train.service/rdma.max"),
    ("rdma.max of another device", {**UNIT, "sys/fs/cgroup/system.slice/rdma.max": "mlx01 hca_handle=0 hca_object=0\n"}, [], 0, "", ""),
    ("rdma.max that is enough", {**UNIT, "sys/fs/cgroup/system.slice/rdma.max": "mlx0 hca_handle=9 hca_object=900\n"}, [], 0, "", ""),
    ("rdma.max, version 1", {"proc/self/cgroup": "9:pids:/\n4:rdma:/jobs\n0::/\n",
                             "sys/fs/cgroup/rdma/jobs/rdma.max": "mlx0 hca_handle=0 hca_object=max\n"}, [], 24,
     "hca_handle=0", "sys/fs/cgroup/rdma/jobs/rdma.max"),
    ("rdma.max, version 1, two controllers", {"proc/self/cgroup": "4:rdma,pids:/jobs\n0::/\n",
     "sys/fs/cgroup/rdma,pids/jobs/rdma.max": "mlx0 hca_handle=0 hca_object=max\n"}, [], 24,
     "hca_handle=0", "sys/fs/cgroup/rdma,pids/jobs/rdma.max"),
    ("rdma.max, version 1, another controller", {"proc/self/cgroup": "4:rdmax,pids:/jobs\n0::/\n",
     "sys/fs/cgroup/rdmax,pids/jobs/rdma.max": "mlx0 hca_handle=0 hca_object=max\n"}, [], 0, "", ""),
    # A node health check.
    ("a device of a copy in user space", UROCE, ["--require", "uroce_eth0"], 25, "uroce_eth0 cannot be tried", "on the machine itself"),
    ("one device", {}, ["--require", "1"], 0, "", ""),
    ("two devices", {}, ["--require", "2"], 25, "1 device works, 2 are required", ""),
    ("named devices", {}, ["--require", "mlx0"], 0, "", ""),
    ("by other names", SECOND, ["--require=uverbs0,mlx1"], 0, "", ""),
    ("a missing device", {}, ["--require", "mlx0,mlx7"], 25, "mlx7 is not there", "mlx7"),
    ("several", SECOND, ["--require", "mlx0", "mlx1", "mlx2"], 25, "mlx2 is not there", ""),
    ("a fallen device", {**SECOND, f"{OTHER}/ports/1/state": "1: DOWN\n"}, ["--require", "mlx1"], 25,
     "mlx1 fell on port: port 1 is DOWN", "ip link show eth0"),
    ("one of two", {**SECOND, f"{OTHER}/ports/1/state": "1: DOWN\n"}, [], 0, "", ""),
    ("one of two, counted", {**SECOND, f"{OTHER}/ports/1/state": "1: DOWN\n"}, ["--require", "2"], 25,
     "1 device works, 2 are required; mlx1 fell on port", "eth0"),
    ("one of two, strict", {**SECOND, f"{OTHER}/ports/1/state": "1: DOWN\n"}, ["--strict"], 18, "mlx1: port 1", "eth0"),
    ("no device, required", {**CLASSES, **UROCE}, ["--require", "1"], 25, "no device of the kernel works, 1 is required", ""),
    ("one adapter of two", {**HCA, f"{PCI}/infiniband/mlx0/x": "", f"{PCI.replace('3b', '5e')}/class": "0x020700\n"}, [], 0, "", ""),
    ("one adapter of two, strict", {**HCA, f"{PCI}/infiniband/mlx0/x": "", f"{PCI.replace('3b', '5e')}/class": "0x020700\n"},
     ["--strict"], 13, "adapter 0000:5e:00.0", "modprobe"),
    ("two ports, one device", {**HCA, f"{PCI}/infiniband/mlx0/x": "", f"{PCI[:-1]}1/class": "0x020700\n"}, ["--strict"], 0, "", ""),
    ("strict", {}, ["--strict"], 0, "", ""),
    ("a note, strict", {"proc/self/limits": "\nMax locked memory 8388608 8388608 bytes\n"}, ["--strict"], 20, "8388608", "limits.d"),
]  # fmt: skip

# Of these nothing may say that there is no fault, whatever the exit code.
NOT_WELL = {"one of two", "one adapter of two"}


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
    if isinstance(content, tuple):
        path.unlink(missing_ok=True)
        path.symlink_to(content[1])
        return
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def remove(path):
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def provider_suffix(options):
    """What every provider's file name ends with, the number of the interface in it."""
    (rxe,) = (Path(options.program).parent.parent / "lib").glob("librxe-rdmav*.so")
    return rxe.name.removeprefix("librxe")


def make_copy(options, root, changes):
    write(root, options.config.lstrip("/") + "/mlx.driver", "driver mlx\nmatch driver_id 1\n")
    for name, content in HEALTHY.items():
        write(root, name, content)
    for name, content in changes.items():
        name = name.replace("CONFIG", options.config.lstrip("/"))
        name = re.sub("PROVIDER/(.*)", f"{options.providers.lstrip('/')}/\\1{provider_suffix(options)}", name)
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
    result = run(options, "--all")
    assert result.returncode == found["exit_code"] and b"uroce" in result.stdout
    found = report(options, "--device", "uroce_lo", UROCE="on:lo")
    assert found["exit_code"] == 0, found
    uroce = [rung for rung in found["rungs"] if rung["rung"] == "uroce"]
    assert uroce[0]["state"] in ("ok", "note") and "works: PD, CQ, MR and QP" in uroce[0]["found"], uroce
    found = report(options, "--device", "uroce_lo", UROCE="off")
    assert found["first_failure"] == "uroce" and "UROCE=on" in found["fix"], found
    found = report(options, "--device", "uroce_lo", UROCE="on:nonsense0")
    assert found["first_failure"] == "uroce" and "nonsense0" in found["cause"], found


def case_shown(options):
    """Rows that do not matter are shown on request; the JSON has them all."""
    with tempfile.TemporaryDirectory() as folder:
        make_copy(options, Path(folder), {**CLASSES, **UROCE})
        short = run(options, "--root", folder, UROCE="auto").stdout
        assert b"unneeded" not in short and b" uroce " in short, short
        for word in ("--all", "-a"):
            everything = run(options, "--root", folder, word, UROCE="auto").stdout
            assert everything.count(b"unneeded") > 8, everything
        rungs = report(options, "--root", folder, UROCE="auto")["rungs"]
        assert [rung for rung in rungs if rung["state"] == "unneeded"], rungs


def case_json(options):
    """What programs read: a version of the layout, and each device with what it is used by."""
    changes = {**SECOND, f"{DEVICE}/device": ("link", "../../../devices/pci0000:00/0000:3b:00.0"),
               "sys/devices/pci0000:00/0000:3b:00.0/driver": ("link", "../../../bus/pci/drivers/mlx5_core"),
               f"{OTHER}/ports/1/state": "1: DOWN\n", f"{OTHER}/ports/1/gids": None}  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        make_copy(options, Path(folder), changes)
        found = report(options, "--root", folder, UROCE="off")
    assert found["schema_version"] == 1 and found["version"].count("."), found
    first, second = found["devices"]
    entry = {"index": 1, "gid": "::ffff:192.0.2.1", "type": "RoCE v2", "netdev": "eth0"}
    assert first["device"] == "mlx0" and first["driver"] == "mlx5_core" and first["works"] is True, first
    assert first["netdev"] == "eth0" and first["port"] == 1 and first["gid"] == entry["gid"], first
    assert first["uverbs"] == "uverbs0" and first["kind"] == "kernel", first
    (port,) = first["ports"]
    assert port["port"] == 1 and port["state"] == "ACTIVE" and port["link_layer"] == "Ethernet", port
    assert len(port["gids"]) == 2 and entry in port["gids"], port
    assert second["works"] is False and second["fell"] == "port" and "gid" not in second, second
    assert second["ports"][0]["state"] == "DOWN" and second["ports"][0]["gids"] == [], second
    numbers_are_numbers(found)


def numbers_are_numbers(value):
    """Nothing that is a whole number stands in quotes."""
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        assert not (isinstance(inner, str) and re.fullmatch(r"\d+", inner)), inner
        numbers_are_numbers(inner)


def killer(call):
    """A seccomp filter that kills who makes the system call."""
    filters = [(0x20, 0, 0, 0), (0x15, 0, 1, call), (0x06, 0, 0, 0x80000000), (0x06, 0, 0, 0x7FFF0000)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in filters))
    libc = ctypes.CDLL(None)

    def install():
        program = ctypes.create_string_buffer(struct.pack("HP", len(filters), ctypes.addressof(code)))
        no_new_privileges, seccomp = 38, 22
        assert libc.prctl(no_new_privileges, *map(ctypes.c_ulong, (1, 0, 0, 0))) == 0
        assert libc.prctl(seccomp, ctypes.c_ulong(2), program) == 0

    return install


def case_places(options):
    """In places where programs have little: what is wrong there is said, and nothing else."""
    alone = ["unshare", "-n"] if os.geteuid() == 0 else ["unshare", "-rn"]
    if subprocess.run([*alone, "true"], check=False).returncode:
        print("no namespaces here")
        raise SystemExit(77)
    script = 'ip link set lo "$1" && shift && exec "$@"'
    places = [
        ("down", {}, 23, "lo is down", "ip link set lo up"),
        ("up", {}, 0, "no other host", "ip link"),
        ("up", {"UROCE_FAULTS": "dropp:1"}, 23, "'dropp:1' is no fault", "UROCE_FAULTS"),
    ]
    for state, variables, code, words, fix in places:
        command = [*alone, "sh", "-c", script, "sh", state, options.program, "--json"]
        environment = {**os.environ, "UROCE": "auto", **variables}
        result = subprocess.run(command, capture_output=True, timeout=120, check=False, env=environment)
        found = json.loads(result.stdout)
        rung = found["rungs"][[one["rung"] for one in found["rungs"]].index("uroce")]
        if code == 0 and found["first_failure" if found["exit_code"] else "exit_code"] != 0:
            print("this machine has a fault of its own:", found["cause"])
        assert (rung["state"] == "failed") == bool(code), (state, variables, found)
        assert words in rung.get("cause", rung.get("found")) and fix in rung["fix"], (state, variables, found)
        assert "/dev/shm" not in rung["fix"], found


def case_killed(options):
    """A filter that kills is named, and the library is not blamed for it; nor is the report lost."""
    calls = {"x86_64": {"bind": 49, "getdents64": 217, "socket": 41},
             "aarch64": {"bind": 200, "getdents64": 61, "socket": 198}}
    calls = calls.get(os.uname().machine)
    if not calls:
        print("the numbers of this architecture's system calls are not known here")
        raise SystemExit(77)
    for call, rung in (("bind", "uroce"), ("getdents64", None), ("socket", None)):
        for arguments in ([], ["--json"]):
            result = subprocess.run([options.program, *arguments, "--device", "uroce_lo"], capture_output=True, timeout=120,
                                    check=False, env={**os.environ, "UROCE": "on:lo"}, preexec_fn=killer(calls[call]))  # fmt: skip
            assert result.returncode >= 10, (call, result)
            assert b"seccomp" in result.stdout and b"is broken" not in result.stdout, (call, result)
            assert b"SystemCallFilter" in result.stdout, (call, result)
            assert b"live to see itrdma" not in result.stdout, (call, result)
            if arguments:
                found = json.loads(result.stdout)
                assert found["exit_code"] == result.returncode and "seccomp" in found["cause"], found
                assert rung in (None, found["first_failure"]), found


def without_proc(options):
    """A build sandbox has no /proc: the limits cannot be read, and all else is examined."""
    library = str(Path(options.program).resolve().parent.parent / "lib")
    result = subprocess.run(["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /proc && exec "$0" --json', options.program],
                            capture_output=True, timeout=120, check=False, env={**os.environ, "LD_LIBRARY_PATH": library})  # fmt: skip
    assert result.returncode != 2 and not result.stderr, result
    assert json.loads(result.stdout)["exit_code"] == result.returncode, result


def is_sanitized(program):
    """Return whether the program has the address sanitizer, which needs /proc itself."""
    return b"__asan_init" in Path(program).read_bytes()


def case_options(options):
    if not is_sanitized(options.program):
        without_proc(options)
    assert run(options, "--help").stdout.startswith(b"Usage: rdma-doctor")
    assert re.fullmatch(rb"rdma-doctor [\d.]+\n", run(options, "--version").stdout)
    for wrong in (["--pid", "x"], ["--pid", "9999999999"], ["--pid", ""], ["--pid", "../1"], ["--device", "a/b"], ["--device", "."], ["--root", "/nowhere"],
                  ["--root", "/" + "x" * 200], ["--bogus"], ["word"], ["--require", ""], ["--require", "0"],
                  ["--require", "a/b"], ["--require", "1,mlx0"], ["--require", "99999999999"], ["--require", "2", "--require", "3"],
                  ["--device", "mlx0", "--require", "1"]):  # fmt: skip
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


def check_copy(options, name, changes, arguments, code, cause, fix):
    with tempfile.TemporaryDirectory() as folder:
        make_copy(options, Path(folder), changes)
        found = report(options, "--root", folder, *arguments, UROCE="auto")
        assert found["exit_code"] == code, found
        assert cause in found.get("cause", ""), found
        assert fix in found.get("fix", ""), found
        text = run(options, "--root", folder, *arguments, UROCE="auto")
        assert text.returncode == code and cause.encode() in text.stdout, text
        well = code == 0 and name not in NOT_WELL
        assert text.stdout.startswith(b"No fault found") == well, text


def case_copies(options):
    failed = 0
    for name, *case in FAULTS:
        if options.only not in name:
            continue
        try:
            check_copy(options, name, *case)
        except (AssertionError, KeyError) as wrong:
            failed += 1
            print(f"FAILED: {name}: {str(wrong)[:1500]}")
    print(len(FAULTS), "copies,", failed, "failed")
    assert not failed


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
    parser.add_argument("--providers", required=True, help="folder of its providers")
    parser.add_argument("--page", required=True)
    parser.add_argument("--only", default="", help="of the copies: those with this in their name")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--turns", type=int, default=60)
    options = parser.parse_args()
    globals()["case_" + options.case](options)


main()

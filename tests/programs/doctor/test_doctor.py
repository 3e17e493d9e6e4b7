#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Run rdma-doctor on this machine and on invented copies of other machines.

test_doctor.py <case> <program>: run a case, which is a function below. Its assertions are the test.
"""

import argparse
import concurrent.futures
import ctypes
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))
import schema  # noqa: E402

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
# Files of uroce's provider. With UROCE=auto uroce serves if the kernel has no device.
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
# The process has the namespaces of the host and the root folder of the first process.
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
    # A lost device of the kernel is a fault even if uroce serves.
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
    # Since Linux 5.11 the auxiliary bus has a device unless RDMA was switched off.
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
    # A missing device node.
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
    ("a name like an option", {}, ["--require=-x"], 25, "-x is not there", ""),
    ("a fallen device", {**SECOND, f"{OTHER}/ports/1/state": "1: DOWN\n"}, ["--require", "mlx1"], 25,
     "mlx1 fell on port: port 1 is DOWN", "ip link show dev eth0"),
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

# A host whose device has a PCI function and is without a fault for --speed, and changes that make one fault each.
FUNCTION = "sys/devices/pci0000:00/0000:3b:00.0"
CPU = "sys/devices/system/cpu"


def express(control, first=0x40):
    """A configuration space with the PCI Express capability behind another one at @first."""
    space = bytearray(256)
    space[0x34] = first
    space[first : first + 2] = 0x01, 0x60
    space[0x60], space[0x68:0x6A] = 0x10, struct.pack("<H", control)
    return bytes(space)


FAST = {
    f"{DEVICE}/device": ("link", "../../../devices/pci0000:00/0000:3b:00.0"),
    f"{FUNCTION}/vendor": "0x15b3\n",
    f"{FUNCTION}/current_link_width": "16\n",
    f"{FUNCTION}/max_link_width": "16\n",
    f"{FUNCTION}/current_link_speed": "16.0 GT/s PCIe\n",
    f"{FUNCTION}/max_link_speed": "16.0 GT/s PCIe\n",
    f"{FUNCTION}/numa_node": "1\n",
    f"{FUNCTION}/config": express(0x2810),
    f"{FUNCTION}/iommu_group/type": "identity\n",
    **{f"{FUNCTION}/msi_irqs/{number}": "msix\n" for number in (70, 71, 72)},
    **{f"proc/irq/{70 + cpu}/smp_affinity_list": f"{4 + cpu}\n" for cpu in range(3)},
    "sys/devices/system/node/node1/cpulist": "4-7\n",
    "proc/self/status": "Name:\tx\nVmPin:\t0 kB\nCapEff:\t0\nCpus_allowed_list:\t0-7\n",
    **{f"{CPU}/cpu{cpu}/cpufreq/scaling_governor": "performance\n" for cpu in range(8)},
    "proc/meminfo": "MemTotal: 9 kB\nHugePages_Total:       0\nHugePages_Free:        0\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    "sys/module/pcie_aspm/parameters/policy": "[default] performance powersave\n",
}
SPEED = [
    ("speed, healthy", {}, 0, "", ""),
    ("fewer lanes", {f"{FUNCTION}/current_link_width": "8\n"}, 44, "8 lanes of 16.0 GT/s, 126 Gbit/s; the adapter can do 16", "slot with 16"),
    ("slower lanes", {f"{FUNCTION}/current_link_speed": "2.5 GT/s PCIe\n"}, 44, "16 lanes of 2.5 GT/s, 32 Gbit/s", "slot"),
    ("a virtual function", {f"{FUNCTION}/current_link_width": "0\n", f"{FUNCTION}/physfn/vendor": "0x15b3\n",
     **{f"{FUNCTION}/physfn/{which}_link_{what}": text for which in ("current", "max") for what, text in
        (("width", "4\n"), ("speed", "8.0 GT/s\n"))}}, 0, "", ""),
    ("no relaxed ordering", {f"{FUNCTION}/config": express(0x2800)}, 45, "relaxed ordering is off", "setpci -s 0000:3b:00.0"),
    ("short reads", {f"{FUNCTION}/config": express(0x0810)}, 45, "pieces of 128 bytes", "5000:7000"),
    ("a capability at the end of the space", {f"{FUNCTION}/config": express(0x2800, 0xF8)}, 45, "relaxed ordering is off", "setpci"),
    ("a loop of capabilities", {f"{FUNCTION}/config": express(0).replace(b"\x01\x60", b"\x01\x40")}, 0, "", ""),
    ("configuration of a user", {f"{FUNCTION}/config": express(0)[:64]}, 0, "", ""),
    ("another node", {"proc/self/status": "Name:\tx\nCpus_allowed_list:\t0-3\n"}, 46, "at NUMA node 1", "--cpunodebind=1"),
    ("one processor for interrupts", {f"proc/irq/{number}/smp_affinity_list": "5\n" for number in (70, 71, 72)}, 47,
     "all its 3 interrupts go to one processor", "irqbalance"),
    ("one effective processor", {f"proc/irq/{number}/effective_affinity_list": "5\n" for number in (70, 71, 72)}, 47, "go to one processor", "irqbalance"),
    ("a width that is not known", {f"{FUNCTION}/max_link_width": "255\n"}, 0, "", ""),
    ("many processors", {f"{CPU}/cpu{cpu}/cpufreq/scaling_governor": "powersave\n" if cpu == 70 else "performance\n" for cpu in range(71)}, 49,
     "1 of 71 processors", "cpupower"),
    ("far interrupts", {f"proc/irq/{70 + cpu}/smp_affinity_list": f"{cpu}\n" for cpu in range(3)}, 47, "other NUMA nodes than 1", "node 1"),
    ("IOMMU", {f"{FUNCTION}/iommu_group/type": "DMA\n"}, 48, "each unmapping waits", "iommu=pt"),
    ("a lazy IOMMU", {f"{FUNCTION}/iommu_group/type": "DMA-FQ\n"}, 0, "", ""),
    ("governor", {f"{CPU}/cpu3/cpufreq/scaling_governor": "powersave\n"}, 49, "1 of 8 processors save power (governor powersave)", "cpupower"),
    ("governor with a preference", {f"{CPU}/cpu3/cpufreq/scaling_governor": "powersave\n",
     f"{CPU}/cpu3/cpufreq/energy_performance_preference": "performance\n"}, 0, "", ""),
    ("ASPM", {"sys/module/pcie_aspm/parameters/policy": "default performance [powersave]\n"}, 49, "ASPM", "pcie_aspm.policy"),
    ("no huge pages", {"sys/kernel/mm/transparent_hugepage/enabled": "always madvise [never]\n"}, 50, "transparent ones are off", "vm.nr_hugepages"),
]  # fmt: skip

# For these copies the report may not state that there is no fault, with any exit code.
NOT_WELL = {"one of two", "one adapter of two"}


def run(options, *arguments, **environment):
    command = [options.program, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, timeout=120, check=False, env={**os.environ, **environment})


def report(options, *arguments, **environment):
    """Check the properties of every report, and return its JSON."""
    result = run(options, "--json", *arguments, **environment)
    assert all(byte == 10 or 32 <= byte < 127 for byte in result.stdout), result.stdout
    assert result.stderr == b"", result.stderr
    found = schema.parse(result.stdout, "rdma-doctor")
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
    """Return the end of the file names of providers, which has the number of the interface."""
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
    """Check that the program fails if its report is lost."""
    with open("/dev/full", "wb") as full:
        result = subprocess.run([options.program], stdout=full, stderr=subprocess.PIPE, timeout=120, check=False)
    assert result.returncode == 1 and b"could not be written: No space left" in result.stderr, result


def case_live(options):
    """On any machine the report is valid, and without devices uroce works."""
    # The program examines the shared library, and has no copy of it.
    names = subprocess.run(["nm", "-D", "--undefined-only", options.program], stdout=subprocess.PIPE, check=True, text=True).stdout
    assert " ibv_get_device_list@" in names and " ibv_open_device@" in names, names
    found = report(options)
    assert len({rung["exit_code"] for rung in found["rungs"]}) == len(found["rungs"]), found
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
    # The report names each mistake in the variable.
    for setting, words in (("on:", "UROCE names no interface behind ':'"), ("on:verylonginterfacename1234567", "no interface 'verylonginterfacename1234567'"),
                           ("on:lo,,nix", "no interface 'nix'")):  # fmt: skip
        rung = next(one for one in report(options, UROCE=setting)["rungs"] if one["rung"] == "uroce")
        assert words in rung.get("cause", rung.get("found")), (setting, rung)
    # The report names the limit of open files, in whatever call the limit fails.
    for files in (6, 12):
        limited = ["sh", "-c", f'ulimit -n {files}; exec "$@"', "sh", options.program, "--json", "--device", "uroce_lo"]
        result = subprocess.run(limited, stdout=subprocess.PIPE, timeout=120, check=False, env={**os.environ, "UROCE": "on:lo"})
        found = json.loads(result.stdout)
        assert "Too many open files" in found["cause"] and "ulimit -n" in found["fix"], (files, found)
    # The report has the cause even if the environment names a log file.
    with tempfile.TemporaryDirectory() as folder:
        found = report(options, UROCE="on:nix", VERBS_LOG_FILE=f"{folder}/log")
        assert "no interface 'nix'" in found["cause"], found
    check_played(options)


# Faults that uroce makes on demand, and the rungs that find them. Each rung has two QPs of the process. uroce repeats single
# packets of RC with any number of retries.
TRANSFER_FAULTS = [
    ("drop=1+:send", "rc", "the SEND: transport retry counter exceeded"),
    ("corrupt=1+:write", "rc", "the RDMA write: transport retry counter exceeded"),
    ("drop=1+:read_response", "rc", "the RDMA read: transport retry counter exceeded"),
    ("post_send=2:ENOMEM", "rc", "ibv_post_send: Cannot allocate memory"),
    ("qp_fatal=1:qp=1", "rc", "the SEND"),
    ("drop=5:qp=3", "ud", "31 of 32 datagrams arrived: 1 lost"),
    ("create_ah=1:EINVAL", "ud", "ibv_create_ah: Invalid argument"),
    ("drop=1+:qp=5", "latency", "an RDMA write: transport retry counter exceeded"),
    ("drop=1+:qp=7", "rate", "an RDMA write: transport retry counter exceeded"),
]


def check_played(options):
    """Below uroce-run the report is the same, because its files are not mistaken for those of the kernel."""
    expected = report(options, UROCE="on:lo")
    # The address sanitizer must be the first library.
    for way in ("namespace",) if is_sanitized(options.program) else ("namespace", "preload"):
        launcher = [Path(options.program).parent / "uroce-run", "-w", way]
        environment = {**os.environ, "UROCE": "on:lo"}
        if subprocess.run([*launcher, "true"], check=False, stderr=subprocess.PIPE, timeout=120, env=environment).returncode:
            continue
        result = subprocess.run([*launcher, options.program, "--json"], check=False, stdout=subprocess.PIPE, timeout=120, env=environment)
        found = json.loads(result.stdout)
        for before, after in zip(expected["rungs"], found["rungs"]):
            assert before["state"] == after["state"], (way, before, after)
        assert [one["device"] for one in found["devices"]] == [one["device"] for one in expected["devices"]], found["devices"]


def case_transfer(options):
    """Data pass a healthy device, and the report names the fault of a faulty one."""
    found = report(options, "--transfer", "uroce_lo", UROCE="on:lo")
    assert found["exit_code"] == 0, found
    states = {rung["rung"]: rung["state"] for rung in found["rungs"]}
    assert all(states[name] == "ok" for name in ("rc", "ud", "latency", "rate")), found
    told = found["transfer"]
    assert told["works"] and told["device"] == "uroce_lo" and told["datagrams_arrived"] == told["datagrams_sent"], told
    assert told["rate_mbps"] and told["port_mbps"] and told["latency_median_ns"] <= told["latency_slowest_ns"], told
    # Run all of them at the same time, because they wait for timeouts.
    with concurrent.futures.ThreadPoolExecutor(len(TRANSFER_FAULTS)) as pool:
        reports = list(pool.map(lambda row: report(options, "-t", "uroce_lo", UROCE="on:lo", UROCE_FAULTS=row[0]), TRANSFER_FAULTS))
    for (fault, rung, words), found in zip(TRANSFER_FAULTS, reports):
        assert found["first_failure"] == rung and words in found["cause"], (fault, found)
        assert "UROCE_FAULTS" in found["fix"] and not found["transfer"]["works"], (fault, found)
    # --transfer is not given, or the files are a copy.
    states = {rung["rung"]: rung["state"] for rung in report(options, "--device", "uroce_lo", UROCE="on:lo")["rungs"]}
    assert states["rc"] == states["rate"] == "unneeded", states
    with tempfile.TemporaryDirectory() as folder:
        make_copy(options, Path(folder), {})
        states = {rung["rung"]: rung["state"] for rung in report(options, "--root", folder, "-t")["rungs"]}
    assert states["rc"] == "unseen", states


# Counters that change while they are watched, the rung that finds this, and words of it. The last rows are a healthy host and
# a file that is no counter.
HW = f"{DEVICE}/ports/1/hw_counters"
PORT = f"{DEVICE}/ports/1/counters"
NETDEV = "sys/class/net/eth0/statistics"
WATCHED = [
    ({f"{PORT}/symbol_error": 3, f"{HW}/out_of_sequence": 4}, "links", "mlx0 port 1 symbol_error moved by 3", "ethtool -m"),
    ({f"{NETDEV}/rx_crc_errors": 1}, "links", "eth0 rx_crc_errors moved by 1", "cable"),
    ({"sys/class/net/eth0/carrier_changes": 2}, "links", "eth0 carrier_changes moved by 2", "cable"),
    ({f"{HW}/rx_icrc_encapsulated": 1}, "links", "damaged (invariant CRC)", "tunnel"),
    ({f"{HW}/out_of_buffer": 7}, "drops", "no receive was posted", "post more"),
    ({f"{NETDEV}/rx_missed_errors": 7}, "drops", "did not take them in time", "PFC"),
    ({f"{HW}/out_of_sequence": 12, f"{HW}/local_ack_timeout_err": 1}, "losses", "out_of_sequence moved by 12", "switches"),
    ({f"{HW}/local_ack_timeout_err": 1, f"{HW}/np_cnp_sent": 5}, "losses", "no acknowledgement came in time", "switches"),
    ({f"{HW}/rnr_nak_retry_err": 2}, "receivers", "the peer had posted no receive (RNR)", "cpu.max"),
    ({f"{HW}/req_transport_retries_exceeded": 1}, "losses", "queue pairs failed: the peer did not answer", "switches"),
    ({f"{HW}/req_rnr_retries_exceeded": 1}, "receivers", "for too long (RNR)", "cpu.max"),
    ({f"{HW}/requester_retries_exceeded": 1}, "losses", "queue pairs failed: the peer did not answer", "switches"),
    ({f"{DEVICE}/hw_counters/sq_num_to": 1}, "losses", "no acknowledgement came in time", "switches"),
    ({f"{DEVICE}/hw_counters/num_cqovf": 1}, "refusals", "completion queues overflowed", "ibv_wc_status"),
    ({f"{HW}/resp_remote_access_errors": 1}, "refusals", "a wrong key or address", "ibv_wc_status"),
    ({f"{HW}/rp_cnp_ignored": 1}, "congestion", "does not obey", "senders"),
    ({f"{HW}/np_cnp_sent": 5, f"{HW}/rx_write_requests": 900, f"{NETDEV}/rx_packets": 10**9}, None, "senders were told to slow down", ""),
    ({"proc/net/snmp": 4}, None, "a socket's buffer was full", ""),
    ({f"{HW}/lifespan": 4, f"{HW}/rx_write_requests": 900}, None, "", ""),
]  # fmt: skip


def counter_file(path, value):
    if not path.endswith("snmp"):
        return f"{value}\n"
    return f"Ip: Forwarding\nIp: 1\nUdp: InDatagrams RcvbufErrors\nUdp: 5 {value}\nUdpLite: x\nUdpLite: 1\n"


def watched(options, folder, moves, *arguments, ending=signal.SIGINT, change=lambda root: None):
    """Watch a copy in which the counters of @moves change, and end the program by a signal."""
    root = Path(folder)
    start = 2**32 - 2
    make_copy(options, root, {path: counter_file(path, start) for row in WATCHED for path in row[0]})
    command = [options.program, "--root", folder, "--watch", "600", *arguments]
    watcher = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "UROCE": "auto"})
    line = watcher.stderr.readline()
    assert re.fullmatch(r"rdma-doctor: watching \d+ counters for 600 seconds; Ctrl-C ends it\n", line), line
    for path, by in moves.items():
        write(root, path, counter_file(path, start + by))
    change(root)
    watcher.send_signal(ending)
    text, errors = watcher.communicate(timeout=120)
    assert not errors, errors
    return watcher.returncode, text


def check_watched(options, row):
    moves, rung, words, fix = row
    with tempfile.TemporaryDirectory() as folder:
        code, text = watched(options, folder, moves, "--json")
    found = schema.parse(text.encode(), "rdma-doctor")
    assert found.get("first_failure") == rung and found["exit_code"] == code, (row, found)
    told = [one for one in found["rungs"] if words in one.get("cause", one.get("found", ""))]
    assert told and (not fix or fix in told[0]["fix"]), (row, found)
    moved = {one["counter"]: one["moved"] for one in found["watch"]["moved"]}
    expected = {"RcvbufErrors" if path.endswith("snmp") else Path(path).name: by for path, by in moves.items()}
    expected.pop("lifespan", None)
    assert moved == expected, (row, moved)
    assert all(one["kind"] == "traffic" or one["meaning"] for one in found["watch"]["moved"]), found["watch"]


def case_watch(options):
    """The report has the counters that changed, and their meaning, from files and from uroce."""
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda row: check_watched(options, row), WATCHED))
    with tempfile.TemporaryDirectory() as folder:
        code, text = watched(options, folder, {f"{HW}/out_of_sequence": 3})
    assert code == 32 and re.search(r"mlx0 port 1 out_of_sequence +3  requests arrived out of sequence", text), text
    # A counter that was reset and has not changed since.
    with tempfile.TemporaryDirectory() as folder:
        code, text = watched(options, folder, {f"{PORT}/symbol_error": 2 - 2**32})
    assert code == 0 and "0 of " in text, text
    with tempfile.TemporaryDirectory() as folder:
        code, text = watched(options, folder, {f"{PORT}/symbol_error": 5 - 2**32})
    assert code == 30 and "symbol_error moved by 3:" in text, text
    # A device that is removed.
    with tempfile.TemporaryDirectory() as folder:
        code, text = watched(options, folder, {}, change=lambda root: shutil.rmtree(root / DEVICE))
    assert code == 30 and "mlx0 vanished while it was watched" in text, text
    # The process that watches ends with its parent, and does not keep the pipe open.
    with tempfile.TemporaryDirectory() as folder:
        code, text = watched(options, folder, {}, ending=signal.SIGTERM)
    assert code == -signal.SIGTERM and not text, text
    # liburoce has the counters. With the address sanitizer dlopen() does not search the run path of the program.
    environment = {"UROCE": "on:lo", "LD_LIBRARY_PATH": str(Path(options.program).parent.parent / "lib")}
    rows = [("drop=3:write", "losses", "out of sequence"), ("corrupt=3:write", "links", "rcvd_icrc_err"), ("seed=1", None, "")]
    for fault, rung, words in rows:
        result = run(options, "--json", "-t", "uroce_lo", "-w1", UROCE_FAULTS=fault, **environment)
        found = json.loads(result.stdout)
        assert found.get("first_failure") == rung and words in found.get("cause", ""), (fault, found)
        assert {"uroce", "udp"} >= {one["source"] for one in found["watch"]["moved"]} - {"statistics"}, found["watch"]
    states = {rung["rung"]: rung["state"] for rung in report(options)["rungs"]}
    assert states["links"] == states["congestion"] == "unneeded", states


def case_speed(options):
    """The report names each cause of a slow host, and only with --speed."""
    for name, changes, code, cause, fix in SPEED:
        check_copy(options, name, {**FAST, **changes}, ["--speed"], code, cause, fix)
    broken = {name: content for row in SPEED[1:3] for name, content in row[1].items()}
    check_copy(options, "not asked", {**FAST, **broken}, [], 0, "", "")
    check_copy(options, "no function", {}, ["--speed", "--strict"], 0, "", "")


# Files of a healthy host that a user may not read, the exit code, a rung, its state and words of it.
CLOSED = [
    ("sys", 10, "kernel", "failed", "may not read"),
    ("sys/class", 10, "kernel", "failed", "may not read"),
    (f"{FUNCTION}/config", 0, "ordering", "unseen", "root"),
    (f"{FUNCTION}/current_link_width", 0, "pcie", "unseen", ""),
    (f"{FUNCTION}/iommu_group/type", 0, "iommu", "unseen", "cannot be read"),
    ("proc/irq", 0, "irq", "unseen", "are not known"),
    ("proc/self/status", 0, "numa", "unseen", "are not known"),
    ("proc/self/limits", 0, "memlock", "unseen", "Permission denied"),
    ("proc/meminfo", 0, "hugepages", "unseen", "cannot be read"),
    (f"{DEVICE}/ports/1/gids", 0, "gid", "unseen", "the GID table of port 1: Permission denied"),
    (f"{DEVICE}/ports", 0, "port", "unseen", "no port that can be read"),
]  # fmt: skip


def case_closed(options):
    """If the user may not read a file, its rung is unseen, or the finding names the permission."""
    nobody = {"user": 65534, "group": 65534, "extra_groups": []}
    try:
        subprocess.run([options.program, "--version"], stdout=subprocess.DEVNULL, check=True, **nobody)
    except PermissionError as error:
        print("another user cannot run the program:", error)
        raise SystemExit(77) from error
    for path, code, rung, state, words in CLOSED:
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            make_copy(options, Path(folder), FAST)
            mode = os.stat(f"{folder}/{path}").st_mode
            os.chmod(f"{folder}/{path}", 0)
            result = subprocess.run([options.program, "--json", "--speed", "--root", folder], stdout=subprocess.PIPE, check=False,
                                    env={**os.environ, "UROCE": "off"}, **nobody)  # fmt: skip
            os.chmod(f"{folder}/{path}", mode)
        found = schema.parse(result.stdout, "rdma-doctor")
        (one,) = [one for one in found["rungs"] if one["rung"] == rung]
        print(path, "->", result.returncode, one["state"], one.get("cause", one.get("found")))
        assert result.returncode == code and one["state"] == state and words in one.get("cause", one.get("found")), (path, found)


def case_shown(options):
    """The text has unneeded rows only on request, and the JSON has all rows."""
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
    """The JSON has a version of its layout, and each device with its users."""
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
    """Check that no whole number is in quotes."""
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        assert not (isinstance(inner, str) and re.fullmatch(r"\d+", inner)), inner
        numbers_are_numbers(inner)


def killer(call):
    """Return a function that sets a seccomp filter, which kills processes that make the system call."""
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
    """In restricted environments the report names only the fault of the environment."""
    alone = ["unshare", "-n"] if os.geteuid() == 0 else ["unshare", "-rn"]
    if subprocess.run([*alone, "true"], check=False).returncode:
        print("no namespaces here")
        raise SystemExit(77)
    script = 'ip link set lo "$1" && shift && exec "$@"'
    places = [
        ("down", {}, 23, "lo is down", "ip link set dev lo up"),
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


def case_crowded(options):
    """The report counts all devices and all addresses of a device, even if there are many."""
    many = {}
    for number in range(1, 300):
        many.update({name.replace(DEVICE, f"{DEVICE[:-1]}{number}"): text for name, text in HEALTHY.items() if name.startswith(DEVICE)})
        many[f"sys/class/infiniband_verbs/uverbs{number}/ibdev"] = f"mlx{number}\n"
        many[f"sys/class/infiniband_verbs/uverbs{number}/dev"] = f"231:{192 + number}\n"
        many[f"sys/class/infiniband_verbs/uverbs{number}/abi_version"] = "1\n"
        many[f"dev/infiniband/uverbs{number}"] = ""
    check_copy(options, "300 devices", many, ["--require", "300"], 0, "", "")
    check_copy(options, "301 devices", many, ["--require", "301"], 25, "300 devices work, 301 are required", "")
    with tempfile.TemporaryDirectory() as folder:
        make_copy(options, Path(folder), {f"{DEVICE[:-1]}{number}/node_type": "1: CA\n" for number in range(1, 1025)})
        said = run(options, "--root", folder).stderr.decode()
        assert said.startswith("rdma-doctor: this host has more than 1024 devices"), said
        assert not run(options, "--root", folder, "--device", "mlx1024").stderr
    alone = ["unshare", "-n"] if os.geteuid() == 0 else ["unshare", "-rn"]
    setup = (
        "ip link set lo up; for i in $(seq 100); do ip address add 192.0.2.$i/32 dev lo; done;"
        "for i in $(seq 33); do ip link add a$i type veth peer name b$i;"
        "for end in a$i b$i; do ip address add 198.51.100.$i/32 dev $end; ip link set $end up; done; done; ip -o link | wc -l >&2;"
    )
    if subprocess.run([*alone, "sh", "-c", "ip link add a1 type veth peer name b1"], check=False).returncode:
        print("no interfaces can be made here")
        raise SystemExit(77)
    command = [*alone, "sh", "-c", setup + 'exec "$@"', "sh", options.program, "--json", "--device", "uroce_lo"]
    result = subprocess.run(command, capture_output=True, timeout=300, check=False, env={**os.environ, "UROCE": "on"})
    found = json.loads(result.stdout)
    rung = next(one for one in found["rungs"] if one["rung"] == "uroce")
    assert rung["state"] == "ok" and f"{int(result.stderr)} devices in all" in rung["found"], (rung, result.stderr)
    assert found["devices"][0]["gid"] == "::ffff:127.0.0.1", found["devices"]


def case_killed(options):
    """If a filter kills the trial, the report names the filter, and not the library as the cause."""
    calls = {"x86_64": {"bind": 49, "getdents64": 217, "socket": 41},
             "aarch64": {"bind": 200, "getdents64": 61, "socket": 198}}
    calls = calls.get(os.uname().machine)
    if not calls:
        print("the numbers of this architecture's system calls are not known here")
        raise SystemExit(77)
    # If the kernel has RDMA, the first socket is that of RDMA netlink.
    first = "netlink" if Path("/sys/class/infiniband").exists() else "uroce"
    for call, rung in (("bind", "uroce"), ("getdents64", None), ("socket", first)):
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


def covered(options, folder, *arguments, **environment):
    """Return the report if an empty file system covers @folder, as in a build sandbox."""
    library = str(Path(options.program).resolve().parent.parent / "lib")
    # The library takes its driver files from the build tree if this file is there.
    script = f'mount -t tmpfs none {folder} && touch {folder}/.build-tree && exec "$0" --json "$@"'
    result = subprocess.run(["unshare", "-m", "sh", "-c", script, options.program, *arguments], capture_output=True, timeout=120, check=False,
                            env={**os.environ, "LD_LIBRARY_PATH": library, **environment})  # fmt: skip
    assert result.returncode != 2 and not result.stderr, result
    found = schema.parse(result.stdout, "rdma-doctor")
    assert found["exit_code"] == result.returncode, result
    return found


def broken_plugin(options):
    """Return the report if the file of uroce's provider is no library."""
    library = Path(options.program).resolve().parent.parent / "lib"
    script = f'mount --bind /dev/null "$(echo {library}/liburoce-rdmav*.so)" && exec "$0" --json'
    result = subprocess.run(["unshare", "-m", "sh", "-c", script, options.program], stdout=subprocess.PIPE, timeout=120, check=False,
                            env={**os.environ, "LD_LIBRARY_PATH": str(library), "UROCE": "on:lo"})  # fmt: skip
    return schema.parse(result.stdout, "rdma-doctor")


def is_sanitized(program):
    """Return whether the program has the address sanitizer, which needs /proc."""
    return b"__asan_init" in Path(program).read_bytes()


def case_options(options):
    if not is_sanitized(options.program):
        # The program cannot read the limits, and checks the rest.
        states = {one["rung"]: one["state"] for one in covered(options, "/proc")["rungs"]}
        assert states["memlock"] in ("unseen", "unneeded"), states
        # uroce needs no sysfs.
        found = covered(options, "/sys", UROCE="on:lo")
        assert found["exit_code"] == 0 and [one["device"] for one in found["devices"]] == ["uroce_lo"], found
        # The provider's package is not installed, although the variable asks for it.
        found = covered(options, Path(options.program).resolve().parent.parent / "lib/libibverbs.d", UROCE="on:lo")
        assert found["first_failure"] == "uroce" and "UROCE asks for it, but it is not installed" in found["cause"], found
        assert "install ibverbs-provider-uroce" in found["fix"], found
        found = broken_plugin(options)
        assert found["first_failure"] == "uroce" and "couldn't load driver" in found["cause"] and "reinstall the package" in found["fix"], found
    assert run(options, "--help").stdout.startswith(b"Usage: rdma-doctor")
    assert re.fullmatch(rb"rdma-doctor [\d.]+\n", run(options, "--version").stdout)
    with tempfile.TemporaryDirectory() as folder:
        make_copy(options, Path(folder), {})
        result = run(options, "--root", folder, "--require", "mlx7", "--watch", "1", UROCE="auto")
    assert result.returncode == 25 and b"counters for 1 seconds" in result.stderr, result
    # One device that is named twice.
    found = report(options, "--transfer", "uroce_lo", "--device", "uroce_lo", UROCE="on:lo")
    assert found["transfer"]["device"] == "uroce_lo", found
    for wrong in (["--pid", "x"], ["--pid", "9999999999"], ["--pid", ""], ["--pid", "../1"], ["--device", "a/b"], ["--device", "."], ["--root", "/nowhere"],
                  ["--root", "/" + "x" * 200], ["--bogus"], ["word"], ["--require", ""], ["--require", "0"],
                  ["--require", "a/b"], ["--require", "-1"], ["--require=-1"], ["--require", "-x"],
                  ["--require", "1,mlx0"], ["--require", "99999999999"], ["--require", "2", "--require", "3"],
                  ["--device", "mlx0", "--require", "1"], ["--transfer", "a/b"], ["--transfer", "mlx0", "mlx1"], ["--transfer", "mlx0", "--device", "mlx1"],
                  ["--watch", "0"], ["--watch", "86401"], ["--watch", "x"], ["--watch", "5", "mlx0"], ["--watch=999999"], ["-w-1"],
                  *(["--serve", *more] for more in (["--json"], ["--watch"], ["--speed"], ["--require", "1"], ["--pid", "1"], ["--strict"]))):  # fmt: skip
        result = run(options, *wrong)
        assert result.returncode == 2 and result.stderr and not result.stdout, (wrong, result)


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
    """Return a random content of a file: bytes, numbers out of range, long lines or strange characters."""
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
    """Return the real content with a few changed bytes."""
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
    parser.add_argument("--only", default="", help="of the copies: those with this in their name")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--turns", type=int, default=60)
    options = parser.parse_args()
    globals()["case_" + options.case](options)


if __name__ == "__main__":
    main()

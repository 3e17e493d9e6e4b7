# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Two network namespaces joined by veth, for the benchmarks."""
import os
import subprocess
import sys
import time

IPV4_GID = "1"  # the link-local one, before it, is looked for elsewhere first
HERE, THERE, LINK = "192.0.2.1", "192.0.2.2", ("here0", "there0")


def shell(command):
    subprocess.run(command, shell=True, check=True)


def namespace():
    """The other end of a veth pair, in a namespace of its own. Return: the process that holds it."""
    holder = subprocess.Popen(["unshare", "-n", "sleep", "infinity"])
    mine = os.readlink("/proc/self/ns/net")
    while os.readlink(f"/proc/{holder.pid}/ns/net") == mine:
        time.sleep(0.05)
    enter = f"nsenter -t {holder.pid} -n"
    shell(f"ip link set lo up; ip link add {LINK[0]} type veth peer name {LINK[1]} netns {holder.pid}")
    shell(f"ip addr add {HERE}/24 dev {LINK[0]}; ip link set {LINK[0]} up")
    shell(f"{enter} ip link set lo up; {enter} ip addr add {THERE}/24 dev {LINK[1]}; {enter} ip link set {LINK[1]} up")
    return holder


def link_set(holder, mtu):
    shell(f"ip link set {LINK[0]} mtu {mtu}; nsenter -t {holder.pid} -n ip link set {LINK[1]} mtu {mtu}; sleep 0.2; "
          f"until ip link show {LINK[0]} | grep -q 'state UP'; do sleep 0.05; done")


UROCE_PACKETS, TCP_PACKETS = "udp dport 4791", "meta l4proto tcp"


def loss_set(holder, percent, packets=UROCE_PACKETS):
    """Of what arrives at either side; a large send that the link carries whole is lost whole."""
    rules = ["add table inet loss", "add chain inet loss in { type filter hook input priority 0; }",
             f"add rule inet loss in {packets} numgen random mod 1000 < {round(percent * 10)} drop"]
    for prefix in ([], ["nsenter", "-t", str(holder.pid), "-n"]):
        subprocess.run([*prefix, "nft", "flush", "ruleset"], check=True)
        if percent:
            subprocess.run([*prefix, "nft", "-f", "-"], input="\n".join(rules), text=True, check=True)


def uroce(bench, holder, prefix, test, size, scale):
    """verbs_perf between the two."""
    env = ({"UROCE": "on:" + LINK[0]}, {"UROCE": "on:" + LINK[1]})
    bench.two_sides("verbs_perf", prefix, (test, str(size)), ["nsenter", "-t", str(holder.pid), "-n"], THERE, env,
                    ("-g", IPV4_GID, "-r", "1", "-x", str(scale)))


def plain(bench, holder, prefix, test, size, scale=1.0):
    """Without RDMA between the two."""
    bench.two_sides("plain", prefix, (test, str(size)), ["nsenter", "-t", str(holder.pid), "-n"], THERE,
                    options=("-r", "1", "-x", str(scale)))


def apart(script, *arguments):
    """@script with @arguments, where making namespaces is allowed. Return: how it ended, None if that is nowhere."""
    if subprocess.run(["unshare", "-rn", "true"], stderr=subprocess.DEVNULL).returncode:
        return None
    return subprocess.run(["unshare", "-rn", sys.executable, script, *arguments]).returncode

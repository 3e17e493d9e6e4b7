#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""usage: starts.py BUILD-FOLDER [PROGRAM]

Compare user-space instructions (callgrind) and system calls (strace) of whole programs with the distribution's, in a
guest. Both are installed: a program of the build folder makes the dynamic linker search this folder in vain for a
dozen kinds of processors. Neither figure depends on time.

The library and the provider of the guest's device are installed into a mount namespace, so that the guest does not
change.
"""
import os
import re
import subprocess
import sys
import tempfile

# Program, arguments, and the largest permitted instructions and system calls, as parts of the
# distribution's.
PROGRAMS = (("ibv_devices", [], 0.20, 0.25), ("ibv_devinfo", [], 0.35, 0.35), ("ibv_devinfo", ["-v"], None, 0.15))


def run(command):
    env = {k: v for k, v in os.environ.items() if k not in ("LD_LIBRARY_PATH", "VERBS_LOG_LEVEL")}
    r = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if r.returncode:
        sys.exit(f"{' '.join(command)}: exit {r.returncode}\n{r.stdout}{r.stderr}")
    return r.stdout + r.stderr


def instructions(command):
    text = run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command])
    return int(re.search(r"Collected : (\d+)", text).group(1))


def system_calls(command):
    with tempfile.NamedTemporaryFile("r", errors="replace") as out:
        run(["strace", "-f", "-o", out.name, *command])
        return sum(1 for line in out if re.match(r"\d+\s+\w+\(", line))


def figures(folder):
    found = {}
    for program, arguments, most_instructions, most_calls in PROGRAMS:
        if program not in sys.argv[2:] and sys.argv[2:]:
            continue
        command, name = [f"{folder}/{program}", *arguments], " ".join((program, *arguments))
        if most_instructions:
            found[f"{name} instructions"] = instructions(command), most_instructions
        if most_calls:
            found[f"{name} system calls"] = system_calls(command), most_calls
    return found


def install(build):
    """Return the folder into which the build folder was installed."""
    with open(f"{build}/CMakeCache.txt", encoding="utf-8") as cache:
        prefix = re.search(r"^CMAKE_INSTALL_PREFIX:\w+=(.*)$", cache.read(), re.M).group(1)
    run(["mount", "-t", "tmpfs", "none", prefix])
    for part in "libibverbs", "providers/rxe":
        run(["cmake", "-P", f"{build}/{part}/cmake_install.cmake"])
    with tempfile.NamedTemporaryFile() as cache:
        run(["/sbin/ldconfig", "-C", cache.name])
        run(["mount", "--bind", cache.name, "/etc/ld.so.cache"])
    return prefix


def row(name, mine, theirs, target):
    ratio = mine / theirs
    verdict = "" if ratio <= target else f"   MISSED (target {target})"
    print(f"{name:32} {mine:>12,.0f} {theirs:>12,.0f}   {ratio:5.3f}{verdict}", flush=True)
    return ratio <= target


def main():
    if "IN_NAMESPACE" not in os.environ:
        os.environ["IN_NAMESPACE"] = "1"
        os.execvp("unshare", ["unshare", "-m", *sys.argv])
    print(f"{'':32} {'this tree':>12} {'distribution':>12}   ratio")
    theirs = figures("/usr/bin")
    mine = figures(f"{install(os.path.abspath(sys.argv[1]))}/bin")
    good = [row(name, mine[name][0], theirs[name][0], mine[name][1]) for name in mine]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())

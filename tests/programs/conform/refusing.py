#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Check that a device fails if it refuses a call that every program needs. Each report must state that the run proves nothing,
and the reason.

usage: refusing.py PROGRAM
"""
import errno
import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))
import schema  # noqa: E402

UNPROVEN = 4
# A program with a write and without a wait for the peer.
WRITE = """a0 region r0 lw rw n=4096
b0 region r0 lw rw n=4096
a0 cq c0 n=8
b0 cq c0 n=8
a0 qp q0 c0 n=4 x=4
b0 qp q0 c0 n=4 x=4
sync
a0 connect q0 y=7
b0 connect q0 y=7
sync
a0 fill #1 r0+64/64
a0 post q0 write #1 r0+64/64 @r0+128 signaled
a0 poll c0 n=1
sync
b0 look r0+128/64
"""
# The fault of the device, the verb that it refuses, the errno, and other options.
DEVICES = [("create_qp=1+:ENOMEM", "qp", errno.ENOMEM, ()), ("create_cq=1+:ENOMEM", "cq", errno.ENOMEM, ()),
           ("reg_mr=1+:ENOMEM", "region", errno.ENOMEM, ("--seed", "106", "--programs", "15")),
           ("post_send=1+:EINVAL", "post", errno.EINVAL, ("--replay", "/dev/stdin"))]


def run(program, faults, *options):
    """Return the exit code and the standard output."""
    done = subprocess.run([program, "--device", os.environ["RT_DEVICE"], "--quiet", "--patience", "3", "--programs", "2", *options], input=WRITE,
                          env=dict(os.environ, UROCE_FAULTS=faults), stdout=subprocess.PIPE, text=True)
    return done.returncode, done.stdout


def check(what, right, seen):
    if not right:
        sys.exit(f"{what}:\n{seen[:3000]}")


def check_device(program, faults, verb, error, options):
    code, output = run(program, faults, "--json", *options)
    check(f"{faults}: exit code {code}", code == UNPROVEN, output)
    report = schema.parse(output.encode(), "rdma-conform")
    check(f"{faults}: proves_nothing is wrong", report["proves_nothing"] and report["why"], output)
    check(f"{faults}: no refused {verb} is counted",
          any(r["verb"] == verb and r["errno"] == error for r in report["steps"]["refused"]), output)


def main():
    program = sys.argv[1]
    for device in DEVICES:
        check_device(program, *device)
    code, output = run(program, DEVICES[0][0])
    check(f"text: exit code {code}", code == UNPROVEN, output)
    check("text", "this run proves nothing: " in output
          and "left out, the object is not there: " in output and "refused, Cannot allocate memory: " in output, output)
    code, output = run(program, DEVICES[0][0], "--tap")
    check(f"TAP: exit code {code}", code == UNPROVEN, output)
    check("TAP", "not ok 99 - enough was exercised\n# this run proves nothing: " in output and "# steps: " in output, output)
    for options in ("--programs", "10"), ("--replay", "/dev/stdin"):
        code, output = run(program, "", "--json", *options)
        check(f"a right device, {options}: exit code {code}", code == 0 and not json.loads(output)["proves_nothing"], output)


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Check the report of rdma-conform --json by its schema, without findings and with one.

usage: report.py PROGRAM FAULTY-LIBRARY
"""
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))
import schema  # noqa: E402


def report(program, library, *options):
    environment = dict(os.environ, FAULTY="recv-bytes")
    if library:
        environment["LD_PRELOAD"] = library
    run = subprocess.run([program, "--device", os.environ["RT_DEVICE"], "--json", "--quiet", *options], env=environment,
                         capture_output=True)
    return schema.parse(run.stdout, "rdma-conform")


def main():
    report(sys.argv[1], None, "--programs", "20", "--threads", "4")
    found = report(sys.argv[1], sys.argv[2], "--rules", "1", "--first", "--no-shrink", "--programs", "100")
    if subprocess.run([sys.argv[1], "--threads", "5"], capture_output=True, check=False).returncode != 2:
        sys.exit("five threads are not refused")
    if not found["findings"] or "program" not in found["findings"][0]:
        sys.exit("the faulty library has no finding")


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The report of rdma-conform --json is as its schema says, without findings and with one.

usage: schema.py SCHEMA PROGRAM FAULTY-LIBRARY
"""
import copy
import json
import os
import subprocess
import sys

TYPES = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool}


def wrong(value, schema, where="report"):
    """Return what in @value the schema does not allow, or None. It knows the words that the schema uses."""
    if "const" in schema:
        return None if value == schema["const"] else f"{where} is not {schema['const']}"
    kind = TYPES[schema["type"]]
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        return f"{where} is not of type {schema['type']}"
    if kind is int and value < schema.get("minimum", value):
        return f"{where} is too small"
    if kind is dict:
        members = schema["properties"]
        missing, strange = set(schema["required"]) - set(value), set(value) - set(members)
        if missing or strange:
            return f"{where}: missing {sorted(missing)}, strange {sorted(strange)}"
        found = [wrong(value[name], members[name], f"{where}.{name}") for name in value]
    else:
        found = [wrong(item, schema["items"], f"{where}[{i}]") for i, item in enumerate(value)] if kind is list else []
    return next((f for f in found if f), None)


def report(program, library, *options):
    environment = dict(os.environ, FAULTY="recv-bytes")
    if library:
        environment["LD_PRELOAD"] = library
    run = subprocess.run([program, "--device", os.environ["RT_DEVICE"], "--json", "--quiet", *options], env=environment,
                         capture_output=True, text=True)
    return json.loads(run.stdout)


def main():
    schema = json.load(open(sys.argv[1], encoding="utf-8"))
    right = report(sys.argv[2], None, "--programs", "20")
    found = report(sys.argv[2], sys.argv[3], "--rules", "1", "--first", "--no-shrink", "--programs", "100")
    for each in right, found:
        if wrong(each, schema):
            sys.exit(wrong(each, schema))
    if not found["findings"] or "program" not in found["findings"][0]:
        sys.exit("the faulty library has no finding")
    for spoil in (lambda r: r.pop("device"), lambda r: r.update(more=1), lambda r: r["rules"][0].update(rule="x")):
        spoiled = copy.deepcopy(right)
        spoil(spoiled)
        if not wrong(spoiled, schema):
            sys.exit("the schema allows a spoiled report")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Check that each rung of rdma-doctor is in the manual pages, and that a test makes a state in which the rung fails.

test_rungs.py BUILD-FOLDER: compare, and print the list of rungs. The rungs are those of rdma-doctor/rungs.c. The states are the
tables of test_doctor.py and test_peer.py, and the failures that the unit tests expect. ctest has to know their tests.
"""

import ast
import re
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
import test_doctor  # noqa: E402
import test_peer  # noqa: E402

HERE = Path(__file__).resolve().parent
TREE = HERE.parents[2]
PAGES = TREE / "documentation/man"


def rungs_of_source():
    """Return (name, exit code, subject, whether --speed runs it) of each row of the table."""
    table = (TREE / "rdma-doctor/rungs.c").read_text().split("rungs[] = {\n")[1].split("\n};")[0]
    rows = re.findall(r'^\t\{ "(\w+)", (\d+), "([^"]+)",(.*?)\},$', table, re.M | re.S)
    assert len(rows) == table.count("\t{ "), "a row of rungs.c has another form"
    return [(name, int(code), about, ".speed = true" in more) for name, code, about, more in rows]


def states_of_tables():
    """Yield (rung or its exit code, test, state) for each row of a table."""
    for name, _, _, code, *_ in test_doctor.FAULTS:
        yield code, "native/doctor-copies", name
    for name, _, code, *_ in test_doctor.SPEED:
        yield code, "native/doctor-speed", name
    for fault, rung, _ in test_doctor.TRANSFER_FAULTS:
        yield rung, "native/doctor-transfer", f"UROCE_FAULTS={fault}"
    for moves, rung, *_ in test_doctor.WATCHED:
        yield rung, "native/doctor-watch", "moved: " + ", ".join(Path(path).name for path in moves)
    for name, _, rung, *_ in test_peer.FAULTS:
        yield rung, "doctor/peer-faults", name


def states_of_functions():
    """Yield (rung, test, function) for each failure that a function expects."""
    source = (HERE / "test_peer.py").read_text()
    for function in ast.parse(source).body:
        if isinstance(function, ast.FunctionDef) and function.name.startswith("case_"):
            for rung in re.findall(r'found\["first_failure"\] == "(\w+)"', ast.get_source_segment(source, function)):
                yield rung, f"doctor/peer-{function.name.removeprefix('case_')}", function.name
    for path in sorted((TREE / "tests/unit/doctor").glob("test_*.c")):
        for name, body in re.findall(r"^static void (\w+)\([^)]*\)\n\{\n(.*?)^\}", path.read_text(), re.M | re.S):
            for rung in re.findall(r'expect_failure\(\s*"(\w+)"', body):
                yield rung, f"unit/{path.stem}", name


def tests_of(build):
    listed = subprocess.run(["ctest", "-N"], cwd=build, stdout=subprocess.PIPE, text=True, check=True).stdout
    return set(re.findall(r"Test +#\d+: (\S+)", listed))


def complaints_of_states(rungs, tests):
    names = {code: name for name, code, *_ in rungs}
    states = {name: {} for name in names.values()}
    for rung, test, state in (*states_of_tables(), *states_of_functions()):
        rung = names.get(rung, rung)
        if not rung:
            continue  # a sound state
        if rung not in states:
            yield f"{test} expects a failure of {rung}, which is no rung"
        elif test in tests:
            states[rung].setdefault((test, state))
    for name, code, *_ in rungs:
        if not states[name]:
            yield f"{name}: no test breaks it"
        for test, state in states[name]:
            print(f"{code} {name}: {test}: {state}")


def complaints_of_pages(rungs):
    """Check that the reference has all rungs in their order, and their exit codes. The guide has the rungs of a slow host."""
    reference, guide = ((PAGES / name).read_text() for name in ("rdma-doctor.8.md", "rdma-slow.7.md"))
    rows = re.findall(r"^\| (\w+) \| ([^|]*) \|$", reference.split("## Rungs")[1].split("# OPTIONS")[0], re.M)[1:]
    codes = {name: int(code) for code, name in re.findall(r"\| (\d\d) \| (\w+) ", reference)}
    if [name for name, _ in rows] != [name for name, *_ in rungs]:
        yield f"rdma-doctor(8) has the rungs {[name for name, _ in rows]}"
    for name, code, _, speed in rungs:
        text = dict(rows).get(name, "")
        if len(text.split()) < 3:
            yield f"rdma-doctor(8) does not explain {name}"
        if codes.get(name) != code:
            yield f"rdma-doctor(8): {name} has exit code {codes.get(name)}, not {code}"
        if speed != ("with **--speed**" in text):
            yield f"rdma-doctor(8): {name} and --speed"
        if re.search("--(speed|watch|peer)", text) and not re.search(rf"^\| {name} \| ", guide, re.M):
            yield f"rdma-slow(7) has no line about {name}"


def main():
    rungs = rungs_of_source()
    wrong = [*complaints_of_states(rungs, tests_of(sys.argv[1])), *complaints_of_pages(rungs)]
    print(len(rungs), "rungs")
    sys.exit("\n".join(wrong) if wrong else 0)


main()

# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the test runs of a build reported.

ctest writes a JUnit file for each run. A test that runs many items, vm/6.1 for example, leaves a report of them in
tests/<name>.tap of the build folder, and counts as these items.
"""

import glob
import os
import re
import xml.etree.ElementTree as xml
from dataclasses import dataclass, field

SHOWN = 24  # lines of a failed test: enough for the stacks of one that hung


@dataclass
class Result:
    preset: str
    test: str  # ctest's name
    name: str  # the same, or an item's
    outcome: str  # passed, failed or skipped
    remark: str = ""
    output: list = field(default_factory=list)
    seconds: float = 0

    def title(self):
        return self.name if self.preset == "dev" else f"{self.name} [{self.preset}]"


def items_read(path, test):
    """Return a result for each item of the TAP report @path of @test, a Result."""
    items = []
    with open(path, errors="replace") as tap:
        for line in tap:
            took = re.match(r"# (\d+) seconds$", line)
            if took and items:
                items[-1].seconds = float(took[1])
                continue
            found = re.match(r"(not )?ok \d+ - ([^#]*?)\s*(?:# (.*))?$", line)
            if not found:
                if items:
                    items[-1].output.append(line)
                continue
            bad, name, remark = found.groups()
            remark = remark or ""
            outcome = "failed" if bad else "skipped" if remark.startswith("SKIP") else "passed"
            items.append(Result(test.preset, test.test, f"{test.test}/{name}", outcome, remark.removeprefix("SKIP ")))
    return items


def case_read(case, preset):
    name, status = case.get("name"), case.get("status")
    output = (case.findtext("system-out") or "").strip().splitlines()
    result = Result(preset, name, name, "passed", seconds=float(case.get("time") or 0))
    if status == "run":
        return result
    if case.find("skipped") is not None and "SKIP_" in case.find("skipped").get("message", ""):
        result.outcome, result.remark = "skipped", output[-1] if output else ""
        return result
    result.outcome, result.output = "failed", output
    result.remark = "" if output else status
    return result


def results_read(path, preset, build):
    """Return the results of the JUnit file @path, and those of ctest's tests alone, which have the times."""
    try:
        cases = [case_read(case, preset) for case in xml.parse(path).getroot().iter("testcase")]
    except (OSError, xml.ParseError) as error:
        return [Result(preset, path, path, "failed", str(error))], []
    results = []
    for case in cases:
        tap = f"{build}/tests/hosts/{case.test}.tap"
        items = items_read(tap, case) if os.path.exists(tap) else []
        # The whole test may fail although its items passed, for example because of a kernel
        # complaint.
        if not items or (case.outcome == "failed" and not any(item.outcome == "failed" for item in items)):
            items.append(case)
        results += items
    return results, cases


def left_out_read(build):
    """Return the reason of each test that has the label nightly, and of each item that a suite left out."""
    reasons = []
    if os.path.exists(f"{build}/tests/left-out"):
        with open(f"{build}/tests/left-out") as file:
            reasons += [line.strip() for line in file]
    for path in glob.glob(f"{build}/tests/hosts/vm/*.tap"):
        with open(path, errors="replace") as tap:
            reasons += [line.strip().partition(": ")[2] for line in tap if line.startswith("# left out ")]
    return reasons


def telling(lines):
    """Return the last of the lines that do not just report a success."""
    return [line.strip() for line in lines if line.strip() and not re.match(r"\s*ok\b", line)][-SHOWN:]


def results_print(results):
    """Print the skipped results, the failed ones with the end of their output, and a line of counts."""
    for outcome in ("skipped", "failed"):
        for result in results:
            if result.outcome != outcome:
                continue
            print(f"{outcome}: {result.title()}" + (f" ({result.remark})" if result.remark else ""))
            if outcome == "failed":
                print("".join(f"    {line}\n" for line in telling(result.output)), end="")


def counts_print(results):
    count = {o: sum(r.outcome == o for r in results) for o in ("passed", "failed", "skipped")}
    print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped", flush=True)
    return count["passed"] > 0 and not count["failed"]

# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""usage: run_tests.py RUN-TESTS

Check the output of RUN-TESTS on small trees whose tests pass, fail, are skipped, are left out, or fail once.
"""
import json
import re
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path

def presets():
    names = ("dev", "asan", "tsan", "i386", "arm64", "s390x", "musl", "fuzz")
    kinds = {"configure": [{"name": name, "generator": "Ninja", "binaryDir": "${sourceDir}/build" + name.join(("-", ""))
                            * (name != "dev"), "cacheVariables": {"PRESET": name}} for name in names]}
    kinds["build"] = kinds["test"] = [{"name": name, "configurePreset": name} for name in names]
    return json.dumps({"version": 3, **{f"{kind}Presets": value for kind, value in kinds.items()}})


LISTS = """cmake_minimum_required(VERSION 3.18)
project(tree NONE)
enable_testing()
function(try name)
  add_test(NAME ${name} COMMAND sh -c "${ARGN}")
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
endfunction()
"""
# The targets of presets that build only a part of the tree.
TARGETS = """foreach(target unit-tests ibverbs uroce uroce_guardian rdma-conform)
  add_custom_target(${target})
endforeach()
foreach(folder any hostile uroce)
  file(WRITE ${CMAKE_SOURCE_DIR}/tests/device/${folder}/CMakeLists.txt "")
  add_subdirectory(tests/device/${folder})
endforeach()
"""
PASS = 'try(%s "true")\n'
FAIL = 'try(%s "echo at sea; false")\n'
SKIP = 'try(%s "echo no device; exit 77")\n'
ONCE = 'try(%s "mkdir %s.seen && echo at sea && exit 1; exit 0")\n'
# A suite: its second item passes when it runs again.
SUITE = '''try(vm/x "mkdir -p tests/hosts/vm; if [ \\"$SUITE_AGAIN\\" ]; then echo ok 1 - b >tests/hosts/vm/x.tap; else
printf 'ok 1 - a\\\\nnot ok 2 - b # exit code 1\\\\n' >tests/hosts/vm/x.tap; exit 1; fi")\n'''


class Tree(unittest.TestCase):
    def run_tree(self, tests, unsteady="", plan="check"):
        """Return the exit code and the lines of a run of @tests."""
        with tempfile.TemporaryDirectory() as folder:
            tree = Path(folder)
            (tree / "tests").mkdir()
            (tree / "tests/unsteady").write_text(unsteady)
            (tree / "CMakePresets.json").write_text(presets())
            (tree / "CMakeLists.txt").write_text(LISTS + tests)
            ran = subprocess.run([sys.argv[1], "--tree", folder, plan], stdout=subprocess.PIPE, text=True, check=False)
            self.times = (tree / "build/times").read_text() if (tree / "build/times").exists() else ""
            kept = tree / "build/unsteady"
            self.kept = kept.read_text().splitlines() if kept.exists() else []
        return ran.returncode, ran.stdout.splitlines()

    def test_passes(self):
        code, lines = self.run_tree(PASS % "one" + SKIP % "two")
        self.assertEqual((code, lines[-1]), (0, "1 passed, 0 failed, 1 skipped"))
        self.assertIn("skipped: two (no device)", lines)
        self.assertRegex(self.times, r"(?m)^dev +build +0:\d\d +0:\d\d$")
        self.assertRegex(self.times, r"(?m)^dev +tests +0:\d\d +0:\d\d$")
        self.assertRegex(self.times, r"(?m)^ +0:00  one$")

    def test_nothing_passes(self):
        code, lines = self.run_tree(SKIP % "two")
        self.assertEqual((code, lines[-1]), (1, "0 passed, 0 failed, 1 skipped"))

    def test_fails_twice(self):
        code, lines = self.run_tree(PASS % "one" + FAIL % "two")
        self.assertEqual((code, lines[-1]), (1, "1 passed, 1 failed, 0 skipped"))
        self.assertEqual(lines[lines.index("failed: two") + 1], "    at sea")
        self.assertEqual(self.kept, [])

    def test_fails_once(self):
        code, lines = self.run_tree(PASS % "one" + ONCE % ("two", "two"))
        self.assertEqual((code, lines[-1]), (0, "2 passed, 0 failed, 0 skipped"))
        self.assertIn("unsteady: two (failed, then passed alone; not in tests/unsteady: find the cause)", lines)
        self.assertIn("    at sea", lines)
        self.assertEqual(len(self.kept), 1)
        self.assertRegex(self.kept[0], r"^\d{4}-\d\d-\d\d \d\d:\d\d load [\d.]+ two$")

    def test_known(self):
        _, lines = self.run_tree(PASS % "one" + ONCE % ("two", "two"), "# those of sea\ntwo  the tide\n")
        self.assertIn("unsteady: two (failed, then passed alone; known: the tide)", lines)

    def test_too_many(self):
        tests = "".join(ONCE % (name, name) for name in ("one", "two", "three"))
        code, lines = self.run_tree(tests)
        self.assertEqual((code, lines[-1]), (1, "3 passed, 1 failed, 0 skipped"))
        self.assertIn("failed: unsteady tests (3, and 2 are allowed)", lines)
        self.assertEqual(len(self.kept), 3)

    def test_item(self):
        code, lines = self.run_tree(SUITE)
        self.assertEqual((code, lines[-1]), (0, "2 passed, 0 failed, 0 skipped"))
        self.assertTrue(any(line.startswith("unsteady: vm/x/b (") for line in lines))

    def test_build_fails(self):
        code, lines = self.run_tree("add_custom_target(no ALL COMMAND false)\n" + PASS % "one")
        self.assertEqual((code, lines[-1]), (1, "0 passed, 1 failed, 0 skipped"))
        self.assertIn("failed: build (the build failed)", lines)

    def test_beside(self):
        """The other presets run beside the first one, and what they print stands together."""
        tests = (PASS % "adapters/one"
                 + 'if(PRESET STREQUAL tsan)\n' + FAIL % "adapters/two" + "endif()\n")
        code, lines = self.run_tree(tests, plan="adapters")
        self.assertEqual((code, lines[-1]), (1, "2 passed, 1 failed, 0 skipped"))
        self.assertIn("failed: adapters/two [tsan]", lines)
        self.assertEqual(re.findall(r"(?m)^(\w+) +(build|tests|again) ", self.times),
                         [("dev", "build"), ("asan", "build"), ("asan", "tests"), ("tsan", "build"), ("tsan", "tests"),
                          ("tsan", "again")])

    def test_parts(self):
        """Each test runs once in each preset, also where the tests run in parts."""
        names = [f"native/{number}" for number in range(20)]
        code, lines = self.run_tree(TARGETS + "".join(PASS % name for name in names), plan="test")
        presets = re.findall(r"(?m)^(\w+) +tests ", self.times)
        self.assertLessEqual({"dev", "asan", "tsan", "musl", "fuzz"}, set(presets))
        self.assertEqual(len(presets), len(set(presets)))
        self.assertEqual((code, lines[-1]), (0, f"{len(presets) * len(names)} passed, 0 failed, 0 skipped"))
        passed = Counter(re.findall(r"(?m) (native/\d+) \.+ +Passed ", "\n".join(lines)))
        self.assertEqual(passed, {name: len(presets) for name in names})

    def test_left_out(self):
        tests = (PASS % "one" + FAIL % "two" + "set_tests_properties(two PROPERTIES LABELS nightly)\n"
                 + 'file(WRITE ${CMAKE_BINARY_DIR}/tests/left-out "far away\\n")\n'
                 + 'file(WRITE ${CMAKE_BINARY_DIR}/tests/hosts/vm/x.tap "# left out three: far away\\n")\n')
        code, lines = self.run_tree(tests)
        self.assertEqual((code, lines[-1]), (0, "1 passed, 0 failed, 0 skipped"))
        at = lines.index("left out: 2, ./dev test --all runs them:")
        self.assertEqual(lines[at + 1], "     2  far away")


class Unsteady(unittest.TestCase):
    def test_list(self):
        """The tree's own list names each test once, with what is known of it."""
        path = Path(sys.argv[1]).parent.parent / "tests/unsteady"
        lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
        for line in lines:
            self.assertTrue(re.fullmatch(r"\S+ +\S.*", line), line)
        names = [line.split()[0] for line in lines]
        self.assertEqual(len(names), len(set(names)))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

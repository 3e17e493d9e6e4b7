#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Run the commands that the manual pages show, and compare what they print with the pages.

commands.py BUILD-FOLDER [PAGE] [OLD NEW]: of all pages, or of PAGE. OLD becomes NEW in the pages: with a wrong command the test fails.

The host is a network namespace with the interface eth0, 192.0.2.1, as in the pages. Names of other devices and hosts become those of
this one. Each block of the pages that is not C is in the table below: a block that is missing there fails.
"""

import concurrent.futures
import functools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
from page import read_pages  # noqa: E402

TREE = Path(__file__).resolve().parents[3]
PATIENCE = 120  # seconds for one command

# Names and numbers of the pages, and their replacements here.
NAMES = [
    (r"\b(rxe0|mlx5_0|DEVICE)\b", "uroce_eth0"),
    (r"\b(server\.example\.com|node7|PEER)\b", "192.0.2.1"),
    (r"\bINTERFACE\b", "eth0"),
    (r"\bPID\b", "self"),
    (r"(?<=[ :=])/tmp/", "./"),
    (r"/sys/fs/cgroup/\.\.\./", "/sys/fs/cgroup/"),
    (r"/usr/lib/udev/", ""),
    (r"LIBDIR", "$BUILD/lib"),
    (r"(?<=--time )60\b", "1"),
    (r"(?<=--watch )30\b", "1"),
    (r"\btop -H$", "top -H -b -n 1"),
]

# How the block is run that begins with these words.
#   pair: a server and its client, which prints the lines below it
#   shown: commands that succeed, and print the lines below them
#   runs: commands that succeed, and print something else on this host
#   judges: programs that judge this host by their exit code
#   serves: as pair, but the server is ended
#   waits: as pair, and the client begins when the server says that it receives
#   twice: as pair, with two clients
#   a name with a slash: the test that runs it
#   anything else: a row of REASONS, which says why no command is run
BLOCKS = {
    "cmtime.1": {"cmtime &": "serves"},
    "ibv_asyncwatch.1": {"ibv_asyncwatch -d": "watches"},
    "ibv_devices.1": {"ibv_devices": "runs"},
    "ibv_devinfo.1": {"ibv_devinfo -d": "runs"},
    "ibv_rc_pingpong.1": {"ibv_rc_pingpong -d": "pair"},
    "ibv_xsrq_pingpong.1": {"ibv_xsrq_pingpong -d": "twice"},
    "libibverbs-ffi.7": {"import sys": "native/ffi-page"},
    "libibverbs.7": {
        "driver rxe": "a file",
        "touch /etc/rdma/restrict-to-group": "tests/hosts/system/in-guest",
        "rxe0 qp 0x11: ibv_modify_qp": "a line of the log",
    },
    "mckey.1": {"mckey -m": "waits"},
    "rcopy.1": {"rcopy &": "serves"},
    "rdma-conform.1": {
        "a0 post q0": "a program of rdma-conform",
        "rxe*: rule": "a file",
        "rdma-conform --device mlx5_0 --time": "runs",
        "rdma-conform --device mlx5_0 --replay": "tests/programs/conform/replay",
    },
    "rdma-doctor.8": {
        "rdma-doctor --strict --require": "judges",
        "rdma-doctor --watch": "judges",
        "rdma-doctor --peer": "doctor/peer-faults",
        "rdma-doctor": "judges",
    },
    "rdma-ndd.8": {"RDMA_NDD_ND_FORMAT=\"%h: %d\"": "a file", "[Service]": "a file", "RDMA_NDD_ND_FORMAT='%d of %h' rdma-ndd": "runs"},
    "rdma-slow.7": {
        "ib_write_bw -d": "pair",
        "rdma-doctor --transfer": "judges",
        "rdma-doctor --speed": "judges",
        "rdma-doctor --watch": "judges",
        "top -H": "runs",
        "rdma-doctor --serve": "serves",
        "dcb pfc show": "asks the driver",
        "rdma statistic qp show": "asks the driver",
        "rdma-doctor --json --speed": "judges",
        "losses (exit code 32)": "native/doctor-watch",
    },
    "rdma-symptoms.7": {"": "native/man-symptoms"},
    "rdma-tutorial.7": {"": "native/man-tutorial-lines"},
    "rdma_client.1": {"rdma_server &": "pair"},
    "rdma_rename.8": {"/usr/lib/udev/rdma_rename": "tests/hosts/system/in-guest"},
    "rdma_xclient.1": {"rdma_xserver &": "pair"},
    "riostream.1": {"riostream -S": "pair"},
    "rping.1": {"rping -s": "pair"},
    "rsocket.7": {
        "LD_PRELOAD=": "native/man-symptoms",
        "rsocket 4: RDMA by": "tools/rspreload",
        "# program domain type": "a file",
    },
    "rstream.1": {"rstream -S": "pair"},
    "rxe.7": {"modprobe rdma_rxe": "buildlib/run-vm"},
    "siw.7": {"modprobe siw": "buildlib/run-vm"},
    "show_gids.1": {"show_gids -d": "runs"},
    "ucmatose.1": {"ucmatose -c": "pair"},
    "udaddy.1": {"udaddy -C": "pair"},
    "udpong.1": {"udpong &": "serves"},
    "uroce-run.1": {
        "docker run": "needs a container",
        "UROCE=on uroce-run ucx_info": "shown",
        "export UROCE=on UCX_TLS": "tests/programs/openmpi",
    },
    "uroce.7": {
        "UROCE_FAULTS=": "faults",
        "UROCE_CAPTURE=": "captures",
        "UROCE_STRICT=": "native/uroce_strict",
        "UROCE=on:lo ibv_rc_pingpong": "pair",
    },
}

REASONS = {
    "a file": "the text of a file: the tests of its reader have such files",
    "a line of the log": "an output, shown to be recognized",
    "a program of rdma-conform": "the input of --replay: tests/programs/conform/replay has such files",
    "needs a container": "it needs the program docker, and an image",
    "a declaration": "C without statements: man/synopsis compares it, or the compiler takes it",
    "needs software steering": "an array of destinations: tests/adapters/lab/steered/objects.c makes such arrays",
    "needs a function bound to vfio-pci": "tests/adapters/lab/program/mlx5_vfio.c opens such a function, which is played",
    "needs a newer adapter": "no adapter here has such counters: unit/test_efa_comp_cntr makes them",
}
# Examples in C that are whole programs, and the tests that run them.
PROGRAMS = {"rdma_cm": "native/uroce_strict", "rsocket": "native/uroce_strict", "rdma-tutorial": "native/man-tutorial",
            "ibv_read_sysfs_file": "tests/hosts/vm/suite.d/40-man-examples.sh", "uroce_query_counters": "native/man-example-uroce_query_counters",
            "verbs": "native/man-example-verbs"}  # fmt: skip
# Examples in C that are functions: a program in functions/ includes the header of their page, and the test that runs it has its
# name. For the others, a row of REASONS.
FUNCTIONS = {"mlx5dv_dr_action_create_dest_array": "needs software steering", "efadv_create_comp_cntr": "needs a newer adapter",
             "mlx5dv_get_vfio_device_list": "needs a function bound to vfio-pci"}  # fmt: skip
ON_UROCE = {"objects", "transfers", "connections", "sockets", "paper"}


@functools.lru_cache(None)
def tests_of_functions():
    """Page -> test that runs the functions of its EXAMPLE, and the text of this test."""
    found = {}
    for source in (Path(__file__).parent / "functions").glob("*.c"):
        kind = "native" if source.stem in ON_UROCE else "adapters"
        text = source.read_text()
        for name in re.findall(r'^#include "(\w+)\.h"$', text, re.M):
            found[name] = f"{kind}/man-functions-{source.stem}", text
    return found


def test_of_functions(page, source):
    """The test that calls each function of the example, or a row of REASONS."""
    test, text = tests_of_functions().get(page.name, (FUNCTIONS.get(page.name), None))
    functions = re.findall(r"^(?!static|struct \w+ {)[a-z_].*?(\w+)\([^;]*$", source, re.M)
    uncalled = [name for name in functions if text and not re.search(rf"\b{name}\b", text)]
    return f"{test}, which does not call {uncalled}" if uncalled or not functions else test


def kind_of_c(page, section, source):
    """A row of REASONS, or the test that runs the program."""
    if "int main(" in source and section == "EXAMPLE":
        return PROGRAMS.get(page.name, "native/man-programs")
    if section == "EXAMPLE":
        return test_of_functions(page, source)
    return "a declaration"


@functools.lru_cache(None)
def code_blocks(page):
    """(language, lines) of each block, which pandoc finds."""
    text = subprocess.run(["pandoc", "-f", "markdown", "-t", "json"], input=page.text, stdout=subprocess.PIPE, text=True, check=True).stdout
    found = []

    def walk(value):
        if isinstance(value, dict) and value.get("t") == "CodeBlock":
            (_, classes, _), code = value["c"]
            found.append((classes[0] if classes else "", code.splitlines()))
        elif isinstance(value, (dict, list)):
            for inner in value.values() if isinstance(value, dict) else value:
                walk(inner)

    walk(json.loads(text)["blocks"])
    return found


def words_of(page, lines):
    """What the table says of the block, or None."""
    first = re.sub(r"^[$#] ", "", lines[0]) if not lines[0].startswith("# program") else lines[0]
    for begin, how in BLOCKS.get(f"{page.name}.{page.section}", {}).items():
        if first.startswith(begin):
            return how
    return None


def split(lines):
    """(command, lines that it prints) of each command. Lines that begin with a prompt are commands; without a prompt all are."""
    prompt = next((prompt for prompt in ("$ ", "# ") if lines[0].startswith(prompt)), "")
    steps = []
    for line in lines:
        if line.startswith(prompt):
            steps.append((re.sub("  +# .*| &$", "", line[len(prompt) :]), []))
        else:
            steps[-1][1].append(line)
    return steps


class Failed(Exception):
    pass


class Runner:
    def __init__(self, build):
        path = f"{build}/bin:{os.environ['PATH']}:/usr/sbin:/sbin"
        self.env = {**os.environ, "UROCE": "on", "BUILD": str(build), "LD_LIBRARY_PATH": f"{build}/lib", "PATH": path}
        self.missing = set()

    def here(self, text):
        for pattern, name in NAMES:
            text = re.sub(pattern, name, text)
        return text

    def has_programs(self, command):
        """Whether this machine has the programs of others in the command."""
        words = shlex.split(command.replace("||", "|"))
        ends = [-1, *(number for number, word in enumerate(words) if word == "|")]
        programs = [next(word for word in words[end + 1 :] if "=" not in word) for end in ends]
        missing = [name for name in programs if not shutil.which(name, path=self.env["PATH"])]
        missing += [word for word in words if word.startswith("/sys/") and not os.path.exists(word)]
        self.missing.update(missing)
        return not missing

    def run(self, command, good=(0,), **more):
        result = subprocess.run(["bash", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True, errors="replace", timeout=PATIENCE, check=False, env={**self.env, **more})  # fmt: skip
        if result.returncode not in good:
            raise Failed(f"{command}: exit code {result.returncode}: {result.stdout}")
        return result.stdout

    def printed(self, command, output, wanted):
        for line in wanted:
            if self.here(line) not in output.splitlines():
                raise Failed(f"{command}: no line '{self.here(line)}' in:\n{output}")

    def do_runs(self, steps):
        for command, _ in steps:
            if self.has_programs(command):
                self.run(command)

    def do_shown(self, steps):
        for command, wanted in steps:
            if self.has_programs(command):
                self.printed(command, self.run(command), wanted)

    def do_judges(self, steps):
        for command, _ in steps:
            self.run(command.replace("drain_node", "true"), [0, *range(10, 60)])

    def do_asks(self, steps):
        """The driver of the interface may have no answer."""
        for command, _ in steps:
            if self.has_programs(command):
                output = self.run(command, range(256))
                if re.search(r"usage|unknown|invalid option|not found", output, re.I):
                    raise Failed(f"{command}: {output}")

    def do_pair(self, steps, ends=True, words="", clients=1):
        (server, _), (client, wanted) = steps
        if not self.has_programs(server) or not self.has_programs(client):
            return
        with tempfile.TemporaryFile("w+", errors="replace") as said:
            process = subprocess.Popen(["bash", "-c", f"exec env {server}"], stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT, env=self.env)
            try:
                self.wait_for(words, said, process)
                with concurrent.futures.ThreadPoolExecutor(clients) as pool:
                    outputs = list(pool.map(lambda _: self.client(client, process), range(clients)))
                code = process.wait(PATIENCE) if ends else 0
            except subprocess.TimeoutExpired as error:
                said.seek(0)
                raise Failed(f"{server}: its client, or the server, does not end: {said.read()}") from error
            finally:
                process.kill()
                process.wait()
            said.seek(0)
            if code:
                raise Failed(f"{server}: exit code {code}: {said.read()}; its client: {outputs[0]}")
        self.printed(client, outputs[0], wanted)

    @staticmethod
    def wait_for(words, said, process):
        while words not in os.pread(said.fileno(), 65536, 0).decode(errors="replace") and process.poll() is None:
            time.sleep(0.1)

    def client(self, command, server):
        """A client that comes too early tries again."""
        for _ in range(600):
            try:
                return self.run(command)
            except Failed:
                if server.poll() is not None:
                    raise
            time.sleep(0.1)
        return self.run(command)

    def do_serves(self, steps):
        self.do_pair(steps, ends=False)

    def do_waits(self, steps):
        self.do_pair(steps, words="receiving")

    def do_twice(self, steps):
        self.do_pair(steps, clients=2)

    def do_watches(self, steps):
        ((command, wanted),) = steps
        output = self.run(f"timeout -s INT 3 {command}", (0, 124, 130), UROCE_FAULTS="port_err=250ms; port_active=500ms")
        self.printed(command, output, wanted[1:])

    def do_faults(self, steps):
        """The library logs what it does not understand."""
        for command, _ in steps:
            output = self.run(f"{command} ibv_devinfo", VERBS_LOG_LEVEL="2")
            if "UROCE_FAULTS" in output:
                raise Failed(f"{command}: {output}")

    def do_captures(self, steps):
        (capture, _), (show, _) = steps
        self.run(capture.replace("%p", "1234").replace(" program", " rdma-doctor --transfer uroce_eth0"))
        if self.has_programs(show) and "RRoCE" not in self.run(show):
            raise Failed(f"{show}: it shows no packets")


def enter():
    """Become the host of the pages."""
    apart = ["unshare", "-n"] if os.getuid() == 0 else ["unshare", "-rn"]
    if subprocess.run([*apart, "true"], check=False, stderr=subprocess.DEVNULL).returncode:
        print("cannot make a network namespace")
        sys.exit(77)
    os.execvp(apart[0], [*apart, sys.executable, __file__, "--here", *sys.argv[1:]])


def set_up():
    for command in ("link set lo up", "link add eth0 type veth peer name eth1", "address add 192.0.2.1/24 dev eth0", "link set eth1 up", "link set eth0 up",
                    "route add 239.0.0.0/8 dev eth0"):  # fmt: skip
        subprocess.run(["ip", *command.split()], check=True)


def tests_of(build):
    """Names of all tests."""
    listed = subprocess.run(["ctest", "-N"], cwd=build, stdout=subprocess.PIPE, text=True, check=True).stdout
    return set(re.findall(r"Test +#\d+: (\S+)", listed))


def runs_here(how):
    return hasattr(Runner, "do_" + how.split()[0])


def blocks_of(page, failures):
    """(function, first line, lines) of each block with commands."""
    for language, lines in code_blocks(page):
        how = words_of(page, lines)
        if language == "c":
            continue
        if how is None:
            failures.append(f"{page}: no test runs '{lines[0]}': commands.py has no line about it")
        elif runs_here(how):
            yield getattr(Runner, "do_" + how.split()[0]), lines[0], lines


def examples_of(page):
    """(how, first line) of each block."""
    for language, lines in code_blocks(page):
        if language != "c":
            yield words_of(page, lines), lines[0]
    sources = [(section, source) for section in page.sections for source in page.code(section)]
    for section, source in sources:
        yield kind_of_c(page, section, source), source.splitlines()[0]
    if len(sources) != sum(language == "c" for language, _ in code_blocks(page)):
        yield None, "a block of C that is not at the beginning of a line"


def check_table(pages, tests, failures):
    """Each block is run here or by a test that exists, or has a reason why it is not. No row of the table is without a block."""
    left_out, elsewhere = {}, 0
    for page in pages:
        for how, first in examples_of(page):
            if how in REASONS:
                left_out.setdefault(how, []).append(str(page))
            elif how is None or not (runs_here(how) or how in tests or (TREE / how).exists()):
                failures.append(f"{page}: '{first}': {how} is no test, and no reason why there is none")
            else:
                elsewhere += not runs_here(how)
        firsts = [re.sub(r"^[$#] ", "", first) for _, first in examples_of(page)] + [first for _, first in examples_of(page)]
        for begin in BLOCKS.get(f"{page.name}.{page.section}", {}):
            if not any(first.startswith(begin) for first in firsts):
                failures.append(f"{page}: no block begins with '{begin}'")
    failures += [f"there is no page {name}" for name in BLOCKS if name not in {f"{page.name}.{page.section}" for page in pages}]
    print(f"{elsewhere} blocks are run by other tests")
    for how, names in left_out.items():
        shown = ", ".join(sorted(set(names))) if how != "a declaration" else f"{len(set(names))} pages"
        print(f"{len(names)} blocks are not run: {how}: {REASONS[how]}: {shown}")


def main():
    if sys.argv[1] != "--here":
        enter()
    build, only = Path(sys.argv[2]).resolve(), sys.argv[3] if len(sys.argv) > 3 else ""
    old, new = sys.argv[4:6] if len(sys.argv) > 5 else ("\n", "\n")
    runner, failures, count = Runner(build), [], 0
    set_up()
    pages = read_pages(TREE / "documentation/man")
    check_table(pages, tests_of(build), failures)
    for page in pages:
        for do, first, lines in blocks_of(page, failures):
            if only not in (f"{page.name}.{page.section}", ""):
                continue
            with tempfile.TemporaryDirectory() as folder:
                os.chdir(folder)
                Path("image.iso").write_bytes(bytes(70000))
                try:
                    do(runner, [(runner.here(command), wanted) for command, wanted in split([line.replace(old, new) for line in lines])])
                    count += 1
                except (Failed, subprocess.TimeoutExpired) as error:
                    failures.append(f"{page}: {first}: {error}")
                os.chdir("/")
    print(f"{count} blocks were run" + (f", without {', '.join(sorted(runner.missing))}, which this machine has not" if runner.missing else ""))
    sys.exit("\n".join(failures) if failures else 0)


main()

# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What tests/bench/uroce, sweep and rsockets share: run a measurement, keep its figures by where the processors were."""
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from figures import PLACES, Figures, append, figure, plain

PORT = 21000
NEAR_US = 0.1  # a cache line's way from one processor to the other, when the two share a cache
MOVED = "the processors moved meanwhile, each time"
RUNS_MIN = 3  # fewer say nothing
PROGRESS_SECONDS = 10  # between two lines, where there is no terminal
# Form of the name of a sample: place (if it has one), series and x.
NAME = re.compile(r"(?:(near|far|any|guest) )?(.+) (\d+(?:\.\d+)?)")


class Failed(Exception):
    """A measurement that was not possible; says why."""


class Samples:
    """Every figure by name, one for each time it was taken: microseconds, MB/s (10^6 bytes) or messages a second."""

    def __init__(self):
        self.values = {}

    def add(self, name, value):
        self.values.setdefault(name, []).append(value)

    def median(self, name):
        return statistics.median(self.values[name]) if name in self.values else None


class Progress:
    """How far a part is: one line that changes on a terminal, now and then a line elsewhere."""

    def __init__(self):
        self.said = 0

    def show(self, part, done, whole):
        last = done == whole
        if sys.stderr.isatty():
            print(f"\r{part} {done} of {whole} ", end="\n" if last else "", file=sys.stderr, flush=True)
        elif last or time.monotonic() - self.said > PROGRESS_SECONDS:
            print(f"{part} {done} of {whole}", file=sys.stderr, flush=True)
            self.said = time.monotonic()


class Bench:
    def __init__(self, build, file=None):
        """@file: where the figures go as well, see figures.py."""
        self.build = build
        self.file = file
        self.samples = Samples()
        self.gaps = {}  # {(series, x or None): reason}
        self.good = True
        self.port = PORT
        self.where = None  # see placed()
        self.place = None  # instead of looking: a name for everywhere
        self.judged = {}  # titles of rows with a target
        self.progress = Progress().show

    # --- running ---

    def run(self, command, env=None, there=None, timeout=120):
        """The command's output; @there: a command for the other side, which ends by itself."""
        full = {**os.environ, "LD_LIBRARY_PATH": self.build + "/lib", "VERBS_LOG_LEVEL": "1", **(env or {})}
        other = there and subprocess.Popen(there[0], env={**full, **there[1]}, stdout=subprocess.DEVNULL)
        try:
            r = subprocess.run(command, env=full, capture_output=True, text=True, timeout=timeout)
            if r.returncode:
                raise Failed(f"{' '.join(command)}: exit {r.returncode}\n{r.stdout}{r.stderr}")
            if other:
                other.wait(timeout=30)
        except subprocess.TimeoutExpired as error:
            raise Failed(f"{' '.join(error.cmd)}: no end after {error.timeout:.0f} seconds") from None
        finally:
            if other and other.poll() is None:
                other.kill()
                other.wait()
        return r.stdout

    def keep(self, prefix, text):
        """Lines TEST SIZE VALUE us, or TEST SIZE VALUE MB/s VALUE Mmsg/s."""
        lines = re.findall(r"^(\w+) (\d+) ([\d.]+) (\S+)(?: ([\d.]+) Mmsg/s)?$", text, re.M)
        if not lines:
            raise Failed(f"no figure in what it said: {text}")
        for test, size, value, unit, rate in lines:
            self.samples.add(f"{prefix} {test} {size}", float(value))
            if rate and unit == "MB/s":
                self.samples.add(f"{prefix} {test}_rate {size}", float(rate) * 1e6)

    def perf(self, prefix, test, size, env, memory="thp", scale=1.0):
        """@memory: as verbs_perf says; @scale: of how often it does what it measures."""
        self.keep(prefix, self.run([self.build + "/tests/bench/verbs_perf", "-r", "1", "-x", str(scale), "-m", memory,
                                    test, str(size)], env))

    def two_sides(self, program, prefix, arguments, there_prefix=(), address="127.0.0.1", env=({}, {}), options=()):
        self.port += 1
        path = [f"{self.build}/tests/bench/{program}", *(options or ("-r", "3"))]
        there = [*there_prefix, *path, "-l", str(self.port), *arguments]
        self.keep(prefix, self.run([*path, "-c", f"{address}:{self.port}", *arguments], env[0], (there, env[1])))

    def ucx(self, name, transports, test, size, count, memory="huge"):
        """tag_lat, ucp_put_lat: half round trip; ucp_fadd: one; tag_bw, ucp_put_bw: bandwidth and rate. @memory: its
        own on huge pages, on ordinary ones, or such as both sides map (mapped)."""
        if not shutil.which("ucx_perftest"):
            raise Failed("ucx_perftest is missing: install ucx-utils")
        self.port += 1
        env = {"UCX_TLS": transports, "UCX_WARN_UNUSED_ENV_VARS": "n",
               "UCX_ALLOC_PRIO": "md:posix" if memory == "mapped" else "heap"}
        if memory != "mapped":
            env |= {"LD_PRELOAD": self.build + "/tests/bench/ucx_pages.so", "PAGES": memory}
        base = ["ucx_perftest", "-p", str(self.port)]
        full = {**os.environ, **env}
        server = subprocess.Popen(["taskset", "-c", "0", *base], env=full, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        try:
            for _ in range(50):  # until its server listens
                r = subprocess.run(["taskset", "-c", "1", *base, "127.0.0.1", "-f", "-t", test, "-s", str(size),
                                    "-n", str(count), "-w", str(count // 10)], env=full, capture_output=True, text=True,
                                   timeout=120)
                fields = r.stdout.strip().split("\n")[-1].split()
                if len(fields) == 8 and fields[0] == str(count):
                    break
                time.sleep(0.1)
            else:
                raise Failed(f"ucx_perftest {test} {size}: {r.stdout}{r.stderr}")
            server.wait(timeout=30)
        except subprocess.TimeoutExpired as error:
            raise Failed(f"ucx_perftest {test} {size}: no end after {error.timeout:.0f} seconds") from None
        finally:
            if server.poll() is None:
                server.kill()
                server.wait()
        latency, bandwidth, rate = float(fields[3]), float(fields[5]), float(fields[7])
        if test.endswith(("lat", "fadd")):
            self.samples.add(f"{name} {size}", latency)
        else:
            self.samples.add(f"{name} {size}", bandwidth * 1.048576)
            self.samples.add(f"{name}_rate {size}", rate)

    def distance(self):
        """How far the two processors are from each other now."""
        line = float(self.run([self.build + "/tests/bench/plain", "-r", "3", "line_lat", "64"]).split()[2])
        self.samples.add("line", line)
        return "near" if line < NEAR_US else "far"

    def placed(self, measure, *arguments):
        """Keeps what is measured by where the processors were; not when they moved meanwhile."""
        before, kept, self.samples = self.place or self.where or self.distance(), self.samples, Samples()
        try:
            measure(*arguments)
        finally:
            kept, self.samples = self.samples, kept
        self.where = self.place or self.distance()
        self.samples.add("moved", before != self.where)
        for name, values in kept.values.items() if before == self.where else ():
            for value in values:
                self.samples.add(f"{before} {name}", value)

    def places_show(self, show):
        """@show: a function of this object and a place."""
        lines, moved = self.samples.values["line"], self.samples.values["moved"]
        for where, some in (("near", [x for x in lines if x < NEAR_US]), ("far", [x for x in lines if x >= NEAR_US])):
            if some:
                print(f"processors {where} in {len(some)} of {len(lines)} looks: a cache line takes "
                      f"{statistics.median(some):.3f} us one way")
                show(self, where)
        print(f"{sum(moved)} of {len(moved)} measurements left out: the processors moved meanwhile")

    # --- figures ---

    def figures(self):
        """All that is known so far, for the rows of plots.py."""
        figures = Figures()
        for place, series, x, value in self.lines():
            figures.add(place, series, x, value)
        figures.gaps = dict(self.gaps)
        return figures

    def lines(self):
        for name, values in self.samples.values.items():
            parts = {"line": ("-", "line", 64), "moved": ("-", "moved", 0)}.get(name)
            if not parts:
                found = NAME.fullmatch(name)
                if not found:
                    continue  # made of others
                parts = found[1] or "-", found[2], found[3]
            for value in values:
                yield *parts, value

    def gap(self, series, x, reason):
        self.gaps[series, x] = plain(reason)

    def file_option(self):
        """For a process that does a part of the work."""
        return ["--figures", self.file] if self.file else []

    def gaps_moved(self, wanted):
        """@wanted: (series, x). What was measured, but never with the processors in one place."""
        for series, x in wanted:
            if (series, x) not in self.gaps and not any(f"{place} {series} {x}" in self.samples.values for place in PLACES):
                self.gap(series, x, MOVED)

    def write(self, place=None):
        """Once, at the end of a process's measurements. @place: of those whose name has none."""
        if not self.file:
            return
        for where, series, x, value in self.lines():
            append(self.file, "sample", place if place and where == "-" else where, series, figure(x), figure(value))
        for (series, x), reason in self.gaps.items():
            append(self.file, "gap", series, "*" if x is None else figure(x), reason)


# --- rows ---

class Rows(Bench):
    """Two figures, their ratio, and whether that is the target."""

    mine = "uroce"

    def row(self, title, mine, theirs, target=None, most=False, scale=1.0, unit=""):
        """@target: at least that ratio of the two, with @most at most."""
        a, b = self.samples.median(mine), self.samples.median(theirs)
        runs = min(len(self.samples.values.get(name, ())) for name in (mine, theirs))
        if target is not None:
            self.judged.setdefault(title, False)
        if not a or not b:
            print(f"  {title:50} not measured", flush=True)
            return
        ratio, verdict = a / b, ""
        if target is not None and runs >= (RUNS_MIN if self.where else 1):
            met = ratio <= target if most else ratio >= target
            verdict = f"target {'<=' if most else '>='} {target}: {'met' if met else 'NOT MET'}"
            self.judged[title] = True
            self.good &= met
        print(f"  {title:50} {a / scale:9.2f} {b / scale:9.2f} {unit:7} {ratio:6.2f} {runs:4}  {verdict}".rstrip(),
              flush=True)

    def head(self, title):
        print(f"{title:52} {self.mine:>9} {'other':>9} {'':7} {'ratio':>6} runs", flush=True)

    def verdict(self):
        """The exit code of the program."""
        for title, judged in self.judged.items():
            if not judged:
                print(f"measured fewer than {RUNS_MIN} times in one place, more --rounds needed: {title}")
                self.good = False
        return 0 if self.good else 1


# --- the same in a VM, beside the kernel's device ---

GUEST_PATIENCE = 600  # seconds; two processes that spin hinder each other on an emulated processor that waits
GUEST = (
    # what, environment, device, GID, in a namespace where rxe has not taken the port
    ("shm", {"UROCE": "on:lo"}, "uroce_lo", 0, True),
    ("udp", {"UROCE": "on:lo", "UROCE_PATH": "udp"}, "uroce_lo", 0, True),
    ("rxe", {"UROCE": "off"}, "rxe0", 1, False),
)


def guest_perf(bench, device, scale, test, size):
    """@device: one of GUEST."""
    prefix, env, name, gid, apart = device
    command = [bench.build + "/tests/bench/verbs_perf", "-r", "1", "-x", str(scale), "-d", name, "-g", str(gid), test,
               str(size)]
    if apart:
        command = ["unshare", "-n", "sh", "-c", 'ip link set lo up; exec "$@"', "sh", *command]
    bench.keep(prefix, bench.run(command, env, timeout=GUEST_PATIENCE))


def guest_start(bench, script, *arguments, timeout, options=("--cpus", "2")):
    """@script with @arguments in a VM; the figures that it writes are appended to the file. Return: how it ended, and
    all that was measured there."""
    run_vm = os.path.join(os.path.dirname(script), "../../buildlib/run-vm")
    with tempfile.TemporaryDirectory() as out:
        path = os.path.join(out, "figures")
        open(path, "w", encoding="utf-8").close()
        r = subprocess.run([run_vm, *options, "--timeout", str(timeout), "--out", out, "--", script, bench.build,
                            "--figures", path, *arguments])
        measured = Figures().read(path)
        if bench.file:
            with open(path, encoding="utf-8") as new, open(bench.file, "a", encoding="utf-8") as file:
                shutil.copyfileobj(new, file)
    return r.returncode, measured

# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The figures of one run of ./dev bench: a file of lines, with tabs between their words.

  fact NAME VALUE                 about the machine and the run
  sample PLACE SERIES X VALUE     one measurement. PLACE: where the processors were (near, far, any), guest, or -
  gap SERIES X REASON             what could not be measured; X is * for all of a series

  python3 tests/bench/figures.py FILE ROUNDS      begins such a file, with the facts of this machine
"""
import datetime
import os
import platform
import re
import statistics
import subprocess
import sys

PLACES = ("near", "far", "any", "guest", "-")
WORDS = {"fact": ("name", "value"), "sample": ("place", "series", "x", "value"), "gap": ("series", "x", "reason")}


class Damaged(Exception):
    """Says which file, which line and why."""


def number(word, name):
    """@word: digits, as the benchmarks print them. There is no figure below 0, and none without an end."""
    if not re.fullmatch(r"\d{1,15}(\.\d{1,9})?", word):
        raise ValueError(f"'{word}' is no number where the {name} stands")
    return float(word)


class Figures:
    def __init__(self):
        self.facts = {}
        self.samples = {}  # {(place, series): {x: [value, ...]}}
        self.gaps = {}  # {(series, x): reason}

    def add(self, place, series, x, value):
        self.samples.setdefault((place, series), {}).setdefault(float(x), []).append(float(value))

    def places(self, names):
        """Where something of these series was measured."""
        return [place for place in PLACES if any((place, name) in self.samples for name in names)]

    def points(self, place, series):
        """[(x, median, least, most, how many)]"""
        return [(x, statistics.median(values), min(values), max(values), len(values))
                for x, values in sorted(self.samples.get((place, series), {}).items())]

    def reasons(self, series):
        """[(x or None, reason)]"""
        return [(x, reason) for (name, x), reason in self.gaps.items() if name == series]

    # --- the file ---

    def take(self, line):
        kind, *words = line.split("\t")
        if kind not in WORDS:
            raise ValueError(f"'{kind}' is none of {', '.join(WORDS)}")
        if len(words) != len(WORDS[kind]):
            raise ValueError(f"{len(words)} words after '{kind}' instead of {len(WORDS[kind])}: {', '.join(WORDS[kind])}")
        if kind == "fact":
            self.facts[words[0]] = words[1]
        elif kind == "gap":
            self.gaps[words[0], None if words[1] == "*" else number(words[1], "x")] = words[2]
        else:
            place, series, x, value = words
            if place not in PLACES:
                raise ValueError(f"'{place}' is none of the places {', '.join(PLACES)}")
            self.add(place, series, number(x, "x"), number(value, "value"))

    def read(self, path):
        try:
            with open(path, encoding="utf-8") as file:
                for count, line in enumerate(file, 1):
                    try:
                        if not line.endswith("\n"):
                            raise ValueError("the line has no end")
                        self.take(line[:-1])
                    except ValueError as error:
                        raise Damaged(f"{path}:{count}: {error}") from None
        except UnicodeDecodeError:
            raise Damaged(f"{path}: not all of it is text") from None
        except OSError as error:
            raise Damaged(f"{path}: {error.strerror}") from None
        return self


def plain(text):
    return re.sub(r"\s+", " ", str(text)).strip()


def figure(value):
    return f"{float(value):.6f}".rstrip("0").rstrip(".")


def append(path, kind, *words):
    with open(path, "a", encoding="utf-8") as file:
        print(kind, *map(plain, words), sep="\t", file=file)


# --- facts ---

def file_line(path, pattern):
    try:
        with open(path, encoding="utf-8") as file:
            found = re.search(pattern, file.read(), re.M)
    except OSError:
        return "unknown"
    return found.group(1) if found else "unknown"


def commit():
    tree = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
    r = subprocess.run(["git", "-c", "safe.directory=*", "-C", tree, "describe", "--always", "--dirty=, and changes"],
                       capture_output=True, text=True)
    return r.stdout.strip() or "unknown"


def machine():
    size = os.sysconf("SC_PAGE_SIZE")
    memory = os.sysconf("SC_PHYS_PAGES") * size
    virtual = " of a virtual machine" if re.search(r"\bhypervisor\b", file_line("/proc/cpuinfo", r"^flags\s*: (.*)$")) else ""
    huge = file_line("/sys/kernel/mm/transparent_hugepage/enabled", r"\[(\w+)\]")
    kib = file_line("/proc/meminfo", r"^Hugepagesize:\s*(\d+)")
    reserved = file_line("/proc/meminfo", r"^HugePages_Total:\s*(\d+)")
    model = file_line("/proc/cpuinfo", r"^model name.*: (.*)$")
    system = file_line("/etc/os-release", r'^PRETTY_NAME="(.*)"$')
    return {
        "machine": f"{os.cpu_count()} processors{virtual}, {model}, {memory / 2**30:.0f} GiB",
        "kernel": f"Linux {platform.release()} {platform.machine()}, {system}",
        "pages": f"ordinary ones {size >> 10} KiB, huge ones {kib} KiB (transparent: {huge}; reserved: {reserved})",
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": commit(),
        "load": f"{os.getloadavg()[0]:.2f} processes on average in the minute before",
    }


def begin(path, rounds):
    open(path, "w", encoding="utf-8").close()
    for name, value in {**machine(), "rounds": rounds}.items():
        append(path, "fact", name, value)


if __name__ == "__main__":
    begin(*sys.argv[1:])

# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Of ./dev bench: the page on canned figures, damaged ones, and a hardly measuring run of each curve.
  python3 tests/bench/test_bench.py page|damaged|facts|options|moved
  python3 tests/bench/test_bench.py PART|missing BUILD-FOLDER        a part of tests/bench/sweep
  python3 tests/bench/test_bench.py pages BUILD-FOLDER               what ucx_perftest's buffers are on
"""
import html.parser
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import plots
from bench import MOVED, Bench
from figures import Figures

HERE = os.path.dirname(os.path.abspath(__file__))
CANNED = os.path.join(HERE, "canned")
FETCHING = ("src", "href", "xlink:href", "srcset", "action", "data", "poster", "background")
LOADING = ("script", "link", "iframe", "object", "embed", "img", "image", "base", "meta")
SKIP = 77


def check(good, what):
    if not good:
        sys.exit(f"not so: {what}")


def make_page(folder):
    return subprocess.run([sys.executable, os.path.join(HERE, "page.py"), folder], capture_output=True, text=True)


# --- the page ---

class Page(html.parser.HTMLParser):
    """What a page has, and what it would fetch."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.outside, self.links = [], [], []
        self.drawings = {}  # label: text in it
        self.inside = None
        self.words = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag in LOADING and "charset" not in attributes:
            self.outside.append(tag)
        for name in FETCHING:
            value = attributes.get(name)
            if value is not None and not value.startswith("#"):
                self.outside.append(f"{tag} {name}={value}")
            elif value:
                self.links.append(value[1:])
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if tag == "svg":
            self.inside = attributes["aria-label"]
            self.drawings[self.inside] = []

    def handle_endtag(self, tag):
        if tag == "svg":
            self.inside = None

    def handle_data(self, data):
        (self.drawings[self.inside] if self.inside else self.words).append(data)


def page_fetches_nothing(text, page):
    check(not page.outside, f"the page fetches nothing: {page.outside}")
    check(not re.search(r"url\((?!['\"]?#)", text), "no style fetches anything")
    check("@import" not in text, "no style imports anything")
    names = set(re.findall(r"https?://[^\s\"'<>]*", text.replace("https://example.org/x.js", "")))
    check(all(name.startswith("http://www.w3.org/") for name in names), f"addresses are names of XML only: {names}")
    check(len(page.ids) == len(set(page.ids)), "each id is there once")
    check(set(page.links) <= set(page.ids), f"each link leads somewhere: {set(page.links) - set(page.ids)}")


def page_has_plots(figures, page):
    for plot in plots.PLOTS:
        check(plot.key in page.ids, f"there is a section {plot.key}")
        for place in figures.places(plot.series()):
            texts = " ".join(page.drawings.get(plot.heading(place), ()))
            check(texts, f"'{plot.heading(place)}' is drawn")
            for label, series in plot.curves:
                there = (place, series) in figures.samples
                check((label in texts) == there, f"'{label}' is {'' if there else 'not '}in '{plot.heading(place)}'")
            check(plot.y in texts, f"the axis of '{plot.heading(place)}' says {plot.y}")


def page_has_words(figures, page):
    words = " ".join(page.words)
    for value in figures.facts.values():
        check(value in words, f"the fact '{value}' is there")
    for (series, _), reason in figures.gaps.items():
        check(reason in words, f"the reason why there is no {series} is there: {reason}")
    check(re.search(r"0\.222\s+\(0\.111 to 0\.333, 3\)", words), "a median, its range and how many they were")
    check("TCP on loopback: not measured with the processors far from each other" in words, "what a place lacks")
    check("near each other in 3 of 4 looks" in words and "far from each other in 1 of 4" in words, "where the processors were")
    check("1 of 3 measurements left out" in words, "what was left out")
    check('<script src="https://example.org/x.js"></script>' in words, "rows are there as they were, and only text")


def canned_page(change=lambda text: text):
    with tempfile.TemporaryDirectory() as folder:
        for name in os.listdir(CANNED):
            with open(os.path.join(CANNED, name), encoding="utf-8") as old, \
                    open(os.path.join(folder, name), "w", encoding="utf-8") as new:
                new.write(change(old.read()))
        r = make_page(folder)
        check(r.returncode == 0, f"the page is made: {r.stderr}")
        path = os.path.join(folder, "index.html")
        check(r.stdout.strip() == path, f"it says where the page is: {r.stdout}")
        with open(path, encoding="utf-8") as file:
            return file.read()


def test_page():
    figures = Figures().read(os.path.join(CANNED, "figures"))
    text = canned_page()
    page = Page(text)
    page_fetches_nothing(text, page)
    page_has_plots(figures, page)
    page_has_words(figures, page)
    check("was busy" not in text, "no warning of a machine that does nothing else")
    check("was busy" in canned_page(lambda text: text.replace("load\t0.01", "load\t3.00")), "a warning of one that does")
    text = canned_page(lambda text: "\n".join(line for line in text.split("\n") if not line.startswith(("sample", "gap"))))
    check(text.count(": not part of this run") == sum(len(plot.curves) for plot in plots.PLOTS), "a run without figures")


DAMAGES = (
    # a line that replaces the third one, and the message about it
    ("sample\tnear\thost send_lat\t8\tfast", "'fast' is no number where the value stands"),
    ("sample\tnear\thost send_lat\t8\t-1", "'-1' is no number where the value stands"),
    ("sample\tnear\thost send_lat\t8\tnan", "'nan' is no number where the value stands"),
    ("sample\tnear\thost send_lat\t8\t1e999", "'1e999' is no number where the value stands"),
    ("sample\tnear\thost send_lat\t\t0.2", "'' is no number where the x stands"),
    ("gap\thost send_lat\tall\tno reason", "'all' is no number where the x stands"),
    ("sample\tbeside\thost send_lat\t8\t0.2", "'beside' is none of the places near, far"),
    ("sample\tnear\thost send_lat\t8", "3 words after 'sample' instead of 4"),
    ("fact\tdate\ttoday\ttomorrow", "3 words after 'fact' instead of 2"),
    ("point\tnear\thost send_lat\t8\t0.2", "'point' is none of fact, sample, gap"),
    ("", "'' is none of fact, sample, gap"),
)


def damaged(content, said):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "figures")
        if content is not None:
            with open(path, "wb") as file:
                file.write(content)
        r = make_page(folder)
        check(r.returncode == 1, f"no page of {content!r}: exit {r.returncode}")
        check(r.stderr.strip().startswith(path + said), f"'{path}{said}' is what is said: {r.stderr}")
        check(not os.path.exists(os.path.join(folder, "index.html")), "no page is written")


def test_damaged():
    with open(os.path.join(CANNED, "figures"), encoding="utf-8") as file:
        lines = file.read().split("\n")
    for line, said in DAMAGES:
        damaged("\n".join([*lines[:2], line, *lines[3:]]).encode(), ":3: " + said)
    whole = "\n".join(lines[:5]).encode()
    damaged(whole, ":5: the line has no end")
    damaged(b"fact\tdate\t\xff\xfe\n", ": not all of it is text")
    damaged(None, ": No such file or directory")


def test_facts():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "figures")
        subprocess.run([sys.executable, os.path.join(HERE, "figures.py"), path, "7"], check=True)
        facts = Figures().read(path).facts
    check(facts.pop("rounds") == "7", "how many rounds there are")
    check(os.uname().release in facts["kernel"], f"the kernel: {facts}")
    check(f"{os.sysconf('SC_PAGE_SIZE') >> 10} KiB" in facts["pages"], f"the page size: {facts}")
    check(sorted(facts) == ["commit", "date", "kernel", "load", "machine", "pages"], f"all facts are there: {facts}")
    check(all(facts.values()), f"none is empty: {facts}")


def test_moved():
    """What is measured while the processors move is left out, and that is said."""
    bench = Bench("/nowhere")
    places = iter(("near", "near", "far", "far"))
    bench.distance = lambda: next(places)
    for x in (8, 64, 512):
        bench.placed(lambda: bench.samples.add(f"thing {x}", 1.0))
    bench.gaps_moved([("thing", x) for x in (8, 64, 512)])
    figures = bench.figures()
    check([point[0] for point in figures.points("near", "thing")] == [8], "what was measured near")
    check([point[0] for point in figures.points("far", "thing")] == [512], "what was measured far")
    check(figures.reasons("thing") == [(64, MOVED)], f"why there is nothing between: {figures.reasons('thing')}")


OPTIONS = (
    # arguments of ./dev bench, and the message about them
    (["--report"], "bench: --report takes a folder"),
    (["--rounds"], "bench: --rounds takes a number"),
    (["--rounds", "0"], "bench: --rounds 0: a number from 1 to 999"),
    (["--rounds", "3x"], "bench: --rounds 3x: a number from 1 to 999"),
    (["--report", "/proc/none"], "bench: cannot make /proc/none"),
    (["--figures"], "bench: no option --figures"),
    (["none"], "bench: no benchmark none: tests/bench has them"),
    (["../lib/own-host"], "bench: no benchmark ../lib/own-host"),
    (["verbs-in-guest"], "bench: no benchmark verbs-in-guest"),
)


def test_options():
    for arguments, said in OPTIONS:
        r = subprocess.run([os.path.join(HERE, "../../dev"), "bench", *arguments], capture_output=True, text=True)
        check(r.returncode == 1 and "dev: " + said in r.stderr.split("\n"), f"{arguments}: '{said}' is said: {r.stderr}")


# --- the curves ---

def run_sweep(build, part, folder, env=None):
    path = os.path.join(folder, "figures")
    command = [sys.executable, os.path.join(HERE, "sweep"), build, "--tiny", "--rounds", "1", "--figures", path, part]
    r = subprocess.run(command, capture_output=True, text=True, env=env)
    check(r.returncode == 0, f"sweep {part} ends well: exit {r.returncode}\n{r.stdout}{r.stderr}")
    return r, Figures().read(path)


def tables(text):
    """{heading: [[cell, ...], ...]}, the first of each row being x; and the other lines."""
    found, rest, rows = {}, [], None
    for line in text.strip().split("\n"):
        if not line.startswith(" "):
            rows = found.setdefault(line, [])
        elif " not measured: " in line or line.endswith("not part of this run"):
            rest.append(line.strip())
        else:
            rows.append(re.split(r"\s{2,}", line.strip()))
    return found, rest


def rows_check(figures, plot, place, rows, reasons):
    head, *rest = rows
    labels = [label for label, _ in plot.curves]
    check(head == [plot.x, *labels, "runs"], f"the head of {plot.key} names its curves: {head}")
    check(len(rest) >= 2, f"{plot.key} has two points or more: {rest}")
    for row in rest:
        check(len(row) == len(head), f"a row of {plot.key} is whole: {row}")
        for label, cell in zip(labels, row[1:]):
            check(re.fullmatch(r"[\d,]+(\.\d+)?(e-\d+)?|-", cell), f"'{cell}' is a number or none: {plot.key}, {label}")
    for label, series in plot.curves:
        some = [row[1 + labels.index(label)] for row in rest]
        check(((place, series) in figures.samples) == (set(some) != {"-"}), f"file and rows agree about {series}")
        check("-" not in some or label.startswith(("UCX", "UDP")), f"{label} is measured everywhere: {some}")
        if all(cell == "-" for cell in some):
            check(any(line.startswith(label) for line in reasons), f"it is said why there is no {label}")


PLOTS_OF = {"host": ("host-latency", "host-bandwidth"), "veth": ("veth-latency", "veth-bandwidth"), "loss": ("loss",),
            "setup": ("setup",), "regions": ("regions",), "guest-inside": ("guest-latency", "guest-bandwidth")}


def test_part(build, part):
    if part in ("veth", "loss") and subprocess.run(["unshare", "-rn", "true"], stderr=subprocess.DEVNULL).returncode:
        print("network namespaces are not allowed here")
        sys.exit(SKIP)
    with tempfile.TemporaryDirectory() as folder:
        r, figures = run_sweep(build, part, folder)
    print(r.stdout)
    found, reasons = tables(r.stdout)
    for plot in plots.PLOTS:
        places = figures.places(plot.series())
        check(bool(places) == (plot.key in PLOTS_OF[part]), f"{plot.key} is measured by its own part: {places}")
        for place in places:
            rows_check(figures, plot, place, found[f"{plot.heading(place)}: {plot.y}"], reasons)
    check(re.search(r"^\w+( \d+)? (\d+) of \2$", r.stderr, re.M), f"it says how far it is: {r.stderr}")


def test_missing(build):
    """A peer that is not there is a gap, and no failure."""
    with tempfile.TemporaryDirectory() as folder:
        r, figures = run_sweep(build, "host", folder, {**os.environ, "PATH": folder})
    _, reasons = tables(r.stdout)
    check(("any", "host send_lat") in figures.samples, "what is there is measured")
    check(figures.reasons("ucx lat") and figures.reasons("ucx bw"), "the file says what is missing")
    check("UCX, posix and cma at 8 B, 4 KiB: not measured: ucx_perftest is missing: install ucx-utils" in reasons,
          f"it is said what is missing: {reasons}")


BUFFER_PAGES = """
import ctypes, re
libc, place = ctypes.CDLL(None), ctypes.c_void_p()
assert libc.posix_memalign(ctypes.byref(place), 64, 1 << 20) == 0
for mapping in re.split(r"(?m)^(?=[0-9a-f]+-[0-9a-f]+ )", open("/proc/self/smaps").read()):
    bounds = re.match("([0-9a-f]+)-([0-9a-f]+) ", mapping)
    if bounds and int(bounds[1], 16) <= place.value < int(bounds[2], 16):
        print(*re.findall(r"^(?:Rss|AnonHugePages):\\s+(\\d+) kB", mapping, re.M))
"""


def test_pages(build):
    """ucx_pages.so gives a program the pages that are asked for, written to."""
    def buffer(pages):
        env = {**os.environ, "LD_PRELOAD": f"{build}/tests/bench/ucx_pages.so", "PAGES": pages}
        r = subprocess.run([sys.executable, "-c", BUFFER_PAGES], env=env, capture_output=True, text=True)
        check(not r.stderr, f"the program runs: {r.stderr}")
        return map(int, r.stdout.split())

    resident, huge = buffer("ordinary")
    check(resident >= 1024 and huge == 0, f"all is written to, on ordinary pages: {resident} kB, {huge} kB on huge ones")
    resident, huge = buffer("huge")
    with open("/sys/kernel/mm/transparent_hugepage/enabled") as file:
        there = "[never]" not in file.read()
    check(resident >= 1024 and (huge >= 2048) == there, f"all is written to, on a huge page: {resident} kB, {huge} kB")


def main():
    case, *build = sys.argv[1:]
    alone = {"page": test_page, "damaged": test_damaged, "facts": test_facts, "options": test_options, "moved": test_moved}
    if case in alone:
        alone[case]()
    elif case == "missing":
        test_missing(*build)
    elif case == "pages":
        test_pages(*build)
    else:
        test_part(*build, case)


main()

# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""One page to look at, of what a run of ./dev bench left in a folder: its figures and each benchmark's rows.
  python3 tests/bench/page.py FOLDER        reads FOLDER/figures and FOLDER/*.rows, writes FOLDER/index.html
Nothing on the page is fetched from elsewhere. The plots are gnuplot's.
"""
import glob
import html
import math
import os
import re
import shutil
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True
from bench import NEAR_US
from figures import Damaged, Figures
import plots

# Colour and mark of a label: the first row that the label begins with applies. Colour-blind people can distinguish
# the colours (after Okabe and Ito).
LOOKS = (("uroce, UDP", "#56b4e9", 5), ("uroce", "#0072b2", 7), ("UCX", "#009e73", 9), ("TCP", "#d55e00", 11),
         ("UDP", "#cc79a7", 13), ("rxe", "#000000", 4))
DASHED = ("ordinary pages", "1500")  # how such a label ends
APART = 0.08  # of an axis: what two numbers at it need
WIDTH, HEIGHT = 960, 480
BUSY = 0.5  # processes that want to run, on average
STYLE = """
body { max-width: 62rem; margin: 2rem auto; padding: 0 1rem; font: 16px/1.5 sans-serif; color: #222; background: #fff; }
h2 { margin-top: 3rem; border-top: 1px solid #ccc; padding-top: 1rem; }
table { border-collapse: collapse; font-size: 90%; } th, td { padding: .1rem .8rem; text-align: right; }
th { font-weight: 600; } td:first-child, .facts td, .facts th { text-align: left; }
tr:nth-child(even) { background: #f4f4f4; } svg { width: 100%; height: auto; } figure { margin: 0; }
.gap { color: #a33; } summary { cursor: pointer; color: #555; } pre { overflow-x: auto; font-size: 80%; }
.range { color: #777; }
"""


# --- a plot ---

def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def look(label):
    colour, mark = next((colour, mark) for begin, colour, mark in LOOKS if label.startswith(begin))
    if label.endswith(DASHED):
        return f"lc rgb '{colour}' pt {mark - 1} ps 0.7 dt 2"
    return f"lc rgb '{colour}' pt {mark} ps 0.7"


def block(plot, points, all_x):
    """A curve's data; where it has no point and others have, it is interrupted."""
    found = {point[0]: point for point in points}
    return "\n".join(" ".join(repr(value) for value in
                              (x, *(figure / plot.scale for figure in found[x][1:4]))) if x in found else "" for x in all_x)


def name_of(plot, place):
    """Of letters and _, which is all that gnuplot allows."""
    return re.sub(r"\W", "_", f"{plot.key}_{place}")


def ticks(plot, values, log):
    """Those of @values that have room for their number."""
    places = [math.log(value) if log else value for value in values]
    span, kept = (places[-1] - places[0]) or 1, []
    for value, place in zip(values, places):
        if not kept or (place - kept[-1][1]) / span > APART:
            kept.append((value, place))
    return ", ".join(f"{quoted(plots.amount(plot, value).replace(' B', ''))} {value!r}" for value, _ in kept)


def round_numbers(low, high):
    """From @low to @high: powers of ten, and between them twos and fives if there is room."""
    tens = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1,) if high / low > 500 else (1, 2, 5)
    return [step * 10.0 ** ten for ten in tens for step in steps if low <= step * 10.0 ** ten <= high]


def all_points(figures, plot):
    return [point for place in figures.places(plot.series()) for series in plot.series()
            for point in figures.points(place, series)]


def axes(figures, plot):
    """The same for all places."""
    points = all_points(figures, plot)
    all_x = sorted({point[0] for point in points})
    low, high = min(point[2] for point in points) / plot.scale, max(point[3] for point in points) / plot.scale
    lines = [f"set xlabel {quoted(plot.x + (', bytes' if plot.bytes else ''))}", f"set ylabel {quoted(plot.y)}",
             f"set xtics ({ticks(plot, all_x, 'x' in plot.log)})"]
    if "x" in plot.log:
        lines += ["set logscale x", f"set xrange [{all_x[0] / 1.3!r}:{all_x[-1] * 1.3!r}]"]
    else:
        span = all_x[-1] - all_x[0] or 1
        lines.append(f"set xrange [{all_x[0] - span / 30!r}:{all_x[-1] + span / 30!r}]")
    if "y" in plot.log and low > 0:
        numbers = ", ".join(f"'{number:g}' {number!r}" for number in round_numbers(low / 1.3, high * 1.3))
        lines += ["set logscale y", f"set yrange [{low / 1.3!r}:{high * 1.3!r}]", f"set ytics ({numbers})"]
    else:
        lines.append(f"set yrange [0:{high * 1.1 or 1!r}]")
    return lines


def script(figures, plot, place):
    curves = [(i, label, figures.points(place, series)) for i, (label, series) in enumerate(plot.curves)]
    curves = [curve for curve in curves if curve[2]]
    all_x = sorted({point[0] for point in all_points(figures, plot)})
    lines = [f"set terminal svg size {WIDTH},{HEIGHT} dynamic noenhanced name '{name_of(plot, place)}' "
             "font 'sans-serif,15' linewidth 1.6 background rgb 'white'",
             "set border 3 lc rgb '#666666'", "set tics nomirror font ',12'", "set grid xtics ytics lt 1 lw 0.5 lc rgb '#dddddd'",
             "set key outside right center Left reverse", "set bars 0.4", "set format y '%g'", *axes(figures, plot)]
    lines += [f"$curve{i} << END\n{block(plot, points, all_x)}\nEND" for i, _, points in curves]
    lines.append("plot " + ", ".join(f"$curve{i} using 1:2:3:4 with yerrorlines title {quoted(label)} {look(label)}"
                                     for i, label, _ in curves))
    return "\n".join(lines) + "\n"


def picture(figures, plot, place):
    """The drawing, to stand in a page beside others: no prologue, names of its own."""
    r = subprocess.run(["gnuplot", "-d", "-"], input=script(figures, plot, place), capture_output=True, text=True)
    if r.returncode or "</svg>" not in r.stdout:
        raise Damaged(f"gnuplot cannot draw {plot.key}: {r.stderr.strip()}")
    drawing = r.stdout[r.stdout.index("<svg"):]
    name = name_of(plot, place) + "_"
    drawing = re.sub(r"""(\bid=['"]|href=['"]#|url\(['"]?#)(\w+)""", rf"\g<1>{name}\2", drawing)
    drawing = re.sub(r"<title>\w*</title>", "", drawing)
    label = html.escape(plot.heading(place), quote=True)
    return drawing.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)


# --- the page ---

def table(figures, plot, place):
    columns = [{point[0]: point for point in figures.points(place, series)} for series in plot.series()]
    rows = []
    for x in sorted({x for column in columns for x in column}):
        cells = "".join(cell(plot, column.get(x)) for column in columns)
        rows.append(f"<tr><td>{plots.amount(plot, x)}</td>{cells}</tr>")
    heads = "".join(f"<th>{html.escape(label)}</th>" for label, _ in plot.curves)
    return (f"<details><summary>The numbers: median, from least to most, how many</summary><table><tr>"
            f"<th>{html.escape(plot.x)}</th>{heads}</tr>{''.join(rows)}</table></details>")


def cell(plot, point):
    if not point:
        return "<td>-</td>"
    median, least, most = (plots.rounded(value / plot.scale) for value in point[1:4])
    return f"<td>{median} <span class=range>({least} to {most}, {point[4]})</span></td>"


def elsewhere(figures, plot):
    """Curves that another place has."""
    places = figures.places(plot.series())
    return [f"{label}: not measured with the {plots.WHERE[place]}" for place in places
            for label, series in plot.curves if (place, series) not in figures.samples and figures.places([series])]


def section(figures, plot):
    parts = [f"<h2 id={plot.key}>{html.escape(plot.title)}</h2>",
             f"<p>{html.escape(plot.text)} <b>{plot.better.capitalize()} is better.</b></p>"]
    for place in figures.places(plot.series()):
        if plots.WHERE[place] and place != "guest":
            parts.append(f"<h3>{html.escape(plots.WHERE[place].capitalize())}</h3>")
        parts += [f"<figure>{picture(figures, plot, place)}</figure>", table(figures, plot, place)]
    gaps = [line for label, series in plot.curves for line in plots.missing(figures, plot, label, series)]
    gaps += elsewhere(figures, plot)
    if gaps:
        parts.append("<ul class=gap>" + "".join(f"<li>{html.escape(line)}</li>" for line in gaps) + "</ul>")
    return "\n".join(parts)


def processors(figures):
    """Where the processors were, as often as somebody looked."""
    lines = figures.samples.get(("-", "line"), {}).get(64.0, [])
    moved = figures.samples.get(("-", "moved"), {}).get(0.0, [])
    words = []
    for name, some in (("near", [x for x in lines if x < NEAR_US]), ("far", [x for x in lines if x >= NEAR_US])):
        if some:
            words.append(f"{name} each other in {len(some)} of {len(lines)} looks (a cache line takes "
                         f"{statistics.median(some):.3f} us from one to the other)".replace("far each", "far from each"))
    if moved:
        words.append(f"{round(sum(moved))} of {len(moved)} measurements left out, because they moved meanwhile")
    return "; ".join(words) or "nobody looked"


def facts(figures):
    rows = {**figures.facts, "processors were": processors(figures)}
    return "<table class=facts>" + "".join(f"<tr><th>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>"
                                           for name, value in rows.items()) + "</table>"


def busy(figures):
    """A warning, if something else ran."""
    load = re.match(r"[\d.]+", figures.facts.get("load", ""))
    if not load or float(load.group()) < BUSY:
        return ""
    return "<p class=gap>The machine was busy when this run began: its figures say little, and compare badly.</p>"


def rows_of(folder):
    parts = []
    for path in sorted(glob.glob(os.path.join(glob.escape(folder), "*.rows"))):
        with open(path, encoding="utf-8", errors="replace") as file:
            parts.append(f"<details><summary>{html.escape(os.path.basename(path)[:-5])}</summary>"
                         f"<pre>{html.escape(file.read())}</pre></details>")
    return "\n".join(parts) or "<p>None was kept.</p>"


def page(folder):
    figures = Figures().read(os.path.join(folder, "figures"))
    contents = "".join(f"<li><a href='#{plot.key}'>{html.escape(plot.title)}</a></li>" for plot in plots.PLOTS)
    sections = "\n".join(section(figures, plot) for plot in plots.PLOTS)
    return f"""<!doctype html>
<html lang=en><head><meta charset=utf-8><title>uroce, measured</title><style>{STYLE}</style></head><body>
<h1>uroce, measured</h1>
<p>uroce is an RDMA device in user space. Here it stands beside other ways of moving data on one machine.
A point is a median of measurements that were taken in turn with those of the other curves; a bar through it goes from the
least to the most of them. A curve is interrupted where something was not measured, and the reason stands below. The axes
are logarithmic unless they begin at 0. Only what one run measured can be compared, and only if the machine did nothing
else.</p>
{busy(figures)}{facts(figures)}
<p>A virtual machine's processors lie now near each other, sharing a cache, now far: everything between two processes of
one host depends on that, so it is shown apart.</p>
<ul>{contents}<li><a href='#rows'>Rows of all benchmarks</a></li></ul>
{sections}
<h2 id=rows>Rows of all benchmarks</h2>
<p>As they were printed; a target is what this project wants of itself.</p>
{rows_of(folder)}
</body></html>
"""


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: page.py FOLDER")
    if not shutil.which("gnuplot"):
        sys.exit("gnuplot is missing: install gnuplot-nox")
    try:
        text = page(sys.argv[1])
    except Damaged as error:
        sys.exit(str(error))
    path = os.path.join(sys.argv[1], "index.html")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    print(path)


if __name__ == "__main__":
    main()

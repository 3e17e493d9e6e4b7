# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What there is to plot: the one list that the rows of tests/bench/sweep and the page of ./dev bench --report share."""
import dataclasses

WHERE = {"near": "processors near each other", "far": "processors far from each other",
         "any": "wherever the processors were", "guest": "in a virtual machine", "-": ""}


@dataclasses.dataclass(frozen=True)
class Plot:
    key: str
    title: str
    x: str
    y: str
    better: str  # than what
    text: str
    curves: tuple  # of (label, series in the figures)
    scale: float = 1.0  # a figure's value is so many of y's unit
    bytes: bool = True  # x is a number of bytes
    log: str = "xy"  # which axes are logarithmic; others begin at 0

    def series(self):
        return [series for _, series in self.curves]

    def heading(self, place):
        return self.title + (f", {WHERE[place]}" if WHERE[place] and place != "guest" else "")


LATENCY = "half a round trip, us"
SPEED = "GB/s (10^9 bytes)"
SIZE = "size of a message"
POLLED = "Each of two processes, on a processor of its own, waits for the other's message by polling and answers. "

PLOTS = (
    Plot("host-latency", "Latency of two processes on this host", SIZE, LATENCY, "lower",
         POLLED + "uroce takes shared memory by itself; UDP on the loopback is what it does where that is not allowed.",
         (("uroce, shared memory", "host send_lat"), ("uroce, UDP on loopback", "lo send_lat"),
          ("UCX, posix and cma", "ucx lat"), ("TCP on loopback", "tcp tcp_lat"))),
    Plot("host-bandwidth", "Bandwidth between two processes on this host", SIZE, SPEED, "higher",
         "One process sends, up to 128 messages at a time, the other receives. Where nothing else is said the buffers of "
         "uroce and UCX are on huge pages, as far as the system has some.",
         (("uroce, shared memory", "host send_bw"), ("uroce, ordinary pages", "host pages send_bw"),
          ("uroce, UDP on loopback", "lo send_bw"), ("UCX, posix and cma", "ucx bw"),
          ("UCX, ordinary pages", "ucx pages bw"), ("TCP on loopback", "tcp tcp_bw")), 1e3),
    Plot("veth-latency", "Latency between two network namespaces", SIZE, LATENCY, "lower",
         POLLED + "The namespaces are joined by a veth pair, whose packets have up to 1500 bytes; a datagram is one packet.",
         (("uroce", "udp1500 send_lat"), ("TCP", "plain1500 tcp_lat"), ("UDP datagrams", "plain1500 udp_lat"))),
    Plot("veth-bandwidth", "Bandwidth between two network namespaces", SIZE, SPEED, "higher",
         "One process sends, the other receives, over a veth pair whose packets have up to 1500 or 9000 bytes.",
         (("uroce, 1500", "udp1500 send_bw"), ("uroce, 9000", "udp9000 send_bw"), ("TCP, 1500", "plain1500 tcp_bw"),
          ("TCP, 9000", "plain9000 tcp_bw")), 1e3),
    Plot("guest-latency", "Latency in a virtual machine, beside the kernel's rxe", SIZE, LATENCY, "lower",
         POLLED + "A processor of this machine plays both of the guest's: compare the curves with each other, not with "
         "those of other plots.",
         (("uroce, shared memory", "shm send_lat"), ("uroce, UDP on loopback", "udp send_lat"), ("rxe", "rxe send_lat"),
          ("TCP on loopback", "plain tcp_lat"))),
    Plot("guest-bandwidth", "Bandwidth in a virtual machine, beside the kernel's rxe", SIZE, "MB/s (10^6 bytes)", "higher",
         "One process sends, the other receives. Compare the curves with each other, not with those of other plots.",
         (("uroce, shared memory", "shm send_bw"), ("uroce, UDP on loopback", "udp send_bw"), ("rxe", "rxe send_bw"),
          ("TCP on loopback", "plain tcp_bw"))),
    Plot("setup", "All to all: connecting many processes of one host", "processes", "seconds", "lower",
         "Each process connects a queue pair to every other one, all at once, then sends it a message. The time is the "
         "slowest process's until all its queue pairs are connected. n processes have n (n - 1) queue pairs.",
         (("uroce", "crowd connect"),), 1e3, bytes=False),
    Plot("regions", "Registering memory regions", "regions that there are already", "us for each registration", "lower",
         "One process registers regions of 64 bytes and keeps them all. A point is the mean of as many registrations "
         "as a quarter of the run's, the last of which is where the point stands.",
         (("uroce", "many register"),), bytes=False, log="x"),
    Plot("loss", "Bandwidth when packets get lost", "lost of 100 packets", SPEED, "higher",
         "Messages of 64 KiB between two network namespaces over a veth pair of 1500 bytes, written by uroce, sent by TCP. "
         "What gets lost is what the link carries at once, which is more than 1500 bytes where the sender leaves "
         "segmentation to the link.",
         (("uroce", "loss uroce"), ("TCP", "loss tcp")), 1e3, bytes=False, log=""),
)


def amount(plot, x):
    """x as one reads it."""
    x = int(x) if x == int(x) else x
    for unit, size in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if plot.bytes and x >= size and x % size == 0:
            return f"{x // size} {unit}"
    return f"{x:,} B" if plot.bytes else f"{x:,}"


def rounded(value):
    """Three digits that count."""
    return f"{value:.3g}" if value < 1 else f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def show(figures, plot):
    """The rows that ./dev bench prints: a table for each place, then what is missing and why."""
    width = max(10, *(len(label) for label, _ in plot.curves)) + 2
    for place in figures.places(plot.series()):
        columns = [{point[0]: point for point in figures.points(place, series)} for series in plot.series()]
        print(f"{plot.heading(place)}: {plot.y}")
        print(f"  {plot.x:>31}" + "".join(f"{label:>{width}}" for label, _ in plot.curves) + "  runs")
        for x in sorted({x for column in columns for x in column}):
            cells = [rounded(column[x][1] / plot.scale) if x in column else "-" for column in columns]
            runs = [column[x][4] for column in columns if x in column]
            print(f"  {amount(plot, x):>31}" + "".join(f"{cell:>{width}}" for cell in cells) +
                  f"{min(runs):6}", flush=True)
    for label, series in plot.curves:
        for line in missing(figures, plot, label, series):
            print(f"  {line}", flush=True)


def missing(figures, plot, label, series):
    """Why a curve is not whole, one line a reason."""
    where = {}
    for x, reason in figures.reasons(series):
        where.setdefault(reason, []).append(x)
    lines = [label + ("" if None in some else " at " + ", ".join(amount(plot, x) for x in sorted(some))) +
             f": not measured: {reason}" for reason, some in where.items()]
    if not lines and not figures.places([series]):
        lines = [f"{label}: not part of this run"]
    return lines

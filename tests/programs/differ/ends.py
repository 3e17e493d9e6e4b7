# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The two processes of a pair. Each makes the calls of one end, in lanes, and reports their results."""
import os
import select
import subprocess
import time

LIMIT = float(os.environ.get("DIFFER_LIMIT", 60))  # seconds until a call counts as one that never returns


class Stuck(Exception):
    """An end does not answer, or its process has ended."""


class End:
    def __init__(self, program, preload):
        env = dict(os.environ)
        if preload:
            env["LD_PRELOAD"] = preload
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        self.out = self.process.stdout.fileno()
        self.poll = select.poll()
        self.poll.register(self.out, select.POLLIN)
        self.rest = b""
        self.answers, self.starts, self.given = {}, {}, set()
        # A thread names its lane behind its number.
        self.tid = {}
        while len(self.tid) < 3:
            answer = self.take("t").split()
            self.tid[answer[2]] = answer[0]

    def give(self, lane, line):
        if lane.isdigit() and lane != "0":
            self.begun_forget(lane)
        try:
            os.write(self.process.stdin.fileno(), f"{lane} {line}\n".encode())
        except OSError as e:
            raise Stuck(f"gone with {self.process.wait()}") from e

    def begun_forget(self, lane):
        if lane in self.given:
            self.begun(lane)
        self.given.add(lane)
        self.starts[lane] = False

    def take(self, lane, limit=None):
        """Return the next answer of the lane, or None when the limit, in seconds, has passed."""
        end = time.monotonic() + (LIMIT if limit is None else limit)
        while not self.answers.get(lane):
            left = end - time.monotonic()
            if not self.poll.poll(max(0, left * 1000)):
                if limit is None:
                    raise Stuck("does not return")
                return None
            read = os.read(self.out, 65536)
            if not read:
                raise Stuck(f"gone with {self.process.wait()}")
            lines = (self.rest + read).split(b"\n")
            self.rest = lines.pop()
            for line in lines:
                name, _, answer = line.decode().partition(" ")
                self.answers.setdefault(name, []).append(answer.strip())
        return self.answers[lane].pop(0)

    def begun(self, lane):
        """Wait until a lane has begun its call. Before the call its thread sleeps, too."""
        while not self.starts.get(lane):
            name = self.take("b").split()[0]
            self.starts[name] = True

    def sleeps(self, lane):
        with open(f"/proc/{self.process.pid}/task/{self.tid[lane]}/stat", encoding="ascii") as stat:
            return stat.read().rpartition(")")[2].split()[0] == "S"

    def settle(self, lane, times=3):
        """Return the answer of a lane, or None if its call waits. A window of TCP opens after some time."""
        self.begun(lane)
        asleep = 0
        while asleep < times:
            answer = self.take(lane, 0.001)
            if answer is not None:
                return answer
            asleep = asleep + 1 if self.sleeps(lane) else 0
        return self.take(lane, 0)

    def interrupt(self, lane):
        self.give("i", lane)
        self.take("i")
        return self.take(lane)

    def call(self, line, lane="0"):
        self.give(lane, line)
        return self.take(lane)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class Pair:
    """Ends a and b, and all ports of their sockets so far."""

    def __init__(self, program, preload):
        self.program, self.preload = program, preload
        self.ends = {name: End(program, preload) for name in "ab"}
        self.ports, self.names = {}, {}

    def reset(self):
        for end in self.ends.values():
            end.call("reset")
        self.ports, self.names = {}, {}

    def leave(self, name):
        """Let a process exit with its sockets open, and start another."""
        end = self.ends[name]
        end.give("x", "")
        try:
            status = end.process.wait(LIMIT)
        except subprocess.TimeoutExpired as e:
            raise Stuck("does not exit") from e
        finally:
            end.kill()
        self.ends[name] = End(self.program, self.preload)
        return f"exited {status}"

    def kill(self):
        for end in self.ends.values():
            end.kill()

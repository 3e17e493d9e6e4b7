# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Play a plan on two pairs of ends, step by step, and compare the answers."""
import fnmatch
import re
import time

from ends import LIMIT, Stuck
from state import States

PATIENCE = min(LIMIT, 20)  # seconds until RDMA's answer must equal the kernel's
BLOCKING = ("recv", "accept", "connect", "send", "flood", "drain")
SOON = re.compile(r"-1 (EAGAIN|EALREADY|EINPROGRESS)\b")


class Difference(Exception):
    def __init__(self, step, state, kernel, rdma):
        super().__init__(f"{step}\n    socket: {state}\n    kernel: {kernel}\n    RDMA:   {rdma}")
        self.step, self.kernel, self.rdma = step, kernel, rdma

    def kind(self):
        """Return the kind of the difference. Differences of one kind probably have one cause. Shrinking keeps the kind."""
        words = self.step.replace("child ", "").split()
        return words[1:2], re.sub(r"\d\d+", "N", self.kernel.split(" sum")[0]), re.sub(r"\d\d+", "N", self.rdma.split(" sum")[0])


class Rules:
    """Known differences: lines "CALL; STATE; KERNEL; RDMA; same|leave" below a comment with the reason."""

    def __init__(self, path):
        self.lines, self.used = [], {}
        reason, fresh = "", True
        with open(path, encoding="utf-8") as file:
            for line in file:
                if line.startswith("#"):
                    reason = (reason + " " + line[1:].strip()).strip() if not fresh else line[1:].strip()
                    fresh = False
                elif not line.strip():
                    fresh = True
                else:
                    self.lines.append(([word.strip() for word in line.split(";")], reason))
                    fresh = True

    def find(self, call, state, kernel, rdma):
        for (*patterns, action), reason in self.lines:
            # A difference in any process is also a difference in a child.
            name = call if patterns[0].startswith("child") else call.replace("child ", "")
            if all(fnmatch.fnmatchcase(text, pattern) for text, pattern in zip((name, state, kernel, rdma), patterns)):
                self.used[reason] = self.used.get(reason, 0) + 1
                return action, reason
        return None


class Player:
    def __init__(self, kernel, rdma, rules, log=None):
        self.kernel, self.rdma, self.rules, self.log = kernel, rdma, rules, log
        self.steps = self.skipped = 0

    def play(self, plan):
        self.states = States()
        self.kernel.reset()
        self.rdma.reset()
        for step in plan:
            self.step(step)
        for socket in set(self.states.sockets.values()):
            self.owed_receive(socket)
            if sorted(socket.owed[0]) != sorted(socket.owed[1]) and not socket.left:
                raise Difference("datagrams received", socket.name(), str(socket.owed[0]), str(socket.owed[1]))

    def owed_receive(self, socket):
        """Receive the waiting datagrams, if they may have come in another order."""
        if not socket.owed[0] or socket.left:
            return
        for pair, owed in ((self.kernel, socket.owed[0]), (self.rdma, socket.owed[1])):
            limit = time.monotonic() + PATIENCE
            end, slot = min(socket.slots)
            while time.monotonic() < limit:
                answer = self.make(pair, f"{end} recv recv {slot} 100000 -d 0")
                if not answer.startswith("-1"):
                    owed.append(answer)
                elif pair is self.kernel or len(owed) >= len(socket.owed[0]):
                    break
            owed[:] = [" ".join(answer.split()[:4]) for answer in owed]

    # ---- steps ----

    def step(self, step):
        self.steps += 1
        first, _, rest = step.partition(" ")
        if first in ("both", "poke"):
            left, _, right = rest.partition(" / ")
            if self.fits(left, right) and not self.left_out(left) and not self.left_out(right) and self.settles(left):
                self.both(left, right, first == "poke")
            else:
                self.skipped += 1
        elif self.left_out(rest if first == "child" else step) or (first == "child" and self.state(rest) == "none"):
            self.skipped += 1
        elif first == "child":
            self.compare(rest, self.make(self.kernel, rest, "f"), self.guard(rest, lambda: self.make(self.rdma, rest, "f")), "f")
            for socket in self.states.involved(*rest.split(" ", 1)[:1], rest.split()[1:]):
                socket.flags |= {"a child has received" if rest.split()[1] == "recv" else "a child has sent"}
        elif step.split()[1] == "leave":
            self.compare(step, self.kernel.leave(first), self.guard(step, lambda: self.rdma.leave(first)))
            self.note(step, "0")
        else:
            self.alone(step)

    def fits(self, left, right):
        """Return whether two parallel calls have an answer that does not depend on the time. A flood of more bytes than buffers hold
        needs a receiver. A call that uses a socket may run before or after another call accepts it."""
        (drain, *words), (flood, *more) = left.split(), right.split()
        if words[0] == "accept" and drain == flood and words[2] in more:
            return False
        if more[0] != "flood":
            return True
        receiver, sender = self.states.find(drain, words[1]), self.states.find(flood, more[1])
        return not sender or sender.peer is receiver is not None and "reads no more" not in receiver.flags

    def left_out(self, step):
        end, *words = step.split()
        sockets = self.states.involved(end, words)
        if any(socket.left for socket in sockets):
            for socket in sockets:
                if words[0] in ("dup", "dup2", "close", "ctl"):
                    socket.leave("a descriptor of a socket that is no longer compared")
            return True
        if words[0] == "bind" and re.fullmatch(r"[ab]\.\d+", words[3]) and (words[3][0], words[3][2:]) not in self.kernel.ports:
            return True  # both pairs would bind the same port of the host
        if words[0] == "bind" and "." in words[3] and self.has_connection(*words[3].split(".")):
            return True  # another socket may have the port (rsocket(7), Ports of connections)
        if words[0] == "dup2" and not self.states.find(end, words[2]):
            return True  # all slots that are not open have this number
        if words[0] not in ("poll", "select", "close"):
            self.end_settle(end, sockets[:1])
            if any(socket.left for socket in sockets):
                return True
        if words[0] in ("send", "flood") and sockets and sockets[0].kind == "stream":
            peer = sockets[0].peer
            size, room = int(words[3]) if words[0] == "send" else 0, 2000 if sockets[0].small or peer and peer.small else 30000
            return (peer.unread if peer else 20000) + size > room
        if words[0] == "wait":
            self.entries_settle(end, sockets)
            return any(socket.left for socket in sockets)
        return False

    def has_connection(self, end, slot):
        """Return whether a connection has the port of that slot. The listener of the connection may have ended."""
        port = self.kernel.ports.get((end, slot))
        return any(self.kernel.ports.get((end, str(slot))) == port for (end, slot), owner in self.states.sockets.items()
                   if owner.kind == "stream" and owner.state == "connected")

    def entries_settle(self, end, sockets):
        """Wait until the same data have arrived at both pairs, because edges are equal only then."""
        for socket in sockets:
            for name, slot in sorted(socket.slots):
                if socket.kind != "epoll" and name == end:
                    self.alone(f"{end} poll poll 0 {slot} IN+OUT+PRI+RDHUP")
                    break

    def settles(self, left):
        """Wait for earlier data, so that at both pairs a call that receives or waits ends by them and not by the parallel call.
        Return whether the sockets are still compared."""
        end, *words = left.split()
        if words[0] == "accept":
            return True
        sockets = self.states.involved(end, words)
        self.entries_settle(end, sockets)
        return not any(socket.left for socket in sockets)

    def end_settle(self, end, sockets):
        """Wait for the end of a connection over RDMA, which arrives a moment later than the kernel's."""
        for socket in sockets:
            for name, slot in sorted(socket.slots):
                if name == end and socket.flags & {"listener closed", "reset there"}:
                    self.alone(f"{end} poll poll 0 {slot} IN+OUT+PRI+RDHUP")
                elif name == end and {"ended", "peer ended"} <= socket.flags:
                    self.alone(f"{end} getpeername {slot}")
                else:
                    continue
                break

    def line(self, pair, words):
        """Return the words of a call, with ports for sockets."""
        return " ".join(str(pair.ports.get(tuple(word.split(".")), 1)) if re.fullmatch(r"[ab]\.\d+", word) else word for word in words)

    def make(self, pair, step, lane="0"):
        end, *words = step.split()
        return self.names(pair, pair.ends[end].call(self.line(pair, words), lane))

    def names(self, pair, answer):
        return re.sub(r"port (\d+)", lambda m: "port " + (pair.names.get(m.group(1)) or "0 1".split().count(m.group(1)) and m.group(1) or
                                                          pair.names.setdefault(m.group(1), f"p{len(pair.names)}")), answer)

    def guard(self, step, make):
        try:
            return make()
        except Stuck as e:
            raise Difference(step, self.state(step), "an answer", str(e)) from e

    def waits(self, words):
        return words[0] in BLOCKING or words[0] in ("poll", "select") and words[2] == "-1" or words[0] == "wait" and words[3] == "-1"

    def alone(self, step):
        end, *words = step.split()
        if not self.waits(words):
            self.compare(step, self.make(self.kernel, step), self.guard(step, lambda: self.make(self.rdma, step)))
            return
        kernel = self.begun(self.kernel, step, "1")
        interrupted = kernel is None
        if interrupted:
            kernel = self.kernel.ends[end].interrupt("1")
        rdma = self.guard(step, lambda: self.finished(self.rdma, step, "1", self.begun(self.rdma, step, "1", interrupted), interrupted))
        self.compare(step, self.names(self.kernel, kernel), rdma, interrupted=interrupted)

    def begun(self, pair, step, lane, settle=True):
        end, *words = step.split()
        pair.ends[end].give(lane, self.line(pair, words))
        return pair.ends[end].settle(lane, 300 if words[0] == "flood" else 3) if settle or pair is self.kernel else None

    def finished(self, pair, step, lane, answer, interrupted):
        end = pair.ends[step.split()[0]]
        if answer is None:
            answer = end.interrupt(lane) if interrupted else end.take(lane)
        return self.names(pair, answer)

    def both(self, left, right, poke):
        """Begin the left call, and make the right call when the left one waits or has returned."""
        answers, interrupted = [], {}
        for pair in (self.kernel, self.rdma):
            def run(pair=pair):
                begun = self.begun(pair, left, "1")
                if poke and begun is None:
                    pair.ends[left[0]].give("p", "1")
                    pair.ends[left[0]].take("p")
                    begun = pair.ends[left[0]].settle("1")
                second = self.begun(pair, right, "2")
                if pair is self.kernel:
                    # Interrupt a waiting call only after both calls could have ended each other.
                    if begun is None:
                        begun = pair.ends[left[0]].settle("1", 300 if "drain" in left else 3)
                    if second is None:
                        second = pair.ends[right[0]].settle("2")
                    interrupted.update(left=begun is None, right=second is None)
                if second is None and not interrupted["right"]:
                    second = pair.ends[right[0]].take("2")
                if begun is None and not interrupted["left"]:
                    begun = pair.ends[left[0]].take("1")
                second = self.finished(pair, right, "2", second, True)
                return self.finished(pair, left, "1", begun, True), second
            answers.append(run() if pair is self.kernel else self.guard(f"{left} / {right}", run))
        (kernel_left, kernel_right), (rdma_left, rdma_right) = answers
        self.states.before = dict(self.states.sockets)
        self.compare(right, kernel_right, rdma_right, interrupted=interrupted["right"])
        self.compare(left, kernel_left, rdma_left, interrupted=interrupted["left"])
        self.states.before = {}

    # ---- answers ----

    def state(self, step):
        end, *words = step.partition(" / ")[0].split()
        return "; ".join(socket.name() for socket in self.states.involved(end, words)) or "none"

    def compare(self, step, kernel, rdma, lane="0", interrupted=False):
        end, *words = step.split()
        first, limit, pause = rdma, time.monotonic() + PATIENCE, 0.0002
        while True:
            different = self.different(end, words, kernel, rdma, "child " if lane == "f" else "")
            if not different:
                break
            if self.known(different) or not self.may_change(end, words, kernel, rdma) or time.monotonic() > limit:
                break
            time.sleep(pause)
            pause = min(pause * 2, 0.05)
            kernel = self.late(end, words, kernel, rdma, lane)
            rdma = self.guard(step, lambda: self.again(self.rdma, end, words, kernel, rdma, lane))
        if self.log:
            self.log(step, kernel, first if first == rdma else f"{first} -> {rdma}")
        for call, sockets, one, other in different:
            self.judge(step, call, sockets, one, other)
        self.note(step, kernel)
        if interrupted and words[0] in ("flood", "send"):
            for socket in self.states.involved(end, words):
                socket.leave("buffers have other sizes")

    def known(self, different):
        return all(self.rules.find(call, sockets[0].name() if sockets else "none", one, other) for call, sockets, one, other in different)

    def judge(self, step, call, sockets, kernel, rdma):
        found = self.rules.find(call, sockets[0].name() if sockets else "none", kernel, rdma)
        if not found:
            raise Difference(step, "; ".join(socket.name() for socket in sockets) or "none", kernel, rdma)
        if found[0] == "leave":
            for socket in sockets:
                socket.leave(found[1])

    def different(self, end, words, kernel, rdma, by):
        """Return a list of differences: (call, sockets, the kernel's answer, RDMA's answer)."""
        if kernel == rdma:
            return []
        call = " ".join(words[:2]) if words[0] in ("send", "recv", "ctl") else " ".join([words[0], *words[2:3]]) if words[0] in (
            "setopt", "getopt") else words[0]
        sockets = self.states.involved(end, words)
        if words[0] in ("poll", "select", "wait") and not kernel.startswith("-1") and not rdma.startswith("-1"):
            return self.readiness_different(end, call, kernel, rdma)
        if words[0] in ("flood", "drain"):
            # The time decides after how many bytes an error comes.
            kernel, rdma = (re.sub(r"sent.*|received.*", "", text) if text.startswith("-1") else text for text in (kernel, rdma))
            if kernel == rdma:
                return []
        if words[0] == "recv" and "t" in words[4]:
            # A stream discards the bytes and does not write to the buffer.
            kernel, rdma = (re.sub(r" sum \d+", "", text) for text in (kernel, rdma))
            if kernel == rdma:
                return []
        if words[0] == "recv" and sockets and sockets[0].kind == "dgram" and not kernel.startswith("-1") and not rdma.startswith("-1"):
            # A datagram may overtake another. Cut datagrams, and those that were only peeked at, cannot be compared later.
            if "p" in words[4] or words[3] in (kernel.split()[0], rdma.split()[0]):
                sockets[0].leave("a datagram may overtake another")
            sockets[0].owed[0].append(kernel)
            sockets[0].owed[1].append(rdma)
            return []
        return [(by + call, sockets, kernel, rdma)]

    def readiness_different(self, end, call, kernel, rdma):
        one, other = (dict(word.split(":") for word in answer.split()[2:]) for answer in (kernel, rdma))
        return [(call, [self.states.find(end, slot)] if self.states.find(end, slot) else [], one.get(slot, ""), other.get(slot, ""))
                for slot in sorted({*one, *other}) if one.get(slot, "") != other.get(slot, "")]

    def may_change(self, end, words, kernel, rdma):
        """Return whether a call has changed nothing, and its data may be under way."""
        if words[0] in ("poll", "select", "fionread", "getsockname", "getpeername"):
            return True
        if words[0] == "wait":
            return rdma.startswith("0")
        if words[0] == "getopt":
            return words[2] == "SO_ERROR" and rdma.startswith("0 0 0 0")
        if words[0] not in ("recv", "send", "accept", "connect"):
            return False
        if SOON.match(rdma):
            return True
        if self.is_late(words, kernel, rdma):
            return True
        if kernel.startswith("-1") or rdma.startswith("-1") or words[0] in ("accept", "connect"):
            return False
        # If bytes arrive after shutdown(), this is no end of the stream.
        least = 0 if "reads no more" in self.state(" ".join([end, *words])) else 1
        return least <= int(rdma.split()[0]) < int(kernel.split()[0])

    def is_late(self, words, kernel, rdma):
        """Return whether the kernel delays bytes that RDMA has delivered, because TCP sends small pieces one by one."""
        had = int(kernel.split()[0])
        return words[0] == "recv" and (had > 0 or kernel.startswith("-1 EINTR")) and had < int(rdma.split()[0]) != 0

    def late(self, end, words, kernel, rdma, lane):
        """Repeat a call of the kernel, if its data may be under way."""
        if words[0] in ("poll", "select", "fionread") or self.is_late(words, kernel, rdma):
            return self.again(self.kernel, end, words, rdma, kernel, lane)
        return kernel

    def again(self, pair, end, words, wanted, answer, lane):
        """Repeat a call of a pair to get missing data."""
        had = int(answer.split()[0])
        lane = "f" if lane == "f" else "0"
        peeks = "p" in words[4] and words[1] not in ("read", "readv") if words[0] == "recv" else False
        if words[0] in ("recv", "send") and "d" not in words[4]:
            words = [*words]
            words[1] = {"read": "recv", "readv": "recv", "write": "send", "writev": "send"}.get(words[1], words[1])
            words[4] = "-d" + words[4].strip("-").replace("w", "")
        if words[0] == "wait" or words[0] in ("poll", "select"):
            words = [word if i != (3 if words[0] == "wait" else 2) else "0" for i, word in enumerate(words)]
        if words[0] not in ("recv", "send") or had <= 0 or peeks:
            return self.make(pair, " ".join([end, *words]), lane)
        rest = [*words]
        rest[3] = str(int(wanted.split()[0]) - had)
        if rest[3] == "0":
            return answer
        if words[0] == "recv":
            rest[5] = re.search(r"sum (\d+)", answer).group(1)
        else:
            rest[6] = str(int(words[6]) + had)
        more = self.make(pair, " ".join([end, *rest]), lane)
        if SOON.match(more):
            return answer
        return re.sub(r"^-?\d+", lambda m: str(had + max(0, int(m.group()))), more)

    def note(self, step, kernel):
        end, *words = step.split()
        if words[0] == "connect" and "EINPROGRESS" in kernel:
            self.connection_settle(end, words)
        self.states.note(end, words, kernel)
        slot = words[2] if words[0] in ("accept", "dup", "dup2") else words[1] if len(words) > 1 else None
        if words[0] == "connect" and words[2] == "-1":
            return  # The kernel still names the port that the socket has lost.
        if words[0] in ("bind", "connect") and self.states.find(end, slot) and self.states.find(end, slot).left:
            return  # only one pair may have the port
        if words[0] in ("bind", "connect", "listen", "accept") and (not kernel.startswith("-1") or "EINPROGRESS" in kernel):
            for pair in (self.kernel, self.rdma):
                answer = pair.ends[end].call(f"getsockname {slot}")
                port = answer.split()[-1]
                if not answer.startswith("-1"):
                    pair.ports[end, slot] = port
                    port = self.names(pair, f"port {port}").split()[1]
                if pair is self.kernel and words[0] in ("connect", "bind") and self.states.find(end, slot):
                    self.states.ports[port] = self.states.find(end, slot)

    def connection_settle(self, end, words):
        for pair in (self.kernel, self.rdma):
            limit = time.monotonic() + PATIENCE
            while time.monotonic() < limit and pair.ends[end].call(f"poll poll 0 {words[1]} OUT").startswith("0"):
                time.sleep(0.0005)

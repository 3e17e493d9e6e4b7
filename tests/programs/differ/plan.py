# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Plans: lists of steps, which a seed determines. A user can read, edit and replay their text.

A step has one of these forms:
  END CALL WORD...       a call
  child END CALL ...     a call of a child of the end
  END leave              the process exits
  both STEP / STEP       begin the first call, and make the second call when the first waits or has returned
  poke STEP / STEP       the same, and send a signal to the first call before the second call
A word such as b.3 is the port of slot 3 of end b.
"""
import random

STREAM, LISTENER, DATAGRAM, EPOLL = "stream", "listener", "dgram", "epoll"
SIZES = (0, 1, 2, 3, 7, 64, 100, 251, 1000, 1460, 4096, 10000)
OPTIONS = {
    "SO_REUSEADDR": (0, 1), "SO_REUSEPORT": (0, 1), "SO_KEEPALIVE": (0, 1), "SO_OOBINLINE": (0, 1), "SO_BROADCAST": (0, 1),
    "SO_RCVLOWAT": (1, 0), "SO_PRIORITY": (0, 4), "SO_LINGER": (0, 5), "SO_RCVTIMEO": (0, 100000),
    "SO_SNDTIMEO": (0, 100000), "SO_DONTROUTE": (0, 1), "SO_RCVBUF": (8192, 100000), "SO_SNDBUF": (8192, 100000),
    "SO_TYPE": (1,), "SO_DOMAIN": (1,), "SO_PROTOCOL": (1,), "SO_ACCEPTCONN": (1,), "SO_ERROR": (1,), "SO_SNDLOWAT": (1,),
    "TCP_NODELAY": (0, 1), "TCP_CORK": (0,), "TCP_KEEPIDLE": (7, 0, 32768), "TCP_KEEPINTVL": (7, 0, 32768),
    "TCP_KEEPCNT": (5, 0, 128), "TCP_SYNCNT": (3, 0, 256), "TCP_LINGER2": (9, -1), "TCP_USER_TIMEOUT": (5000, -1),
    "TCP_NOTSENT_LOWAT": (4096,), "IP_TOS": (0, 8, 16), "IP_TTL": (64, 9, 0, 256), "IP_MTU_DISCOVER": (1, 9),
    "IP_FREEBIND": (0, 1), "NONE": (1,),
}
EVENTS = ("IN", "OUT", "IN+OUT", "IN+RDHUP", "IN+OUT+RDHUP+PRI", "RDHUP", "PRI", "NONE")


class Maker:
    """Draws steps for the sockets that the earlier steps have probably made."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.steps = []
        self.kinds = {"a": {}, "b": {}}  # slot: kind

    def one(self, *choices):
        return self.random.choice(choices)

    def chance(self, percent):
        return self.random.randrange(100) < percent

    def add(self, *words):
        self.steps.append(" ".join(str(word) for word in words))

    def slot_new(self, end, kind):
        free = [slot for slot in range(16) if slot not in self.kinds[end]]
        slot = free[0] if free else self.random.randrange(16)
        self.kinds[end][slot] = kind
        return slot

    def slot_any(self, end, *kinds):
        having = [slot for slot, kind in self.kinds[end].items() if kind in kinds]
        if not having or self.chance(2):
            return self.random.randrange(16)
        return self.random.choice(having)

    # ---- sockets ----

    def make_listener(self, end):
        slot = self.slot_new(end, LISTENER)
        self.add(end, "socket", slot, "stream", *self.one((), (), ("nonblock",)))
        if self.chance(15):
            self.make_option(end, slot)
        self.add(end, "bind", slot, self.one("lo", "lo", "any"), 0)
        self.add(end, "listen", slot, self.one(5, 16))
        return slot

    def make_connection(self):
        server = self.one("a", "b", "b", "b")
        client = "a" if server == "b" and not self.chance(10) else server
        listeners = [slot for slot, kind in self.kinds[server].items() if kind == LISTENER]
        listener = self.random.choice(listeners) if listeners and self.chance(80) else self.make_listener(server)
        slot = self.slot_new(client, STREAM)
        self.add(client, "socket", slot, "stream", *self.one((), (), ("nonblock",)))
        if self.chance(15):
            self.make_option(client, slot)
        self.add(client, "connect", slot, f"{server}.{listener}")
        if self.chance(90):
            self.add(server, "accept", listener, self.slot_new(server, STREAM), *self.one((), (), ("nonblock",)))

    def make_datagrams(self):
        slots = {}
        for end in "ab":
            slots[end] = self.slot_new(end, DATAGRAM)
            self.add(end, "socket", slots[end], "dgram", *self.one((), ("nonblock",)))
            if self.chance(90):
                self.add(end, "bind", slots[end], self.one("lo", "lo", "any"), 0)
        if self.chance(50):
            self.add("a", "connect", slots["a"], f"b.{slots['b']}")
        if self.chance(50):
            self.add("b", "connect", slots["b"], f"a.{slots['a']}")

    def make_socket(self, end):
        kind = self.one(STREAM, DATAGRAM)
        self.add(end, "socket", self.slot_new(end, kind), kind, *self.one((), ("nonblock",)))

    def make_bind(self, end):
        self.add(end, "bind", self.slot_any(end, STREAM, DATAGRAM), self.one("lo", "any"), self.one(0, self.port(), self.port()))

    def make_listen(self, end):
        self.add(end, "listen", self.slot_any(end, STREAM, LISTENER), self.one(5, 16))

    def port(self):
        end = self.one("a", "b")
        return f"{end}.{self.slot_any(end, LISTENER, DATAGRAM, STREAM)}"

    def make_connect(self, end):
        self.add(end, "connect", self.slot_any(end, STREAM, DATAGRAM), self.one(self.port(), self.port(), 1, -1))

    def make_accept(self, end):
        self.add(end, "accept", self.slot_any(end, LISTENER), self.slot_new(end, STREAM))

    def make_shutdown(self, end):
        self.add(end, "shutdown", self.slot_any(end, STREAM, STREAM, STREAM, LISTENER, DATAGRAM), self.one(0, 1, 1, 2))

    def make_close(self, end):
        slot = self.slot_any(end, STREAM, LISTENER, DATAGRAM, EPOLL)
        self.kinds[end].pop(slot, None)
        self.add(end, "close", slot)

    def make_dup(self, end):
        slot = self.slot_any(end, STREAM, DATAGRAM, LISTENER)
        kind = self.kinds[end].get(slot, STREAM)
        if self.chance(70):
            self.add(end, "dup", slot, self.slot_new(end, kind))
        else:
            over = self.slot_any(end, STREAM, DATAGRAM, LISTENER)
            self.kinds[end][over] = kind
            self.add(end, "dup2", slot, over)

    def make_nonblock(self, end):
        self.add(end, "nonblock", self.slot_any(end, STREAM, LISTENER, DATAGRAM), self.one(0, 1))

    def make_option(self, end, slot=None):
        slot = self.slot_any(end, STREAM, LISTENER, DATAGRAM) if slot is None else slot
        name = self.random.choice(list(OPTIONS))
        if self.chance(70):
            size = self.one((), (), (), (), (4,), (1,), (0,), (3,))
            self.add(end, "setopt", slot, name, self.one(*OPTIONS[name]), *size)
        self.add(end, "getopt", slot, name, *self.one((), (), (), (4,), (1,), (0,), (16,)))

    def make_name(self, end):
        self.add(end, self.one("getsockname", "getpeername", "fionread"), self.slot_any(end, STREAM, LISTENER, DATAGRAM))

    # ---- data ----

    def send_step(self, end):
        how, size = self.one("send", "write", "writev", "sendmsg", "sendto"), self.one(*SIZES)
        flags = "-" + self.one("", "", "n", "d", "nd", "o" if self.chance(5) else "")
        slot = self.slot_any(end, STREAM, STREAM, STREAM, DATAGRAM, LISTENER if self.chance(5) else STREAM)
        port = 0
        if how in ("sendto", "sendmsg") and (self.kinds[end].get(slot) == DATAGRAM or self.chance(10)):
            port = self.port()
        return f"{end} send {how} {slot} {size} {flags} {self.random.randrange(1000)} 0 {port}"

    def recv_step(self, end):
        how, size = self.one("recv", "read", "readv", "recvmsg", "recvfrom"), self.one(*SIZES)
        flags = "-" + self.one("", "", "", "p", "d", "pd", "w", "t" if self.chance(5) else "")
        slot = self.slot_any(end, STREAM, STREAM, STREAM, DATAGRAM, LISTENER if self.chance(5) else STREAM)
        if size == 0:  # Whether the kernel waits depends on its earlier queue of packets.
            how, flags = self.one("recv", "recvmsg"), "-d"
        return f"{end} recv {how} {slot} {size} {flags} 0"

    def make_send(self, end):
        self.steps.append(self.send_step(end))

    def make_recv(self, end):
        self.steps.append(self.recv_step(end))

    def make_flood(self, end):
        size, seed = self.one(1000, 70000, 300000), self.random.randrange(1000)
        other = "b" if end == "a" else "a"
        self.add("both", other, "drain", self.slot_any(other, STREAM), size, self.one(100000, 5000), "/",
                 end, "flood", self.slot_any(end, STREAM), size, self.one(100000, 9000, 700), seed)

    # ---- waits ----

    def asked(self, end, kinds):
        slots = sorted({self.slot_any(end, *kinds) for _ in range(self.one(1, 1, 2, 3))})
        return [word for slot in slots for word in (slot, self.one(*EVENTS))]

    def ask_step(self, end, wait):
        kinds = (STREAM, LISTENER, DATAGRAM)
        time = -1 if wait else self.one(0, 0, 0, 3)
        epolls = [slot for slot, kind in self.kinds[end].items() if kind == EPOLL]
        if epolls and self.chance(60):
            how = self.one("epoll_wait", "epoll_pwait", "epoll_pwait2")
            return f"{end} wait {how} {self.random.choice(epolls)} {time} {self.one(16, 16, 16, 0)}"
        if self.chance(60):
            words = ["poll", self.one("poll", "poll", "ppoll"), time, *self.asked(end, kinds)]
        else:
            words = ["select", self.one("select", "pselect"), time, *self.asked(end, kinds)]
        return " ".join([end, *(str(word) for word in words)])

    def make_ask(self, end):
        self.steps.append(self.ask_step(end, False))

    def make_epoll(self, end):
        self.add(end, "epoll", self.slot_new(end, EPOLL))
        self.make_ctl(end)

    def make_ctl(self, end):
        events = self.one("IN", "IN+OUT", "IN+RDHUP", "OUT", "IN+OUT+RDHUP", "PRI")
        events += self.one("", "", "+ET", "+ET", "+ONE", "+ET+ONE")
        self.add(end, "ctl", self.slot_any(end, EPOLL), self.one("add", "add", "add", "mod", "mod", "del"),
                 self.slot_any(end, STREAM, LISTENER, DATAGRAM), events)

    def waiting_step(self, end):
        kind = self.random.randrange(10)
        if kind < 5:
            return self.recv_step(end)
        if kind < 8:
            return self.ask_step(end, True)
        return f"{end} accept {self.slot_any(end, LISTENER)} {self.slot_new(end, STREAM)}"

    def make_both(self, end):
        waiting = self.waiting_step(end)
        other = end if self.chance(20) else "b" if end == "a" else "a"
        before, self.steps = self.steps, []
        self.random.choice((self.make_send, self.make_send, self.make_shutdown, self.make_close, self.make_connect,
                            self.make_recv))(other)
        step, self.steps = self.steps[0], before
        self.add(self.one("both", "both", "poke"), waiting, "/", step)

    def make_child(self, end):
        slot, size = self.slot_any(end, STREAM), self.one(*SIZES)
        if self.chance(50):
            self.add("child", end, "send", self.one("send", "sendmsg"), slot, size, "-dn", self.random.randrange(1000), 0, 0)
        else:
            self.add("child", end, "recv", self.one("recv", "recvmsg"), slot, size, self.one("-d", "-dp"), 0)

    def make_handlers(self, end):
        self.add(end, "handlers", self.one(0, 1))

    def make_leave(self, end):
        if self.chance(10):
            self.add(end, "leave")
            self.kinds[end] = {}

    WEIGHTS = ((make_send, 22), (make_recv, 22), (make_ask, 22), (make_both, 10), (make_shutdown, 7), (make_close, 6),
               (make_option, 8), (make_name, 6), (make_ctl, 7), (make_epoll, 4), (make_dup, 4), (make_nonblock, 4),
               (make_connect, 4), (make_accept, 3), (make_flood, 4), (make_child, 3), (make_socket, 2), (make_bind, 2),
               (make_listen, 2), (make_handlers, 1), (make_leave, 2))

    def make(self):
        makes, weights = zip(*self.WEIGHTS)
        for _ in range(self.one(1, 1, 1, 2)):
            (self.make_datagrams if self.chance(20) else self.make_connection)()
        for _ in range(self.one(3, 6, 12, 20)):
            if self.chance(4):
                self.make_connection()
            self.random.choices(makes, weights)[0](self, self.one("a", "b"))
        return self.steps


def make(seed):
    return Maker(seed).make()


def read(text):
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return [line for line in lines if line]

# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The sockets of a plan, and their states according to the answers of the kernel."""
import re


class Socket:
    def __init__(self, kind):
        self.kind = kind
        self.state = "new"
        self.slots = set()  # (end, slot) of its descriptors
        self.peer = None
        self.flags = set()
        self.unread = 0  # bytes that the peer has sent and this socket has not received
        self.small = False  # buffers have been set
        self.left = None  # the reason why the socket is no longer compared
        self.entries = set()  # slots in an epoll
        self.owed = ([], [])  # datagrams that only one pair has received so far
        self.waiting = []  # clients of a listener

    def name(self):
        return ", ".join([self.kind, self.state, *sorted(self.flags)])

    def leave(self, reason):
        for one in (self, self.peer):
            if one and not one.left:
                one.left = reason


class States:
    def __init__(self):
        self.sockets = {}  # (end, slot): Socket
        self.before = {}  # sockets that a parallel call has closed
        self.ports = {}  # name of a port: Socket

    def find(self, end, slot):
        return self.sockets.get((end, int(slot))) or self.before.get((end, int(slot)))

    def set(self, end, slot, socket):
        self.drop(end, slot)
        self.sockets[end, int(slot)] = socket
        socket.slots.add((end, int(slot)))

    def drop(self, end, slot):
        """Note that a descriptor was closed. The last descriptor closes its socket."""
        socket = self.sockets.pop((end, int(slot)), None)
        if not socket:
            return
        socket.slots.discard((end, int(slot)))
        if socket.slots:
            return
        if socket.state == "listening":
            self.listener_end(socket)
        socket.state = "closed"
        if socket.peer:
            socket.peer.flags.add("peer closed")
            if socket.unread:
                socket.peer.flags.add("unread there")

    def listener_end(self, listener):
        for client in listener.waiting:
            if not client.peer:
                client.flags.add("listener closed")

    def involved(self, end, words):
        """Return the sockets that a call names, and the sockets in an epoll."""
        slots = {"poll": words[3::2], "select": words[3::2], "send": words[2:3], "recv": words[2:3], "wait": words[2:3],
                 "ctl": [words[1], words[3]] if words[0] == "ctl" else [], "dup2": words[1:3]}
        found = []
        for slot in slots.get(words[0], words[1:2]):
            socket = self.find(end, slot)
            if socket:
                found.append(socket)
                found += [self.find(end, entry) for entry in socket.entries if self.find(end, entry)]
        return found

    def note(self, end, words, answer):
        """Update the states by a call of the kernel."""
        call, ok = words[0], not answer.startswith("-1")
        socket = self.find(end, words[1]) if len(words) > 1 and words[1].isdigit() else None
        if call in ("socket", "epoll") and ok:
            self.set(end, words[1], Socket(words[2] if call == "socket" else "epoll"))
        elif call == "leave":
            for name, slot in list(self.sockets):
                if name == end:
                    self.drop(end, slot)
        elif call in ("send", "recv") and ok:
            self.note_data(call, self.find(end, words[2]), words, int(answer.split()[0]))
        elif call in ("flood", "drain") and socket:
            found = re.search(r"(sent|received) (\d+)", answer)
            self.note_data({"flood": "send", "drain": "recv"}[call], socket, ["", "", "", "", "-"], int(found.group(2)))
        elif call == "ctl" and ok and socket:
            {"add": socket.entries.add, "del": socket.entries.discard}.get(words[2], lambda slot: None)(words[3])
        elif socket:
            note = getattr(self, "note_" + call, None)
            if note:
                note(end, socket, words, answer, ok)

    def note_data(self, call, socket, words, count):
        if not socket or socket.kind == "dgram":
            return
        if call == "send" and socket.peer:
            socket.peer.unread += count
        elif call == "send":
            socket.flags.add("sent")
        elif "p" not in words[4]:
            socket.unread = max(0, socket.unread - count)

    def note_listen(self, end, socket, words, answer, ok):
        if ok:
            socket.state = "listening"

    def note_connect(self, end, socket, words, answer, ok):
        if socket.kind == "dgram":
            socket.state = "connected" if ok and words[2] != "-1" else "new"
            if ok and words[2] == "-1":
                socket.leave("connect() to no address frees the port of a datagram socket, and keeps it here")
        elif ok or "EINPROGRESS" in answer or "EINTR" in answer:
            socket.state = "connected" if words[2] != "-1" else "unconnected"
            if words[2] == "-1" and socket.peer:
                socket.peer.flags.add("reset there")
            listener = self.find(*words[2].split(".")) if "." in words[2] else None
            if listener:
                listener.waiting.append(socket)
        elif socket.state == "new":
            socket.state = "refused"

    def note_accept(self, end, socket, words, answer, ok):
        if not ok:
            return
        new = Socket("stream")
        new.state = "connected"
        client = self.ports.get(answer.split()[-1])
        self.set(end, words[2], new)
        new.peer = client
        if client:
            client.peer = new
            client.flags.discard("not accepted")
            new.flags |= {{"closed": "peer closed"}.get(client.state, "was waiting")}
            new.flags |= {"peer shut down"} if {"reads no more", "ended"} <= client.flags else set()
            new.flags |= {"peer ended"} & {"peer ended" if "ended" in client.flags else ""}

    def note_shutdown(self, end, socket, words, answer, ok):
        if not ok:
            return
        if words[2] in "02":
            socket.flags.add("reads no more")
        if words[2] in "12":
            socket.flags.add("ended")
            if socket.peer:
                socket.peer.flags.add("peer ended")
        if socket.peer and {"reads no more", "ended"} <= socket.flags:
            socket.peer.flags.add("peer shut down")
        if socket.state == "listening" and words[2] in "02":
            self.listener_end(socket)
            socket.state = "shut down"

    def note_setopt(self, end, socket, words, answer, ok):
        if words[2] in ("SO_RCVBUF", "SO_SNDBUF"):
            socket.small = True

    def note_close(self, end, socket, words, answer, ok):
        self.drop(end, words[1])

    def note_dup(self, end, socket, words, answer, ok):
        if ok:
            self.set(end, words[2], socket)

    def note_dup2(self, end, socket, words, answer, ok):
        if ok and words[1] != words[2]:
            self.set(end, words[2], socket)

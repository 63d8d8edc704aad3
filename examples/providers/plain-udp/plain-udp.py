#!/usr/bin/env python3
"""A tunnel without encryption: each IP packet is a UDP datagram, by the protocol of docs/provider-protocol.md.

The same as PlainUDP.swift, with Python's standard library alone. For learning only: anybody on the way can read and forge the packets.
"""

import array
import json
import os
import select
import socket
import sys
import time

VERSION, LIMIT = 1, 65536


class Provider:
    def __init__(self, channel):
        self.channel, self.number, self.pending, self.tunnel = channel, 0, {}, ""
        self.reset()
        self.send("hello", versions=[VERSION, VERSION], program="plain-udp.py 1.0")

    def reset(self):
        """Closes everything of a run."""
        for file in ("server", "device"):
            if getattr(self, file, None) is not None:
                os.close(getattr(self, file).detach() if file == "server" else self.device)
            setattr(self, file, None)
        self.pending.clear()
        self.options, self.connected, self.unanswered, self.next_question = None, False, 0, None
        self.remote = self.port = None

    def send(self, kind, **members):
        text = json.dumps({"type": kind, **members}, separators=(",", ":"), ensure_ascii=False)
        self.channel.sendall(text.encode())

    def request(self, kind, handler, **members):
        self.number += 1
        self.pending[self.number] = handler
        self.send(kind, id=self.number, **members)

    def fail(self, code, text, who):
        self.send("failed", code=code, text=f"{self.tunnel}: {text}", help=who, **{"retry-after-ms": None})
        self.reset()

    # What the agent says.

    def on_hello(self, message, _):
        self.tunnel = message["tunnel"]

    def on_credential(self, _, descriptor):
        os.close(descriptor)

    def on_start(self, message, _):
        self.options = message["options"]
        host, _, port = str(self.options.get("server", "")).rpartition(":")
        if not host or not port.isdigit() or "address" not in self.options:
            return self.fail("invalid-options", "server is HOST:PORT, address is ADDRESS/LENGTH", "person")
        if host.startswith("[") or host.replace(".", "").isdigit():
            return self.connect([host.strip("[]")], port)
        self.request("resolve", lambda answer, _: self.connect(answer["addresses"], port), name=host)

    def connect(self, addresses, port):
        self.remote, self.port = addresses[0], port
        remote = f"[{self.remote}]:{port}" if ":" in self.remote else f"{self.remote}:{port}"
        self.request("open-socket", self.on_socket, transport="udp", remote=remote)

    def on_socket(self, _, descriptor):
        if self.server is not None:
            self.server.close()
        self.server = socket.socket(fileno=descriptor)
        self.server.setblocking(False)
        self.ask()

    def on_stop(self, _message, _):
        if self.options is not None:
            self.send("stopped")
            self.reset()

    def on_sleep(self, _message, _):
        self.send("asleep")

    def on_network(self, message, _):
        # The socket has an address of the network before.
        if message["network"] is not None and self.server is not None:
            self.connect([self.remote], self.port)

    def on_message(self, message, _):
        if message["content"].get("type") == "statistics":
            content = {"type": "statistics", "value": {"connected": self.connected, "dropped": 0}}
            result = {"content": content}
        else:
            result = {"code": "unknown-type", "text": "this provider knows `statistics`"}
        self.send("reply", id=message["id"], result=result)

    # The tunnel.

    def ask(self):
        self.unanswered += 1
        self.next_question = time.monotonic() + 5
        if self.connected and self.unanswered == 4:
            self.send("reasserting", code="peer-timeout", text="the server has not answered for 15 s")
        if self.unanswered > 12:
            return self.fail("peer-timeout", "the server has not answered for a minute; check its address", "time")
        self.transmit(b"\0")

    def transmit(self, datagram):
        try:
            self.server.send(datagram)
        except OSError:
            pass  # Lost, as on the way.

    def received(self):
        try:
            datagram = self.server.recv(LIMIT)
        except OSError:
            return
        if datagram == b"\1":
            self.answered()
        elif self.device is not None and len(datagram) >= 20 and datagram[0] >> 4 in (4, 6):
            os.write(self.device, datagram)

    def answered(self):
        if self.connected and self.unanswered >= 4:
            self.send("ready")
        self.unanswered = 0
        if not self.connected:
            self.connected = True
            self.request(
                "settings", lambda *_: self.request("open-device", self.on_device),
                **{"remote-address": self.remote, "addresses": [self.options["address"]],
                   "included-routes": self.options.get("routes", []), "excluded-routes": [], "mtu": None,
                   "overhead": 48, "dns": None, "proxies": None})

    def on_device(self, _, descriptor):
        self.device = descriptor
        os.set_blocking(descriptor, False)
        self.send("ready")

    # The loop.

    def receive(self):
        """Takes a message of the agent. False: it closed the channel."""
        data, ancillary, _, _ = self.channel.recvmsg(LIMIT, socket.CMSG_SPACE(4))
        descriptor = None
        for level, kind, content in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                descriptor = array.array("i", content[:4])[0]
        if not data:
            return False
        message = json.loads(data)
        if "id" in message and message["type"] != "message":
            handler = self.pending.pop(message["id"], None)
            if handler is None and descriptor is not None:
                os.close(descriptor)  # The run that asked for it is over.
            elif handler is not None and message["type"] == "refused":
                self.fail(message["code"], message["text"], "time")
            elif handler is not None:
                handler(message, descriptor)
        else:
            getattr(self, f"on_{message['type']}", lambda *_: None)(message, descriptor)
        return True

    def run(self):
        while True:
            files = [file for file in (self.channel, self.server, self.device) if file is not None]
            wait = None if self.next_question is None else max(0, self.next_question - time.monotonic())
            ready = select.select(files, [], [], wait)[0]
            if self.channel in ready and not self.receive():
                return
            if self.server is not None and self.server in ready:
                self.received()
            if self.device is not None and self.device in ready:
                self.transmit(os.read(self.device, LIMIT))
            if self.next_question is not None and self.next_question <= time.monotonic():
                self.ask()


if __name__ == "__main__":
    try:
        Provider(socket.socket(fileno=3)).run()
    except OSError as error:
        sys.exit(f"this is a provider: the agent starts it, with a channel as descriptor 3 ({error})")

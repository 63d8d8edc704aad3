"""A bus for one agent, without a daemon: messages as bytes, and connections whose calls a function answers.

The D-Bus specification.
"""

import os
import socket
import struct


def listen(folder, name, kind):
    path = os.path.join(folder, name)
    if os.path.exists(path):
        os.unlink(path)
    server = socket.socket(socket.AF_UNIX, kind)
    server.bind(path)
    return server


def aligned(data, size):
    return data + bytes(-len(data) % size)


def text(value):
    return struct.pack("<I", len(value)) + value.encode() + b"\0"


def signature(value):
    return bytes([len(value)]) + value.encode() + b"\0"


def message(kind, parts, body, form):
    if form:
        parts.append((8, "g", signature(form)))
    fields = b""
    for code, form_of, value in parts:
        fields = aligned(fields, 8) + bytes([code]) + signature(form_of)
        fields = (fields if form_of == "g" else aligned(fields, 4)) + value
    head = struct.pack("<cBBBIII", b"l", kind, 1, 1, len(body), 1, len(fields))
    return aligned(head + fields, 8) + body


def reply(serial, kind=3, body=b"", form="", error=None, files=0):
    """A method return (2) or an error (3). `files`: the number of descriptors beside it."""
    parts = [(5, "u", struct.pack("<I", serial)), (6, "s", text(":1.1")), (7, "s", text("org.freedesktop.DBus"))]
    if error:
        parts.append((4, "s", text(error)))
    if files:
        parts.append((9, "u", struct.pack("<I", files)))
    return message(kind, parts, body, form)


def signal(sender, path, interface, member, body=b"", form=""):
    """A signal (4) of a service of the bus."""
    return message(4, [(1, "o", text(path)), (2, "s", text(interface)), (3, "s", text(member)), (7, "s", text(sender))], body, form)


def read_text(data, at):
    at += -at % 4
    length = struct.unpack_from("<I", data, at)[0]
    return data[at + 4 : at + 4 + length].decode(), at + 4 + length + 1


def members(data, end):
    """The fields of a header that are texts, by their codes."""
    found, at = {}, 16
    while at < end:
        at += -at % 8
        code, length = data[at], data[at + 1]
        kind = data[at + 2 : at + 2 + length].decode()
        at += 3 + length
        if kind in ("s", "o"):
            found[code], at = read_text(data, at)
        elif kind == "g":
            found[code] = data[at + 1 : at + 1 + data[at]].decode()
            at += 2 + data[at]
        else:
            at += -at % 4 + 4
    return found


class Client:
    """A connection. `answer`: a function of a call's member, body and serial number; its bytes, or these with descriptors."""

    def __init__(self, connection, answer):
        self.connection, self.answer, self.data, self.is_open = connection, answer, b"", False

    def fileno(self):
        return self.connection.fileno()

    def send(self, answer):
        data, files = answer if isinstance(answer, tuple) else (answer, [])
        socket.send_fds(self.connection, [data], files)
        for file in files:
            os.close(file)

    def take(self):
        """Returns false at the end, also at one with bytes that the agent has not read."""
        try:
            return self.answer_all()
        except (ConnectionResetError, BrokenPipeError):
            return False

    def answer_all(self):
        new = self.connection.recv(65536)
        self.data += new
        while not self.is_open and b"\r\n" in self.data:
            line, self.data = self.data.split(b"\r\n", 1)
            line = line.lstrip(b"\0")
            if line.startswith(b"BEGIN"):
                self.is_open = True
            elif line.startswith(b"NEGOTIATE_UNIX_FD"):
                self.connection.sendall(b"AGREE_UNIX_FD\r\n")
            elif line.startswith(b"DATA"):
                self.connection.sendall(b"OK 0123456789abcdef0123456789abcdef\r\n")
            elif line.startswith(b"AUTH"):
                self.connection.sendall(b"DATA\r\n" if line.strip() == b"AUTH EXTERNAL" else b"OK 0123456789abcdef0123456789abcdef\r\n")
        while self.is_open and len(self.data) >= 16:
            length, serial, fields = struct.unpack_from("<III", self.data, 4)
            begin = 16 + fields + -fields % 8
            if len(self.data) < begin + length:
                break
            kind, flags = self.data[1], self.data[2]
            member = members(self.data, 16 + fields).get(3)
            body = self.data[begin : begin + length]
            self.data = self.data[begin + length :]
            if kind == 1 and not flags & 1:
                self.send(self.answer(member, body, serial))
        return bool(new)

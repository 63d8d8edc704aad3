"""Logs in to a gateway as docs/wire-format.md describes it: a second implementation, for tests.

login.py HOST PORT PIN KEY DEVICE [user PASSWORD | token TOKEN | openid -] [ANSWER...]
With $SOURCE, from this address. Prints the frames that the gateway sends after the hello, a line for each: the kind in hexadecimal, then tag=value.
"""

import base64
import hashlib
import os
import socket
import ssl
import struct
import sys
import time


def frame(kind, *fields):
    body = bytes([kind]) + b"".join(struct.pack(">BH", tag, len(value)) + value for tag, value in fields)
    return struct.pack(">H", len(body)) + body


class Gateway:
    def __init__(self, host, port, pin):
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        # Attempts are counted by the client's address.
        source = (os.environ["SOURCE"], 0) if "SOURCE" in os.environ else None
        self.stream = context.wrap_socket(socket.create_connection((host, port), timeout=900, source_address=source))
        certificate = self.stream.getpeercert(binary_form=True)
        # An Ed25519 SubjectPublicKeyInfo: 12 fixed bytes and the key (RFC 8410).
        start = certificate.rindex(bytes.fromhex("302a300506032b6570032100"))
        found = base64.b64encode(hashlib.sha256(certificate[start : start + 44]).digest()).decode()
        if pin != "sha256//" + found:
            raise SystemExit(f"another gateway: {found}")

    def send(self, *args):
        self.stream.sendall(frame(*args))

    def read(self, count):
        data = b""
        while len(data) < count:
            part = self.stream.recv(count - len(data))
            if not part:
                raise EOFError
            data += part
        return data

    def receive(self):
        (length,) = struct.unpack(">H", self.read(2))
        body = self.read(length)
        kind, rest, fields = body[0], body[1:], {}
        while rest:
            tag, length = struct.unpack(">BH", rest[:3])
            fields[tag] = rest[3 : 3 + length]
            rest = rest[3 + length :]
        return kind, fields

    def hello(self, key, device):
        methods = bytes([1, 2, 3, 4, 5, 6, 7])
        self.send(1, (1, b"\x01\x01"), (2, methods), (3, device.encode()), (4, base64.b64decode(key)))
        return self.receive()


def show(kind, fields):
    print(f"{kind:02x}", *(f"{tag}={value!r}" for tag, value in sorted(fields.items())), flush=True)


host, port, pin, key, device, method, argument, *rest = sys.argv[1:]
gateway = Gateway(host, int(port), pin)
show(*gateway.hello(key, device))
begin = time.monotonic()
if method == "token":
    gateway.send(3, (1, argument.encode()))
elif method == "openid":
    gateway.send(5, (1, b"\x06"))
else:
    gateway.send(2, (1, method.encode()), (2, argument.encode()))
while True:
    kind, fields = gateway.receive()
    fields[255] = b"%d" % ((time.monotonic() - begin) * 1000)
    show(kind, fields)
    if kind == 0x82 and fields[1] == b"\x06":
        continue  # A page: the gateway learns from the provider what comes of it.
    if kind != 0x82 or not rest:
        break
    begin = time.monotonic()
    gateway.send(4, (1, fields[1]), (2, rest.pop(0).encode()))

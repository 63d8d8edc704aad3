#!/usr/bin/python3
"""A server of SimpleTunnel for IP packets: a TUN device behind a TCP port, with Python's plistlib.

Arguments: the link, its address, the port. Clients get the addresses .2 and following of its /24. While the file $scene/silent exists, it
answers nothing. Insecure, as the protocol (SimpleTunnelMessage.swift).
"""

import fcntl
import os
import plistlib
import select
import socket
import struct
import subprocess
import sys

link, address, port = sys.argv[1:4]
prefix = address.rsplit(".", 1)[0]
silent = os.path.join(os.environ.get("scene", "/nonexistent"), "silent")
tun = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(tun, 0x400454CA, struct.pack("16sH22x", link.encode(), 0x1001))
subprocess.run(["ip", "address", "add", address, "dev", link], check=True)
subprocess.run(["ip", "link", "set", link, "up"], check=True)
listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("", int(port)))
listener.listen()
# Bytes that have come of each stream, and of each client's address its stream and its identifier.
streams, clients = {}, {}
ROUTES = [{"Address": prefix + ".0", "Netmask": "255.255.255.0"}]


def say(stream, message):
    if os.path.exists(silent):
        return
    body = plistlib.dumps(message, fmt=plistlib.FMT_BINARY)
    try:
        stream.sendall(struct.pack("<I", len(body) + 4) + body)
    except OSError:
        leave(stream)


def leave(stream):
    streams.pop(stream, None)
    for own in [own for own, (other, _) in clients.items() if other is stream]:
        del clients[own]
    stream.close()


def take(stream, message):
    number = message["identifier"]
    if message["command"] == 6:
        own = next(f"{prefix}.{i}" for i in range(2, 255) if f"{prefix}.{i}" not in clients)
        clients[own] = (stream, number)
        given = {"IPv4": {"Address": own, "Routes": ROUTES}}
        say(stream, {"identifier": number, "command": 7, "result-code": 0, "configuration": given})
    elif message["command"] == 8 and not os.path.exists(silent):
        for packet in message["packets"]:
            os.write(tun, packet)
    elif message["command"] == 9:
        say(stream, {"identifier": number, "command": 9, "configuration": {}})


while True:
    for ready in select.select([listener, tun, *streams], [], [])[0]:
        if ready is listener:
            streams[listener.accept()[0]] = b""
        elif ready is tun:
            packet = os.read(tun, 65536)
            target = clients.get(socket.inet_ntoa(packet[16:20])) if packet[0] >> 4 == 4 else None
            if target is not None:
                say(target[0], {"identifier": target[1], "command": 8, "packets": [packet], "protocols": [2]})
        elif ready in streams:
            try:
                came = ready.recv(65536)
            except OSError:
                came = b""
            if not came:
                leave(ready)
                continue
            streams[ready] += came
            while ready in streams and len(streams[ready]) >= 4:
                size = struct.unpack("<I", streams[ready][:4])[0]
                if len(streams[ready]) < size:
                    break
                body, streams[ready] = streams[ready][4:size], streams[ready][size:]
                take(ready, plistlib.loads(body))

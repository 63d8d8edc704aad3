"""Sends packets that no other program sends: packets.py WORD ARGUMENT...

udp FROM PORT TO PORT       a datagram
syn FROM PORT TO PORT       the first packet of a connection, that nobody answers
connect PORT TO PORT        a connection from this port; fails if there is none after 2 s
error FROM TO WORD PORT1 SOURCE DESTINATION PORT2   an ICMP error that quotes a packet of a transport (tcp, udp) between these ends
greet FROM TO COUNT RATE    greetings at the gateway's port inside the tunnel
ask FROM TO COUNT RATE      questions there, of the right length alone
"""

import socket
import struct
import sys
import time

word, arguments = sys.argv[1], sys.argv[2:]


def family(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def bound(kind, address, port):
    made = socket.socket(family(address), kind)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind((address, port))
    return made


def checksum(data):
    total = sum(struct.unpack(">%dH" % (len(data) // 2), data + b"" if len(data) % 2 == 0 else data + b"\0"))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def quoted(source, port, destination, other, protocol):
    ends = struct.pack(">HH", port, other) + (struct.pack(">IIHHHH", 1, 1, 0x5010, 100, 0, 0) if protocol == 6 else struct.pack(">HH", 108, 0))
    if family(source) == socket.AF_INET6:
        head = struct.pack(">IHBB", 6 << 28, 1280, protocol, 60)
        return head + socket.inet_pton(socket.AF_INET6, source) + socket.inet_pton(socket.AF_INET6, destination) + ends
    head = struct.pack(">BBHHHBBH", 0x45, 0, 1400, 1, 0x4000, 60, protocol, 0) + socket.inet_aton(source) + socket.inet_aton(destination)
    return head[:10] + struct.pack(">H", checksum(head)) + head[12:] + ends


def paced(made, data, target, count, rate):
    begin = time.monotonic()
    for number in range(count):
        made.sendto(data, target)
        late = begin + (number + 1) / rate - time.monotonic()
        if late > 0:
            time.sleep(late)


if word == "udp":
    bound(socket.SOCK_DGRAM, arguments[0], int(arguments[1])).sendto(b"x", (arguments[2], int(arguments[3])))
elif word == "syn":
    made = bound(socket.SOCK_STREAM, arguments[0], int(arguments[1]))
    made.settimeout(0.2)
    try:
        made.connect((arguments[2], int(arguments[3])))
    except OSError:
        pass
elif word == "connect":
    made = bound(socket.SOCK_STREAM, "::" if ":" in arguments[1] else "0.0.0.0", int(arguments[0]))
    made.settimeout(2)
    made.connect((arguments[1], int(arguments[2])))
    # The port is free again at once.
    made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    made.close()
elif word == "error":
    sender, target, transport, source, port, destination, other = arguments
    inner = quoted(source, int(port), destination, int(other), {"tcp": 6, "udp": 17}[transport])
    if family(sender) == socket.AF_INET6:
        made = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
        data = struct.pack(">BBHI", 2, 0, 0, 1280) + inner
    else:
        made = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
        data = struct.pack(">BBHHH", 3, 4, 0, 0, 600) + inner
        data = data[:2] + struct.pack(">H", checksum(data)) + data[4:]
    made.bind((sender, 0))
    made.sendto(data, (target, 0))
elif word in ("greet", "ask"):
    made = bound(socket.SOCK_DGRAM, arguments[0], 20900)
    # The shorter question, of IPv4 (docs/wire-format.md).
    paced(made, b"" if word == "greet" else bytes(63), (arguments[1], 20900), int(arguments[2]), float(arguments[3]))
else:
    raise SystemExit(__doc__)

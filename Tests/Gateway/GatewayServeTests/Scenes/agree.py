"""Sends the first packet of a connection for each case, and prints which rule decided on it, and whether it arrived.

Standard input has a line for each case: protocol, source address, destination address, destination port (0 for icmp). The protocol `ack`
is TCP without SYN, as in the middle of a connection that this machine has not seen before. All addresses are this machine's own. nft(8) traces the packet, and names the rule by its comment; what arrives is read from sockets. A line of output is
`1 web` or `0 web`, or `-` in place of the comment where the deciding rule has none.
"""

import re
import socket
import struct
import subprocess
import sys
import threading

cases = [(protocol, source, destination, int(port)) for protocol, source, destination, port in map(str.split, sys.stdin)]
kinds = {"udp": socket.SOCK_DGRAM, "tcp": socket.SOCK_STREAM}


def family(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def raw(kind, protocol):
    if protocol == "icmp":
        number = socket.IPPROTO_ICMP if kind == socket.AF_INET else socket.IPPROTO_ICMPV6
    else:
        number = socket.IPPROTO_TCP
    return socket.socket(kind, socket.SOCK_RAW | socket.SOCK_NONBLOCK, number)


def checksum(data):
    """RFC 1071."""
    total = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return struct.pack("!H", ~total & 0xFFFF)


def echo_request(kind, number):
    """Has the number as its identifier. The kernel computes the checksum of ICMPv6."""
    head = b"\x08\0" if kind == socket.AF_INET else b"\x80\0"
    rest = struct.pack("!HH", number, 0)
    return head + checksum(head + rest) + rest


def acknowledgement(kind, number, source, destination, port):
    """A segment of TCP with ACK alone (RFC 9293), from the case's port."""
    head = struct.pack("!HHIIBBH", 20000 + number, port, 1, 1, 5 << 4, 0x10, 65535)
    ends = socket.inet_pton(kind, source) + socket.inet_pton(kind, destination)
    return head + checksum(ends + struct.pack("!HH", 6, 20) + head) + b"\0\0"


# What arrives.
listeners = {}
receivers = {(kind, protocol): raw(kind, protocol) for kind in (socket.AF_INET, socket.AF_INET6) for protocol in ("icmp", "ack")}
for protocol, _, destination, port in cases:
    key = (protocol, destination, port)
    if protocol in kinds and key not in listeners:
        listeners[key] = socket.socket(family(destination), kinds[protocol] | socket.SOCK_NONBLOCK)
        listeners[key].bind((destination, port))
        if protocol == "tcp":
            listeners[key].listen(1024)

# What nft(8) traces: the first packet of each connection.
table = "table inet watching { chain first { type filter hook prerouting priority mangle; ct state new meta nftrace set 1; }; }"
subprocess.run(["nft", table], check=True)
monitor = subprocess.Popen(["nft", "monitor", "trace"], stdout=subprocess.PIPE, text=True)
seen, last, comments = {}, {}, {}
PORTS = re.compile(r"(?:udp|tcp) sport (\d+) ")
ECHO = re.compile(r"icmp type echo-request .* icmp id (\d+) ")
ECHO6 = re.compile(r"icmpv6 type echo-request .* icmpv6 parameter-problem (\d+)")


def follow(line):
    """Notes the rule that decides on a case's packet: the last one of the gateway's table with a verdict that ends the evaluation."""
    found = re.match(r"trace id (\w+) inet (\w+) \S+ (.*)", line)
    if not found:
        return
    trace, name, rest = found.groups()
    if rest.startswith("packet:"):
        if ports := PORTS.search(rest):
            seen[trace] = int(ports[1]) - 20000
        elif one := ECHO.search(rest):
            seen[trace] = int(one[1])
        elif one := ECHO6.search(rest):
            seen[trace] = int(one[1]) >> 16
    elif name == "roamward_gateway" and rest.startswith("rule") and rest.endswith(("(verdict accept)", "(verdict drop)")):
        comment = re.search(r'comment "([^"]*)"', rest)
        comments[seen[trace]] = comment[1] if comment else "-"


def send(number, protocol, source, destination, port):
    kind = family(destination)
    if protocol not in kinds:
        packet = echo_request(kind, number) if protocol == "icmp" else acknowledgement(kind, number, source, destination, port)
        with raw(kind, protocol) as sender:
            sender.bind((source, 0))
            sender.sendto(packet, (destination, 0))
        return None
    sender = socket.socket(kind, kinds[protocol] | socket.SOCK_NONBLOCK)
    sender.bind((source, 20000 + number))
    if protocol == "udp":
        sender.sendto(b"%d" % number, (destination, port))
    else:
        try:
            sender.connect((destination, port))
        except BlockingIOError:
            pass
    return sender


def hear():
    line = monitor.stdout.readline()
    if not line:
        sys.exit("nft monitor has ended")
    follow(line.strip())


# The monitor is there once it has told of a packet.
PROBE = 0xFFFF
heard = threading.Event()


def knock():
    while not heard.wait(0.05):
        send(PROBE, "icmp", "127.0.0.1", "127.0.0.1", 0)


threading.Thread(target=knock, daemon=True).start()
while PROBE not in seen.values():
    hear()
heard.set()

held = []
for number, case in enumerate(cases):
    held.append(send(number, *case))
    while number not in comments:
        hear()
monitor.kill()

arrived = set()
for (protocol, _, _), listener in listeners.items():
    try:
        while True:
            if protocol == "udp":
                arrived.add(int(listener.recv(64)))
            else:
                arrived.add(listener.accept()[1][1] - 20000)
    except BlockingIOError:
        pass
for (kind, protocol), receiver in receivers.items():
    try:
        while True:
            packet = receiver.recv(256)
            message = packet[20:] if kind == socket.AF_INET else packet
            if protocol == "icmp" and message[0] in (8, 128):
                arrived.add(struct.unpack("!H", message[4:6])[0])
            # Connections of other cases have such segments too.
            sender = struct.unpack("!H", message[:2])[0] - 20000
            if protocol == "ack" and message[13] == 0x10 and 0 <= sender < len(cases) and cases[sender][0] == "ack":
                arrived.add(sender)
    except BlockingIOError:
        pass
for number in range(len(cases)):
    print(int(number in arrived), comments[number])

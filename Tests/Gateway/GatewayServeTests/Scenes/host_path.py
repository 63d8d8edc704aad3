"""Sends a datagram for each case from a namespace, and prints what the machine here does with it: a line for each case.

host_path.py NAMESPACE

Standard input has a line for each case: source address, destination address. `local`: it is for this machine; a link's name: it has left
by that; `nowhere`. Between the namespaces is a veth, so all of that has happened when sendto(2) returns, or on a busy machine soon after.
"""

import select
import socket
import struct
import subprocess
import sys

FIRST = 20000
SENDER = """
import socket, sys
for number, line in enumerate(sys.stdin):
    source, destination = line.split()
    family = socket.AF_INET6 if ":" in destination else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as sender:
        sender.bind((source, 0))
        sender.sendto(b"x", (destination, %d + number))
""" % FIRST


def port(packet):
    """The destination port of a datagram, with its IP header."""
    if packet[0] >> 4 == 4 and packet[9] == 17:
        return struct.unpack_from("!H", packet, 4 * (packet[0] & 15) + 2)[0]
    if packet[0] >> 4 == 6 and packet[6] == 17:
        return struct.unpack_from("!H", packet, 42)[0]
    return None


cases = sys.stdin.read().splitlines()
result = ["nowhere"] * len(cases)
# Link layer's packets as they are given to the devices: what a device without a carrier drops is not among them.
sniffer = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
listeners = []
for number in range(len(cases)):
    listener = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    listener.bind(("::", FIRST + number))
    listeners.append(listener)
subprocess.run(
    ["ip", "netns", "exec", sys.argv[1], "python3", "-c", SENDER], input="\n".join(cases), text=True, check=True, timeout=60
)
while select.select([sniffer], [], [], 1)[0]:
    packet, (link, _, direction, _, _) = sniffer.recvfrom(2048)
    number = port(packet)
    if direction == 4 and number is not None and 0 <= number - FIRST < len(cases):
        result[number - FIRST] = link
for number, listener in enumerate(listeners):
    if select.select([listener], [], [], 0)[0]:
        result[number] = "local"
print("\n".join(result))

"""Sends a datagram for each case, and prints 1 where it arrives.

Standard input has a line for each case: source address, destination address, destination port. All addresses are this
machine's own, so a datagram has arrived, or was dropped, when sendto(2) returns.
"""

import socket
import sys

cases = [line.split() for line in sys.stdin]
listeners = {}
for _, destination, port in cases:
    key = (destination, int(port))
    if key not in listeners:
        family = socket.AF_INET6 if ":" in destination else socket.AF_INET
        listeners[key] = socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        listeners[key].bind(key)
result = []
for number, (source, destination, port) in enumerate(cases):
    key = (destination, int(port))
    family = socket.AF_INET6 if ":" in destination else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as sender:
        # Each case is a connection of its own.
        sender.bind((source, 20000 + number))
        sender.sendto(b"%d" % number, key)
    try:
        arrived = listeners[key].recv(64) == b"%d" % number
    except BlockingIOError:
        arrived = False
    result.append("1" if arrived else "0")
print("".join(result))

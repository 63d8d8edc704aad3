"""Asks a gateway for relays as docs/wire-format.md describes them: a second implementation, for tests.

relay.py HOST PORT ask        prints kind and first value of the answer, in hexadecimal
relay.py HOST PORT nonsense   prints whether the gateway closes a relay of something else than WireGuard
relay.py HOST PORT crowd      prints how many relays a stranger gets, and how many of them are open afterwards
relay.py HOST PORT carry UDP  carries the datagrams of a client at 127.0.0.1:UDP, and fails when the gateway closes the relay
"""

import select
import socket
import ssl
import struct
import sys


def connect(host, port):
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    return context.wrap_socket(socket.create_connection((host, port), timeout=900))


def read(stream, count):
    data = b""
    while len(data) < count:
        part = stream.recv(count - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def relay(host, port):
    """A connection, and the body of the answer to RELAY."""
    stream = connect(host, port)
    stream.sendall(bytes.fromhex("0006060100020101"))
    (length,) = struct.unpack(">H", read(stream, 2))
    return stream, read(stream, length)


def carry(stream, local):
    """Until the gateway closes the relay, which is an error."""
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    client.bind(("127.0.0.1", local))
    place, received = None, b""
    while True:
        ready, _, _ = select.select([stream, client], [], [], 0 if stream.pending() else None)
        if client in ready:
            datagram, place = client.recvfrom(65536)
            stream.sendall(struct.pack(">H", len(datagram)) + datagram)
        if stream in ready or stream.pending():
            part = stream.recv(65536)
            if not part:
                raise SystemExit("the gateway has closed the relay")
            received += part
        while len(received) > 2 and len(received) >= 2 + int.from_bytes(received[:2], "big"):
            end = 2 + int.from_bytes(received[:2], "big")
            client.sendto(received[2:end], place)
            received = received[end:]


host, port, what = sys.argv[1], int(sys.argv[2]), sys.argv[3]
if what == "crowd":
    streams, taken = [], 0
    for _ in range(20):
        stream, answer = relay(host, port)
        streams.append(stream)
        taken += answer[0] == 0x85
    kept = 0
    for stream in streams:
        stream.settimeout(0.5)
        try:
            stream.recv(1)
        except socket.timeout:
            kept += 1
        except OSError:
            pass
    print(taken, kept)
    raise SystemExit
stream, answer = relay(host, port)
if what == "carry":
    stream.settimeout(None)
    carry(stream, int(sys.argv[4]))
if what == "ask":
    print(f"{answer[0]:02x} {answer[4]:02x}")
else:
    stream.sendall(struct.pack(">H", 40) + b"GET / HTTP/1.1\r\n\r\n".ljust(40))
    try:
        print("closed" if not stream.recv(1) else "answered")
    except (ConnectionError, ssl.SSLError):
        print("closed")

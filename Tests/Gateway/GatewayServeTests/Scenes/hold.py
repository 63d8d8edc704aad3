"""Holds connections to a gateway, or makes it work, as strangers do: for tests.

hold.py HOST PORT connections WHAT SOURCE...   eight of each source; prints `held N` again and again
hold.py HOST PORT handshakes SOURCE...         handshakes of TLS without an end, from each source in turn; prints how many at the end
hold.py HOST PORT passwords SOURCE...          the same with wrong passwords

WHAT: nothing (no byte), part (half of a TLS hello), drip (a byte of it every two seconds), shaken (TLS, and no message), greeted (the first
message of a login), relay (a relay, and no datagram). What the gateway closes is begun anew. Ends at SIGTERM.
"""

import os
import signal
import socket
import ssl
import struct
import sys
import time

host, port, what, *rest = sys.argv[1:]
family = socket.AF_INET6 if ":" in host else socket.AF_INET
context = ssl.create_default_context()
context.check_hostname = False
context.verify_mode = ssl.CERT_NONE
context.minimum_version = ssl.TLSVersion.TLSv1_3
running = True


def stop(*_):
    global running
    running = False


signal.signal(signal.SIGTERM, stop)


def hello():
    """The bytes of a TLS hello."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    try:
        context.wrap_bio(incoming, outgoing).do_handshake()
    except ssl.SSLWantReadError:
        return outgoing.read()


def connect(source, timeout=10):
    stream = socket.socket(family, socket.SOCK_STREAM)
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    stream.settimeout(timeout)
    if family == socket.AF_INET6:
        # The addresses are the kernel's by a route alone (IPV6_FREEBIND of linux/in6.h).
        stream.setsockopt(socket.IPPROTO_IPV6, 78, 1)
    stream.bind((source, 0))
    stream.connect((host, int(port)))
    return stream


def frame(kind, *fields):
    body = bytes([kind]) + b"".join(struct.pack(">BH", tag, len(value)) + value for tag, value in fields)
    return struct.pack(">H", len(body)) + body


HELLO = frame(1, (1, b"\x01\x01"), (2, bytes([1, 2, 3, 4, 5, 6, 7])), (3, b"laptop"), (4, os.urandom(32)))


def begin(held, source, first):
    stream = connect(source)
    if held == "part":
        stream.sendall(first[: len(first) // 2])
    if held in ("shaken", "greeted", "relay"):
        stream = context.wrap_socket(stream)
    if held == "greeted":
        stream.sendall(HELLO)
        stream.recv(100)
    if held == "relay":
        stream.sendall(bytes.fromhex("0006060100020101"))
        stream.recv(100)
    stream.setblocking(False)
    return stream


def is_open(stream):
    """The gateway says nothing while it waits, except before it closes."""
    try:
        return stream.recv(1000) is None
    except (ssl.SSLWantReadError, BlockingIOError):
        return True
    except OSError:
        return False


def connections(held, *sources):
    first = hello()
    streams = {source: [] for source in sources}
    begun, last = 0, time.monotonic()
    while running:
        for source, own in streams.items():
            own[:] = [stream for stream in own if is_open(stream)]
            while running and len(own) < 8:
                try:
                    own.append(begin(held, source, first))
                    begun += 1
                except OSError:
                    break
        if held == "drip" and time.monotonic() - last > 2:
            last = time.monotonic()
            for own in streams.values():
                for number, stream in enumerate(own):
                    try:
                        stream.send(first[number : number + 1])
                    except OSError:
                        pass
        print("held", begun, flush=True)
        time.sleep(0.1)


def handshakes(*sources):
    count = 0
    while running:
        try:
            context.wrap_socket(connect(sources[count % len(sources)])).close()
        except OSError:
            pass
        count += 1
    print(count)


def passwords(*sources):
    """Many at once: each waits for its answer in turn."""
    count, streams = 0, []
    while running:
        try:
            stream = context.wrap_socket(connect(sources[count % len(sources)]))
            stream.sendall(HELLO)
            stream.recv(100)
            stream.sendall(frame(2, (1, b"n%d" % count), (2, b"wrong horse")))
            streams.append(stream)
        except OSError:
            pass
        count += 1
        if len(streams) > 100:
            streams.pop(0).close()
    print(count)


{"connections": connections, "handshakes": handshakes, "passwords": passwords}[what](*rest)

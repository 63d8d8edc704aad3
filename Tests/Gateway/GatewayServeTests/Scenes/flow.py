#!/usr/bin/env python3
"""One long TCP connection, and proof that it is one: flow.py send PORT END | flow.py receive HOST PORT NOTE

`send` waits for a connection, and writes numbered records until the file END exists. `receive` reads them, fails unless each has the next
number, writes how many into the file NOTE, and prints how many there were and the longest silence."""
import os
import socket
import struct
import sys
import time

RECORD = 4096


def send(port, end):
    listener = socket.create_server(("", port))
    connection, _ = listener.accept()
    number = 0
    while not os.path.exists(end):
        connection.sendall(struct.pack("!Q", number) * (RECORD // 8))
        number += 1
        time.sleep(0.01)
    connection.close()


def receive(host, port, note):
    connection = socket.create_connection((host, port), 10)
    connection.settimeout(900)
    number, silence, last, rest = 0, 0.0, time.monotonic(), b""
    while True:
        data = connection.recv(65536)
        now = time.monotonic()
        silence, last = max(silence, now - last), now
        if not data:
            break
        rest += data
        while len(rest) >= RECORD:
            if rest[:RECORD] != struct.pack("!Q", number) * (RECORD // 8):
                sys.exit(f"record {number} is another one")
            number, rest = number + 1, rest[RECORD:]
        with open(note + ".new", "w") as file:
            file.write(str(number))
        os.rename(note + ".new", note)
    if rest:
        sys.exit(f"{len(rest)} bytes are no record")
    print(f"{number} records, longest silence {silence:.2f} s")


if sys.argv[1] == "send":
    send(int(sys.argv[2]), sys.argv[3])
else:
    receive(sys.argv[2], int(sys.argv[3]), sys.argv[4])

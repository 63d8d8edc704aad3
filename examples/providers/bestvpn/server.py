#!/usr/bin/python3
"""A server of BestVPN's first protocol, for one client: a TUN device behind a UDP port.

Arguments: the link, its address, the port, login, password, and the key in hexadecimal. While the file $scene/silent exists, it answers
nothing. Insecure, as the protocol (BestVPNCodec.swift). libsodium has to be installed.
"""

import ctypes
import fcntl
import json
import os
import select
import socket
import struct
import subprocess
import sys

sodium = ctypes.CDLL("libsodium.so.23")
link, address, port, login, password = sys.argv[1:6]
key = bytes.fromhex(sys.argv[6])
silent = os.path.join(os.environ.get("scene", "/nonexistent"), "silent")


def seal(code, content):
    nonce = os.urandom(12)
    out = ctypes.create_string_buffer(len(content) + 16)
    sodium.crypto_aead_chacha20poly1305_ietf_encrypt(
        out, None, content, ctypes.c_ulonglong(len(content)), None, ctypes.c_ulonglong(0), None, nonce, key
    )
    return bytes([code]) + nonce + out.raw


def unseal(datagram):
    """The code and the content; None: it is none of ours."""
    if len(datagram) < 29:
        return None
    sealed = datagram[13:]
    out = ctypes.create_string_buffer(len(sealed))
    failed = sodium.crypto_aead_chacha20poly1305_ietf_decrypt(
        out, None, None, sealed, ctypes.c_ulonglong(len(sealed)), None, ctypes.c_ulonglong(0), datagram[1:13], key
    )
    return None if failed else (datagram[0], out.raw[:-16])


tun = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(tun, 0x400454CA, struct.pack("16sH22x", link.encode(), 0x1001))
subprocess.run(["ip", "address", "add", address, "dev", link], check=True)
subprocess.run(["ip", "link", "set", link, "up"], check=True)
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("", int(port)))
peer = None
while True:
    for ready in select.select([server, tun], [], [])[0]:
        if ready is tun:
            packet = os.read(tun, 65536)
            if peer is not None and not os.path.exists(silent):
                server.sendto(seal(3, packet), peer)
            continue
        datagram, source = server.recvfrom(65536)
        message = unseal(datagram)
        if message is None or os.path.exists(silent):
            continue
        code, content = message
        if code == 1:
            asked = json.loads(content)
            is_ok = (asked["login"], asked["password"]) == (login, password)
            server.sendto(seal(2, json.dumps({"isOK": is_ok}).encode()), source)
            # Where the client is now.
            peer = source if is_ok else peer
        elif code == 3 and source == peer and len(content) >= 20:
            os.write(tun, content)

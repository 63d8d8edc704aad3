"""Is a device at the port inside the tunnel, as docs/wire-format.md describes it: a second implementation, for tests.

listen.py ADDRESS GATEWAY-ADDRESS KEY GATEWAY-KEY
Greets the gateway, then prints a line for each datagram: its kind in hexadecimal and its number, or `wrong`. KEY is the device's private key.
"""

import base64
import hashlib
import hmac
import socket
import struct
import sys

PORT = 20900
PRIME = 2**255 - 19
# By kind: the text of the seal, and the tag of the number.
KINDS = {0x86: (b"roamward settings 1", 13), 0x88: (b"roamward ended 1", 1)}


def multiply(scalar, point):
    """X25519 (RFC 7748, section 5)."""
    number = int.from_bytes(scalar, "little") & ~7 & (1 << 255) - 1 | 1 << 254
    x = int.from_bytes(point, "little") & (1 << 255) - 1
    x2, z2, x3, z3, swapped = 1, 0, x, 1, 0
    for i in reversed(range(255)):
        bit = number >> i & 1
        if swapped != bit:
            x2, x3, z2, z3 = x3, x2, z3, z2
        swapped = bit
        a, b, c, d = x2 + z2, x2 - z2, x3 + z3, x3 - z3
        left, right = d * a, c * b
        x3, z3 = pow(left + right, 2, PRIME), x * pow(left - right, 2, PRIME) % PRIME
        square, other = a * a, b * b
        x2, z2 = square * other % PRIME, (square - other) * (square + 121665 * (square - other)) % PRIME
    if swapped:
        x2, z2 = x3, z3
    return (x2 * pow(z2, PRIME - 2, PRIME) % PRIME).to_bytes(32, "little")


def code(key, data):
    return hmac.new(key, data, hashlib.sha256).digest()


def read(datagram):
    body, seal = datagram[:-32], datagram[-32:]
    kind = body[2]
    text, tag = KINDS[kind]
    expected = code(code(shared, text + gateway_key + multiply(key, (9).to_bytes(32, "little"))), body)
    if not hmac.compare_digest(seal, expected) or struct.unpack(">H", body[:2])[0] != len(body) - 2:
        return "wrong"
    rest = body[3:]
    while rest:
        found, length = struct.unpack(">BH", rest[:3])
        if found == tag:
            return f"{kind:02x} {int.from_bytes(rest[3:3 + length], 'big')}"
        rest = rest[3 + length:]
    return "wrong"


address, gateway, *keys = sys.argv[1:]
key, gateway_key = map(base64.b64decode, keys)
shared = multiply(key, gateway_key)
port = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
port.bind((address, PORT))
port.sendto(b"", (gateway, PORT))
while True:
    print(read(port.recv(2000)), flush=True)

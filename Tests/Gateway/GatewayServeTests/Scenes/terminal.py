"""Draws what a terminal shows of a QR code, as a picture for zbarimg(1): light characters on a dark ground.

terminal.py PICTURE COLUMNS COMMAND [ARGUMENT...]   runs the command at a terminal of this width; the picture is a PGM
"""

import fcntl
import os
import pty
import struct
import sys
import termios

SCALE = 6
# Of each character: whether its upper half is light, and its lower one.
HALVES = {"█": (1, 1), "▀": (1, 0), "▄": (0, 1), " ": (0, 0)}

picture, columns, command = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
process, terminal = pty.fork()
if process == 0:
    # Here, as the program may ask before its parent runs again.
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    os.execv(command[0], command)
output = b""
while True:
    try:
        part = os.read(terminal, 65536)
    except OSError:
        break  # The program has ended.
    if not part:
        break
    output += part
if os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) != 0:
    sys.exit(output.decode(errors="replace"))
lines = output.decode().splitlines()
other = {character for line in lines for character in line} - HALVES.keys()
if other or not lines:
    sys.exit(f"no QR code: {output.decode()}")
if max(map(len, lines)) > columns:
    sys.exit(f"{max(map(len, lines))} columns are more than the terminal has")
# A terminal has some dark characters around.
lines = ["", *lines, ""]
rows = []
for line in lines:
    shown = "    " + line.ljust(columns) + "    "
    rows += [[HALVES[character][half] for character in shown] for half in (0, 1)]
with open(picture, "wb") as file:
    file.write(b"P5 %d %d 255\n" % (len(rows[0]) * SCALE, len(rows) * SCALE))
    for row in rows:
        file.write(bytes(255 * light for light in row for _ in range(SCALE)) * SCALE)

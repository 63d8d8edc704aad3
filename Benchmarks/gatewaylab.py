"""What the benchmarks of the gateway have in common: a store with many devices, and processor time."""

import os
import sqlite3
import subprocess
import sys
import time

programs = os.path.realpath(os.environ.get("ROAMWARD_BIN") or os.path.join(os.path.dirname(os.path.realpath(__file__)), "../.build/release"))
gateway = os.path.join(programs, "roamward-gateway")
tick = os.sysconf("SC_CLK_TCK")


def fill(path, keys):
    """Users with a device each, and their leases, as the commands would write them. `keys`: the devices' public keys."""
    store = sqlite3.connect(path)
    pool, prefix = store.execute("SELECT id, address FROM pools WHERE length(address) = 4").fetchone()
    last = store.execute("SELECT value FROM meta WHERE name = 'last-id'").fetchone()[0]
    version = store.execute("SELECT value FROM meta WHERE name = 'version'").fetchone()[0] + 1
    base = int.from_bytes(prefix, "big")
    for i, key in enumerate(keys):
        user, device, lease = last + 1, last + 2, last + 3
        last += 3
        insert(store, "users", id=user, version=version, name=f"u{i}", locked=0)
        insert(store, "devices", id=device, version=version, user_id=user, name="laptop", public_key=key, added=0)
        address = (base + 2 + i).to_bytes(4, "big")
        insert(store, "leases", id=lease, version=version, pool_id=pool, address=address, device_id=device, holder=f"u{i}/laptop")
    for name, value in [("last-id", last), ("version", version)]:
        store.execute("UPDATE meta SET value = ? WHERE name = ?", (value, name))
    store.commit()
    store.close()


def give_passwords(path):
    """Gives every user the password of u0: its hash."""
    store = sqlite3.connect(path)
    last = store.execute("SELECT value FROM meta WHERE name = 'last-id'").fetchone()[0]
    version = store.execute("SELECT value FROM meta WHERE name = 'version'").fetchone()[0] + 1
    (password,) = store.execute("SELECT password FROM credentials JOIN users ON users.id = user_id WHERE name = 'u0'").fetchone()
    without = store.execute("SELECT id FROM users WHERE id NOT IN (SELECT user_id FROM credentials)").fetchall()
    for (user,) in without:
        last += 1
        insert(
            store, "credentials", id=last, version=version, user_id=user, password=password, must_change=0, code_secret=b"", code_step=0
        )
    for name, value in [("last-id", last), ("version", version)]:
        store.execute("UPDATE meta SET value = ? WHERE name = ?", (value, name))
    store.commit()
    store.close()


def set_locked(path, locked):
    """Locks or unlocks every user, while no gateway runs."""
    store = sqlite3.connect(path)
    version = store.execute("SELECT value FROM meta WHERE name = 'version'").fetchone()[0] + 1
    store.execute("UPDATE users SET locked = ?, version = ?", (int(locked), version))
    store.execute("UPDATE meta SET value = ? WHERE name = 'version'", (version,))
    store.commit()
    store.close()


def insert(store, table, **columns):
    store.execute(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})", tuple(columns.values()))


def used(process):
    """Seconds of processor time of a process."""
    fields = open(f"/proc/{process}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / tick


def serve(state):
    """Starts a gateway, and waits until the kernel is as the store says. Returns the process and the seconds that it took."""
    log = open(os.path.join(state, "log"), "a")
    begin = time.monotonic()
    running = subprocess.Popen([gateway, "serve", "--state", state], stderr=log)
    link = ["ip", "-o", "link", "show", "wg-gateway", "up"]
    while subprocess.run(link, capture_output=True).returncode != 0 or subprocess.run(
        [gateway, "plan", "--state", state], capture_output=True
    ).stdout:
        if time.monotonic() > begin + 120:
            sys.exit("bench: the gateway does not start: " + open(log.name).read()[-2000:])
        time.sleep(0.2)
    return running, time.monotonic() - begin


def alone():
    """Runs this program again in namespaces of its own, where it is not in them yet."""
    if len(sys.argv) > 1 and sys.argv[1] == "--inside":
        return
    own = [sys.executable, os.path.realpath(sys.argv[0]), "--inside"]
    os.execvp("unshare", ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", *own])


def prepare():
    """The lower end of a fresh machine."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "none", "/run"], check=True)
    os.mkdir("/run/wireguard")
    os.mkdir("/run/netns")

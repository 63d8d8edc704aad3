#!/usr/bin/env bash
# Two gateways with one key, and one store on a server of PostgreSQL, each in a network namespace.
# shellcheck source=Packages/Gateway/Tests/GatewayServeTests/scene.bash
source "$(dirname "${BASH_SOURCE[0]}")/scene.bash"
mkdir /run/server

# Each gateway has a mount namespace too: the engine's socket has the name of the link.
declare -A holder
at() { # GATEWAY COMMAND...
  nsenter --target="${holder[$1]}" --net --mount "${@:2}"
}
gateway() { at "$1" "$ROAMWARD_BIN/roamward-gateway" "${@:2}" --state "/run/work/$1"; }
build() {
  unshare --net --mount --propagation private sleep infinity &
  holder[$1]=$!
  until_so 'there are namespaces' separate "$1"
  at "$1" mount -t tmpfs none /run/wireguard
  at "$1" ip link set lo up
}
separate() { [[ $(readlink "/proc/${holder[$1]}/ns/mnt") != "$(readlink /proc/self/ns/mnt)" && $(<"/proc/${holder[$1]}/comm") == sleep ]]; }
serve() {
  (exec nsenter --target="${holder[$1]}" --net --mount "$ROAMWARD_BIN/roamward-gateway" serve --state "/run/work/$1") >"$1.log" 2>&1 &
  serving[$1]=$!
}
declare -A serving
sql() { as_postgres "$programs/psql" --quiet --tuples-only --no-align --host=/run/server --username=gateway gateway --command "$1"; }
as_postgres() { setpriv --reuid=postgres --regid=postgres --clear-groups env -i LC_ALL=C "$@"; }
server() {
  # Only its own processes are ended with it.
  setpriv --reuid=postgres --regid=postgres --clear-groups env -i LC_ALL=C "$programs/postgres" -D /run/server/data -k /run/server \
    -c listen_addresses= >>server.log 2>&1 &
  postgres=$!
  until_so 'the server answers' as_postgres "$programs/psql" --host=/run/server --username=gateway postgres --command 'SELECT 1'
}
peers() { at "$1" wg show wg-gateway peers | wc -l; }
has_peers() { (($(peers "$1") == $2)); }

programs=$(find /usr/lib/postgresql -path "*/bin/postgres" | sort -V | tail -n 1)
programs=${programs%/*}
# The store's process is a user of its own, who connects to the socket.
chown postgres /run/server
chmod 0755 /run/server
ip link set lo up
(cd / && as_postgres "$programs/initdb" --auth=trust --username=gateway --encoding=UTF8 --no-sync --pgdata=/run/server/data >/dev/null)
server
as_postgres "$programs/createdb" --host=/run/server --username=gateway gateway
build one
build two
target='host=/run/server user=gateway dbname=gateway'

# A gateway that has a file goes over to the server, with all that it knows.
gateway one init --endpoint 192.0.2.1 --pool 10.77.0.0/24 --pool fd77::/64 >/dev/null
gateway one user add alice
gateway one peer add alice/phone >/dev/null
until_so "the store is copied" gateway one store copy "$target"
! gateway one store copy "$target" 2>refused.log || fail 'a store is copied over another one'
grep -q 'is not empty' refused.log || fail 'no reason'
gateway one store use "$target"
[[ $(gateway one store show) == "$target  version 3, 1 devices" ]] || fail "another store: $(gateway one store show)"
# No password is shown, however it is written.
for secret in 'password=s3cret' 'password = s3cret' "password='s3 s3cret'" "password='x host=s3cret'"; do
  gateway one store use "$target $secret"
  [[ $(gateway one store show) != *s3* ]] || fail "a password is shown: $(gateway one store show)"
done
gateway one store use "postgresql://gateway:s3cret@/gateway?host=/run/server&password=s3cret"
[[ $(gateway one store show) == 'postgresql:///gateway  version 3, 1 devices' ]] || fail "another store: $(gateway one store show)"
gateway one store use "$target"
gateway one store check >/dev/null || fail 'the copy has problems'
gateway one audit verify | grep -q '^[0-9]* entries intact' || fail 'the copy has another audit log'
# And back: the file is the same.
gateway one store copy /run/work/back.db >/dev/null
dump() { sqlite3 "$1" 'SELECT * FROM users; SELECT * FROM devices; SELECT * FROM leases; SELECT * FROM audit; SELECT * FROM meta ORDER BY name;'; }
if command -v sqlite3 >/dev/null; then cmp <(dump back.db) <(dump one/gateway.db) || fail 'a copy there and back differs'; fi

# Another gateway's key is refused; with the same key it shares the store.
! gateway two init --endpoint 192.0.2.9 >/dev/null || true
! gateway two store use "$target" 2>refused.log || fail 'another gateway takes the store'
grep -q 'another key' refused.log || fail "no reason: $(<refused.log)"
rm -r two
mkdir two
cp one/private.key two/
gateway two store use "$target"
serve one
serve two
until_so 'both have the device' has_peers one 1
until_so 'both have the device' has_peers two 1

# The process that reads what the server sends is nobody.
worker=$(pgrep -f 'roamward-gateway-store --at-work' | head -n 1) || fail 'no process for the store'
grep -q '^CapEff:\s*0000000000000000$' "/proc/$worker/status" || fail 'it has capabilities'
grep -q '^Seccomp:\s*2$' "/proc/$worker/status" || fail 'it has no filter of system calls'
grep -q '^NoNewPrivs:\s*1$' "/proc/$worker/status" || fail 'it may gain privileges'

# What one changes, the other one does.
milliseconds() { echo $((($(date +%s%N) - $1) / 1000000)); }
for i in 1 2 3 4 5; do
  gateway one user unlock alice 2>/dev/null || true
  until_so 'an unlocked user is a peer everywhere' has_peers two 1
  gateway one user lock alice
  begin=$(date +%s%N)
  until_so 'a lock reaches the other gateway' has_peers two 0
  echo "lock to the other gateway: $(milliseconds "$begin") ms"
done
gateway two user unlock alice
until_so 'an unlock reaches the other gateway' has_peers one 1

# Grants from one pool at once.
for i in $(seq 1 20); do
  gateway one peer add "alice/a$i" >/dev/null 2>>add.log &
  one=$!
  gateway two peer add "alice/b$i" >/dev/null 2>>add.log &
  wait "$one" || fail "a device is not added: $(<add.log)"
  wait $! || fail "a device is not added: $(<add.log)"
done
[[ $(sql 'SELECT count(*), count(DISTINCT address) FROM leases WHERE device_id IS NOT NULL') == '82|82' ]] || fail 'an address is given twice'
until_so 'both have all devices' has_peers one 41
until_so 'both have all devices' has_peers two 41
gateway one store check || fail 'the store has problems'

# A change without a notification is seen all the same.
version=$(sql 'SELECT value + 1 FROM meta WHERE name = '"'version'")
sql "BEGIN; UPDATE meta SET value = $version WHERE name = 'version'; UPDATE users SET locked = 1, version = $version; COMMIT"
begin=$(date +%s%N)
until_so 'a change without a notification is seen' has_peers two 0
(($(milliseconds "$begin") <= 15000)) || fail "only after $(milliseconds "$begin") ms"
echo "without a notification: $(milliseconds "$begin") ms"
gateway one user unlock alice
until_so 'both have all devices' has_peers two 41

# The server is killed: everybody stays.
kill -KILL "$postgres"
wait "$postgres" 2>/dev/null || true
pkill -KILL -u postgres || true
until_so 'the trouble is told' grep -q 'store: ' two.log
! gateway two status >status.log 2>&1 || fail 'a status without a store'
grep -q 'the gateway read it [0-9]* s ago, and goes on with that' status.log || fail "status: $(<status.log)"
sleep 3
has_peers one 41 || fail 'peers are lost with the server'
has_peers two 41 || fail 'peers are lost with the server'
kill -0 "${serving[one]}" "${serving[two]}" || fail 'a gateway has ended with the server'
rm -f /run/server/data/postmaster.pid
server
until_so 'the trouble is over' grep -q 'no trouble any more' two.log
gateway one user lock alice
until_so 'changes are followed again' has_peers two 0
gateway one user unlock alice
until_so 'and on both' has_peers one 41

# A server that hangs: requests end, and nobody is disconnected.
kill -STOP $(pgrep -u postgres)
gateway one user lock alice >hang.log 2>&1 && fail 'a change is made without the server'
grep -q 'has not answered\|lost\|timeout' hang.log || fail "another reason: $(<hang.log)"
has_peers two 41 || fail 'peers are lost with a server that hangs'
kill -CONT $(pgrep -u postgres)
until_so 'it goes on' gateway one user lock alice
until_so 'it goes on' has_peers two 0

kill "${serving[one]}" "${serving[two]}"
wait "${serving[one]}" "${serving[two]}" || fail 'a gateway does not end well'
! pgrep -f 'roamward-gateway-store --at-work' >/dev/null || { sleep 1; ! pgrep -f 'roamward-gateway-store --at-work' >/dev/null; } ||
  fail 'a process of the store is left'

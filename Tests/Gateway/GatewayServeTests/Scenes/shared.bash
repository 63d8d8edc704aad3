#!/usr/bin/env bash
# Two gateways with one key, and one store on a server of PostgreSQL, each in a network namespace. $LOGIN is a client that logs in.
# shellcheck source=Tests/Gateway/GatewayServeTests/Scenes/scene.bash
source "$(dirname "${BASH_SOURCE[0]}")/scene.bash"
# shellcheck source=Tests/Gateway/GatewayServeTests/Scenes/postgresql.bash
source "$(dirname "${BASH_SOURCE[0]}")/postgresql.bash"

build one
build two

sqlite() { python3 -c 'import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchone()[0])' "$@"; }

# A gateway that has a file goes over to the server, with all that it knows.
gateway one init --endpoint 192.0.2.1 --pool 10.77.0.0/24 --pool fd77::/64 >/dev/null
gateway one user add alice
gateway one device add alice/phone >/dev/null
until_so "the store is copied" gateway one store move --copy-only "$target"
! gateway one store move --copy-only "$target" 2>refused.log || fail 'a store is copied over another one'
grep -q 'is not empty' refused.log || fail 'no reason'
gateway one store move --existing "$target"
[[ $(gateway one store show | head -n 1) == "$target  version 3, 1 devices" ]] || fail "another store: $(gateway one store show)"
# No password is shown, however it is written.
for secret in 'password=s3cret' 'password = s3cret' "password='s3 s3cret'" "password='x host=s3cret'"; do
  gateway one store move --existing "$target $secret"
  [[ $(gateway one store show) != *s3* ]] || fail "a password is shown: $(gateway one store show)"
done
gateway one store move --existing "postgresql://gateway:s3cret@/gateway?host=/run/server&password=s3cret"
[[ $(gateway one store show | head -n 1) == 'postgresql:///gateway  version 3, 1 devices' ]] || fail "another store: $(gateway one store show)"
gateway one store move --existing "$target"
gateway one store show --check >/dev/null || fail 'the copy has problems'
gateway one audit --verify | found '^[0-9]* entries intact' || fail 'the copy has another audit log'
# And back: the file is the same.
gateway one store move --copy-only /run/work/back.db >/dev/null
dump() { python3 -c '
import sqlite3, sys
store = sqlite3.connect(sys.argv[1])
for table in "users", "devices", "leases", "audit", "meta":
    print(table, sorted(store.execute(f"SELECT * FROM {table}"), key=repr))' "$1"; }
dump back.db >back.dump
dump one/gateway.db >one.dump
grep -q "^users \[.*'alice'" back.dump || fail "the copy has no users: $(<back.dump)"
cmp back.dump one.dump || fail 'a copy there and back differs'

# Another gateway's key is refused; with the same key it shares the store.
! gateway two init --endpoint 192.0.2.9 >/dev/null || true
! gateway two store move --existing "$target" 2>refused.log || fail 'another gateway takes the store'
grep -q 'another key' refused.log || fail "no reason: $(<refused.log)"
# With a name of its own it joins as a further gateway, with its own key and pools; every device gets an address of them.
! gateway two init --endpoint 192.0.2.9 --store "$target" 2>refused.log || fail 'a gateway without a name joins'
grep -q -- '--site' refused.log || fail "no reason: $(<refused.log)"
gateway two init --endpoint 192.0.2.9 --site lyon --store "$target" | found '10.77.1.0/24  at lyon  masquerade  1 leased' ||
  fail "the further gateway has no pool: $(gateway two store show)"
[[ $(gateway one store show | sed '1d; /^  pool /d' | cut -d ' ' -f 1-4 | xargs) == '* main 192.0.2.1:51820 lyon' ]] || fail "sites: $(gateway one store show)"
[[ $(gateway two device list) == 'alice/phone  10.77.1.2, fd'* && $(gateway one device list) == 'alice/phone  10.77.0.2, fd77::2' ]] ||
  fail "addresses: $(gateway two device list)"
gateway one set gateway.name paris
! gateway one unset sites.paris 2>/dev/null || fail 'a gateway removes itself'
gateway one unset sites.lyon
[[ $(gateway one store show | grep -c '^  pool') == 2 && $(gateway one store show --check) == 'no problems found' ]] || fail 'a removed gateway leaves something'

rm -r two
mkdir two
cp one/private.key two/
gateway two store move --existing "$target"
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
  gateway one device add "alice/a$i" >/dev/null 2>>add.log &
  one=$!
  gateway two device add "alice/b$i" >/dev/null 2>>add.log &
  wait "$one" || fail "a device is not added: $(<add.log)"
  wait $! || fail "a device is not added: $(<add.log)"
done
[[ $(sql 'SELECT count(*), count(DISTINCT address) FROM leases WHERE device_id IS NOT NULL') == '82|82' ]] || fail 'an address is given twice'
until_so 'both have all devices' has_peers one 41
until_so 'both have all devices' has_peers two 41
gateway one store show --check || fail 'the store has problems'

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
gateway one user set alice --password <<<'correct horse'
gateway one set logins on >/dev/null
pin=$(gateway one login show | sed -n 's/.*pin //p')
until_so 'the gateway takes logins' grep -q 'logins: at TCP port' one.log
kill_server
until_so 'the trouble is told' grep -q 'store: ' two.log
gateway two status >status.log || fail "no status without the store: $(<status.log)"
head -n 1 status.log | found '^store: .*; the gateway read it [0-9]* s ago; the gateway goes on with that$' || fail "status: $(<status.log)"
! gateway two doctor >doctor.log || fail 'the doctor finds nothing without the store'
head -n 1 doctor.log | found '^store: .*; the gateway read it [0-9]* s ago' || fail "doctor: $(<doctor.log)"
sleep 3 # no event: peers that must stay
has_peers one 41 || fail 'peers are lost with the server'
has_peers two 41 || fail 'peers are lost with the server'
kill -0 "${serving[one]}" "${serving[two]}" || fail 'a gateway has ended with the server'

# Every login fails meanwhile, whether the name and the password are right or not: the gateway says when to try again.
answer() { at one python3 "$LOGIN" 127.0.0.1 51820 "$pin" "$(key)" laptop "$@" | tail -n 1; }
is_unavailable() { [[ $(answer "$@") == "84 1=b'\x06' 2=b'\x00\x0f'"* ]]; }

# A machine that starts meanwhile: link, rules and engine are gone, and come from the replica, which its owner alone may read.
[[ $(stat -c %a one/replica.db) == 600 ]] || fail "other users may read the replica: $(stat -c %a one/replica.db)"
[[ $(sqlite one/replica.db 'SELECT count(*) FROM credentials') == 0 ]] || fail 'passwords are in the replica'
kill -KILL "${serving[one]}"
wait "${serving[one]}" 2>/dev/null || true
gateway one cleanup >/dev/null
! at one ip link show wg-gateway 2>/dev/null || fail 'the link is left'
! at one nft list table inet roamward_gateway 2>/dev/null || fail 'the table is left'
gateway one serve --forwarding
serve one
until_so 'a gateway that starts without its store has its peers' has_peers one 41
at one nft list map inet roamward_gateway sources_v4 | grep 10.77.0.2 >/dev/null || fail 'nor is there access'
gateway one status | sed -n 1p | found 'the gateway goes on with that' || fail 'status is silent'
until_so 'a login is unavailable' is_unavailable alice 'correct horse'
is_unavailable nobody 'wrong horse' || fail "an unknown name gets another answer: $(answer nobody 'wrong horse')"
is_unavailable token rw1-wrong || fail "a token gets another answer: $(answer token rw1-wrong)"
! gateway one user lock alice 2>changed.log || fail 'a change is made without the store'
# An old view ends sessions, where that is wanted.
gateway one set store.stale-after 1h
sleep 0.2 # no event: sessions that must not end
has_peers one 41 || fail 'sessions end too early'
touch -d '2 hours ago' one/followed
until_so 'sessions end when the view is too old' has_peers one 0
gateway one status | sed -n 1p | found 'all sessions have ended (stale-after 3600 s)' || fail 'status is silent'
gateway one unset store.stale-after
until_so 'and come back when that is off' has_peers one 41
server
until_so 'the trouble is over' grep -q 'no trouble any more' one.log
[[ $(answer alice 'wrong horse') == "$wrong "* ]] || fail "logins do not go on: $(answer alice 'wrong horse')"
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

#!/usr/bin/env bash
# Many devices with sessions of WireGuard of their own, from one namespace (gateway-devices). $1:
#
# restart: 1,000 devices that logged in once, and 12 that log in by password here. The gateway is killed, and later all of it is gone, as
#   after a restart of the machine. Everybody passes traffic again, and no password is hashed.
# server: 100 devices, and the store on a server of PostgreSQL that is killed. No device loses its session.
#
# $LOGIN is a client that logs in, $FILL (Benchmarks/gatewaylab.py) fills a store.
# shellcheck source=Tests/Gateway/GatewayServeTests/Scenes/scene.bash
source "$(dirname "${BASH_SOURCE[0]}")/scene.bash"

tell() { cat ./*.out || true; }

on() { ip netns exec "$@"; } # NAMESPACE COMMAND...

# --- devices -----------------------------------------------------------------------------------------------------

# Each has an address of 198.18.0.0/15 of its own.
ip netns add devices
ip -n devices link set lo up
ip -n devices route add local 198.18.0.0/15 dev lo
attach() { # FILE: the gateway's network namespace
  ip link add to-devices netns "$1" type veth peer name out0 netns devices
  ip -n devices address add 192.0.2.2/24 dev out0
  ip -n devices link set out0 up
  nsenter --net="$1" ip address add 192.0.2.1/24 dev to-devices
  nsenter --net="$1" ip link set to-devices up
  nsenter --net="$1" ip route add 198.18.0.0/15 via 192.0.2.2
}
keys() { "$ROAMWARD_BIN/gateway-devices" keys "$1"; } # COUNT
base64_of() { python3 -c 'import base64, sys; print(base64.b64encode(bytes.fromhex(sys.argv[1])).decode())' "$1"; }

# Starts the devices, which know the gateway's key: {crowd[0]} and {crowd[1]} are their output and input.
start() { # COUNT KEY
  coproc crowd { exec ip netns exec devices "$ROAMWARD_BIN/gateway-devices" run "$1" 192.0.2.1:51820 "$2" 10.64.0.1 2>devices.out; }
  local line
  read -r line <&"${crowd[0]}" || line=''
  [[ $line == ready ]] || fail 'the devices do not start'
}
# All of them connect anew (an empty word), or ping in their sessions (`ask`). $answers: the seconds until half, 95 % and all were answered;
# $handshakes that were begun.
answered() { # WORD
  echo "$1" >&"${crowd[1]}"
  read -r half most all handshakes <&"${crowd[0]}" || fail "not all devices are answered: $(<devices.out)"
  answers=$(printf '%.2f ' "$half" "$most" "$all")
}

# --- one gateway, restarted --------------------------------------------------------------------------------------

restart() {
  local count=1000 own=12 i key pin
  gateway() { at gateway "$ROAMWARD_BIN/roamward-gateway" "$@" --state /run/work/state; }
  serve() {
    (exec ip netns exec gateway "$ROAMWARD_BIN/roamward-gateway" serve --state /run/work/state) >"$1.log" 2>&1 &
    serving=$!
    until_so 'the gateway takes logins' listens
    auth=$(pgrep -P "$serving" -f 'roamward-gateway-auth --at-work') || fail 'no process for logins'
  }
  listens() { [[ -n $(at gateway ss -Hltn 'sport = :51820') ]]; }
  ip netns add gateway
  ip -n gateway link set lo up
  attach /run/netns/gateway
  gateway init --endpoint 192.0.2.1 --pool 10.64.0.0/16 >/dev/null
  gateway user add alice
  gateway user set alice --password <<<'correct horse'
  gateway set settings.users.alice.devices 100
  gateway access add ping --from everybody --to 10.64.0.1 --protocol icmp
  gateway set logins on >/dev/null
  pin=$(gateway login show | sed -n 's/.*pin //p')
  # As many logins of before, in the store as they would be there.
  keys $((count + own)) >public-keys
  head -n "$count" public-keys | python3 -c '
import os, sqlite3, sys
sys.path.insert(0, os.path.dirname(sys.argv[1]))
import gatewaylab
gatewaylab.fill("state/gateway.db", [bytes.fromhex(line) for line in sys.stdin])
store = sqlite3.connect("state/gateway.db")
last, version = (store.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()[0] for name in ("last-id", "version"))
for (device,) in store.execute("SELECT id FROM devices").fetchall():
    last += 1
    gatewaylab.insert(store, "logins", id=last, version=version, device_id=device, proven=1, factors="password", source="192.0.2.2")
store.execute("UPDATE meta SET value = ? WHERE name = ?", (last, "last-id"))
store.commit()' "$FILL"
  serve first
  for ((i = 1; i <= own; i++)); do
    key=$(base64_of "$(sed -n "$((count + i))p" public-keys)")
    on devices python3 "$LOGIN" 192.0.2.1 51820 "$pin" "$key" "d$i" alice 'correct horse' | tee login.out | found '^83 ' || fail "login $i"
  done
  [[ $(gateway device list --sessions | wc -l) == $((count + own)) ]] || fail "$(gateway device list --sessions | wc -l) sessions"
  hashed || fail 'hashes are not counted'
  local logins
  logins=$(gateway audit --lines 100 | grep -c ' login ' || true)
  ((logins >= own)) || fail "$logins entries of logins in the audit log"
  start $((count + own)) "$(at gateway wg show wg-gateway public-key | base64 -d | od -An -v -tx1 | tr -d ' \n')"
  answered ''
  echo "$((count + own)) devices connect at once; half, 95 % and all are answered after ${answers}s"

  # The gateway is killed and started: sessions are those of the engine, which goes on.
  kill -KILL "$serving"
  wait "$serving" 2>/dev/null || true
  answered ask
  echo "while no gateway runs: after ${answers}s, $handshakes handshakes"
  serve second
  answered ask
  echo "when it runs again: after ${answers}s, $handshakes handshakes"
  ! hashed || fail 'a password was hashed after a restart'

  # The machine is started anew: neither engine nor table is there.
  kill "$serving"
  wait "$serving" || fail 'the gateway ends with an error'
  gateway cleanup >/dev/null
  ! ip -n gateway link show wg-gateway >/dev/null 2>&1 || fail 'the link is left'
  serve third
  # The devices do not know that: they connect by themselves.
  answered ask
  echo "after all of it was gone, by themselves: after ${answers}s, $handshakes handshakes"
  ((handshakes >= count + own)) || fail 'there were sessions left'
  answered ''
  echo "and anew: after ${answers}s"
  ! hashed || fail 'a password was hashed after a restart'
  [[ $(gateway audit --lines 100 | grep -c ' login ' || true) == "$logins" ]] || fail 'a restart makes a login'
  on devices python3 "$LOGIN" 192.0.2.1 51820 "$pin" "$(key)" one-more alice 'correct horse' | found '^83 ' || fail 'no login afterwards'
  hashed || fail 'hashes are not counted any more'
  gateway metrics | found -xF 'roamward_gateway_devices{state="connected"} 1012' || fail "metrics: $(gateway metrics | grep devices)"
  kill "$serving"
  wait "$serving" || fail 'the gateway ends with an error'
}
# Whether the present process for logins has hashed a password: its threads for that do nothing else. A hash has 64 MiB.
hashed() {
  local task spent=0
  for task in "/proc/$auth/task"/*; do
    [[ ${task##*/} == "$auth" ]] || spent=$((spent + $(cut -d ' ' -f 1 "$task/schedstat")))
  done
  echo "hashes: $((spent / 1000)) µs of a processor" >&2
  ((spent > 10000000))
}

# --- a store on a server that is killed ----------------------------------------------------------------------------

server_away() {
  local count=100 i key name connected
  build one
  attach "/proc/${holder[one]}/ns/net"
  mkdir one
  gateway one store move --existing "$target" >/dev/null
  gateway one init --endpoint 192.0.2.1 --pool 10.64.0.0/16 >/dev/null
  gateway one user add alice
  gateway one user add bob
  gateway one access add ping --from everybody --to 10.64.0.1 --protocol icmp
  i=0
  for key in $(keys "$count"); do
    i=$((i + 1))
    # The last one is bob's.
    name=alice
    ((i < count)) || name=bob
    gateway one device add "$name/d$i" --public-key "$(base64_of "$key")" >/dev/null
  done
  serve one
  until_so 'the gateway has all devices' has_peers one "$count"
  start "$count" "$(at one wg show wg-gateway public-key | base64 -d | od -An -v -tx1 | tr -d ' \n')"
  answered ''
  connected=$SECONDS
  echo "$count devices connect at once; half, 95 % and all are answered after ${answers}s"
  local began=0
  still() { # WHEN
    answered ask
    began=$((began + handshakes))
    echo "$1: after ${answers}s, $handshakes handshakes"
  }
  still 'in their sessions'
  # In the middle of their pings.
  { sleep 0.1 && kill -KILL "$postgres"; } & # no event: any moment of the pings
  while kill -0 "$postgres" 2>/dev/null; do
    answered ask
    began=$((began + handshakes))
  done
  kill_server
  still 'when the server has died'
  until_so 'the trouble is told' grep -q 'goes on with what it has read' one.log
  for i in 1 2 3 4 5; do
    still 'without the server'
    sleep 1 # no event: the interval of the pings
  done
  first_line() { gateway one status | head -n 1; }
  age() { first_line | sed -n 's/^store: .*; the gateway read it \([0-9]*\) s ago; the gateway goes on with that$/\1/p'; }
  local age later
  age=$(age)
  [[ -n $age ]] || fail "status does not say how old the view is: $(first_line)"
  sleep 2 # no event: the age counts in seconds
  later=$(age)
  ((later > age)) || fail "the view does not get older: $age s, then $later s"
  gateway one status | grep -c '  connected' >connected.out || true
  [[ $(<connected.out) == "$count" ]] || fail "$(<connected.out) devices are connected"
  server
  until_so 'the gateway comes back by itself' grep -q 'no trouble any more' one.log
  still 'with the server again'
  [[ -z $(age) ]] || fail "status still has a trouble: $(first_line)"
  # WireGuard itself makes new handshakes after two minutes.
  ((SECONDS - connected > 110)) || ((began == 0)) || fail "$began sessions were lost"
  gateway one user lock bob
  until_so 'changes are followed again' has_peers one $((count - 1))
  kill "${serving[one]}"
  wait "${serving[one]}" || fail 'the gateway ends with an error'
}

case $1 in
restart) restart ;;
server)
  # shellcheck source=Tests/Gateway/GatewayServeTests/Scenes/postgresql.bash
  source "$(dirname "$0")/postgresql.bash"
  server_away
  ;;
esac

#!/usr/bin/env bash
# Three gateways on one server of PostgreSQL, by TCP: a pair, and one with a key of its own. What one changes is in force at the others, by
# notifications; and where the packets of a gateway's connection vanish, without them.
# shellcheck source=Tests/Gateway/GatewayServeTests/Scenes/scene.bash
source "$(dirname "${BASH_SOURCE[0]}")/scene.bash"
# The server's machine is this namespace.
ip link set lo up
ip link add switch type bridge
ip address add 192.0.2.100/24 dev switch
ip link set switch up
listening=192.0.2.100
# shellcheck source=Tests/Gateway/GatewayServeTests/Scenes/postgresql.bash
source "$(dirname "${BASH_SOURCE[0]}")/postgresql.bash"
target='host=192.0.2.100 user=gateway dbname=gateway'

tell() {
  ss -tn 'sport = :5432' || true
  nft list ruleset || true
}

build_on_switch one two three
gateway one store move --existing "$target" >/dev/null
gateway one init --endpoint 192.0.2.1 --pool 10.77.0.0/24 >/dev/null
gateway one user add alice
gateway one device add alice/phone >/dev/null
cp one/private.key two/
gateway two store move --existing "$target"
gateway three init --endpoint 192.0.2.3 --site lyon --store "$target" >/dev/null
for name in one two three; do serve "$name"; done
for name in one two three; do until_so "gateway $name has the device" has_peers "$name" 1; done

# --- notifications -----------------------------------------------------------------------------------------------

# Twenty changes in a row take a second each at most, at every other gateway. Without notifications it would be two and a half: a gateway
# asks every five seconds. A busy machine gets another try.
swift() { # GATEWAY...
  local name begin sum=0 one most i count
  for _ in 1 2 3; do
    sum=0 most=0
    for ((i = 0; i < 20; i++)); do
      count=$((i % 2))
      if ((count == 0)); then gateway one user lock alice; else gateway one user unlock alice; fi
      begin=$(date +%s%N)
      for name in "$@"; do until_so "a change reaches gateway $name" has_peers "$name" "$count"; done
      one=$(milliseconds "$begin")
      sum=$((sum + one)) most=$((one > most ? one : most))
    done
    echo "20 locks and unlocks, each until all of $* had it: $((sum / 20)) ms in the mean, $most ms at most"
    ((sum > 20000)) || return 0
  done
  fail "changes reach gateway $* too late"
}
swift two three

# --- one connection whose packets vanish ---------------------------------------------------------------------------

connections() { ss -Htn state established "sport = :5432 and dst 192.0.2.$1" | sed -n 's/.*:\([0-9]*\) *$/\1/p'; } # NUMBER
has_one_connection() { [[ $(connections 2 | wc -l) == 1 ]]; }
vanish() { # MATCH: packets of gateway two, in both directions
  nft "table inet vanish {
    chain arriving { type filter hook prerouting priority -300; ip saddr 192.0.2.2 tcp dport 5432 $1 counter drop; }
    chain leaving { type filter hook output priority -300; ip daddr 192.0.2.2 tcp sport 5432 ${1/sport/dport} counter drop; }
  }"
}
of_connection() { sql "SELECT $1 FROM pg_stat_activity WHERE client_addr = '192.0.2.2' AND client_port = $port"; } # COLUMN

# The worst moments: the gateway has just asked for changes,
before=
asks() { [[ $(of_connection state_change) != "$before" ]]; }
after_a_question() {
  before=$(of_connection state_change)
  until_so 'gateway two asks the server' asks
  vanish "tcp sport $port"
}
# or it has asked, and tells the other one of its pair where its devices are. (That takes long here, as a table is locked.)
waits_for_lock() { [[ $(of_connection wait_event_type) == Lock ]]; }
holder_of_lock() { sql "SELECT pid FROM pg_locks WHERE relation = 'endpoints'::regclass AND mode = 'AccessExclusiveLock' AND granted"; }
is_locked() { [[ -n $(holder_of_lock) ]]; }
at_work_with_its_pair() {
  sql 'BEGIN; LOCK TABLE endpoints; SELECT pg_sleep(60)' >/dev/null 2>&1 &
  until_so 'the table is locked' is_locked
  until_so 'gateway two waits for the table' waits_for_lock
  vanish "tcp sport $port"
  sql "SELECT pg_terminate_backend($(holder_of_lock))" >/dev/null
}

for moment in after_a_question at_work_with_its_pair; do
  until_so 'gateway two has one connection' has_one_connection
  port=$(connections 2)
  has_another() { [[ -n $(connections 2 | sed "/^$port\$/d") ]]; }
  "$moment"
  begin=$(date +%s%N)
  gateway one user lock alice
  until_so 'a lock is in force where the notification vanishes' has_peers two 0
  took=$(milliseconds "$begin")
  echo "without a notification, ${moment//_/ }: $took ms"
  ((took <= 15000)) || fail "only after $took ms"
  [[ $(nft list chain inet vanish leaving | sed -n 's/.*counter packets \([0-9]*\) .*/\1/p') -gt 0 ]] || fail 'no packet has vanished'
  until_so 'gateway two has another connection' has_another
  gateway one user unlock alice
  for name in two three; do until_so "gateway $name has the device" has_peers "$name" 1; done
  # It listens again, also while the packets of the old connection vanish.
  swift two three
  nft delete table inet vanish
done

# --- the server cannot be reached --------------------------------------------------------------------------------

troubles() { grep -c 'goes on with what it has read' two.log || true; }
before=$(troubles)
vanish ''
gateway one user lock alice
until_so 'the other one follows' has_peers three 0
is_in_trouble() { (($(troubles) > before)); }
says_age() { gateway two status | sed -n 1p | found '^store: .*; the gateway read it [0-9]* s ago'; }
until_so 'gateway two says that the server is away' is_in_trouble
until_so 'status says how old the view is' says_age
has_peers two 1 || fail 'devices are lost with the server'
nft delete table inet vanish
end=$((SECONDS + 120))
until has_peers two 0; do ((SECONDS < end)) || fail 'gateway two does not come back'; sleep 0.1; done
gateway one user unlock alice
for name in two three; do until_so "gateway $name has the device" has_peers "$name" 1; done
swift two three

for name in one two three; do kill "${serving[$name]}"; done
for name in one two three; do wait "${serving[$name]}" || fail "gateway $name does not end well"; done

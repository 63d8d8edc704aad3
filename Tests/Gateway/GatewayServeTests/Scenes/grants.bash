#!/usr/bin/env bash
# Two gateways of a pair give addresses of one pool at the same time, while one of them is killed again and again: no address twice.
#
# $GRANTS: how many devices; $SEED: when what is killed.
# shellcheck source=Tests/Gateway/GatewayServeTests/Scenes/scene.bash
source "$(dirname "${BASH_SOURCE[0]}")/scene.bash"
# shellcheck source=Tests/Gateway/GatewayServeTests/Scenes/postgresql.bash
source "$(dirname "${BASH_SOURCE[0]}")/postgresql.bash"
RANDOM=$SEED
echo "seed $SEED, $GRANTS devices"

build one
build two
mkdir one two
gateway one store move --existing "$target" >/dev/null
gateway one init --endpoint 192.0.2.1 --pool 10.77.0.0/20 --pool fd77::/64 >/dev/null
cp one/private.key two/
gateway two store move --existing "$target"
gateway one user add alice
serve one
serve two
until_so 'both run' at one ip link show wg-gateway
until_so 'both run' at two ip link show wg-gateway

# Each adds every second device. What is killed is asked again, and may be there already.
add() { # GATEWAY FIRST
  local i
  for ((i = $2; i < GRANTS; i += 2)); do
    until gateway "$1" device add "alice/d$i" >/dev/null 2>"$1-add.log" || grep -q 'there is a device .* already' "$1-add.log"; do
      # Killed, or its server's connection is: nothing else may refuse it.
      [[ ! -s $1-add.log ]] || grep -q 'store: \|Killed' "$1-add.log" || fail "a device is not added: $(<"$1-add.log")"
    done
  done
}
# With a group of processes of its own, which can be told from the rest of the scene.
set -m
add one 0 &
first=$!
add two 1 &
second=$!
set +m
# The first gateway: its command in the middle of a transaction, the running program, or the process that has the connection.
pause() { sleep "0.$((RANDOM % 6))$((RANDOM % 10))"; }
kill_meanwhile "$first" pause 'roamward-gateway device add alice/d[0-9]*[02468] --state' 'roamward-gateway serve --state /run/work/one' \
  'roamward-gateway-store --at-work'
wait "$first" || fail 'the first gateway does not add its devices'
wait "$second" || fail 'the second gateway does not add its devices'
# The last kill may have been its.
kill -KILL "${serving[one]}" 2>/dev/null || true
wait "${serving[one]}" 2>/dev/null || true
serve one

[[ $(sql 'SELECT count(*) FROM devices') == "$GRANTS" ]] || fail "$(sql 'SELECT count(*) FROM devices') devices"
given=$(sql 'SELECT count(*), count(DISTINCT address) FROM leases WHERE device_id IS NOT NULL')
[[ $given == "$((2 * GRANTS))|$((2 * GRANTS))" ]] || fail "an address is given twice, or none: $given"
gateway two store show --check >check.log || fail "the store has problems: $(<check.log)"
until_so 'the first gateway has all of them' has_peers one "$GRANTS"
until_so 'the second gateway has all of them' has_peers two "$GRANTS"
echo "$GRANTS devices, no address twice"

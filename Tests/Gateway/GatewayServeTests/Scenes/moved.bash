#!/usr/bin/env bash
# A command never changes a store that the running gateway does not serve. `store move` loses nothing, from a file to a server and back; the
# running gateway goes on with the store at its new place, also where the command is killed at any step.
# What a command enables and the gateway cannot offer is told by the command.
# shellcheck source=Tests/Gateway/GatewayServeTests/Scenes/scene.bash
source "$(dirname "${BASH_SOURCE[0]}")/scene.bash"
# shellcheck source=Tests/Gateway/GatewayServeTests/Scenes/postgresql.bash
source "$(dirname "${BASH_SOURCE[0]}")/postgresql.bash"

tell() { cat refused.log || true; }

build one
mkdir one
stop() {
  kill "${serving[one]}"
  wait "${serving[one]}" || fail 'the gateway ends with an error'
}
add() { # NUMBER: twelve users, and the names of those that were added
  local i
  for ((i = 0; i < 12; i++)); do
    if gateway one user add "u$1-$i" 2>>late.log; then echo "u$1-$i" >>"added$1"; fi
  done
}
refuses() { # REASON COMMAND...
  ! gateway one "${@:2}" >shown.log 2>refused.log || fail "not refused: ${*:2}"
  grep -q -- "$1" refused.log || fail "another reason for ${*:2}: $(<refused.log)"
  grep -q '^  help: ' refused.log || fail "no cure for ${*:2}: $(<refused.log)"
}

gateway one init --endpoint 192.0.2.1 --pool 10.77.0.0/24 >/dev/null
gateway one user add alice
gateway one device add alice/desk >/dev/null
serve one
until_so 'the gateway serves' has_peers one 1

# --- no other store while a gateway runs --------------------------------------------------------------------------

refuses 'a gateway runs' store move --existing "$target"
refuses 'a gateway runs' init --site lyon --endpoint 192.0.2.9 --store "$target"
[[ $(gateway one store show) == *gateway.db* ]] || fail "another store: $(gateway one store show)"
# An administrator who edits the file has the same effect: commands mean another store than the gateway.
sql 'CREATE TABLE nothing ()'
echo "$target" >one/store
for command in 'user lock alice' 'user add late' 'set logins on' 'set page on' 'init --endpoint 192.0.2.9'; do
  # shellcheck disable=SC2086 # words
  ! gateway one $command >shown.log 2>refused.log || fail "a change of a store that is not served: $command"
done
rm one/store
gateway one user lock alice
until_so 'a lock ends the session' has_peers one 0
gateway one user unlock alice
until_so 'it may connect again' has_peers one 1

# --- moved as one act ----------------------------------------------------------------------------------------------

# The gateway runs. Changes meanwhile are in the store that is used afterwards, or are refused.
for number in 1 2 3 4; do
  add "$number" &
  adders[number]=$!
done
until_so 'users are added' test -s added1
gateway one store move "$target" >moved.log || fail "it is not moved: $(<moved.log)"
grep -q 'rows; the store is host=/run/server.*; the running gateway uses it$' moved.log || fail "another word: $(<moved.log)"
grep -q 'the store was moved; the gateway uses it at its new place' one.log || fail "the journal does not say it: $(<one.log)"
wait "${adders[@]}"
missing() { cat added? | grep -vxF -f <(gateway one user list | cut -d ' ' -f 1); }
! missing || fail 'what was added is not in the store'
echo "moved: $(cat added? | wc -l) of 48 users added meanwhile, $(grep -c 'was moved' late.log || true) refused"
refuses 'is there already' store move "$target"
gateway one user lock alice
until_so 'a lock ends the session' has_peers one 0
# A change of another gateway comes by the server alone.
is_partner() { [[ $(sql 'SELECT count(*) FROM partners') == 1 ]]; }
until_so 'the gateway is a partner at the new place' is_partner
sql "UPDATE users SET locked = 0, version = (SELECT value + 1 FROM meta WHERE name = 'version') WHERE name = 'alice'"
sql "UPDATE meta SET value = value + 1 WHERE name = 'version'"
until_so 'a change at the new place is in force' has_peers one 1
gateway one user lock alice
until_so 'a lock ends the session' has_peers one 0
[[ $(gateway one status | head -n 1) == 'gateway  192.0.2.1:51820'*serving ]] || fail "status: $(gateway one status)"

# The running gateway has one store, and commands mean the other one: the first line says so, and so does the doctor.
mv one/store used
[[ $(gateway one status | head -n 1) == 'the running gateway uses another store than this command; restart it'* ]] ||
  fail "status: $(gateway one status)"
gateway one doctor >shown.log || true
grep -q 'the running gateway uses another store' shown.log || fail "doctor does not know: $(<shown.log)"
refuses 'uses another store' user unlock alice
mv used one/store
gateway one user unlock alice
until_so 'it may connect again' has_peers one 1

# A backup has the store of the server as a file, and the gateway of it says so.
gateway one backup /run/work/of-server >shown.log 2>&1 || fail "no backup: $(<shown.log)"
"$ROAMWARD_BIN/roamward-gateway" restore /run/work/of-server --state /run/work/other >shown.log 2>&1 || fail "not restored: $(<shown.log)"
grep -q "^note: the store was a database ($target); it is the file /run/work/other/gateway.db now" shown.log || fail "not said: $(<shown.log)"
[[ $("$ROAMWARD_BIN/roamward-gateway" user list --state /run/work/other) == "$(gateway one user list)" ]] || fail 'other users are restored'
stop
# The old place refuses changes.
mv one/store used
! gateway one user add old 2>refused.log || fail 'a store that was moved takes changes'
grep -q 'was moved to another place' refused.log || fail "no reason: $(<refused.log)"
mv used one/store
refuses 'was moved' store move --existing file
serve one
until_so 'the gateway serves' has_peers one 1

# And back.
gateway one store move file >moved.log || fail "it is not moved back: $(<moved.log)"
[[ $(gateway one store show) == *gateway.db* ]] || fail "another store: $(gateway one store show)"
[[ $(gateway one store show --check) == 'no problems found' ]] || fail "$(gateway one store show --check)"
! missing || fail 'what was added is not in the file'
gateway one user lock alice
until_so 'a lock ends the session' has_peers one 0
gateway one user unlock alice
until_so 'it may connect again' has_peers one 1
stop
[[ $(at one wg show wg-gateway peers | wc -l) == 1 ]] || fail 'a gateway that stops takes peers away'
refuses 'was moved' store move --existing "$target"
# Without a gateway that runs.
as_postgres "$programs/createdb" --host=/run/server --username=gateway still
gateway one store move 'host=/run/server user=gateway dbname=still' >moved.log || fail "it is not moved: $(<moved.log)"
grep -q '; start the gateway$' moved.log || fail "another word: $(<moved.log)"
gateway one store move file >moved.log || fail "it is not moved back: $(<moved.log)"
serve one
until_so 'the gateway serves' has_peers one 1

# --- killed at each step --------------------------------------------------------------------------------------------

# One store is in use, and takes changes; the running gateway uses it, and the same command again ends there.
in_use() { # WHERE
  local name="k$((++kills))"
  until_so "$1: a change is taken" gateway one user add "$name"
  [[ $(gateway one user list | grep -c '^k[0-9]') == "$kills" ]] || fail "$1: a user is lost: $(gateway one user list)"
  if ((kills % 2)); then
    gateway one user lock alice >/dev/null || fail "$1: no change"
    until_so "$1: the gateway has the lock" has_peers one 0
  else
    gateway one user unlock alice >/dev/null || fail "$1: no change"
    until_so "$1: the gateway has the end of the lock" has_peers one 1
  fi
}
die_at() { # NUMBER TARGET: moves, and whether the command was killed there
  local code=0
  { at one env ROAMWARD_DIE_AT="$1" "$ROAMWARD_BIN/roamward-gateway" store move "$2" --state /run/work/one >killed.out 2>&1; } 2>/dev/null || code=$?
  [[ $code == 0 || $code == 137 ]] || fail "killed at $1 of a move to $2: $code, $(<killed.out)"
  [[ $code == 137 ]]
}
again() { # TARGET
  gateway one store move "$1" >again.log 2>&1 || grep -q 'is there already' again.log || fail "not moved again: $(<again.log)"
}
kills=0 places=0
while :; do
  places=$((places + 1)) is_over=yes
  as_postgres "$programs/createdb" --host=/run/server --username=gateway "killed$places"
  ! die_at $places "host=/run/server user=gateway dbname=killed$places" || is_over=
  in_use "killed at $places of a move to the server"
  again "host=/run/server user=gateway dbname=killed$places"
  ! die_at $places file || is_over=
  in_use "killed at $places of a move to the file"
  again file
  [[ $(gateway one store show --check) == 'no problems found' ]] || fail "$places: $(gateway one store show --check)"
  [[ -z $is_over ]] || break
done
((places > 8)) || fail "only $places places of a move"
[[ ! -e one/store.next && ! -e one/gateway.db.new ]] || fail "something of a move is left: $(ls one)"
echo "moves: killed at $((places - 1)) places, $kills changes"

# --- what a command enables ------------------------------------------------------------------------------------------

# The port of a web server at another address of the machine is free at the gateway's.
at one ip address add 198.51.100.80/32 dev lo
at one busybox httpd -f -p 198.51.100.80:80 &
at one busybox nc -ll -p 443 -e busybox cat &
is_taken() { at one ss -Hltn "sport = :$1" | found LISTEN; }
until_so 'the ports are taken' is_taken 80
until_so 'the ports are taken' is_taken 443
gateway one set page on >/dev/null || fail "no page beside another address's web server"
[[ $(at one busybox wget -q -O /dev/null http://198.51.100.80/ 2>&1) != *refused* ]] || fail 'the web server is gone'
gateway one set page off
until_so 'the page is gone' eval '! at one ss -Hltn "src 10.77.0.1" | found LISTEN'
at one busybox httpd -f -p 10.77.0.1:80 &
until_so 'the port of the address is taken' eval 'at one ss -Hltn "src 10.77.0.1" | found LISTEN'
refuses 'Address already in use' set page on
gateway one login show | found 'the page is not shown: .*Address already in use' || fail 'login show does not know'
gateway one set page.port 8080 >/dev/null || fail 'a free port is refused'
gateway one set logins on >/dev/null || fail 'logins are refused'
refuses 'Address already in use' set relay on
gateway one set relay.port 8443 || fail 'a free port is refused'
# Logins move with the endpoint.
gateway one init --endpoint 192.0.2.1:51821 >/dev/null
until_so 'logins have the other port' is_taken 51821
refuses 'nothing came on standard input' user set alice --password </dev/null
stop

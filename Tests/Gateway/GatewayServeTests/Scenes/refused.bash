#!/usr/bin/env bash
# Strangers of one network whose logins are refused in a row, and a person elsewhere whose login is: what the audit log has of them. On
# loopback addresses.
#
# $LOGIN is a client that logs in.
# shellcheck source=Tests/Gateway/GatewayServeTests/Scenes/scene.bash
source "$(dirname "${BASH_SOURCE[0]}")/scene.bash"

gateway() { "$ROAMWARD_BIN/roamward-gateway" "$@" --state /run/work/state; }
log_in() { # ADDRESS NAME PASSWORD
  SOURCE=$1 python3 "$LOGIN" 127.0.0.1 51820 "$pin" "$(key)" laptop "$2" "$3"
}
refusals() { gateway audit --lines 1000 | grep -c "login refused.* from $1" || true; }

ip link set lo up
gateway init --endpoint 127.0.0.1 --pool 10.77.0.0/24 >/dev/null
gateway user add alice
gateway user set alice --password <<<'correct horse'
gateway set logins on >enabled.out
pin=$(sed -n 's/.*pin //p' enabled.out)
(exec "$ROAMWARD_BIN/roamward-gateway" serve --state /run/work/state) >serve.log 2>&1 &
serving=$!
until_so 'the gateway takes logins' grep -q 'logins: at TCP port' serve.log

# Three addresses of a network, 15 names each: less than what makes an address wait.
for place in 1 2 3; do
  (for i in {1..15}; do log_in "127.7.0.$place" "name-$place-$i" wrong; done >"stranger-$place.out") &
  strangers[place]=$!
done
for place in 1 2 3; do wait "${strangers[place]}" || fail "a stranger's login: $(<"stranger-$place.out")"; done
[[ $(cat stranger-*.out | grep -cF "$wrong") == 45 ]] || fail "the strangers: $(cat stranger-*.out)"
# The hour may have ended meanwhile, with a share of its own.
kept=$(refusals '127\.7\.0\.')
((kept >= 30 && kept < 45)) || fail "$kept refusals of 45 are in the audit log"

# A person's own mistake is there, with its reason, and the login after it works.
log_in 127.8.0.1 alice 'wrong horse' | tail -n 1 | found -F "$wrong" || fail 'a wrong password is taken'
gateway audit | found 'login refused alice  (wrongPassword, from 127.8.0.1)' || fail "the audit log: $(gateway audit)"
log_in 127.8.0.1 alice 'correct horse' | found '^83 ' || fail 'alice does not log in'

# What was only counted is in the metrics at once, and in the audit log at the end of an hour, or of the gateway.
has_metric() { gateway metrics | found -xE "$1"; }
until_so 'all are counted' has_metric 'roamward_gateway_logins_refused_total\{reason="unknownName"\} 45'
kill "$serving"
wait "$serving" || fail 'the gateway ends with an error'
more=$(gateway audit --lines 1000 | sed -n 's/.*login refused others  (\([0-9]*\) more from 127.7.0.0\/24: .*unknownName.*/\1/p')
[[ -n $more ]] || fail "the rest is not counted in the audit log: $(gateway audit)"
((kept + $(paste -s -d + <<<"$more") == 45)) || fail "$kept refusals, and $more more"
gateway audit --verify >/dev/null || fail 'the audit log is broken'
gateway cleanup >/dev/null

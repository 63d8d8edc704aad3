#!/usr/bin/env bash
# Strangers hold connections to a gateway, and make it work: from many networks, from those of a person's own, and from her own address.
# Logins and relays of others succeed beside them, at once. Prints how long a login takes.
#
# $HOLD is a stranger (hold.py), $LOGIN logs in, $RELAY asks for a relay.
# shellcheck source=Tests/Gateway/GatewayServeTests/Scenes/scene.bash
source "$(dirname "${BASH_SOURCE[0]}")/scene.bash"
ulimit -n 4096
tell() { cat ./*.out; }
gateway() { at gateway "$ROAMWARD_BIN/roamward-gateway" "$@" --state /run/work/state; }

for name in gateway laptop guest crowd; do ip netns add "$name"; done
ip -n gateway link set lo up
join laptop to-laptop 192.0.2.2 192.0.2.1
join guest to-guest 198.51.100.2 198.51.100.1
join crowd to-crowd 203.0.113.2 203.0.113.1
# A crowd has the /48; the laptop has a network beside it.
ip -n gateway address add 2001:db8:5::1/64 dev to-crowd nodad
ip -n crowd address add 2001:db8:5::2/64 dev out0 nodad
ip -n crowd route add local 2001:db8:7::/48 dev lo
ip -n gateway route add 2001:db8:7::/48 via 2001:db8:5::2
gateway init --endpoint 192.0.2.1 --pool 10.77.0.0/24 >/dev/null
gateway user add alice
gateway user set alice --password <<<'correct horse'
gateway set logins on >/dev/null
pin=$(gateway login show | sed -n 's/.*pin //p')
gateway set relay.port 4443
(exec ip netns exec gateway "$ROAMWARD_BIN/roamward-gateway" serve --state /run/work/state) >serve.log 2>&1 &
serving=$!
until_so 'the gateway relays' grep -q 'relay: at TCP port 4443' serve.log
auth=$(pgrep -P "$serving" -f 'roamward-gateway-auth --at-work') || fail 'no process for logins'

# The milliseconds of a login.
logs_in() { # NAMESPACE ADDRESS DEVICE
  local begin
  begin=$(date +%s%N)
  at "$1" timeout 30 python3 "$LOGIN" "$2" 51820 "$pin" "$(key)" "$3" alice 'correct horse' >login.out 2>&1 &&
    grep -q '^83 ' login.out || return 1
  echo $((($(date +%s%N) - begin) / 1000000))
}
relays() { [[ $(at "$1" timeout 30 python3 "$RELAY" "$2" 4443 ask 2>&1) == '85 01' ]]; } # NAMESPACE ADDRESS
strangers() { # NAMESPACE ADDRESS WHAT... SOURCE...
  (exec ip netns exec "$1" python3 "$HOLD" "$2" "${port:-51820}" "${@:3}") >strangers.out 2>&1 &
  holding=$!
}
end() {
  kill "$holding"
  wait "$holding" || fail 'the strangers fail'
}
are_at_work() { ip netns exec gateway ss -Htna 'sport = :51820' | grep '2001:db8:7:' >/dev/null; }
holds() { [[ $(sed -n 's/^held //p' strangers.out | tail -n 1) -ge $1 ]]; } # COUNT

mapfile -t half < <(for ((i = 0; i < 125; i++)); do printf '2001:db8:7:%x::1\n' "$i"; done)
mapfile -t wide < <(for ((i = 0; i < 16; i++)); do printf '2001:db8:7:%x00::1\n' "$i"; done)
alone=$(logs_in laptop 192.0.2.1 laptop) || fail 'no login'
echo "hold: a login alone takes $alone ms"

# --- connections -------------------------------------------------------------------------------------------------

# Half of a /56, eight connections of each /64; then the same by relays.
for what in nothing part drip shaken greeted relay; do
  port=$([[ $what == relay ]] && echo 4443 || echo 51820) strangers crowd 2001:db8:5::1 connections "$what" "${half[@]}"
  # Their handshakes give way to other programs: there is no limit but the test's.
  until holds 1000; do sleep 0.1; done # no event: another program counts its connections
  time=$(logs_in laptop 192.0.2.1 laptop) || fail "no login beside 1000 connections ($what): $(<login.out)"
  relays laptop 192.0.2.1 || fail "no relay beside 1000 connections ($what)"
  echo "hold: beside strangers of 125 /64s ($what), who have begun $(sed -n 's/^held //p' strangers.out | tail -n 1) connections: $time ms"
  end
done
# A guest behind the person's own address.
for what in nothing greeted relay; do
  port=$([[ $what == relay ]] && echo 4443 || echo 51820) strangers guest 198.51.100.1 connections "$what" 198.51.100.2
  until_so "a guest holds eight connections ($what)" holds 8
  logs_in guest 198.51.100.1 laptop >time.out || fail "no login beside a guest of the same address ($what): $(<login.out)"
  relays guest 198.51.100.1 || fail "no relay beside a guest of the same address ($what)"
  end
done

# --- work --------------------------------------------------------------------------------------------------------

for what in handshakes passwords; do
  strangers crowd 2001:db8:5::1 "$what" "${wide[@]}"
  until_so "strangers are at work ($what)" are_at_work
  times=()
  for ((i = 0; i < 3; i++)); do times+=("$(logs_in laptop 192.0.2.1 laptop)") || fail "no login beside $what: $(<login.out)"; done
  end
  echo "hold: beside $(<strangers.out) $what of a stranger: ${times[*]} ms"
done
[[ $(pgrep -P "$serving" -f 'roamward-gateway-auth --at-work') == "$auth" ]] || fail 'the process for logins is another one'
[[ $(grep -c 'logins: at TCP port' serve.log) == 1 ]] || fail 'logins have begun again'
gateway audit --verify >/dev/null || fail 'the audit log is broken'
kill "$serving"
wait "$serving" || fail 'the gateway ends with an error'
gateway cleanup >/dev/null

#!/usr/bin/env bash
# A flood of logins with wrong passwords from as many addresses. The process for logins has to outlive it, with the relays that it has; a
# device by UDP and one by a relay go on, and a right login succeeds.
#
# $FLOOD is the source of the flood (Benchmarks/gateway-logins.c), $RELAY carries a device's packets by TCP, $LOGIN logs in.
# shellcheck source=Tests/Gateway/GatewayServeTests/Scenes/scene.bash
source "$(dirname "${BASH_SOURCE[0]}")/scene.bash"

tell() { cat ./*.out; }
gateway() { at gateway "$ROAMWARD_BIN/roamward-gateway" "$@" --state /run/work/state; }
auth() { pgrep -P "$serving" -f 'roamward-gateway-auth --at-work'; }
# The most memory that a process has had at once, in MiB.
peak() { awk '/^VmHWM:/ { print int($2 / 1024) }' "/proc/$1/status"; }
replies() { grep -c ' ttl=' "$1.ping" || true; }
goes_on() { (($(replies "$1") > $2)); }

# --- the network: the crowd has an address for each connection -----------------------------------------------------

# The flood is in names that nobody has, which cost what others cost.
cc -O2 -o flood "$FLOOD" -lssl -lcrypto -lsodium -lpthread
for name in gateway laptop phone crowd; do ip netns add "$name"; done
ip -n gateway link set lo up
join laptop to-laptop 192.0.2.2 192.0.2.1
join phone to-phone 198.51.100.2 198.51.100.1
join crowd to-crowd 203.0.113.2 203.0.113.1
for name in phone crowd; do ip -n "$name" route add 192.0.2.1 dev out0; done
ip -n crowd route add local 198.18.0.0/15 dev lo
ip -n gateway route add 198.18.0.0/15 via 203.0.113.2

# --- a device by UDP, and one by a relay ---------------------------------------------------------------------------

gateway init --endpoint 192.0.2.1 --pool 10.77.0.0/24 >/dev/null
gateway user add alice
gateway user set alice --password <<<'correct horse'
gateway set settings.everybody.routes 10.77.0.0/24
gateway access add ping --from user:alice --to 10.77.0.1 --protocol icmp
gateway device add alice/laptop >laptop.conf
gateway device add alice/phone | sed 's/^Endpoint = .*/Endpoint = 127.0.0.1:51821/' >phone.conf
gateway set logins on >/dev/null
pin=$(gateway login show | sed -n 's/.*pin //p')
gateway set relay.port 4443
(exec ip netns exec gateway "$ROAMWARD_BIN/roamward-gateway" serve --state /run/work/state) >serve.log 2>&1 &
serving=$!
until_so 'the gateway relays' grep -q 'relay: at TCP port 4443' serve.log
at phone python3 "$RELAY" 192.0.2.1 4443 carry 51821 2>relay.out &
relaying=$!
has_relay() { [[ -n $(at phone ss -Huan 'sport = :51821') ]]; }
until_so 'the relay takes datagrams' has_relay
for name in laptop phone; do
  connect "$name"
  at "$name" busybox ping -i 0.1 10.77.0.1 >"$name.ping" &
  until_so "$name has a tunnel" goes_on "$name" 0
done
before=$(auth)

# --- the flood -----------------------------------------------------------------------------------------------------

laptop=$(replies laptop) phone=$(replies phone)
# A busy machine holds the process up, and then it reads very many passwords at once: each is a question to the gateway.
mkfifo say
at crowd ./flood wave 192.0.2.1 51820 400 100000 <say >wave.out &
waving=$!
exec {say}>say
until_so 'the wave comes up to its passwords' grep -q ready wave.out
kill -STOP "$before"
echo >&"$say"
until_so 'the wave says its passwords' grep -q said wave.out
kill -CONT "$before"
wait "$waving" || fail 'the wave fails'
is_same() { [[ $(auth) == "$before" ]] || fail "the process for logins is another one after $1"; }
is_same 'many passwords at once'
reached() { grep -qE '"(judged|pauses)": [1-9]' "$1.out"; }
reached wave || fail 'no password of the wave has an answer'
# Then two seconds without an end. All checks of logins give way to other programs: where a busy machine answers nobody in these, the flood
# lasts twice as long each time, and its clients wait as long, because each begins behind the connections that the one before has left.
lasting=1
flooded() {
  lasting=$((lasting * 2))
  at crowd ./flood flood 192.0.2.1 51820 "$lasting" 100000 2000 $((lasting + 4)) >flood.out && reached flood
}
until flooded; do :; done
echo "replies: laptop $(($(replies laptop) - laptop)), phone $(($(replies phone) - phone)); memory: logins $(peak "$before" || true) MiB," \
  "gateway $(peak "$serving") MiB; $(cut -d , -f 1-6 flood.out)"
is_same 'the flood'
[[ $(grep -c 'logins: at TCP port' serve.log) == 1 ]] || fail 'logins have begun again'
kill -0 "$relaying" || fail 'the relay was closed'
# Two hashes at once need 128 MiB.
(($(peak "$before") < 256)) || fail "the process for logins had $(peak "$before") MiB"
(($(peak "$serving") < 128)) || fail "the gateway had $(peak "$serving") MiB"
for name in laptop phone; do
  goes_on "$name" "${!name}" || fail "no reply for $name within the flood"
  until_so "$name goes on" goes_on "$name" "$(replies "$name")"
done
logs_in() { at laptop python3 "$LOGIN" 192.0.2.1 51820 "$pin" "$(key)" tablet alice 'correct horse' | tee login.out | found '^83 '; }
# Checks of the flood that wait are before it.
until logs_in; do sleep 0.1; done
is_same 'a login'
gateway audit --verify >/dev/null || fail 'the audit log is broken'
kill "$serving"
wait "$serving" || fail 'the gateway ends with an error'
gateway cleanup >/dev/null

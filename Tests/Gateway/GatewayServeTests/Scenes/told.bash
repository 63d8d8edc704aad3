#!/usr/bin/env bash
# A device that has logged in (login.py) and listens inside the tunnel (listen.py) is told its settings at its first packet, and the end of
# its login, but no lock.
# shellcheck source=Tests/Gateway/GatewayServeTests/Scenes/scene.bash
source "$(dirname "${BASH_SOURCE[0]}")/scene.bash"

tell() {
  at gateway wg show || true
  at alice wg show || true
  cat heard || true
}

gateway() { at gateway "$ROAMWARD_BIN/roamward-gateway" "$@" --state /run/work/state; }
for name in gateway alice; do
  ip netns add "$name"
  ip -n "$name" link set lo up
done
join alice to-alice 192.0.2.2 192.0.2.1
gateway init --endpoint 192.0.2.1 --pool 10.77.0.0/24 --pool fd77::/64 >/dev/null
gateway user add alice
gateway user set alice --password <<<'correct horse'
gateway set settings.everybody.routes 203.0.113.0/24
(exec ip netns exec gateway "$ROAMWARD_BIN/roamward-gateway" serve --state /run/work/state) >gateway.log 2>&1 &
gateway set logins on >/dev/null
pin=$(gateway login show | sed -n 's/.*pin //p')
until_so 'the gateway takes logins' grep -q 'logins: at TCP port' gateway.log

load=()
private=$(key)
public=$(wg pubkey <<<"$private")
site=$(at gateway wg show wg-gateway public-key)
is_engine gateway
log_in() { at alice python3 "$LOGIN" 192.0.2.1 51820 "$pin" "$public" laptop alice 'correct horse' >>login.log || fail 'no login'; }
is_peer() { at gateway wg show wg-gateway peers | found -F "$public"; }
at alice wireguard-go wg-alice >wireguard-go.log 2>&1
# A session of WireGuard, and a greeting.
connect_again() {
  until_so 'the gateway knows the key' is_peer
  # The next one has the same port.
  [[ -z ${listener:-} ]] || { kill "$listener"; wait "$listener" 2>/dev/null || true; }
  : >heard
  at alice wg set wg-alice peer "$site" remove
  at alice wg set wg-alice private-key <(echo "$private") peer "$site" endpoint 192.0.2.1:51820 allowed-ips 10.77.0.0/24
  ip -n alice address replace 10.77.0.2/32 dev wg-alice
  ip -n alice link set wg-alice up
  ip -n alice route replace 10.77.0.0/24 dev wg-alice
  (exec ip netns exec alice python3 "$(dirname "$LOGIN")/listen.py" 10.77.0.2 10.77.0.1 "$private" "$site") >heard 2>listen.log &
  listener=$!
  until_so 'the device has its settings' has_heard 86
}
has_heard() { grep -q "^$1 " heard; }

log_in
begin=$(date +%s%N)
connect_again
echo "settings after the greeting: $((($(date +%s%N) - begin) / 1000000)) ms, python and WireGuard's handshake among them"

gateway session end alice/laptop
until_so 'the end of the session is told' has_heard 88
until_so 'the peer is gone' eval '! is_peer'

# On a busy machine too, the message leaves before the peer goes; and a device that logs in again at once stays a peer.
for ((i = 0; i < $(nproc) * 3; i++)); do
  while :; do :; done &
  load+=("$!")
done
for ((i = 0; i < 4; i++)); do
  log_in
  connect_again
  gateway session end alice/laptop
  until_so "the end of the session is told on a busy machine ($i)" has_heard 88
  ((i % 2)) || until_so 'the peer is gone' eval '! is_peer'
done
kill "${load[@]}"

# A lock is not told: it may be taken back.
log_in
connect_again
gateway user lock alice
until_so 'the peer is gone' eval '! is_peer'
sleep 0.5 # no event: a word that must not come
! has_heard 88 || fail 'a lock is told'
gateway user unlock alice
connect_again
gateway device remove alice/laptop
until_so 'the removal of the device is told' has_heard 88
! grep -q wrong heard || fail 'a datagram that docs/wire-format.md does not describe'

#!/usr/bin/env bash
# An ICMP error of a device passes for connections of that device alone, by IPv4 and IPv6: no device tells a server, or another device, that
# another one's connection has failed or needs smaller packets. One device cannot use up what others need of the port inside the tunnel.
#
# $PACKETS sends what no other program sends (packets.py).
# shellcheck source=Tests/Gateway/GatewayServeTests/Scenes/scene.bash
source "$(dirname "${BASH_SOURCE[0]}")/scene.bash"

tell() {
  at gateway nft list ruleset || true
  at gateway conntrack -L || true
  at gateway conntrack -f ipv6 -L || true
}

gateway() { at gateway "$ROAMWARD_BIN/roamward-gateway" "$@" --state /run/work/state; }
for name in gateway alice mallory server; do ip netns add "$name"; done
ip -n gateway link set lo up
join alice to-alice 192.0.2.2 192.0.2.1
join mallory to-mallory 198.51.100.2 198.51.100.1
join server to-server 203.0.113.2 203.0.113.1
ip -n gateway address add 2001:db8:3::1/64 dev to-server nodad
ip -n server address add 2001:db8:3::2/64 dev out0 nodad
at server busybox nc -ll -p 443 -e busybox cat &

gateway init --endpoint 192.0.2.1 --pool 10.77.0.0/24 --pool fd77::/64 >/dev/null
gateway user add alice
gateway user add mallory
gateway set settings.everybody.routes 203.0.113.0/24 2001:db8:3::/64 10.77.0.0/24 fd77::/64
gateway access add all --from everybody --to everything
gateway device add alice/laptop >alice.conf
gateway device add mallory/laptop >mallory.conf
sed -i 's/^Endpoint = .*/Endpoint = 198.51.100.1:51820/' mallory.conf
(exec ip netns exec gateway "$ROAMWARD_BIN/roamward-gateway" serve --state /run/work/state) >gateway.log 2>&1 &
until_so 'the gateway serves' at gateway wg show wg-gateway
is_engine gateway
connect alice
connect mallory
until_so 'mallory is connected' at mallory ping -c 1 -W 1 203.0.113.2

# --- errors ------------------------------------------------------------------------------------------------------

at gateway nft 'table inet watch {
  counter server {}
  counter alice {}
  counter own {}
  counter alice_asks {}
  counter alice_comes {}
  chain arriving {
    type filter hook prerouting priority -200
    iifname wg-gateway ip saddr 10.77.0.2 udp dport 20900 counter name alice_comes
  }
  chain leaving {
    type filter hook postrouting priority 200
    oifname to-server icmp type destination-unreachable counter name server
    oifname to-server icmpv6 type packet-too-big counter name server
    oifname wg-gateway icmp type destination-unreachable counter name alice
    oifname wg-gateway icmpv6 type packet-too-big counter name alice
  }
  chain here {
    type filter hook input priority 10
    iifname wg-gateway icmp type destination-unreachable counter name own
    iifname wg-gateway icmpv6 type packet-too-big counter name own
    iifname wg-gateway ip saddr 10.77.0.2 udp dport 20900 counter name alice_asks
  }
}'
count() { at gateway nft list counter inet watch "$1" | sed -n 's/.*packets \([0-9]*\) .*/\1/p'; }
# How many errors leave the gateway, or reach it, when a packet is sent.
adds() { # COUNTER COMMAND...
  local name=$1 before
  shift
  before=$(count "$name")
  "$@"
  # What the error went through before came before it.
  sleep 0.3 # no event: errors that are on their way
  echo $(($(count "$name") - before))
}
error() { at "$1" python3 "$PACKETS" error "${@:2}"; } # NAMESPACE ARGUMENT...
open() { # NAME ADDRESS: a connection of alice's, and its port
  mkfifo "$1.in"
  at alice busybox nc "$2" 443 <"$1.in" >"$1.out" 2>/dev/null &
  exec {fd}>"$1.in"
  echo hello >&"$fd"
  until_so "$1 is connected" grep -q hello "$1.out"
}
open four 203.0.113.2
open six 2001:db8:3::2
port() { at alice ss -Htn state established "dst [$1]:443" | sed -n 's/.*:\([0-9]*\) .*/\1/p' | head -n 1; }
four=$(port 203.0.113.2) six=$(port 2001:db8:3::2)

is() { [[ $2 == "$3" ]] || fail "$1: $2, not $3"; } # WHAT FOUND EXPECTED
# To the server, about a connection of the sender's, and of another device's: as the server has it, behind masquerade.
is 'an error of a device about its own connection' \
  "$(adds server error alice 10.77.0.2 203.0.113.2 tcp 203.0.113.2 443 10.77.0.2 "$four")" 1
is 'an error of a device about its own connection (IPv6)' \
  "$(adds server error alice fd77::2 2001:db8:3::2 tcp 2001:db8:3::2 443 fd77::2 "$six")" 1
for target in 203.0.113.1 10.77.0.2; do
  is "an error of a device about another one's connection, to the server ($target)" \
    "$(adds server error mallory 10.77.0.3 203.0.113.2 tcp 203.0.113.2 443 "$target" "$four")" 0
done
for target in 2001:db8:3::1 fd77::2; do
  is "an error of a device about another one's connection, to the server ($target)" \
    "$(adds server error mallory fd77::3 2001:db8:3::2 tcp 2001:db8:3::2 443 "$target" "$six")" 0
done
# To the device.
is "an error of a device about another one's connection, to it" \
  "$(adds alice error mallory 10.77.0.3 10.77.0.2 tcp 10.77.0.2 "$four" 203.0.113.2 443)" 0
is "an error of a device about another one's connection, to it (IPv6)" \
  "$(adds alice error mallory fd77::3 fd77::2 tcp fd77::2 "$six" 2001:db8:3::2 443)" 0
is 'an error of the network about a connection of a device' \
  "$(adds alice error server 203.0.113.2 203.0.113.1 tcp 203.0.113.1 "$four" 203.0.113.2 443)" 1
is 'an error of the network about a connection of a device (IPv6)' \
  "$(adds alice error server 2001:db8:3::2 2001:db8:3::1 tcp 2001:db8:3::1 "$six" 2001:db8:3::2 443)" 1
# To the gateway, about its own connection with another device.
at alice busybox nc -ll -p 445 -e busybox cat &
mkfifo own.in
listens() { at alice ss -Hltn 'sport = :445' | found 445; }
until_so 'alice listens' listens
at gateway busybox nc 10.77.0.2 445 <own.in >own.out 2>/dev/null &
exec {fd}>own.in
echo hello >&"$fd"
until_so 'the gateway is connected' grep -q hello own.out
own=$(at gateway ss -Htn state established 'dst 10.77.0.2:445' | sed -n 's/.*:\([0-9]*\) .*10.77.0.2:445.*/\1/p' | head -n 1)
is "an error of a device about the gateway's connection with it" \
  "$(adds own error alice 10.77.0.2 10.77.0.1 tcp 10.77.0.1 "$own" 10.77.0.2 445)" 1
is "an error of a device about the gateway's connection with another one" \
  "$(adds own error mallory 10.77.0.3 10.77.0.1 tcp 10.77.0.1 "$own" 10.77.0.2 445)" 0

# --- shares ------------------------------------------------------------------------------------------------------

# One device sends as fast as it can; of another one's ten, how many the gateway reads. The tunnel may lose some.
for word in greet ask; do
  at mallory python3 "$PACKETS" "$word" 10.77.0.3 10.77.0.1 40000 4000 &
  flood=$!
  sleep 1
  came=$(count alice_comes)
  arrived=$(adds alice_asks at alice python3 "$PACKETS" "$word" 10.77.0.2 10.77.0.1 10 5)
  came=$(($(count alice_comes) - came))
  echo "errors: of ten datagrams ($word) beside a flood of another device, $came come out of the tunnel, $arrived are read"
  kill "$flood" 2>/dev/null || true
  wait "$flood" 2>/dev/null || true
  is "datagrams beside a flood ($word)" "$arrived" "$came"
  ((came > 5)) || fail "the tunnel lost $((10 - came)) of ten datagrams"
done
# A client of logins that asks for new keys again and again is not served.
gateway set logins on >/dev/null
until_so 'the gateway takes logins' grep -q 'logins: at TCP port' gateway.log
for ((i = 0; i < 60; i++)); do
  echo K
  sleep 0.05 # no event: the interval of the requests
done 2>keys-in.log | at mallory timeout 30 openssl s_client -connect 198.51.100.1:51820 >keys-out.log 2>keys.log || true
asked=$(grep -c '^KEYUPDATE' keys.log || true)
((asked > 10 && asked < 40)) || fail "a client may ask for new keys $asked times"
echo "errors: a connection ends after $asked requests for new keys"
# What packets change in the table is nobody's change: it is not made anew.
tables=$(grep -c 'replaced' gateway.log)
at gateway nft add table inet another
gateway user add carol
gateway doctor | grep -v 'private.key' >doctor.log || true
! grep -q firewall doctor.log || fail "doctor finds another firewall: $(cat doctor.log)"
is 'replaced tables' "$(grep -c 'replaced' gateway.log)" "$tables"

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
  counter mallory_comes {}
  chain arriving {
    type filter hook prerouting priority -200
    iifname wg-gateway ip saddr 10.77.0.2 udp dport 20900 counter name alice_comes
    iifname wg-gateway ip saddr 10.77.0.3 udp dport 20900 counter name mallory_comes
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
# Of the errors that a command sends, so many leave the gateway, or reach it: a late one of before would be counted too.
declare -A all=()
adds() { # WHAT NUMBER COUNTER COMMAND...
  local what=$1 number=$2 name=$3 found
  shift 3
  "$@"
  # One that must not pass would come as soon as one that may.
  ((number > 0)) || sleep 0.3 # no event: errors that are on their way
  all[$name]=$((${all[$name]:-0} + number))
  counted() { found=$(count "$name") && ((found >= all[$name])); }
  until_so "$what: $number" counted
  ((found == all[$name])) || fail "$what: $((found - all[$name])) more than $number"
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

# To the server, about a connection of the sender's, and of another device's: as the server has it, behind masquerade.
adds 'an error of a device about its own connection' 1 server \
  error alice 10.77.0.2 203.0.113.2 tcp 203.0.113.2 443 10.77.0.2 "$four"
adds 'an error of a device about its own connection (IPv6)' 1 server \
  error alice fd77::2 2001:db8:3::2 tcp 2001:db8:3::2 443 fd77::2 "$six"
for target in 203.0.113.1 10.77.0.2; do
  adds "an error of a device about another one's connection, to the server ($target)" 0 server \
    error mallory 10.77.0.3 203.0.113.2 tcp 203.0.113.2 443 "$target" "$four"
done
for target in 2001:db8:3::1 fd77::2; do
  adds "an error of a device about another one's connection, to the server ($target)" 0 server \
    error mallory fd77::3 2001:db8:3::2 tcp 2001:db8:3::2 443 "$target" "$six"
done
# To the device.
adds "an error of a device about another one's connection, to it" 0 alice \
  error mallory 10.77.0.3 10.77.0.2 tcp 10.77.0.2 "$four" 203.0.113.2 443
adds "an error of a device about another one's connection, to it (IPv6)" 0 alice \
  error mallory fd77::3 fd77::2 tcp fd77::2 "$six" 2001:db8:3::2 443
adds 'an error of the network about a connection of a device' 1 alice \
  error server 203.0.113.2 203.0.113.1 tcp 203.0.113.1 "$four" 203.0.113.2 443
adds 'an error of the network about a connection of a device (IPv6)' 1 alice \
  error server 2001:db8:3::2 2001:db8:3::1 tcp 2001:db8:3::1 "$six" 2001:db8:3::2 443
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
adds "an error of a device about the gateway's connection with it" 1 own \
  error alice 10.77.0.2 10.77.0.1 tcp 10.77.0.1 "$own" 10.77.0.2 445
adds "an error of a device about the gateway's connection with another one" 0 own \
  error mallory 10.77.0.3 10.77.0.1 tcp 10.77.0.1 "$own" 10.77.0.2 445

# --- shares ------------------------------------------------------------------------------------------------------

# One device sends as fast as it can; of those of another one, the gateway reads all that the tunnel does not lose.
for word in greet ask; do
  came=$(count alice_comes) asked=$(count alice_asks) flooded=$(count mallory_comes)
  at mallory python3 "$PACKETS" "$word" 10.77.0.3 10.77.0.1 40000 4000 &
  flood=$!
  floods() { (($(count mallory_comes) > flooded + 100)); }
  until_so 'mallory floods the gateway' floods
  six_come() {
    at alice python3 "$PACKETS" "$word" 10.77.0.2 10.77.0.1 10 5
    (($(count alice_comes) > came + 5))
  }
  until_so "more than five of alice's datagrams ($word) come out of the tunnel" six_come
  kill "$flood" 2>/dev/null || true
  wait "$flood" 2>/dev/null || true
  all_read() { (($(count alice_comes) - came == $(count alice_asks) - asked)); }
  until_so "those of alice's datagrams ($word) that come are read" all_read
  echo "errors: beside a flood of another device, $(($(count alice_comes) - came)) datagrams ($word) come out of the tunnel, and all are read"
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
[[ $(grep -c 'replaced' gateway.log) == "$tables" ]] || fail "replaced tables: $(grep -c 'replaced' gateway.log), not $tables"

#!/usr/bin/env bash
# Port shadow (CVE-2021-3773): a device's flows through the gateway's masquerade take none of the gateway's own ports, so a person
# elsewhere still reaches WireGuard and logins, by IPv4 and IPv6; also where another table of this machine translates.
#
# $PACKETS sends what no other program sends (packets.py).
# shellcheck source=Tests/Gateway/GatewayServeTests/Scenes/scene.bash
source "$(dirname "${BASH_SOURCE[0]}")/scene.bash"

tell() {
  at gateway wg show || true
  at gateway nft list ruleset || true
  at gateway conntrack -L || true
  at gateway conntrack -f ipv6 -L || true
}

gateway() { at gateway "$ROAMWARD_BIN/roamward-gateway" "$@" --state /run/work/state; }
for name in gateway alice bob; do ip netns add "$name"; done
ip -n gateway link set lo up
join alice to-alice 192.0.2.2 192.0.2.1
join bob to-bob 198.51.100.2 198.51.100.1
ip -n gateway address add 2001:db8:2::1/64 dev to-bob nodad
ip -n bob address add 2001:db8:2::2/64 dev out0 nodad
# bob is behind a firewall, as people are: it answers nothing that bob has not asked for.
at bob nft 'table inet home {
  chain input { type filter hook input priority filter; policy drop; iifname "lo" accept; ct state established,related accept; icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept; }
}'

gateway init --endpoint 198.51.100.1 --pool 10.77.0.0/24 --pool fd77::/64 >/dev/null
gateway user add alice
gateway user add bob
gateway set settings.everybody.routes 198.51.100.0/24 2001:db8:2::/64 10.77.0.0/24
gateway access add internet --from user:alice --to everything
gateway device add alice/laptop >alice.conf
gateway device add bob/phone >bob.conf
sed -i 's/^Endpoint = .*/Endpoint = 192.0.2.1:51820/' alice.conf
(exec ip netns exec gateway "$ROAMWARD_BIN/roamward-gateway" serve --state /run/work/state) >gateway.log 2>&1 &
gateway set logins on >/dev/null
gateway set relay.port 8443 >/dev/null
until_so 'the gateway takes logins' grep -q 'relay: at TCP port' gateway.log
is_engine gateway
connect alice
at bob wireguard-go wg-bob >bob.log 2>&1
ip -n bob address add 10.77.0.3/32 dev wg-bob
ip -n bob link set wg-bob up
ip -n bob route add 10.77.0.0/24 dev wg-bob

flows() { at gateway conntrack -L -f "$1" -p udp --src-nat 2>/dev/null | grep -c "dport=$2 " || true; } # FAMILY PORT
has_flow() { (($(flows "$@") > 0)); }
# Whether bob's next handshake, from a port and by an address, is answered.
handshake() { # PORT ENDPOINT
  local peer
  # Without a session.
  for peer in $(at bob wg show wg-bob peers); do at bob wg set wg-bob peer "$peer" remove; done
  at bob wg setconf wg-bob <(wg-quick strip ./bob.conf)
  peer=$(at bob wg show wg-bob peers)
  at bob wg set wg-bob listen-port "$1" peer "$peer" endpoint "$2"
  at bob ping -c 1 -W 1 10.77.0.1 >/dev/null 2>&1 || true
  at bob wg show wg-bob latest-handshakes | found -v '\s0$'
}
connects() { at bob python3 "$PACKETS" connect "$1" "$2" "$3"; } # PORT ADDRESS PORT

attack() { # WHAT PORT: what translates, bob's port
  local port=$2 number
  at alice python3 "$PACKETS" udp 10.77.0.2 51820 198.51.100.2 "$port"
  at alice python3 "$PACKETS" udp fd77::2 51820 2001:db8:2::2 "$port"
  handshake "$port" 198.51.100.1:51820 || fail "$1: a device takes the handshakes of another one (IPv4)"
  handshake "$port" '[2001:db8:2::1]:51820' || fail "$1: a device takes the handshakes of another one (IPv6)"
  for number in 51820 8443; do
    at alice python3 "$PACKETS" syn 10.77.0.2 "$number" 198.51.100.2 "$port"
    at alice python3 "$PACKETS" syn fd77::2 "$number" 2001:db8:2::2 "$port"
    connects "$port" 198.51.100.1 "$number" || fail "$1: a device takes connections to TCP port $number (IPv4)"
    connects "$port" 2001:db8:2::1 "$number" || fail "$1: a device takes connections to TCP port $number (IPv6)"
  done
}

attack masquerade 40000
# Such a flow is translated all the same, to another port.
has_flow ipv4 40000 || fail 'a flow from the port of WireGuard is not translated'
has_flow ipv6 40000 || fail 'a flow from the port of WireGuard is not translated (IPv6)'

# What another table of the machine translates, as a pair's script does.
at gateway nft 'table inet other {
  chain postrouting {
    type nat hook postrouting priority srcnat - 1
    ip saddr 10.77.0.0/24 oifname "to-bob" snat ip to 198.51.100.1
    ip6 saddr fd77::/64 oifname "to-bob" snat ip6 to 2001:db8:2::1
  }
}'
attack 'another table' 41000
at gateway nft delete table inet other

# A port that a flow has, and that becomes the gateway's own.
at alice python3 "$PACKETS" syn 10.77.0.2 8444 198.51.100.2 42000
gateway set relay off >/dev/null
gateway set relay.port 8444 >/dev/null
until_so 'the relay has another port' grep -q 'relay: at TCP port 8444' gateway.log
connects 42000 198.51.100.1 8444 || fail 'a flow keeps a port that is the gateway'"'"'s now'

#!/usr/bin/env bash
# A pair of gateways with one key and one address on each side, which keepalived moves. One of them dies in the middle of TCP connections.
#
#   client -- router -- [switch] -- one, two -- [switch] -- server          one -- two: sync0
#
# $1: routed, or translated: with masquerade, and connections shared by conntrackd.
# shellcheck source=Packages/Gateway/Tests/GatewayServeTests/scene.bash
source "$(dirname "${BASH_SOURCE[0]}")/scene.bash"
# shellcheck source=Packages/Gateway/Tests/GatewayServeTests/postgresql.bash
source "$(dirname "${BASH_SOURCE[0]}")/postgresql.bash"
kind=$1

tell() {
  for name in one two; do
    at "$name" ip -br address || true
    at "$name" wg show || true
    at "$name" conntrack -L || true
  done
  ip netns exec client wg show || true
}

# --- the network -------------------------------------------------------------------------------------------------

on() { ip netns exec "$@"; }
for name in client router server; do
  ip netns add "$name"
  ip -n "$name" link set lo up
done
build one
build two
ip link add out0 netns client type veth peer name to-client netns router
ip -n client address add 198.51.100.2/24 dev out0
ip -n client link set out0 up
ip -n client route add default via 198.51.100.1
ip -n router address add 198.51.100.1/24 dev to-client
ip -n router link set to-client up
on router sysctl -q net.ipv4.ip_forward=1
for side in router:192.0.2.254 server:203.0.113.2; do
  ip -n "${side%:*}" link add switch type bridge
  ip -n "${side%:*}" address add "${side#*:}/24" dev switch
  ip -n "${side%:*}" link set switch up
done
cable() { # GATEWAY LINK NAMESPACE
  ip link add "to-$1" netns "$3" type veth peer name "$2" netns "${holder[$1]}"
  ip -n "$3" link set "to-$1" master switch up
  at "$1" ip link set "$2" up
}
for name in one two; do
  cable "$name" out0 router
  cable "$name" in0 server
done
ip link add sync0 netns "${holder[one]}" type veth peer name sync0 netns "${holder[two]}"
at one ip address add 10.255.0.1/30 dev sync0
at two ip address add 10.255.0.2/30 dev sync0
at one ip link set sync0 up
at two ip link set sync0 up
# The server knows the pool; with masquerade it sees the gateways' address alone.
[[ $kind == translated ]] || ip -n server route add 10.77.0.0/24 via 203.0.113.1

# --- the pair ----------------------------------------------------------------------------------------------------

nat=--no-nat
[[ $kind == routed ]] || nat=--nat
mkdir one two
gateway one store use "$target" >/dev/null
gateway one init --endpoint 192.0.2.10 --pool 10.77.0.0/24 "$nat" >/dev/null
cp one/private.key two/
gateway two store use "$target"
gateway one user add alice
gateway one settings set --route 203.0.113.0/24
gateway one access allow flows --from user:alice --to 203.0.113.0/24 --protocol tcp --port 4431
gateway one peer add alice/laptop >client.conf
serve one
serve two

# The files of the guide, with this scene's folders.
own() { # GATEWAY
  local number=1 other=2
  [[ $1 == one ]] || { number=2 other=1; }
  sed "s|/etc/keepalived/gateway-pair|/run/work/$1/gateway-pair|" "$EXAMPLES/keepalived.conf" >"$1/keepalived.conf"
  sed "s|roamward-gateway take-over|$ROAMWARD_BIN/roamward-gateway take-over --state /run/work/$1|" "$EXAMPLES/gateway-pair" >"$1/gateway-pair"
  sed "s|\(IPv4_address\) 10.255.0.1\$|\1 10.255.0.$number|; s|\(Destination_Address\) 10.255.0.2|\1 10.255.0.$other|" \
    "$EXAMPLES/conntrackd.conf" >"$1/conntrackd.conf"
  # Not the names of a service of this machine.
  sed -i "s|/var/lock/conntrackd.lock|/run/work/$1/conntrackd.lock|; s|/var/run/conntrackd.ctl|/run/work/$1/conntrackd.ctl|; s|Syslog on|Syslog off|" \
    "$1/conntrackd.conf"
  sed -i "s|conntrackd -\([a-zA-Z]\)\$|conntrackd -C /run/work/$1/conntrackd.conf -\1|" "$1/gateway-pair"
  [[ $kind == translated ]] || sed -i 's/command -v conntrackd/false/' "$1/gateway-pair"
  chmod 0700 "$1/gateway-pair"
}
pair() { # GATEWAY
  own "$1"
  if [[ $kind == translated ]]; then
    (exec nsenter --target="${holder[$1]}" --net --mount conntrackd -C "/run/work/$1/conntrackd.conf") >"$1-conntrackd.log" 2>&1 &
    until_so 'conntrackd runs' at "$1" conntrackd -C "/run/work/$1/conntrackd.conf" -s
  fi
  (exec nsenter --target="${holder[$1]}" --net --mount keepalived --vrrp --dont-fork --log-console -f "/run/work/$1/keepalived.conf" \
    -p "/run/work/$1/keepalived.pid" -r "/run/work/$1/vrrp.pid") >"$1-keepalived.log" 2>&1 &
}
has_address() { at "$1" ip -br address show out0 | grep -q 192.0.2.10; }
pair one
until_so 'the first gateway has the address' has_address one
pair two
both_known() { [[ $(sql 'SELECT count(DISTINCT id) FROM partners') == 2 ]]; }
until_so 'each gateway knows of the other' both_known

# What breaks in a failover is said before.
if [[ $kind == translated ]]; then
  at one "$ROAMWARD_BIN/roamward-gateway" doctor --state /run/work/one >doctor.log || fail "the doctor finds problems: $(<doctor.log)"
else
  gateway one pool add branch 10.78.0.0/24 --nat
  ! gateway one doctor >doctor.log || fail 'the doctor does not say that connections break'
  grep -q 'connections by masquerade (pool branch) break' doctor.log || fail "doctor: $(<doctor.log)"
  gateway one pool remove branch
fi

# --- a download ------------------------------------------------------------------------
listens() { on server ss -Hltn | grep -q ':4431 '; }

on client wireguard-go wg-client >client.log 2>&1
on client wg setconf wg-client <(wg-quick strip ./client.conf)
ip -n client address add "$(sed -n 's/^Address = //p' client.conf)" dev wg-client
ip -n client link set wg-client up
ip -n client route add 203.0.113.0/24 dev wg-client
address=$(on client ip -br address show wg-client)
on server "$FLOW" send 4431 /run/work/enough >sent.log 2>&1 &
until_so 'the server listens' listens
until_so 'the client reaches the server' on client ping -c 1 -W 1 192.0.2.10
(exec ip netns exec client "$FLOW" receive 203.0.113.2 4431 down) >down.log 2>&1 &
download=$!
count() { cat "$1" 2>/dev/null || echo 0; }
more() { (($(count "$1") > $2)); }
until_so 'the download runs' more down 50
has_endpoint() { at two wg show wg-gateway endpoints | grep -q 198.51.100.2; }
until_so 'the other gateway knows where the client is' has_endpoint
! has_address two || fail 'both have the address'

# --- the active one dies -------------------------------------------------------------------------------------------

# Without a last word: the cable between the two first, then each process of it, then its other cables.
begin=$(date +%s%N)
at one ip link set sync0 down
for process in /proc/[0-9]*; do
  number=${process#/proc/}
  # The namespaces stay.
  [[ $number == "${holder[one]}" || $(readlink "$process/ns/net") != "$(readlink "/proc/${holder[one]}/ns/net")" ]] || kill -KILL "$number"
done
ip -n router link set to-one down
ip -n server link set to-one down
before=$(count down)
until_so 'the other gateway has the address' has_address two
echo "$kind: address after $(milliseconds "$begin") ms"
until_so 'the download goes on' more down $((before + 20))
echo "$kind: download after $(milliseconds "$begin") ms"
touch enough
wait "$download" || fail "the download ends badly: $(<down.log)"
echo "$kind: $(<down.log)"
[[ $(on client ip -br address show wg-client) == "$address" ]] || fail 'the client has other addresses'
# A new connection, which the rules judge, and one that they refuse.
! on client timeout 2 bash -c 'exec 3<>/dev/tcp/203.0.113.2/4433' 2>/dev/null || fail 'a port without a rule is reached'
gateway two doctor >doctor.log || fail "the doctor finds problems: $(<doctor.log)"

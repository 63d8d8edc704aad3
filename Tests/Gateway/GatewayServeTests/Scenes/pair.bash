#!/usr/bin/env bash
# A pair of gateways with one key and one address on each side, which keepalived moves. One of them dies in the middle of TCP connections.
#
#   client -- router -- [switch] -- one, two -- [switch] -- server          one -- two: sync0
#
# $1: routed, or translated: with masquerade, and connections shared by conntrackd. Or late: the same, where keepalived's script has to wait
# for a processor, and one gateway is stopped and one hangs first. Their client is a stock one. Or with our agent and its provider instead,
# with pools that are routed: agent, or agent6: the address to the clients is one of IPv6.
# shellcheck source=Tests/Gateway/GatewayServeTests/Scenes/scene.bash
source "$(dirname "${BASH_SOURCE[0]}")/scene.bash"
# shellcheck source=Tests/Gateway/GatewayServeTests/Scenes/postgresql.bash
source "$(dirname "${BASH_SOURCE[0]}")/postgresql.bash"
kind=$1 is_late=
[[ $kind != late ]] || kind=translated is_late=1
endpoint=192.0.2.10 seen=198.51.100.2
[[ $kind != agent6 ]] || { endpoint=2001:db8:1::10 seen=2001:db8:f::2; }

tell() {
  for name in one two; do
    at "$name" ip -br address || true
    at "$name" wg show || true
    at "$name" conntrack -L || true
  done
  ip netns exec client wg show || true
  [[ $kind != agent* ]] || roamward status || true
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
if [[ $kind == agent6 ]]; then
  on router sysctl -q net.ipv6.conf.all.forwarding=1
  ip -n client address add 2001:db8:f::2/64 dev out0 nodad
  ip -n client route add default via 2001:db8:f::1
  ip -n router address add 2001:db8:f::1/64 dev to-client nodad
  ip -n router address add 2001:db8:1::254/64 dev switch nodad
fi
# The server knows the pool; with masquerade it sees the gateways' address alone.
[[ $kind == translated ]] || ip -n server route add 10.77.0.0/24 via 203.0.113.1

# --- the pair ----------------------------------------------------------------------------------------------------

nat=--no-nat bracketed=$endpoint
[[ $endpoint != *:* ]] || bracketed="[$endpoint]"
[[ $kind != translated ]] || nat=--nat
mkdir one two
gateway one store move --existing "$target" >/dev/null
gateway one init --endpoint "$bracketed" --pool 10.77.0.0/24 "$nat" >/dev/null
cp one/private.key two/
gateway two store move --existing "$target"
gateway one user add alice
gateway one set settings.everybody.routes 203.0.113.0/24
gateway one access add flows --from user:alice --to 203.0.113.0/24 --protocol tcp --port 4431
if [[ $kind == agent* ]]; then
  gateway one user set alice --password <<<'correct horse'
  gateway one set logins on >/dev/null
  cp one/login.pem two/
else
  gateway one device add alice/laptop >client.conf
fi
serve one
serve two

# The files of the guide, with this scene's folders.
own() { # GATEWAY
  local number=1 other=2
  [[ $1 == one ]] || { number=2 other=1; }
  sed "s|/etc/keepalived/gateway-pair|/run/work/$1/gateway-pair|" "$EXAMPLES/keepalived.conf" >"$1/keepalived.conf"
  sed "s|roamward-gateway take-over|$ROAMWARD_BIN/roamward-gateway take-over --state /run/work/$1|; s|/run/gateway-pair.lock|/run/work/$1/gateway-pair.lock|" \
    "$EXAMPLES/gateway-pair" >"$1/gateway-pair"
  sed "s|\(IPv4_address\) 10.255.0.1\$|\1 10.255.0.$number|; s|\(Destination_Address\) 10.255.0.2|\1 10.255.0.$other|" \
    "$EXAMPLES/conntrackd.conf" >"$1/conntrackd.conf"
  # Not the names of a service of this machine.
  sed -i "s|/var/lock/conntrackd.lock|/run/work/$1/conntrackd.lock|; s|/var/run/conntrackd.ctl|/run/work/$1/conntrackd.ctl|; s|Syslog on|Syslog off|" \
    "$1/conntrackd.conf"
  sed -i "s|conntrackd -\([a-zA-Z]\)\$|conntrackd -C /run/work/$1/conntrackd.conf -\1|" "$1/gateway-pair"
  [[ $kind == translated ]] || sed -i 's/command -v conntrackd/false/' "$1/gateway-pair"
  [[ ! $is_late ]] || sed -i '2i sleep 1.5' "$1/gateway-pair"
  # Addresses of another family than the first are not in its announcements.
  [[ $kind != agent6 ]] || sed -i "s|^  virtual_routes {|  virtual_ipaddress_excluded {\n    $endpoint/64 dev out0\n  }\n&\n    default via 2001:db8:1::254 dev out0|" \
    "$1/keepalived.conf"
  chmod 0700 "$1/gateway-pair"
}
pair() { # GATEWAY
  own "$1"
  if [[ $kind == translated ]]; then
    (exec nsenter --target="${holder[$1]}" --net --mount conntrackd -C "/run/work/$1/conntrackd.conf") >"$1-conntrackd.log" 2>&1 &
    until_so 'conntrackd runs' at "$1" conntrackd -C "/run/work/$1/conntrackd.conf" -s
  fi
  keep "$1"
}
keep() { # GATEWAY
  (exec nsenter --target="${holder[$1]}" --net --mount keepalived --vrrp --dont-fork --log-console -f "/run/work/$1/keepalived.conf" \
    -p "/run/work/$1/keepalived.pid" -r "/run/work/$1/vrrp.pid") >>"$1-keepalived.log" 2>&1 &
}
has_address() { at "$1" ip -br address show out0 | found "$endpoint"; }
pair one
until_so 'the first gateway has the address' has_address one
pair two
both_known() { [[ $(sql 'SELECT count(DISTINCT id) FROM partners') == 2 ]]; }
until_so 'each gateway knows of the other' both_known

# What breaks in a failover is said before.
if [[ $kind == translated ]]; then
  at one "$ROAMWARD_BIN/roamward-gateway" doctor --state /run/work/one >doctor.log || fail "the doctor finds problems: $(<doctor.log)"
else
  gateway one set pools.branch '{ prefix: 10.78.0.0/24, masquerade: true }'
  ! gateway one doctor >doctor.log || fail 'the doctor does not say that connections break'
  grep -q 'connections by masquerade (pool branch) break' doctor.log || fail "doctor: $(<doctor.log)"
  gateway one unset pools.branch
fi

# --- a download ------------------------------------------------------------------------
listens() { on server ss -Hltn | found ':4431 '; }

stock_client() {
  link=wg-client
  on client wireguard-go wg-client >client.log 2>&1
  on client wg setconf wg-client <(wg-quick strip ./client.conf)
  ip -n client address add "$(sed -n 's/^Address = //p' client.conf)" dev wg-client
  ip -n client link set wg-client up
  ip -n client route add 203.0.113.0/24 dev wg-client
}
roamward() { ROAMWARD_SOCKET=/run/work/agent.socket "$ROAMWARD_BIN/roamward" "$@"; }
# Our agent, with the provider as it is installed: as a user without privileges, which reaches its program and the device.
agent_client() {
  link=office
  local pin
  pin=$(gateway one login show | grep -o 'sha256//[A-Za-z0-9+/=]*')
  mkdir -m 0755 providers
  mkdir policies agent
  chmod 0755 /run/work
  install -m 0755 "$ROAMWARD_BIN/roamward-wireguard" providers/
  install -m 0755 "$ROAMWARD_BIN/roamward-provider" providers/client
  sed -e 's|^program: .*|program: /run/work/providers/client|; s|^user: .*|user: nobody|' "$EXAMPLES/../../packaging/providers/roamward.yaml" \
    >providers/roamward.yaml
  chmod 0644 providers/roamward.yaml
  mknod tun c 10 200
  chmod 0666 tun
  mount --bind tun /dev/net/tun
  echo 'correct horse' >policies/password
  cat >policies/office.yaml <<POLICY
version: 1
tunnels:
  office:
    provider:
      installed:
        name: /run/work/providers/roamward.yaml
        options: { server: "$bracketed:51820", pin: "$pin", username: alice, device: laptop }
        credentials: { password: password }
    on-demand: { rules: [ { action: connect } ] }
POLICY
  : >resolv.conf
  (exec ip netns exec client "$ROAMWARD_BIN/roamwardd" --policies /run/work/policies --state-dir /run/work/agent \
    --socket /run/work/agent.socket --resolv-conf /run/work/resolv.conf --log-level debug) >client.log 2>&1 &
  until_so 'the agent answers' roamward status
  roamward wait office --for connected --timeout 600s >/dev/null || fail 'the tunnel is not connected'
}
# Since when our client's tunnel has been connected.
since() { [[ $kind != agent* ]] || roamward status --json | jq -c '.tunnels[0] | [.state, .since]'; }

if [[ $kind == agent* ]]; then agent_client; else stock_client; fi
address=$(on client ip -br address show "$link")
connected=$(since)
on server "$FLOW" send 4431 /run/work/enough >sent.log 2>&1 &
until_so 'the server listens' listens
until_so 'the client reaches the server' on client ping -c 1 -W 1 "$endpoint"
(exec ip netns exec client "$FLOW" receive 203.0.113.2 4431 down) >down.log 2>&1 &
download=$!
count() { cat "$1" 2>/dev/null || echo 0; }
more() { (($(count "$1") > $2)); }
until_so 'the download runs' more down 50
# A gateway without a processor for a moment is not heard, and both have the addresses; then the one that is higher on `sync0` keeps them.
is_settled() {
  if has_address two; then active=two standby=one; else active=one standby=two; fi
  has_address "$active" && ! has_address "$standby"
}
has_endpoint() { at "$standby" wg show wg-gateway endpoints | found "$seen"; }
knows_download() { at "$standby" conntrackd -C "/run/work/$standby/conntrackd.conf" -e | found 'dport=4431'; }
is_closed() { at "$standby" nft list table inet gateway_pair | found drop; }
may_die() {
  until_so 'one gateway alone has the addresses' is_settled
  until_so 'the other gateway knows where the client is' has_endpoint
  [[ $kind == translated ]] || return 0
  until_so 'the other gateway knows of the download' knows_download
  until_so 'the other gateway answers nothing at the addresses, which may come to it' is_closed
}
may_die
if [[ $is_late ]]; then
  kill -TERM "$(<"$active/keepalived.pid")"
  until_so 'the other gateway has the addresses of one that is stopped' has_address "$standby"
  until_so 'the download goes on where one was stopped' more down $(($(count down) + 20))
  keep "$active"
  may_die
  hanging=$(<"$active/vrrp.pid")
  kill -STOP "$hanging"
  until_so 'the other gateway has the addresses of one that hangs' has_address "$standby"
  kill -CONT "$hanging"
  may_die
  until_so 'the download goes on where one has hung' more down $(($(count down) + 20))
fi

# --- the active one dies -------------------------------------------------------------------------------------------

# Without a last word: the cable between the two first, then each process of it, then its other cables.
begin=$(date +%s%N)
at "$active" ip link set sync0 down
for process in /proc/[0-9]*; do
  number=${process#/proc/}
  # The namespaces stay. Some end by themselves meanwhile.
  [[ $number == "${holder[$active]}" || $(readlink "$process/ns/net") != "$(readlink "/proc/${holder[$active]}/ns/net")" ]] ||
    kill -KILL "$number" 2>/dev/null || true
done
ip -n router link set "to-$active" down
ip -n server link set "to-$active" down
before=$(count down)
until_so 'the other gateway has the addresses' has_address "$standby"
echo "$kind: address after $(milliseconds "$begin") ms"
until_so 'the download goes on' more down $((before + 20))
echo "$kind: download after $(milliseconds "$begin") ms"
touch enough
wait "$download" || fail "the download ends badly: $(<down.log)"
echo "$kind: $(<down.log)"
[[ $kind != agent* ]] || echo "$kind: $connected"
[[ $(on client ip -br address show "$link") == "$address" ]] || fail 'the client has other addresses'
[[ $(since) == "$connected" ]] || fail "the tunnel was not connected all the time: $(since), before $connected"
# A new connection, which the rules judge, and one that they refuse.
! on client timeout 2 bash -c 'exec 3<>/dev/tcp/203.0.113.2/4433' 2>/dev/null || fail 'a port without a rule is reached'
gateway "$standby" doctor >doctor.log || fail "the doctor finds problems: $(<doctor.log)"

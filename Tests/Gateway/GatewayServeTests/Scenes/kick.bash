#!/usr/bin/env bash
# A device with connections through the gateway's masquerade, by IPv4 and IPv6, is cut off: its packets stop, by the firewall and by
# WireGuard, each alone. When it may connect again, with the same addresses, the old connections stay dead and new ones work.
# shellcheck source=Tests/Gateway/GatewayServeTests/Scenes/scene.bash
source "$(dirname "${BASH_SOURCE[0]}")/scene.bash"

tell() {
  at gateway wg show || true
  at gateway nft list ruleset || true
  at gateway conntrack -L || true
  at gateway conntrack -f ipv6 -L || true
}

gateway() { at gateway "$ROAMWARD_BIN/roamward-gateway" "$@" --state /run/work/state; }
serve() {
  (exec ip netns exec gateway "$ROAMWARD_BIN/roamward-gateway" serve --state /run/work/state) >"$1.log" 2>&1 &
  serving=$!
}

# --- the network -------------------------------------------------------------------------------------------------

for name in gateway alice server; do ip netns add "$name"; done
ip -n gateway link set lo up
join alice to-alice 192.0.2.2 192.0.2.1
join server to-server 203.0.113.2 203.0.113.1
ip -n gateway address add 2001:db8:3::1/64 dev to-server nodad
ip -n server address add 2001:db8:3::2/64 dev out0 nodad
at server busybox nc -ll -p 443 -e busybox cat &
at server busybox nc -ll -p 444 -e busybox yes &

gateway init --endpoint 192.0.2.1 --pool 10.77.0.0/24 --pool fd77::/64 >/dev/null
gateway user add alice
gateway set settings.everybody.routes 203.0.113.0/24 2001:db8:3::/64
gateway access add web --from user:alice --to 203.0.113.0/24,2001:db8:3::/64 --protocol tcp --port 443-444
gateway device add alice/laptop >alice.conf
serve first
connect alice

# --- what is counted ---------------------------------------------------------------------------------------------

# Of each connection, by the port of the client: what comes out of the tunnel, before the gateway's table sees it, and what leaves.
at gateway nft 'table inet watch {
  chain arriving { type filter hook prerouting priority -200; }
  chain leaving { type filter hook postrouting priority 200; }
  chain returning { type filter hook postrouting priority 200; }
}'
watch() { # PORT
  at gateway nft "table inet watch {
    counter arriving_$1 {}
    counter leaving_$1 {}
    counter returning_$1 {}
  }
  add rule inet watch arriving iifname wg-gateway tcp sport $1 counter name arriving_$1
  add rule inet watch leaving oifname to-server tcp sport $1 counter name leaving_$1
  add rule inet watch returning oifname wg-gateway tcp dport $1 counter name returning_$1"
}
count() { at gateway nft list counter inet watch "$1_$2" | sed -n 's/.*packets \([0-9]*\) .*/\1/p'; } # KIND PORT
above() { (($(count "$1" "$2") > $3)); }
grows() { above "$1" "$2" "$(count "$1" "$2")" || { sleep 0.3; false; }; } # no event: packets that are on their way

# A connection of alice's that echoes lines, and its port there.
declare -A line port
open() { # NAME ADDRESS PORT
  mkfifo "$1.in"
  at alice busybox nc "$2" "$3" <"$1.in" >"$1.out" 2>/dev/null &
  exec {fd}>"$1.in"
  line[$1]=$fd
}
# Earlier connections to the same server are established too.
new_port() { # ADDRESS PORT
  at alice ss -Htn state established "dst [$1]:$2" | sed -n 's/.*:\([0-9]*\) .*/\1/p' | grep -vxF -f <(printf '%s\n' "${port[@]}") || true
}
say() { echo "$2" >&"${line[$1]}"; } # NAME LINE
heard() { grep -q "$2" "$1.out"; }
entries() { { at gateway conntrack -L -p tcp; at gateway conntrack -f ipv6 -L -p tcp; } 2>/dev/null | grep -cE "src=($1) " || true; }
has_entries() { (($(entries '10.77.0.2|fd77::2') >= $1)); }
has_none() { (($(entries '10.77.0.2|fd77::2') == 0)); }
has_peers() { [[ $(at gateway wg show wg-gateway peers | wc -l) == "$1" ]]; }

start_flows() { # SUFFIX
  local name address
  for name in four six; do
    address=203.0.113.2
    [[ $name == four ]] || address=2001:db8:3::2
    open "$name$1" "$address" 443
    say "$name$1" hello
    until_so "$name$1 is connected" heard "$name$1" hello
    port[$name$1]=$(new_port "$address" 443)
    [[ ${port[$name$1]} =~ ^[0-9]+$ ]] || fail "the port of $name$1 is one of: ${port[$name$1]}"
    watch "${port[$name$1]}"
  done
}

# Those of `busy` send while the device may not: TCP then waits longer from one attempt to the next. The others stay silent meanwhile.
start_flows busy
start_flows 1
is_engine gateway
# One whose server never stops sending.
at alice bash -c 'exec 3<>/dev/tcp/203.0.113.2/444; exec cat <&3' >/dev/null 2>&1 &
has_stream() { [[ -n $(new_port 203.0.113.2 444) ]]; }
until_so 'the stream is connected' has_stream
stream=$(new_port 203.0.113.2 444)
watch "$stream"
until_so 'the stream flows' grows returning "$stream"
has_entries 5 || fail 'connection tracking does not know the connections'

# Without waiting until the client has noticed that its session is gone.
reconnect() { at alice wg setconf wg-alice <(wg-quick strip ./alice.conf); }

# --- cut off -----------------------------------------------------------------------------------------------------

begin=$(date +%s%N)
gateway user lock alice
until_so 'the peer is gone' has_peers 0
returned=$(count returning "$stream")
echo "kick: cut off $((($(date +%s%N) - begin) / 1000000)) ms after the command began"
until_so 'connection tracking has forgotten the device' has_none
# The server went on sending, and was told that there is no such connection any more.
server_sends() { [[ -n $(at server ss -Htn state established 'sport = :444') ]]; }
until_so 'the server stops sending' eval '! server_sends'
[[ $(count returning "$stream") == "$returned" ]] || fail 'the server still reaches the device'

# The firewall alone: WireGuard lets the device in again, as if the gateway had only half of the work done.
device=$(at alice wg show wg-alice public-key)
kill -STOP "$serving"
at gateway wg set wg-gateway peer "$device" allowed-ips 10.77.0.2/32,fd77::2/128
reconnect
for name in fourbusy sixbusy; do
  left=$(count leaving "${port[$name]}")
  say "$name" while-locked
  came=$(count arriving "${port[$name]}")
  until_so "packets of $name come out of the tunnel" above arriving "${port[$name]}" "$((came + 1))"
  [[ $(count leaving "${port[$name]}") == "$left" ]] || fail "packets of $name pass the firewall of a locked user"
done
has_none || fail 'a connection of a locked user is tracked again'
kill -CONT "$serving"
gateway user add bob
until_so 'the gateway removes that peer' has_peers 0
# WireGuard alone: no packet of the device comes out of the tunnel.
came=$(count arriving "${port[fourbusy]}")
say fourbusy without-a-peer
sleep 0.5 # no event: packets that must not come
[[ $(count arriving "${port[fourbusy]}") == "$came" ]] || fail 'packets without a peer come out of the tunnel'

# --- it may connect again ------------------------------------------------------------------------------------------

# The same connections do not go on, and new ones work.
old_are_dead() { # SUFFIX
  local name came left
  for name in "four$1" "six$1"; do
    came=$(count arriving "${port[$name]}") left=$(count leaving "${port[$name]}")
    say "$name" after-the-lock
    until_so "packets of $name come again" above arriving "${port[$name]}" "$((came + 1))"
    [[ $(count leaving "${port[$name]}") == "$left" ]] || fail "the old connection $name goes on after the unlock"
    ! heard "$name" after-the-lock || fail "the old connection $name carries data after the unlock"
  done
}
gateway user unlock alice
until_so 'the peer is there again' has_peers 1
reconnect
start_flows 2
[[ $(gateway device list) == 'alice/laptop  10.77.0.2, fd77::2' ]] || fail "other addresses: $(gateway device list)"
old_are_dead 1
say four2 still
until_so 'a new connection goes on' heard four2 still

# --- cut off while no gateway runs, and by the removal of the device ------------------------------------------------

kill -KILL "$serving"
wait "$serving" 2>/dev/null || true
gateway user lock alice
has_entries 2 || fail 'without a gateway something forgets connections'
serve second
until_so 'a gateway that starts cuts the device off' has_peers 0
until_so 'and forgets its connections' has_none
gateway user unlock alice
until_so 'the peer is there again' has_peers 1
reconnect
start_flows 3
old_are_dead 2
gateway device remove alice/laptop
until_so 'the removed device is gone' has_peers 0
until_so 'and its connections are forgotten' has_none
gateway device add alice/laptop --public-key "$device"
until_so 'it is there again' has_peers 1
reconnect
start_flows 4
old_are_dead 3
kill "$serving"
wait "$serving" || fail 'the gateway ends with an error'
gateway cleanup >/dev/null

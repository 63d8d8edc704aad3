#!/usr/bin/env bash
# A gateway, two stock clients and a server, each in a network namespace of its own.
# shellcheck source=Tests/Gateway/GatewayServeTests/Scenes/scene.bash
source "$(dirname "${BASH_SOURCE[0]}")/scene.bash"
typed=0 serving=''

tell() {
  at gateway wg show || true
  at gateway nft list ruleset || true
}

gateway() { at gateway "$ROAMWARD_BIN/roamward-gateway" "$@" --state /run/work/state; }
# A line that an administrator types to get from nothing to a connected client.
typed() {
  typed=$((typed + 1))
  gateway "$@"
}

# --- the network -------------------------------------------------------------------------------------------------

for name in gateway alice bob server; do ip netns add "$name"; done
ip -n gateway link set lo up
join alice to-alice 192.0.2.2 192.0.2.1
join bob to-bob 198.51.100.2 198.51.100.1
join server to-server 203.0.113.2 203.0.113.1
# The server's network knows nothing of the tunnel, and answers what carries the gateway's address.
for port in 443 444; do at server busybox nc -ll -p "$port" -e busybox cat & done
at gateway busybox nc -ll -p 445 -e busybox cat &

# --- helpers -----------------------------------------------------------------------------------------------------

# Whether a new connection from a client to an address and port carries a line there and back.
reaches() { # NAME ADDRESS PORT
  # shellcheck disable=SC2016 # expanded there
  at "$1" timeout "${limit:-2}" bash -c 'exec 3<>"/dev/tcp/$0/$1" && echo line >&3 && read -r -t 30 back <&3 && [[ $back == line ]]' "$2" "$3" 2>/dev/null
}
is_refused() { ! limit=1 reaches "$@"; }
has_peers() { [[ $(at gateway wg show wg-gateway peers | wc -l) == "$1" ]]; }

has_session() { at "$1" wg show "wg-$1" latest-handshakes | found -v '\s0$'; }

serve() {
  # The process itself is killed later, not a shell around it.
  (exec ip netns exec gateway "$ROAMWARD_BIN/roamward-gateway" serve --state /run/work/state) >"$1.log" 2>&1 &
  serving=$!
}

# Another program's link is left alone.
ip -n gateway tuntap add dev wg-gateway mode tun
[[ $(gateway init --endpoint 192.0.2.1 --pool 10.77.0.0/24 | head -n 1) == 'gateway 192.0.2.1:51820, link wg-gateway' ]] ||
  fail 'init does not say what it has made'
# What is for several gateways has no effect with a file.
! gateway take-over 2>refused.log || fail 'a gateway alone takes over'
grep -q 'the store is a file' refused.log || fail "a refusal without a reason: $(cat refused.log)"
! gateway set store.stale-after 1h 2>refused.log || fail 'a file is never away'
grep -q 'the store is a file' refused.log || fail "a refusal without a reason: $(cat refused.log)"
gateway unset store.stale-after
# What a rule says twice holds, or is refused.
gateway access add twice --deny --from everybody --to 203.0.113.0/24 --to 198.51.100.0/24
rule=$(gateway access list)
[[ $rule == *203.0.113.0/24* && $rule == *198.51.100.0/24* ]] || fail "of two destinations one is left: $rule"
! gateway access add both --deny --from user:alice --from everybody --to everything 2>refused.log || fail 'a rule with two sources'
grep -q 'a rule has one --from' refused.log || fail "a refusal without a reason: $(cat refused.log)"
! gateway access add both --deny --from everybody --to 203.0.113.0/24 --to group:staff 2>refused.log || fail 'a rule with prefixes and a group'
grep -q 'only prefixes go together' refused.log || fail "a refusal without a reason: $(cat refused.log)"
serve foreign
until_so 'a link of another program is reported' grep -q 'exists already' foreign.log
kill "$serving"
wait "$serving" || fail 'the gateway ends with an error'
ip -n gateway link del wg-gateway || fail 'the link of another program is gone'
gateway cleanup >/dev/null
rm -r state

# --- from nothing to a connected client (G-1) ----------------------------------------------------------------------

typed init --endpoint 192.0.2.1 --pool 10.77.0.0/24 --pool fd77::/64 >/dev/null
typed user add alice
typed set settings.everybody.routes 203.0.113.0/24 10.77.0.0/24 fd77::/64
typed access add web --from user:alice --to 203.0.113.0/24 --protocol tcp --port 443
typed device add alice/laptop >alice.conf
serve first
(exec ip netns exec gateway "$ROAMWARD_BIN/roamward-gateway" monitor --state /run/work/state) >monitor.out 2>&1 &
connect alice
until_so 'alice reaches the server' reaches alice 203.0.113.2 443
((typed <= 8)) || fail "$typed lines were typed"
is_engine gateway
gateway doctor >/dev/null || fail "the doctor finds problems: $(gateway doctor || true)"
gateway status | found 'alice/laptop  10.77.0.2, fd77::2  connected' || fail "status: $(gateway status)"

# Who watches sees it, and a monitoring system too.
until_so 'the monitor shows the device' grep -q '  device alice/laptop connected from 192.0.2.2:' monitor.out
gateway metrics >metrics.out
for line in 'roamward_gateway_up 1' 'roamward_gateway_devices{state="connected"} 1' 'roamward_gateway_leases{pool="pool1",family="ipv4",state="leased"} 1'; do
  grep -qxF "$line" metrics.out || fail "not in the metrics: $line; $(cat metrics.out)"
done
grep -q '^roamward_gateway_bytes_total{direction="received"} [1-9]' metrics.out || fail "no bytes: $(cat metrics.out)"
! grep -qE 'alice|192\.0\.2' metrics.out || fail "the metrics name a person or an address: $(cat metrics.out)"
gateway metrics --output gateway.prom
[[ $(tail -n 1 gateway.prom) != '# EOF' && $(head -n 1 gateway.prom) == '# HELP roamward_gateway_up '* ]] || fail "the file: $(cat gateway.prom)"

# The first change after the start reaches a device, and the gateway looks at no other.
gateway device add alice/phone >/dev/null
until_so 'the phone is a peer' has_peers 2
until_so 'the phone alone is changed' \
  grep -q '^roamward-gateway: wg set wg-gateway peer (hidden) allowed-ips 10.77.0.3/32,fd77::3/128$' first.log
gateway device remove alice/phone
until_so 'the phone is no peer' has_peers 1

# --- access ------------------------------------------------------------------------------------------------------

is_refused alice 203.0.113.2 444 || fail 'a port without a rule is reached'
is_refused alice 10.77.0.1 445 || fail 'a service of the gateway itself is reached'
! at alice ping -c 1 -W 1 fd77::1 >/dev/null || fail 'the gateway answers without a rule'
gateway access add ping --from user:alice --to fd77::1 --protocol icmp
until_so 'alice reaches the gateway by IPv6' at alice ping -c 1 -W 1 fd77::1
! gateway evaluate alice/laptop 203.0.113.2:444 >/dev/null || fail 'evaluate lets a packet pass that no rule allows'
gateway evaluate alice/laptop 203.0.113.2:443 >/dev/null || fail 'evaluate stops a packet that passes'
gateway user add bob
gateway device add bob/phone | sed 's/192.0.2.1/198.51.100.1/' >bob.conf
connect bob
is_refused bob 203.0.113.2 443 || fail 'another user than that of the rule reaches the server'
until_so 'bob has a session' has_session bob
is_refused bob 203.0.113.2 443 || fail 'another user than that of the rule reaches the server, with a session'
at alice busybox nc -ll -p 446 -e busybox cat &
is_refused bob 10.77.0.2 446 || fail 'clients reach one another without a rule'
gateway group add staff
gateway group set staff --add alice
gateway access add peers --from everybody --to group:staff --protocol tcp --port 446
until_so 'bob reaches alice by the new rule' reaches bob 10.77.0.2 446
gateway access add more --from everybody --to 203.0.113.2/32 --protocol tcp --port 443-444
until_so 'bob reaches the server by the new rule' reaches bob 203.0.113.2 444
gateway evaluate bob 203.0.113.2:444 >/dev/null || fail 'evaluate disagrees'
# A server that goes on sending is stopped too, though nothing comes from the device any more.
at server busybox nc -ll -p 447 -e busybox yes &
gateway access add stream --from user:alice --to 203.0.113.2 --protocol tcp --port 447
until_so 'alice reaches the stream' at alice timeout 2 bash -c 'exec 3<>/dev/tcp/203.0.113.2/447; read -r line <&3'
at alice bash -c 'exec cat </dev/tcp/203.0.113.2/447' >/dev/null &
received() { at alice cat /sys/class/net/wg-alice/statistics/rx_packets; }
grows() { local before; before=$("$1") && sleep 0.3 && (($("$1") > before + 10)); } # no event: packets that are on their way
stands() { ! grows "$1"; }
until_so 'the stream flows' grows received
gateway access add never --deny --from everybody --to everything --before web
until_so 'a rule that denies holds' is_refused alice 203.0.113.2 443
until_so 'and stops what a server sends' stands received
gateway access remove stream
gateway access remove never
until_so 'and no longer' reaches alice 203.0.113.2 443

# --- a gateway that is killed ------------------------------------------------------------------------------------

coproc flow {
  # shellcheck disable=SC2016 # expanded there
  exec ip netns exec alice bash -c '
    exec 3<>/dev/tcp/203.0.113.2/443
    while read -r line; do echo "$line" >&3; read -r -t 30 back <&3; echo "$back"; done'
}
flows() {
  local back
  echo "$1" >&"${flow[1]}"
  read -r -t 30 back <&"${flow[0]}" && [[ $back == "$1" ]]
}
flows before || fail 'no connection'
kill -KILL "$serving"
wait "$serving" 2>/dev/null || true
flows during || fail 'a connection breaks while no gateway runs'
[[ -z $(gateway plan) ]] || fail "drift after SIGKILL: $(gateway plan)"
serve second
until_so 'the second gateway runs' bash -c "[[ \$('$ROAMWARD_BIN/roamward-gateway' status --state /run/work/state) == *'  serving'* ]]"
flows after || fail 'a connection breaks when a gateway starts'

# --- revocation --------------------------------------------------------------------------------------------------

has_peers 2 || fail 'the second gateway has other peers'
begin=$(date +%s%N)
gateway user lock alice
until_so 'the peer of a locked user is gone' has_peers 1
echo "gateway: revoked $((($(date +%s%N) - begin) / 1000000)) ms after the command began"
is_refused alice 203.0.113.2 443 || fail 'a locked user reaches the server'
until_so 'the monitor shows who did it' grep -q '  root ([0-9]*) user lock alice$' monitor.out
limit=20 reaches bob 203.0.113.2 443 || fail 'a lock concerns another user'
grep -q 'delete element inet roamward_gateway sources_v4 { 10.77.0.2 ' second.log || fail 'a lock is more than the removal of an element'
! grep -q 'replaced' second.log || fail 'the table was replaced at the second start, or by a lock'
gateway user unlock alice
until_so 'an unlocked user connects again' reaches alice 203.0.113.2 443
gateway device remove bob/phone
until_so 'a removed device is gone' has_peers 1
is_refused bob 203.0.113.2 443 || fail 'a removed device reaches the server'

# --- repair, and the end -----------------------------------------------------------------------------------------

at gateway nft flush chain inet roamward_gateway judge
ip -n gateway address del 10.77.0.1/24 dev wg-gateway
gateway user add carol
until_so 'others'\'' changes are repaired' bash -c "[[ -z \$(ip netns exec gateway '$ROAMWARD_BIN/roamward-gateway' plan --state /run/work/state) ]]"
! gateway cleanup >/dev/null 2>&1 || fail 'cleanup works while a gateway runs'
kill "$serving" || fail "the second gateway has ended"
wait "$serving" || fail 'the gateway ends with an error'
limit=20 reaches alice 203.0.113.2 443 || fail 'a stopped gateway takes connections along'
gateway cleanup --dry-run >tried.out || fail 'a dry run of cleanup'
ip -n gateway link show wg-gateway >/dev/null || fail 'a dry run removes the link'
gateway cleanup >cleaned.out
diff <(sed '$d' tried.out) cleaned.out || fail 'a dry run shows something else'
! ip -n gateway link show wg-gateway >/dev/null 2>&1 || fail 'the link is left'
[[ -z $(at gateway nft list tables) ]] || fail 'a table is left'
[[ -z $(ip -n gateway route show proto 83) ]] || fail 'a route is left'
gateway audit --verify >/dev/null || fail 'the audit log is broken'

# --- a copy ------------------------------------------------------------------------------------------------------

gateway store move --copy-only copy.db >/dev/null
mkdir restored
cp copy.db restored/gateway.db
cp state/private.key restored/
for what in status 'user list' 'device list' 'access list' 'audit --verify'; do
  # shellcheck disable=SC2086 # words
  [[ $("$ROAMWARD_BIN/roamward-gateway" $what --state /run/work/restored) == "$(gateway $what)" ]] || fail "another $what in the copy"
done

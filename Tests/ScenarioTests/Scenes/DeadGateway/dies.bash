# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
start_agent
tunnel_is corp connected
intranet_loads
roamward monitor --json >events.json 2>/dev/null &
monitor=$!
since() { echo $(((${EPOCHREALTIME/./} - began) / 100000)); }
# Nothing goes in or out: what it has received before it would otherwise acknowledge ten seconds later.
on gateway nft 'table inet dead {
  chain input { type filter hook input priority 0; udp dport 51820 drop; }
  chain output { type filter hook output priority 0; udp sport 51820 drop; }
}'
began=${EPOCHREALTIME/./}
# No event: the interval of the packets.
while :; do busybox ping -c 1 -W 1 10.77.0.1 >/dev/null 2>&1 || true; sleep 5; done &
pings=$!
within 25 field_is corp state reasserting
doubted=$(since)
field corp reason | cut -c 1-35
dry doctor >doctor.txt && status=0 || status=$?
say "doctor $status $(grep -c 'problem .*corp is reasserting: the peer has not answered for' doctor.txt) $(grep -c '^1 problem.* checks passed$' doctor.txt)"
within 36 eval '[[ $(field corp failure) == "the peer stopped answering"* ]]'
failed=$(since)
status=0; roamward wait corp --for connected --timeout 2s >/dev/null 2>&1 || status=$?
say "$status $(field corp state) $((doubted <= 260)) $((failed <= 620))"
grep -q '"reasserting"' events.json && grep -q 'stopped answering' events.json && say "told"
on gateway nft delete table inet dead
tunnel_is corp connected
kill $pings $monitor
within 3 intranet_loads && say "back, failure $(field corp failure)"
echo "reasserting after $doubted, failed after $failed tenths of a second"

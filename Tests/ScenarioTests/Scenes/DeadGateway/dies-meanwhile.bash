# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
start_agent
tunnel_is corp connected
sleep 1.2
way=$(ip -4 route show default) way6=$(ip -6 route show default | head -n 1)
ip route del default; ip -6 route del default || true
within 3 field_is corp state reasserting
# Nothing goes in or out: what it has received before it would otherwise acknowledge ten seconds later.
on gateway nft 'table inet dead {
  chain input { type filter hook input priority 0; udp dport 51820 drop; }
  chain output { type filter hook output priority 0; udp sport 51820 drop; }
}'
# shellcheck disable=SC2086 # several words
ip route add $way
# shellcheck disable=SC2086 # several words
[[ -z $way6 ]] || ip -6 route add $way6
within 3 eval '[[ $(field corp timers) == *restart* ]]'
sleep 3
say "$(field corp state)"
within 16 eval '[[ $(field corp failure) == "the peer has not answered on this network"* ]]'
on gateway nft delete table inet dead
tunnel_is corp connected
say "$(grep -c 'from=reasserting to=connected' agent.log || true)"

# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
start_agent
tunnel_is corp connected 20s
[[ -n $(engine_pid corp) ]] || { say kernel; exit 0; }
# Nobody answers, so that the state can be seen.
on gateway nft 'table inet deaf { chain c { type filter hook input priority 0; udp dport 51820 drop; }; }'
kill -KILL "$(engine_pid corp)"
within 1 eval '[[ $(field corp state) == reasserting ]]'
roamward status | found 'link is gone' && say told
on gateway nft delete table inet deaf
tunnel_is corp connected 20s
within 5 intranet_loads
say back

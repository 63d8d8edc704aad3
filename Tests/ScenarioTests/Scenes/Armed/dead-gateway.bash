# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/armed.bash
source "$tests/armed.bash"

go cafe
on gateway nft 'table inet dead { chain input { type filter hook input priority 0; udp dport 51820 drop; }; }'
start_agent
tunnel_is corp armed

field corp notes | grep -o 'armed: comes up at the first packet; until its gateway answers, 10.77.0.0/16 and names in corp.example are unreachable'
asks && say "answered" || say "not answered"
within 5 field_is corp state connecting
tunnel_is corp armed
field corp failure
say "$(way_to 10.77.0.1)"
on gateway nft delete table inet dead
within 10 asks && say "answered"
tunnel_is corp connected
say "$(field corp failure)"

# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go home
remember
go cafe
start_agent
tunnel_is corp connected
kill_agent
ip rule del priority 21000
ip -6 rule del priority 21000
[[ -n $(ip route show table 21000 type throw) ]]

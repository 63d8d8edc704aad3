# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

looks() { ip -j link show corp; ip -j address show corp; ip -j rule; ip -j route show table 21000; wg show corp | grep -vE 'handshake|transfer'; }
go cafe
start_agent
tunnel_is corp connected
within 2 intranet_loads
looks >before
# Stopped, so that it is seen broken before it is repaired.
kill -STOP "$(agent_pid)"
eval "$BREAKAGE"
looks >broken
cmp -s before broken && say "nothing is broken"
kill -CONT "$(agent_pid)"
as_it_was() { looks >after; diff before after; }
within 1 as_it_was
within 3 intranet_loads
say "$(field corp state)"

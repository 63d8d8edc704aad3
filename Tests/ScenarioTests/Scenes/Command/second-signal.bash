# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
remember
start_agent
tunnel_is vpn connected
kill -TERM "$(agent_pid)"
within 2 grep -q '^down' calls
sleep 0.5 # no event: an end that must not come
[[ -s agent.exit ]] || say waits
kill -TERM "$(agent_pid)"
within 2 test -s agent.exit
say "$(<agent.exit)"
touch tired
cleanup_agent
as_before

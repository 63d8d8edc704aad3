# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

start_agent
go cafe
tunnel_is corp connected
kill_agent
ip link show corp >/dev/null
start_agent
tunnel_is corp connected
within 5 intranet_loads
go home
within 5 as_before

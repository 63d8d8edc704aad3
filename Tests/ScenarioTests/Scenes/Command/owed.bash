# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
remember
start_agent
tunnel_is vpn connected
kill_agent
ip link show vpn0 >/dev/null
start_agent
within 3 field_is vpn state connected
kill_agent
rm "$policies"/vpn.yaml
start_agent
within 3 as_before
stop_agent

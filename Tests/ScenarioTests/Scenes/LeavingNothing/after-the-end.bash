# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
remember
start_agent
tunnel_is corp connected
as_before >/dev/null || say "the tunnel is to be seen"
grep -c 10.77.0.1 "$scene"/after
eval "$END_IT"
within 5 as_before

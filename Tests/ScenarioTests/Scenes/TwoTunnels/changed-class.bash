# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

ways() { say "$(way_to 10.77.0.1), $(way_to 10.88.0.1)"; }

go cafe
start_agent
tunnel_is corp connected
tunnel_is lab connected
ways
sed -i 's/class: personal/class: enterprise/' "$policies"/50-corp.yaml
within 5 way_is 10.77.0.1 corp
tunnel_is corp connected
within 5 way_is 10.88.0.1 lab
ways

# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
start_agent
tunnel_is corp connected
cp bad.yaml "$policies"/20-bad.yaml
within 1 eval 'roamward status | sed -n 1,2p | found 20-bad.yaml:5:36'
roamward status | sed -n 1,2p
say "$(field corp state), $(roamward status --json | jq '.tunnels | length') tunnel"
go home
tunnel_is corp disconnected && say "the last good set still decides"
rm "$policies"/20-bad.yaml
within 1 eval '! roamward status | found error'

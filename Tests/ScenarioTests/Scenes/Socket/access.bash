# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

cp "$bin"/roamward .
go cafe
start_agent
tunnel_is corp connected
$SOMEBODY ./roamward status --json | jq -r '.tunnels[0].state'
# shellcheck disable=SC2086 # several words
for command in 'down corp' 'up corp' 'resume corp'; do $SOMEBODY ./roamward $command 2>&1 || say "$?"; done
at_rest
say "$(field corp state) $(field corp override)"
$SOMEBODY ./roamward wait corp --timeout 600s && say "waiting is looking"

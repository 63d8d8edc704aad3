# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

start_agent
go cafe
sleep "$(printf '0.%03d' "$DELAY")"
kill_agent
start_agent
go home
within 5 as_before || { say "after $DELAY ms"; exit 1; }
[[ $(stop_agent) == 0 ]]
as_before

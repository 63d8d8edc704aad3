# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/armed.bash
source "$tests/armed.bash"

go cafe
remember
start_agent
tunnel_is corp armed

kill_agent
say "$(way_to 10.77.0.1)"
within 2 asks && say "answered"
start_agent
tunnel_is corp armed
say "sessions $(sessions)"
within 2 asks && say "answered"
tunnel_is corp connected
kill_agent
cleanup_agent
as_before && say "nothing left"
start_agent
tunnel_is corp armed
say "stopped $(stop_agent)"
as_before && say "nothing left"

# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/Mark/words.bash
source "$tests/Mark/words.bash"

go home
remember
start_agent
go cafe
tunnel_is vpn connected
within 5 both_run
say "$(pgrep -c 'sleep')"
go home
within 10 field_is vpn state disconnected
within 5 gone
say "$(pgrep -c 'sleep')"
stop_agent
as_before
[[ ! -e state/provider-groups ]] && say clean

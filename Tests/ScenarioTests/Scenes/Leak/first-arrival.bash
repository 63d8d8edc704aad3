# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/leaks.bash
source "$tests/leaks.bash"

watch_places
go cafe; see_leaks; go nothing
export SETTLE=500ms
start_agent
start_strays
within 5 nft list table inet roamward >/dev/null
forget_leaks
go cafe; tunnel_is corp connected
say "$(leaked)"
stop_strays

# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/leaks.bash
source "$tests/leaks.bash"

watch_places
go home
start_agent
within 5 field_is corp state disconnected
start_strays
within 20 all_leaked
for place in cafe mobile; do
  go nothing
  within 5 nft list table inet roamward >/dev/null
  within 5 is_quiet; forget_leaks
  go $place; tunnel_is corp connected
  say "$place $(leaked)"
  go home; within 10 not nft list table inet roamward
done
stop_strays

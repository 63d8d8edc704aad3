# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

# No event: another word that must not come.
go cafe; tunnel_is corp connected; within 5 grep -qx 'STATUS=up: corp' heard; sleep 0.3

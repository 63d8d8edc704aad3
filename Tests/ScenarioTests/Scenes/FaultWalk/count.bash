# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/proxies.bash
source "$tests/proxies.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/fault-walk.bash
source "$tests/fault-walk.bash"

prepare
go home
remember
export ROAMWARD_FAULT_LOG=$scene/places
SETTLE=0ms start_agent
go cafe
tunnel_is corp connected 30s
go mobile
within 20 field_is corp state connected
change
within 20 changed
go home
tunnel_is corp disconnected 20s
stop_agent >/dev/null
as_before

# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go home
SETTLE=40s start_agent
tunnel_is corp disconnected
go cafe
roamward wait corp --for connected --timeout 3s >/dev/null 2>&1 && say 'started at once' || say 'a start waits'

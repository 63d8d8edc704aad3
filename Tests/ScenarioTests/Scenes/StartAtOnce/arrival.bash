# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go home
SETTLE=40s start_agent
tunnel_is corp disconnected
go cafe
tunnel_is corp connected 10s
within 5 intranet_loads
say "corp $(field corp state)"
go home
roamward wait corp --for disconnected --timeout 3s >/dev/null 2>&1 && say 'released at once' || say 'a release waits'
roamward status corp | grep -o 'acts on this network'

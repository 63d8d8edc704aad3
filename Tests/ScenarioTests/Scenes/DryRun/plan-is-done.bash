# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
dry plan | grep -c 'ip route add'
start_agent
tunnel_is corp connected
dry plan
go home
tunnel_is corp disconnected
dry plan

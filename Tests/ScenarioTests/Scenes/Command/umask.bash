# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
umask 077
start_agent
umask 022
tunnel_is vpn connected
stat -c %a made
stop_agent

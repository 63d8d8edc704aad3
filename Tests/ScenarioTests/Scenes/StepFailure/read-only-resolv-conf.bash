# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
mount --bind "$laptop"/resolv.conf "$laptop"/resolv.conf
mount -o remount,bind,ro "$laptop"/resolv.conf
remember
start_agent
tunnel_is corp connected
roamward status | grep -c 'name servers are not applied'
within 5 fetch http://10.77.0.1/ >/dev/null && say works
stop_agent
as_before

# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
ip -4 address flush dev wlan0
start_agent
within 3 field_is corp '"failure-code"' endpoint-unreachable
say "$(field corp failure)"
ip address add 198.51.100.23/24 dev wlan0
ip route add default via 198.51.100.1 dev wlan0
tunnel_is corp connected
stop_agent

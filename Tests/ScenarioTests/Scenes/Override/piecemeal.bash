# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
start_agent
tunnel_is corp connected
roamward down corp --wait 60
ip -6 route del default
at_rest
say "$(field corp override)"
ip route del default
ip -6 route add default via 2001:db8:2::1 dev wlan0
at_rest
say "$(field corp override)"
ip route add default via 198.51.100.1 dev wlan0
at_rest
say "$(field corp override)"

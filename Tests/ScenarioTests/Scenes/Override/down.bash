# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
start_agent
tunnel_is corp connected
roamward down corp --wait 60
say "$(field corp state) $(field corp override) $(field corp decision)"
roamward status | grep -E 'manual: |rules: '
ip link set wlan0 down && at_rest
say "$(field corp override) while the link is down"
"$lab" lease cafe wlan0 && at_rest
say "$(field corp state) $(field corp override)"
kill -HUP "$(agent_pid)" && sleep 0.3 # no event: policies that are read without a change
say "$(field corp state) $(field corp override)"
roamward resume corp && tunnel_is corp connected
say "$(field corp override)"

# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
start_agent
tunnel_is corp connected
roamward down corp --wait 60
say "$(field corp state) $(field corp override) $(field corp decision)"
roamward status | grep -E 'manual: |rules: '
ip link set wlan0 down && sleep 0.4
say "$(field corp override) while the link is down"
"$lab" lease cafe wlan0 && sleep 0.6
say "$(field corp state) $(field corp override)"
kill -HUP "$(agent_pid)" && sleep 0.3
say "$(field corp state) $(field corp override)"
roamward resume corp && tunnel_is corp connected
say "$(field corp override)"

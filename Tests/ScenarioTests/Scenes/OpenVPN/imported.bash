# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
remember
start_agent
say "$(field office state)"
roamward up office >/dev/null
within 20 field_is office state connected
reached() { busybox ping -c 1 -W 1 10.99.0.1 >/dev/null; }
within 10 reached && say reached
roamward down office >/dev/null
within 10 field_is office state disconnected
within 5 way_is 10.99.0.1 wlan0
say "$(way_to 10.99.0.1)"
stop_agent
as_before

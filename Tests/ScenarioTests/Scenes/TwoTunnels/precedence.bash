# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

ways() { say "$(way_to 10.77.0.1), $(way_to 10.88.0.1)"; }

go home
remember
start_agent
tunnel_is lab connected
ways
go cafe
tunnel_is corp connected
within 5 field_is lab state connected
ways
within 5 intranet_loads && within 5 busybox ping -c 1 -W 2 10.88.0.1 && say "both work"
roamward down corp --wait 60
within 1 way_is 10.77.0.1 lab
ways
roamward resume corp && tunnel_is corp connected
ways
stop_agent
go home
within 5 as_before

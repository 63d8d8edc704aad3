# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
start_agent
tunnel_is corp connected
ip -n internet link set gateway down
go mobile
within 3 field_is corp state reasserting
# The other network's file came last, and the agent puts its own back.
within 3 grep -q 10.77.0.1 "$laptop"/resolv.conf
say "$(way_to 10.77.0.1) $(grep -c 10.77.0.1 "$laptop"/resolv.conf)"
within 18 field_is corp state connecting
within 1 way_is 10.77.0.1 wwan0
within 1 not grep -q 10.77.0.1 "$laptop"/resolv.conf && say "outside"
ip -n internet link set gateway up
tunnel_is corp connected
intranet_loads && say "back"

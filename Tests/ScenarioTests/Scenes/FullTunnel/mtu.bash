# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

mtu_is() { [[ $(ip -j link show corp | jq '.[0].mtu') == "$1" ]]; }
go cafe
start_agent
tunnel_is corp connected
mtu_is 1420 && say 1420
index=$(link_index corp)
ip link set wlan0 mtu 1400; within 10 mtu_is 1320 && say 1320
ip link set wlan0 mtu 1300; within 10 mtu_is 1280 && say 1280
ip link set wlan0 mtu 1500; within 10 mtu_is 1420 && say 1420
# Another link with another MTU.
ip link set wwan0 mtu 1380
go mobile
within 10 mtu_is 1300 && say 1300
tunnel_is corp connected
(( $(link_index corp) == index )) && say "the same link"
seen_by 203.0.113.80

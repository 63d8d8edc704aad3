# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
# A cable beside the Wi-Fi; its link sorts first by name.
ip link add eth7 type veth peer name eth7peer
ip link set eth7peer up
ip link set eth7 up
ip address add 192.168.10.2/24 dev eth7
ip route del default
ip route append default via 198.51.100.1 dev wlan0 metric 1024
ip route append default via 192.168.10.1 dev eth7 metric 1024
say "kernel $(way_to 203.0.113.80)"
start_agent
tunnel_is corp connected
say "$(roamward network --json | jq -r .primary)"
ip route del default dev wlan0
ip route append default via 198.51.100.1 dev wlan0 metric 1024
say "kernel $(ip route get 203.0.113.80 mark 0x52000000 | grep -o 'dev [^ ]*')"
tunnel_is corp disconnected
say "$(roamward network --json | jq -r .primary)"
stop_agent

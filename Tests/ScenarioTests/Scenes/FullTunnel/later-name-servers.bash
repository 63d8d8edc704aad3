# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

ip -n gateway address add 203.0.113.11/25 dev wan0
answer_endpoint_with cafe 203.0.113.10
answer_endpoint_with mobile 203.0.113.11
go cafe
start_agent
tunnel_is corp connected
say "$(field corp endpoint)"
# As "go mobile", but the DHCP client has not written the name servers yet: those of the café are still named.
ip link set wwan0 up; ip address add 203.0.113.151/25 dev wwan0
ip address flush dev wlan0; ip link set wlan0 down
ip route add default via 203.0.113.129 dev wwan0
within 5 eval 'roamward network | grep "through wwan0" >/dev/null'
within 5 grep 'from=reasserting to=connected' "$scene/agent.log"
go mobile
within 8 field_is corp endpoint 203.0.113.11:51820
tunnel_is corp connected

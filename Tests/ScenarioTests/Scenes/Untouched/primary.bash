# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

primary_is() { [[ $(roamward status --json | jq -r .primary.link) == "$1" ]]; }
go cafe
# A cable without a way out, and one whose way is worse.
ip link set eth0 up; ip address add 192.0.2.23/24 dev eth0
start_agent
tunnel_is corp connected
primary_is wlan0 && say "a cable that leads nowhere"
ip route add default via 192.0.2.1 dev eth0 metric 20100
at_rest; within 10 primary_is wlan0; field_is corp decision connect && say "a way that is worse"
roamward network --json | jq -c '.links | keys'
# Now the cable's way is the best one there is.
ip route replace default via 198.51.100.1 dev wlan0 metric 20200; ip route del default via 198.51.100.1 dev wlan0 metric 0
ip -6 route replace default via 2001:db8:2::1 dev wlan0 metric 20200; ip -6 route del default via 2001:db8:2::1 dev wlan0 metric 1024
within 20 primary_is eth0; within 20 field_is corp decision disconnect && say "the better one"

# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

# All that it includes, and its own gateway's address too.
sed -i 's|^AllowedIPs.*|AllowedIPs = 10.77.0.0/16, 192.0.2.0/24, 203.0.113.0/25|' "$policies"/corp.conf
go home
start_agent
tunnel_is corp connected
way_to 192.0.2.1
busybox ping -c 1 -W 5 192.0.2.1 >/dev/null && say "the neighbour"
within 10 intranet_loads; say "the company"
ip route get 203.0.113.10 mark 0x52000000 | grep -o 'dev [^ ]*'
field corp state

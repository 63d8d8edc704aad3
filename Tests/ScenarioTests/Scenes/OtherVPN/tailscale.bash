# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/leaks.bash
source "$tests/leaks.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/OtherVPN/words.bash
source "$tests/OtherVPN/words.bash"

go cafe
ip tuntap add mode tun tailscale0; ip address add 100.101.102.103/32 dev tailscale0; ip link set tailscale0 up
ip route add 100.64.0.0/10 dev tailscale0 table 52
ip rule add priority 5210 fwmark 0x80000/0xff0000 lookup main
ip rule add priority 5230 fwmark 0x80000/0xff0000 lookup default
ip rule add priority 5250 fwmark 0x80000/0xff0000 unreachable
ip rule add priority 5270 lookup 52
# Somebody has taken our first place.
ip rule add priority 21750 to 192.0.2.99 lookup main
theirs >before
start_agent
tunnel_is corp connected
ip rule | grep 'proto 82'
roamward status | grep -E '^(other|note)'
way_to 100.64.0.7; way_to 203.0.113.80
ip route get 203.0.113.80 mark 0x80000 | grep -o 'dev [^ ]*'
stop_agent >/dev/null
theirs >after; diff before after && say "untouched"

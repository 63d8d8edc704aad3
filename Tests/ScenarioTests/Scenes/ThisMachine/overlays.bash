# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
ip route del default
ip route add default via 198.51.100.1 dev wlan0 metric 600
start_agent
tunnel_is corp connected
# A TUN link with a program behind it, as that of clatd.
"$bin/roamward-wireguard" clat </dev/null >/dev/null 2>&1 &
within 10 ip link show clat >/dev/null
ip address add 192.0.0.1/32 dev clat
ip link set clat up
before=$(counter observations)
ip route add default dev clat
within 5 eval '(( $(counter observations) > before ))'
say "kernel $(ip route get 203.0.113.80 mark 0x52000000 | grep -o 'dev [^ ]*')"
say "$(roamward network --json | jq -r .primary) $(field corp state)"
say "$(roamward status | grep -c 'another VPN' || true)"
ip link del clat
"$bin/roamward-wireguard" wg7 </dev/null >/dev/null 2>&1 &
within 10 ip link show wg7 >/dev/null
ip link set wg7 up
ip address add 10.44.0.2/32 dev wg7
ip route add default dev wg7
within 5 eval 'roamward status | grep "another VPN (wg7)"'
say "$(roamward network --json | jq -r .primary) $(field corp state)"
stop_agent

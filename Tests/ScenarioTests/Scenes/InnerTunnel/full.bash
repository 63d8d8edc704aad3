# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/inner.bash
source "$tests/inner.bash"

go cafe
start_agent
roamward up lab --wait 20 >/dev/null
within 5 busybox ping -c 1 -W 1 10.88.0.1 && say "$(way_to 203.0.113.80) $(inner_packets)"
kill -KILL "$(engine_pid corp)"
busybox ping -c 1 -W 1 203.0.113.80 >/dev/null || say blocked
within 40 busybox ping -c 1 -W 1 10.88.0.1 >/dev/null
say "$(inner_packets)"
ip link show dev lab | grep -o 'mtu [0-9]*'

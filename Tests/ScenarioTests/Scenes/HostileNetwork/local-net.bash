# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/leaks.bash
source "$tests/leaks.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/hostile.bash
source "$tests/hostile.bash"

connected_in_cafe
on cafe bash -c 'echo 1 >/proc/sys/net/ipv4/conf/lan0/proxy_arp; echo 1 >/proc/sys/net/ipv6/conf/lan0/proxy_ndp'
ip -n cafe neighbour add proxy 2001:db8::80 dev lan0
# The gateway itself is in it.
ip address add 203.0.113.77/25 dev wlan0
at_rest
stray

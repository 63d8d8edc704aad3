# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/leaks.bash
source "$tests/leaks.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/hostile.bash
source "$tests/hostile.bash"

connected_in_cafe
for key in accept_ra accept_ra_defrtr accept_ra_pinfo autoconf; do echo 1 >/proc/sys/net/ipv6/conf/wlan0/$key; done
echo 128 >/proc/sys/net/ipv6/conf/wlan0/accept_ra_rt_info_max_plen 2>/dev/null || true
on cafe bash -c 'echo 1 >/proc/sys/net/ipv6/conf/lan0/proxy_ndp'
for name in 2001:db8::80 2001:db8::53; do ip -n cafe neighbour add proxy $name dev lan0; done
cp "$laptop"/resolv.conf before
on cafe "$tests/advertise" lan0 2001:db8::/64 2001:db8::/48 2001:db8:2::1
within 10 eval 'ip -6 address show dev wlan0 | grep -F 2001:db8::' >/dev/null
within 10 eval 'ip -6 route show dev wlan0 | grep -F "proto ra"' >/dev/null
at_rest
cmp before "$laptop"/resolv.conf
stray

# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/leaks.bash
source "$tests/leaks.bash"

# What the kernel lets be set, but for the tunnel's own link and for what counts.
settings() { grep -rs '' /proc/sys/net/ipv4 /proc/sys/net/ipv6 /proc/sys/net/core | grep -v -e '/corp/' -e 'stable_secret' -e '/nf_' || true; }
carriers() { grep -H '' /sys/class/net/{eth0,wlan0,wwan0}/carrier_changes; }
others() { sed 's/^Deleted //' events | grep -E '^[0-9]+: (eth0|wlan0|wwan0)[@: ]|^    link.*(eth0|wlan0|wwan0)' || true; }
go cafe
settings >settings.before; carriers >carriers.before
ip -o monitor link address >events 2>&1 & monitor=$!
# Both eyes are open.
echo 2 >/proc/sys/net/ipv4/conf/wlan0/rp_filter
settings | diff settings.before - >/dev/null || say "a setting is seen"
echo 0 >/proc/sys/net/ipv4/conf/wlan0/rp_filter
see() { ip link set wlan0 mtu 1400; ip link set wlan0 mtu 1500; [[ -n $(others) ]]; }
within 5 see; say "a link is seen"
sleep 0.5; kill $monitor; wait $monitor 2>/dev/null || true # no event: what ip(8) has not written yet
settings | diff settings.before - && carriers | diff carriers.before -
ip -o monitor link address >events 2>&1 & monitor=$!
sleep 0.5 # no event: ip(8) does not say that it listens
start_agent
tunnel_is corp connected
settings | diff settings.before - && say "settings while it is up"
roamward down corp >/dev/null; tunnel_is corp disconnected
settings | diff settings.before - && say "settings while it is held back"
roamward resume corp >/dev/null; tunnel_is corp connected
ip rule del priority 21750; within 10 eval 'ip rule show priority 21750 | grep 21750' >/dev/null
stop_agent >/dev/null
"$bin/roamwardd" --release 2>>"$scene"/agent.log
sleep 0.5; kill $monitor; wait $monitor 2>/dev/null || true # no event: what ip(8) has not written yet
grep -q corp events && say "the tunnel's link was seen"
others
carriers | diff carriers.before - && settings | diff settings.before - && say "as before"

# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
for file in all wlan0 default; do echo 1 >/proc/sys/net/ipv4/conf/$file/rp_filter; done
say "$(seen_by 203.0.113.80)"
start_agent
tunnel_is corp connected
say "$(seen_by 203.0.113.80)"
past() { ip route show table 21750 type throw | grep 203.0.113.10 >/dev/null; }
past && say "the gateway's address is outside"
# Somebody sets it while the tunnel is up: no link, address or route tells of that.
for file in all wlan0; do echo 2 >/proc/sys/net/ipv4/conf/$file/rp_filter; done
within 5 not past; say "and inside"
for file in all wlan0; do echo 1 >/proc/sys/net/ipv4/conf/$file/rp_filter; done
within 5 past; say "and outside"
say "$(seen_by 203.0.113.80)"

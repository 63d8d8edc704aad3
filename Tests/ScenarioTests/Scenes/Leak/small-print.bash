# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/leaks.bash
source "$tests/leaks.bash"

go cafe
make_box
on cafe nft 'table inet watch { counter n { }; chain c { type filter hook prerouting priority -300
  iifname "lan0" ip saddr 10.77.0.1 counter name n
  iifname "lan0" ip daddr 203.0.113.80 udp dport 67 counter name n
}; }'
count() { on cafe nft -j list counter inet watch n | jq '.nftables[].counter.packets // empty'; }
seen() { (( $(count) > 0 )); }
echo 0 >/proc/sys/net/ipv4/ip_unprivileged_port_start
# As nobody, from port 68 to port 67 of somebody far away; and from the gateway to the café's router, by way of the laptop.
lease() { setpriv --reuid nobody --regid nogroup --clear-groups perl -MSocket=:all -e 'socket(my $s, AF_INET, SOCK_DGRAM, 0);
  setsockopt($s, SOL_SOCKET, SO_REUSEADDR, 1); bind($s, pack_sockaddr_in(68, INADDR_ANY)); send($s, "leak", 0, pack_sockaddr_in(67, inet_aton("203.0.113.80")))'; }
reach() { on gateway busybox ping -c 1 -W 1 198.51.100.1 >/dev/null 2>&1 || true; }
lease; within 5 seen; on cafe nft reset counters table inet watch >/dev/null; say "a lease"
start_agent
tunnel_is corp connected
within 5 intranet_loads
on gateway wg set gw0 peer "$(wg show corp public-key)" allowed-ips 10.77.0.2/32,10.99.0.2/32,198.51.100.1/32
for to in 10.99.0.2 198.51.100.1; do ip -n gateway route add $to dev gw0; done
ip rule add priority 100 to 198.51.100.1 lookup main
lease; reach; reach; sleep 0.3; count # no event: packets that must not come
nsenter --net=/run/netns/box busybox ping -c 1 -W 5 10.77.0.1 >/dev/null && say "answered"
# They would pass, if it were not for the table.
kill -STOP "$(agent_pid)"
nft delete table inet roamward
reach_and_see() { reach; seen; }
within 5 reach_and_see && say "seen without the firewall"
kill -CONT "$(agent_pid)"

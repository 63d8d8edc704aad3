# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/leaks.bash
source "$tests/leaks.bash"

watch_places
go cafe
see_leaks
start_agent
tunnel_is corp connected
# As split tunnelling by control groups does it, and as published ports of containers do it.
ip rule add priority 100 fwmark 1 lookup main; ip -6 rule add priority 100 fwmark 1 lookup main
nft -f - <<NFT
table inet theirs {
  chain marks { type route hook output priority mangle; meta mark 0 meta mark set 1; }
  chain ports { type nat hook output priority -100; ip daddr 192.0.2.9 udp dport 9 dnat ip to 203.0.113.80:7777; }
}
NFT
ip rule add priority 101 to 203.0.113.80 lookup main
as=(setpriv --reuid nobody --regid nogroup --clear-groups --inh-caps +net_raw --ambient-caps +net_raw)
start_strays '' 0x52000000; marked=$strays
as=(); start_strays; plain=$strays
perl -MSocket -e 'socket(my $s, AF_INET, SOCK_DGRAM, 0); while (1) { send($s, "leak", 0, pack_sockaddr_in(9, inet_aton("192.0.2.9"))); select(undef, undef, undef, 0.01) }' &
forget_leaks
strays_try; leaked
# They would go outside, if it were not for the table.
kill -STOP "$(agent_pid)"
nft delete table inet roamward
within 20 all_leaked
kill -CONT "$(agent_pid)"
within 5 nft list table inet roamward
within 5 is_quiet; forget_leaks
strays_try; leaked
kill $!
for strays in $marked $plain; do stop_strays; done

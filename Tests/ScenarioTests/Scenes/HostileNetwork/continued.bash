# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/leaks.bash
source "$tests/leaks.bash"

go cafe
on cafe nft 'table inet watch { counter n { }; chain c { type filter hook prerouting priority -300; ip saddr 10.77.0.2 counter name n; }; }'
heard() { on cafe nft -j list counters table inet watch | jq '.nftables[].counter.packets // empty'; }
start_agent
tunnel_is corp connected
perl -MSocket -e 'socket(my $s, AF_INET, SOCK_DGRAM, 0); connect($s, pack_sockaddr_in(7777, inet_aton("10.50.0.5")));
  while (1) { send($s, "leak", 0); select(undef, undef, undef, 0.01) }' &
on cafe ip address add 10.50.0.5/24 dev lan0
ip address add 10.50.0.23/24 dev wlan0
within 10 eval 'ip route show table 21750 | grep -F "throw 10.50.0.0/24"' >/dev/null
busybox ping -c 1 -W 5 10.50.0.5 >/dev/null && say "a neighbour"
sleep 0.5; heard # no event: fifty packets that must not come
kill -STOP "$(agent_pid)"
nft delete table inet roamward
within 10 eval '(( $(heard) > 0 ))' && say "seen without the firewall"
kill $!
kill -CONT "$(agent_pid)"

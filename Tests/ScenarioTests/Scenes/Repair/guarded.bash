# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/leaks.bash
source "$tests/leaks.bash"

go cafe
cat >theirs.nft <<'NFT'
table inet theirs {
  set hosts { type ipv4_addr; elements = { 192.0.2.7 }; }
  chain c { type filter hook input priority 10; ip saddr @hosts accept; }
}
NFT
nft -f theirs.nft
ip rule add priority 21999 to 192.0.2.9 lookup 99 protocol 7
ip route add 192.0.2.9 via 198.51.100.1 dev wlan0 table 99 proto 7
ip route add 192.0.2.10 via 198.51.100.1 dev wlan0 proto 7
theirs() { nft list table inet theirs; ip rule show protocol 7; ip route show table 99; ip route show proto 7; ip rule show priority 32766; }
ours() { nft list table inet roamward; nft list table arp roamward; ip rule show protocol 82; ip -6 rule show protocol 82; ip route show table 21750; ip -6 route show table 21750; ip -o -4 address show dev corp | cut -d ' ' -f 2-; ip -o link show corp | grep -o 'UP,LOWER_UP'; }
start_agent
tunnel_is corp connected
theirs >theirs.before; ours | sed 's/packets [0-9]* bytes [0-9]*//' >ours.before
eval "$BREAKAGE"
again() { ours | sed 's/packets [0-9]* bytes [0-9]*//' >ours.after && diff ours.before ours.after; }
within 10 again
within 10 field_is corp state connected
theirs >theirs.after; diff theirs.before theirs.after && say "theirs"
# A handshake that was lost is begun again after five seconds.
within 10 seen_as 10.77.0.2 203.0.113.80
say "$(seen_by 203.0.113.80)"

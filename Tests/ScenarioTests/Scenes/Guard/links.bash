# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/leaks.bash
source "$tests/leaks.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/guard.bash
source "$tests/guard.bash"

take_everything
links() { roamward status --json | jq -c '[.guards[] | .links]'; }
make() { ip tuntap add "$1" mode tun; ip address add 10.88.0."$2"/32 dev "$1"; ip link set "$1" up; }
# Packets that the firewall lets into a link: the device has no reader, and drops them.
into() { nft -j list counter inet tries "$1" | packets; }
nft 'table inet tries { counter tun7 { }; counter vpn0 { }; chain c { type filter hook postrouting priority 300; oifname tun7 udp dport 9 counter name tun7; oifname vpn0 udp dport 9 counter name vpn0; }; }'
try() { perl -MSocket -e 'socket(my $s, AF_INET, SOCK_DGRAM, 0); setsockopt($s, SOL_SOCKET, 25, "$ARGV[0]\0"); send($s, "x", 0, pack_sockaddr_in(9, inet_aton("203.0.113.99")))' "$1"; }
go cafe
make old0 1
start_agent
tunnel_is corp connected
guard --link vpn0 -- sleep 600; one=$program
within 5 eval '[[ $(guards) == 1 ]]'
make tun7 7; sleep 0.5; links
try tun7; say "tun7 $(into tun7)"
make vpn0 8; within 5 eval '[[ $(links) == "[[\"vpn0\"]]" ]]'; links
try tun7; try vpn0; say "tun7 $(into tun7) vpn0 $(into vpn0)"
# The tunnel beside it carries what is routed into it.
intranet_loads && say "inside"
guard -- sleep 601; two=$program
within 5 eval '[[ $(guards) == 2 ]]'; links
roamward status --json | jq -c '[.firewall.situation, (.firewall.guards | length), (.firewall.blocking | length)]'
make tun8 9; within 5 eval '[[ $(links) == "[[\"vpn0\"],[\"tun8\"]]" ]]'; links
roamward down corp >/dev/null; within 5 field_is corp state disconnected
kill $two; within 10 eval '[[ $(guards) == 1 ]]'; links
ip link del vpn0; within 5 eval '[[ $(links) == "[[]]" ]]'; links
kill $one; within 10 eval '[[ $(guards) == 0 ]]'
stop_agent

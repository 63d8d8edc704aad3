# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/leaks.bash
source "$tests/leaks.bash"

sed -i 's|^Endpoint.*|Endpoint = vpn.corp.example:51820|' "$policies"/corp.conf
watch_places
go cafe
see_leaks
answer_endpoint_with cafe 203.0.113.80
# The tunnel's own look-ups and handshakes are seen too; what is not theirs says "leak".
on cafe nft 'insert rule inet watch passing iifname "lan0" ip daddr 203.0.113.80 udp dport 51820 counter accept'
on cafe nft 'insert rule inet watch passing iifname "lan0" udp dport 53 @th,64,32 != 0x6c65616b accept'
start_agent
within 10 eval '! on cafe nft list chain inet watch passing | grep -F "dport 51820 counter packets 0"'
forget_leaks
start_strays
strays_try 200; stop_strays
leaked
field corp state

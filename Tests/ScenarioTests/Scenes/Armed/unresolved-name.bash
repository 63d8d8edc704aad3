# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/armed.bash
source "$tests/armed.bash"

go cafe
sed -i 's|^Endpoint.*|Endpoint = vpn.corp.example:51820|' "$policies"/corp.conf
on cafe nft 'table inet portal { chain c { type filter hook prerouting priority -300; iifname "lan0" udp dport 53 drop; }; }'
start_agent
tunnel_is corp armed

asks || say "not answered, $(field corp state)"
on cafe nft delete table inet portal
within 40 asks && say "answered"
tunnel_is corp connected

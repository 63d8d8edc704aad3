# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

sed -i 's|^Endpoint.*|Endpoint = 203.0.113.77:51820|' "$policies"/corp.conf
ip -n internet address add 203.0.113.77/25 dev br0
ip netns exec internet nft 'table inet silent { chain in { type filter hook input priority 0; ip daddr 203.0.113.77 drop; }; }'
go cafe
start_agent
within 20 field_is corp '"failure-code"' peer-timeout
stop_agent >/dev/null
touch -d '+3 days' "$scene/state/holds.json"
start_agent
within 20 field_is corp '"failure-code"' clock-behind
field corp failure | grep -o '.*clock is [23] d'

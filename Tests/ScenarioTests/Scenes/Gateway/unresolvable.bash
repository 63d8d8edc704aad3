# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

sed -i 's|^Endpoint.*|Endpoint = vpn.corp.example:51820|' "$policies"/corp.conf
answer_endpoint_with cafe ''
go cafe
start_agent
within 3 eval '[[ $(field corp failure) == *vpn.corp.example* ]]'
say "$(field corp state)"
field corp failure
answer_endpoint_with cafe 203.0.113.10
tunnel_is corp connected

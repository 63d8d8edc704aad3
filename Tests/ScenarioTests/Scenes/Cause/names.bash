# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

sed -i 's|^Endpoint.*|Endpoint = vpn.corp.example:51820|' "$policies"/corp.conf
answer_endpoint_with cafe ''
go cafe
start_agent
within 3 field_is corp '"failure-code"' name-unknown
field corp failure
stop_agent >/dev/null
echo 'nameserver 198.51.100.99' >"$laptop"/resolv.conf
start_agent
within 15 field_is corp '"failure-code"' endpoint-unresolved
field corp failure

# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

sed -i 's|^Endpoint.*|Endpoint = 203.0.113.10:51999|' "$policies"/corp.conf
go cafe
start_agent
within 20 field_is corp '"failure-code"' port-closed
field corp failure

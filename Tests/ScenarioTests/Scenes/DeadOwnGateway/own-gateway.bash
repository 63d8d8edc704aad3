# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/providers.bash
source "$tests/providers.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/client.bash
source "$tests/client.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/dead.bash
source "$tests/dead.bash"

# Else it acknowledges after ten seconds what came before.
both_ways=1
company_gateway
company set relay.port 443 >/dev/null
within 10 takes_relays
secret office.password 'correct horse'
go cafe
client_policy ', username: alice' 'password: office.password' </dev/null
start_agent
roamward up office >/dev/null
within 20 field_is office state connected
within 5 office_answers
dies_and_returns office 10.95.0.1 'udp dport 51821' 'tcp dport { 443, 51821 }'
stop_agent

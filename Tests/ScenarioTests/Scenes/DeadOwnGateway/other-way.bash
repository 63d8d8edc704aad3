# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/providers.bash
source "$tests/providers.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/client.bash
source "$tests/client.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/dead.bash
source "$tests/dead.bash"

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
ping_always 10.95.0.1
block_udp
death=${EPOCHREALTIME/./}
within 25 is_doubted office
echo "doubted after $(since_death): $(field office state), $(field office transport)" >>dead.log
[[ $(field office transport) != *'which answers'* ]] || say "said to answer"
within 35 goes_by tcp
within 5 field_is office state connected
within 5 office_answers
echo "another way after $(since_death)" >>dead.log
say "$(field office transport)"
kill $pings
stop_agent

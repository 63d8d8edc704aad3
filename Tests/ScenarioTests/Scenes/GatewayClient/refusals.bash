# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/providers.bash
source "$tests/providers.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/client.bash
source "$tests/client.bash"

company_gateway
secret office.token "$(company token create alice 2>/dev/null)"
go cafe
client_policy '' 'token: office.token' </dev/null
start_agent
roamward up office >/dev/null
within 20 field_is office state connected
within 5 office_answers
company device list --sessions | grep -o 'alice/laptop .* by token'
roamward down office >/dev/null
within 15 field_is office state disconnected
is_peer 10.95.0.2
company device remove alice/laptop >/dev/null
within 5 not is_peer 10.95.0.2
# The token is used up.
roamward up office >/dev/null
within 30 field_is office code action-needed
field office failure
client_policy ', username: alice' '' </dev/null
kill -HUP "$(agent_pid)"
roamward up office >/dev/null
within 30 field_is office 'questions[0].kind' password
printf 'wrong horse\n' | roamward answer office >/dev/null 2>&1 || [[ $? == 1 ]]
within 20 field_is office code action-needed
field office failure
roamward up office >/dev/null
within 30 field_is office 'questions[0].kind' password
printf 'correct horse\n' | roamward answer office >/dev/null 2>&1
within 20 field_is office state connected
within 5 office_answers
stop_agent

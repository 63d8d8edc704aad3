# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/providers.bash
source "$tests/providers.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/openconnect.bash
source "$tests/openconnect.bash"

ocserv_server </dev/null
go cafe
openconnect_policy "username: alice, server-certificate: '$server_pin'" </dev/null
start_agent
roamward up office >/dev/null
within 20 field_is office 'questions[0].kind' password
roamward status | grep -o 'asks:.*'
printf 'wrong\n' | roamward answer office || say "wrong $?"
within 20 field_is office code action-needed
field office failure
roamward up office >/dev/null
within 20 field_is office 'questions[0].kind' password
printf 'pass word\n' | roamward answer office
within 20 field_is office state connected
within 5 office_answers
grep -q 'pass word' agent.log || say "not in the log"
roamward down office >/dev/null
within 15 field_is office state disconnected
openconnect_policy "username: alice" </dev/null
kill -HUP "$(agent_pid)"
roamward up office >/dev/null
within 20 field_is office code action-needed
field office failure | sed "s|$server_pin|PIN|g"
openconnect_policy "username: alice, server-certificate: 'pin-sha256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA='" </dev/null
kill -HUP "$(agent_pid)"
roamward down office >/dev/null
roamward up office >/dev/null
within 20 eval '[[ $(field office failure) == *certificate-mismatch* ]]'
field office failure
stop_agent

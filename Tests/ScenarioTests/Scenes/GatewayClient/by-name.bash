# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/providers.bash
source "$tests/providers.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/client.bash
source "$tests/client.bash"

company_gateway vpn.corp.example
go cafe
remember
how_to_policy "$POLICY"
grep -c 'vpn.corp.example:51821' "$policies/corp.yaml"
start_agent
within 30 field_is corp 'questions[0].kind' password
# A wrong password is told at once, and asked for again, under the tunnel's own rules.
printf 'wrong horse\n' | roamward answer corp >said 2>&1 || say "wrong $?"
grep -o 'does not accept the name, .*: `roamward answer corp` asks again' said
printf 'correct horse\n' | roamward answer corp 2>/dev/null
say "override $(field corp override)"
within 5 office_answers
go mobile
within 20 office_answers
within 20 field_is corp state connected
go cafe
stop_agent
as_before

# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/providers.bash
source "$tests/providers.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/client.bash
source "$tests/client.bash"

company_gateway
go cafe
watch_others
within 5 watch_sees && say detected
client_policy ', username: alice' '' <<<'    kill-switch: "on"'
printf '    routes: { include: [default] }\n' >>"$policies/office.yaml"
start_agent
babble & babbler=$!
trap 'kill $babbler' EXIT
roamward up office >/dev/null
within 5 eval 'nft list table inet roamward >/dev/null'
before=$(clear)
within 30 field_is office 'questions[0].kind' password
# Nothing else reaches the gateway, neither by TCP nor by UDP.
! timeout 2 bash -c 'echo >/dev/tcp/203.0.113.10/51821' 2>/dev/null && say "no other connection"
printf 'correct horse\n' | roamward answer office >/dev/null 2>&1
within 20 field_is office state connected
within 5 office_answers
say "$(way_to 203.0.113.80)"
for _ in 1 2; do
  replaced 'roamward-wireguard --at-work office'
  within 30 field_is office state connected
  replaced "$scene/providers/client"
  within 30 field_is office state connected
done
within 10 office_answers
kill_company
company_gateway
within 40 office_answers
kill $babbler
trap - EXIT
say "$(($(clear) - before)) outside, $(logins) login"
stop_agent

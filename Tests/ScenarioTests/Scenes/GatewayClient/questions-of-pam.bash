# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/providers.bash
source "$tests/providers.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/client.bash
source "$tests/client.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/pam.bash
source "$tests/pam.bash"

pam_machine
company_gateway
company user add asker >/dev/null
company set logins.pam '{ service: roamward }' >/dev/null
company user set asker --pam asker >/dev/null
go cafe
client_policy ', username: asker' '' </dev/null
start_agent
roamward up office >/dev/null
for answer in 'password right' 'text blue' 'code 123 456'; do
  within 30 field_is office 'questions[0].kind' "${answer%% *}"
  [[ $answer == password* ]] || say "$(field office 'questions[0].prompt' | tail -n 2 | head -n 1)"
  say "${answer%% *}: $(typed "${answer#* }")"
done
within 20 field_is office state connected
company device list --sessions | grep -o 'asker/laptop .* by password,prompt'
stop_agent

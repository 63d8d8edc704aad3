# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/providers.bash
source "$tests/providers.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/nebula.bash
source "$tests/nebula.bash"

nebula_server
go cafe
nebula_policy expired </dev/null
start_agent
at_rest
roamward up office >/dev/null
within 20 field_is office code action-needed
field office failure
cp "$policies"/foreign.crt "$policies"/laptop.crt
cp "$policies"/foreign.key "$policies"/laptop.key
nebula_policy laptop </dev/null
kill -HUP "$(agent_pid)"
within 20 eval '[[ $(field office failure) == *"could not"* ]]'
field office failure
stop_agent

# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/providers.bash
source "$tests/providers.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/nebula.bash
source "$tests/nebula.bash"

nebula_server
go cafe
# It was signed for one second.
within 10 eval '! nebula-cert verify -ca overlay/ca.crt -crt overlay/expired.crt'
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
# One that ends while no host answers.
sed -i s/10:4242/10:4243/ "$policies"/office.nebula
(cd overlay && nebula-cert sign -name laptop -ip 10.96.0.2/24 -duration 10s -out-crt short.crt -out-key short.key)
install -m 0600 overlay/short.crt overlay/short.key "$policies"
nebula_policy short </dev/null
kill -HUP "$(agent_pid)"
within 60 eval '[[ $(field office failure) == *"has ended on"* ]]'
field office failure
field office code
stop_agent

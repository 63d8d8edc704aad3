# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/providers.bash
source "$tests/providers.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/client.bash
source "$tests/client.bash"

company_gateway
secret office.password 'correct horse'
go cafe
client_policy ', username: alice' 'password: office.password' </dev/null
remember
start_agent
roamward up office >/dev/null
within 20 field_is office state connected
within 5 office_answers
say "$(way_to 10.95.0.9), $(way_to 203.0.113.80), mtu $(ip -j link show office | jq '.[].mtu')"
dry dns wiki.corp.example | grep -o "to 10.95.0.1 of office"
engine=$(pgrep -f 'roamward-wireguard --at-work office')
say "$(awk '/^Uid|^CapPrm|^CapEff|^NoNewPrivs|^Seccomp:/ { print $1 $2 }' /proc/"$engine"/status | xargs)"
say "$(logins) login, $(company device list --sessions | grep -c 'alice/laptop .* by password')"
# No file is needed any more.
rm "$policies/office.password"
secret office.password 'none'
go mobile
within 20 office_answers
within 20 field_is office state connected
kill_company
company_gateway
within 30 office_answers
replaced "$scene/providers/client"
within 30 field_is office state connected
within 5 office_answers
replaced 'roamward-wireguard --at-work office'
within 30 field_is office state connected
within 5 office_answers
stop_agent >/dev/null
start_agent
roamward up office >/dev/null
within 20 field_is office state connected
within 5 office_answers
go cafe
within 20 office_answers
within 20 provider_is_connected
jq -c '[.connected, .user, ."signed-in-now"]' provider.status
say "$(logins) login"
roamward down office >/dev/null
within 15 field_is office state disconnected
within 5 not pgrep -f 'roamward-wireguard --(at-work office|stand-by)'
say "left: $(pgrep -c -f 'roamward-wireguard --(at-work office|stand-by)')"
stop_agent
as_before

# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/providers.bash
source "$tests/providers.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/nebula.bash
source "$tests/nebula.bash"

nebula_server
go cafe
nebula_policy laptop </dev/null
remember
start_agent
roamward up office >/dev/null
within 20 field_is office state connected
within 5 office_answers
say "$(way_to 10.96.0.9), $(way_to 203.0.113.80), mtu $(ip -j link show office | jq '.[].mtu')"
process=$(pgrep -x nebula | head -n 1)
for one in $(pgrep -x nebula); do [[ $(readlink /proc/"$one"/ns/net) == "$(readlink /proc/$$/ns/net)" ]] && process=$one; done
say "$(awk '/^Uid|^CapEff|^CapPrm|^CapBnd|^NoNewPrivs/ { print $1 $2 }' /proc/"$process"/status | xargs)"
# Its own: other tests run nebula too.
files=$(tr '\0' '\n' </proc/"$process"/cmdline | grep ^/tmp/roamward-nebula-)
[[ -n $files && ! -e $files ]] && say "no file is left once it runs"
roamward message office status | jq -c '[.connected, .name, .hosts]'
go mobile
within 40 office_answers
replaced 'nebula -config /tmp/roamward'
within 20 field_is office state connected
within 5 office_answers
replaced "$scene/providers/nebula"
within 30 field_is office state connected
within 5 office_answers
go cafe
within 40 office_answers
roamward down office >/dev/null
within 15 field_is office state disconnected
within 5 not pgrep -f 'nebula -config /tmp/roamward'
say "left: $(pgrep -c -f 'nebula -config /tmp/roamward')"
stop_agent
as_before

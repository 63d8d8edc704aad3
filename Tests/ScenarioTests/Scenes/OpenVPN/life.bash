# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/providers.bash
source "$tests/providers.bash"

go cafe
openvpn_server --push "route 10.98.0.0 255.255.0.0" --push "dhcp-option DNS 10.99.0.1" --push "dhcp-option DOMAIN corp.example"
remember
openvpn_policy </dev/null
start_agent
roamward up office >/dev/null
within 20 field_is office state connected
within 5 office_answers
say "$(way_to 10.98.7.7) $(way_to 10.99.0.77) $(way_to 203.0.113.80)"
process=$(pgrep -f 'openvpn --config stdin' | head -n 1)
say "$(grep -E '^(Uid|CapEff):' "/proc/$process/status" | tr -s '\t\n' ' ')"
# Those of other scenes last for as long as their openvpn takes to connect.
no_folder() { ! ls -d /tmp/roamward-openvpn-* 2>/dev/null; }
within 5 no_folder
roamward message office status | jq -c .
"$bin/roamward" diff --policies "$policies" "${inputs[@]}" --state-dir "$scene/state" >diff.out && say "no drift" || cat diff.out
roamward status | grep -o 'brought:.*'
go mobile
within 30 office_answers
within 20 field_is office state connected
kill -KILL "$process"
within 5 eval '[[ $(count_in_log "openvpn ended") -gt 0 ]]'
within 20 field_is office state connected
within 10 office_answers
roamward down office >/dev/null
within 10 field_is office state disconnected
stop_agent
go cafe
within 5 as_before

# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

reached() { busybox ping -c 1 -W 1 10.99.0.1 >/dev/null; }
go cafe
remember
start_agent
roamward up office >/dev/null
within 20 field_is office state connected
within 10 reached
lost=$(ping -c 20 -i 0.05 -W 20 10.99.0.1 | grep -o '[0-9]*% packet loss')
say "$lost $(way_to 203.0.113.80 | cut -c 1-7)"
[[ $(ss -Huane 2>/dev/null) == *fwmark:0x52000000* ]] && say marked
# The command that asks for its state may just run too.
is_counted() { [[ $(field office usage.processes) == 1 && $(field office 'usage."memory-bytes"') -gt 1000000 ]]; }
is_told() { roamward status | found 'uses: .* of memory, .* of processor time, 1 process$'; }
within 5 is_counted && say counted
within 5 is_told && say told
"$bin/roamward" state --state-dir "$scene/state" --json | jq -r '[.objects[] | select(.kind == "control-group") | .tunnel] | @csv'
roamward down office >/dev/null
within 10 field_is office state disconnected
# What has ended is listed until the first process of the lab has taken note of it.
server=$(on gateway pgrep -f server.log)
within 5 eval '[[ $(pgrep openvpn) == "$server" ]]' || say left
stop_agent
as_before

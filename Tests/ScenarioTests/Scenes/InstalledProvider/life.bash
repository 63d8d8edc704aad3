# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/providers.bash
source "$tests/providers.bash"

go cafe
start_server
remember
plain_policy </dev/null
start_agent
roamward message plain statistics | jq -c .
roamward up plain >/dev/null
within 10 field_is plain state connected
within 5 plain_answers
say "$(way_to 10.98.0.1)"
process=$(plain_process)
say "$(grep -E '^(Uid|Groups|CapEff|CapPrm|CapBnd|CapAmb|NoNewPrivs):' "/proc/$process/status" | tr -s '\t\n' ' ')"
tr '\0' '\n' <"/proc/$process/environ" | cut -d = -f 1
roamward message plain statistics | jq -c .
roamward message plain nonsense 2>&1 || say "status $?"
say "$(field plain engine) $(field plain usage.processes)"
roamward down plain >/dev/null
within 5 field_is plain state disconnected
within 5 eval '[[ -z $(plain_process) ]]' && say ended
stop_agent
as_before

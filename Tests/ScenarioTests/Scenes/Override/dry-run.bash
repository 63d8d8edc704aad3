# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
start_agent
tunnel_is corp connected
live() { dry evaluate --live --exit-code "$@" >live || say "$?"; }
live && grep -c overridden live || true
roamward down corp >/dev/null
live
grep -o 'held down by hand; `roamward resume` ends that' live
live --json && jq -r '.. | strings | select(test("held down by hand"))' live | sort -u
dry explain corp | grep -o 'held down by hand; `roamward resume` ends that' | sort -u
roamward resume corp >/dev/null
tunnel_is corp connected
live
# Held up where the rules say no.
go home
tunnel_is corp disconnected
roamward up corp >/dev/null
live
grep -o 'held up by hand' live
dry explain corp | grep -o 'held up by hand' | sort -u

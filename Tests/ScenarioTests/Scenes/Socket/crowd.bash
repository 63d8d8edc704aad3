# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

cp "$bin"/roamward .
go cafe
start_agent
tunnel_is corp connected
for _ in {1..80}; do $SOMEBODY ./roamward monitor >/dev/null 2>&1 & done
# A socket gets its place once it listens; to the kernel it has the name that it had before.
connections() { ss -Hxp state connected src "$ROAMWARD_SOCKET~" | wc -l; }
within 2 eval '(( $(connections) > 10 ))'
say "$(connections)"
roamward down corp --wait 60

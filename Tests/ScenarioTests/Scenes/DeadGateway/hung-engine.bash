# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
start_agent
tunnel_is corp connected
intranet_loads
engine=$(engine_pid corp)
[[ -n $engine ]] || { say "another engine"; say "the hung one is gone"; say "back"; exit 0; } # the kernel's never hangs
kill -STOP "$engine"
# Whatever the agent wants to know of it, people are answered meanwhile.
while field_is corp state connected; do sleep 0.5; done & # no event: the interval of a person's questions
asking=$!
within 30 field_is corp failure-code engine-failed
field corp failure >&2
kill "$asking" 2>/dev/null || true
tunnel_is corp connected
[[ $(engine_pid corp) != "$engine" ]] && say "another engine"
runs "$engine" || say "the hung one is gone"
intranet_loads && say "back"

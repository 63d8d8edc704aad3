# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# With the capabilities of the unit: the engine is another user's process, and there is no CAP_KILL.
# shellcheck source=Tests/ScenarioTests/Scenes/UnitLimits/poor.bash
source "$tests/UnitLimits/poor.bash"

go cafe
start_agent
tunnel_is corp connected
intranet_loads
roamward monitor --json >events.json 2>/dev/null &
monitor=$!
engine=$(engine_pid corp)
# The kernel's never hangs.
[[ -n $engine ]] || { printf '[%s]\n' "people are answered" "another engine" "the hung one is gone" back; exit 0; }
kill -STOP "$engine"
# Whatever the agent wants to know of it, people are answered meanwhile.
answered=0
until found 'the engine does not answer' events.json; do
  ((SECONDS < 400)) || { cat events.json; exit 1; }
  roamward status >/dev/null && answered=$((answered + 1))
  sleep 0.5 # no event: the interval of a person's questions
done
((answered >= 5)) && say "people are answered"
tunnel_is corp connected
[[ $(engine_pid corp) != "$engine" ]] && say "another engine"
runs "$engine" || say "the hung one is gone"
within 3 intranet_loads && say "back"
kill "$monitor"

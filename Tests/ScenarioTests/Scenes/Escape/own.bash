# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
start_agent
tunnel_is corp connected
perl sleeper & own=$!
within 5 eval '[[ $(tr "\0" " " </proc/'$own'/cmdline) == *pwned* ]]'
roamward state --state-dir "$scene/state" >state.out
roamward state --json --state-dir "$scene/state" >state.json
kill $own
grep -q pwned state.out
grep -q pwned state.json

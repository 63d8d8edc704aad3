# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go home
start_agent
roamward monitor --record walk.yaml >/dev/null &
within 5 test -s walk.yaml
go cafe
tunnel_is corp connected
sleep 1.2 # no event: a timeline counts in seconds
roamward down corp --for 30m --reason printer >/dev/null
tunnel_is corp disconnected
sleep 1.2 # no event: a timeline counts in seconds
roamward resume corp >/dev/null
tunnel_is corp connected
go home
tunnel_is corp disconnected
within 5 eval '[[ $(tail -n 3 walk.yaml) == *disconnect* ]]'
"$bin"/roamward simulate walk.yaml --policies "$policies" >simulated 2>differences && say "the same"
sed 's/"corp":"connect"/"corp":"ignore"/' walk.yaml >lie.yaml
"$bin"/roamward simulate lie.yaml --policies "$policies" 2>refusal >/dev/null || say "status $?"

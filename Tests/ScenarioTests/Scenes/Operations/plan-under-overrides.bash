# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

steps() { dry plan --json >plan.json && jq -e '.steps == []' plan.json >/dev/null && dry diff >diff.txt; }
go cafe
start_agent
tunnel_is corp connected
within 5 steps || { cat plan.json; exit 1; }
roamward release --until resume
within 5 steps || { cat plan.json; exit 1; }
dry plan
roamward resume
roamward down corp
tunnel_is corp disconnected
within 5 steps || { cat plan.json; exit 1; }
dry plan
dry plan --up corp | sed -n 1,3p
kill -KILL "$(agent_pid)"
dry plan | grep override

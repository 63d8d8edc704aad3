# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

ours() { roamward state --resolv-conf "$laptop"/resolv.conf --state-dir "$scene"/state "$@"; }
go cafe
remember
start_agent
tunnel_is corp connected
# It asks the agent for five seconds at most.
within 5 eval 'ours >running.txt && grep "^agent: running" running.txt'
rules() { jq -r '.objects[] | select(.kind == "route") | .rule.index' running.json | sort -u; }
within 5 eval 'ours --json >running.json && [[ $(rules) == 2 ]]'
jq -r '[.objects[] | select(.tunnel == "corp") | .kind] | unique | join(" ")' running.json
rules
kill -STOP "$(agent_pid)"
ours >silent.txt
[[ $(ours --json | jq .agent.pid) == "$(agent_pid)" ]] || say "another agent is told"
kill -CONT "$(agent_pid)"
kill_agent
state >left
ours >left.txt
roamward cleanup --dry-run --resolv-conf "$laptop"/resolv.conf --state-dir "$scene"/state >dry.txt
"$bin/roamwardd" --cleanup --dry-run --state-dir "$scene/state" --socket "$ROAMWARD_SOCKET" "${inputs[@]}" >dry2.txt
cmp dry.txt dry2.txt && state >still && cmp left still && say 'nothing changed'
roamward cleanup --resolv-conf "$laptop"/resolv.conf --state-dir "$scene"/state >done.txt
cmp dry.txt done.txt && within 3 as_before && say clean
roamward cleanup --resolv-conf "$laptop"/resolv.conf --state-dir "$scene"/state
ours | tail -n +2 | head -n 3
start_agent
roamward cleanup --resolv-conf "$laptop"/resolv.conf --state-dir "$scene"/state 2>&1 | grep -o 'another agent' || true

# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/as-installed.bash
source "$tests/as-installed.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/OrdinaryUser/as-user.bash
source "$tests/OrdinaryUser/as-user.bash"

"$lab" config >local/corp.conf && chmod 600 local/corp.conf
cat >local/corp.yaml <<'END'
version: 1
tunnels:
  corp:
    provider: { wireguard: { config: corp.conf } }
    kill-switch: "on"
    on-demand: { rules: [ { action: connect } ] }
  tool:
    enabled: true
    provider: { command: { up: [sysctl, --version], down: [/bin/true] } }
    on-demand: { rules: [ { action: ignore } ] }
END
go cafe
export PATH=/usr/bin:/bin
visit() { try doctor --verbose "${inputs[@]}"; grep -v '^passed\|^not run\|^ ' out | sed 's/: no agent answers.*//'; }
visit
try plan "${inputs[@]}"
grep -v '^note: DNS' out
start_agent
tunnel_is corp connected
visit
grep -c '^not run' out
try plan "${inputs[@]}"
grep -v '^note: DNS' out
# Root, who may look at everything, has nothing to add, and knows every file of the agent.
roamward state --state-dir state | grep 'unknown to this version' || true
roamward plan "${inputs[@]}" --state-dir state
stop_agent

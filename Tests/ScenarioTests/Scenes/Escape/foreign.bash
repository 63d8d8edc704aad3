# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
start_agent
tunnel_is corp connected
setpriv --reuid 65534 --regid 65534 --clear-groups perl sleeper & foreign=$!
within 5 eval '[[ $(tr "\0" " " </proc/'$foreign'/cmdline) == *pwned* ]]'
roamward state --state-dir "$scene/state" >state.out
roamward state --json --state-dir "$scene/state" >state.json
grep -c pwned state.out state.json || true
# The engine, and where the kernel has WireGuard none, is the agent's.
[[ -z $(engine_pid corp) ]] || grep -q "process *$(engine_pid corp) " state.out
kill_agent
"$bin/roamwardd" --cleanup --dry-run --policies "$policies" --state-dir "$scene/state" --socket "$ROAMWARD_SOCKET" "${inputs[@]}" >dry.out
grep -c pwned dry.out || true
cleanup_agent
kill -0 $foreign && say alive
kill $foreign

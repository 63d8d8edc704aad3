# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

stop_agent
strace -f -qq -e trace=sendmsg,sendto -o agent.trace "$bin"/roamwardd --policies "$policies" --state-dir state --socket "$ROAMWARD_SOCKET"   "${inputs[@]}" </dev/null >/dev/null 2>&1 &
within 5 roamward status
tunnel_is corp connected
kill $(pgrep -P $!)
wait

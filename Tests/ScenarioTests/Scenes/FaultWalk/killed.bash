# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/proxies.bash
source "$tests/proxies.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/fault-walk.bash
source "$tests/fault-walk.bash"

prepare
go home
without_firewall >"$scene/before"
# shellcheck disable=SC2153 # of the test
doomed_agent "$PLACE"
within 5 eval 'gone || roamward status'
go cafe
within 20 is connected
go mobile
sleep 0.3 # no event: any moment of the roam
within 20 is connected
gone || change
within 20 eval 'gone || changed'
go home
within 20 is disconnected
# It may die by itself meanwhile.
gone || { kill -TERM "$(agent_pid)" 2>/dev/null || true; within 20 gone; }
[[ $(<"$scene/agent.exit") == 137 ]] || say "it did not die at ${PLACE}"
if [[ $RECOVERY == cleanup ]]; then
  "$bin/roamwardd" --cleanup --policies "$policies" --state-dir "$scene/state" --socket "$ROAMWARD_SOCKET" "${inputs[@]}" 2>>"$scene/agent.log"
  within 5 nothing_left || { say "cleanup after place ${PLACE}: $(sed -n "${PLACE}"p "$scene/places")"; notes; exit 1; }
  "$bin/roamwardd" --release 2>>"$scene/agent.log"
else
  go cafe
  SETTLE=0ms start_agent
  tunnel_is corp connected 20s || { say "restart after place ${PLACE}"; exit 1; }
  go home
  tunnel_is corp disconnected 20s
  stop_agent >/dev/null
  within 5 nothing_left || { say "stop after place ${PLACE}: $(sed -n "${PLACE}"p "$scene/places")"; notes; exit 1; }
fi

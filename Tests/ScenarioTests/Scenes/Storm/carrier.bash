# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
SETTLE=$SETTLE start_agent
tunnel_is corp connected
sleep 2 # no event: the agent's work after it has started, which the storm would count
flap() {
  local i start=${EPOCHREALTIME/./}
  for i in {1..100}; do
    on cafe ip link set lan0 down
    on cafe ip link set lan0 up
  done
  "$lab" serve cafe lan0
  "$lab" lease cafe wlan0
  say "$(((${EPOCHREALTIME/./} - start) / 1000))"
}
storm flap
tunnel_is corp connected && within 5 intranet_loads && say "$(field corp decision)"
